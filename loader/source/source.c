/* source.c - finds the kind of a data set, and calls its operations. */
#include "loader/source.h"
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/source/variant.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SOURCE_ADDRESS(name) &source_##name,
static const struct source_variant *const variants[] = {SOURCES(SOURCE_ADDRESS)};

static const struct source_variant *
source_find(const char *dataset, const struct source_config *config, struct error *err)
{
	char shown[NAME_SHOWN];
	struct stat status;
	int code = stat(dataset, &status) < 0 ? errno : 0;

	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		if (variants[i]->claims(dataset, code == 0 ? &status : NULL, config))
			return variants[i];
	name_escape(dataset, shown, sizeof(shown));
	if (code == ENOENT || code == ENOTDIR)
		error_set(
			err, code,
			"there is no data set '%s': give a folder, a list file, tar "
			"or TFRecord shards, s3://BUCKET/PREFIX, https://HOST/LIST or "
			"synthetic[:COUNT]",
			shown);
	else if (code != 0)
		error_sys(err, code, "cannot open the data set '%s'", shown);
	else
		error_set(err, EINVAL,
			  "the data set '%s' is neither a folder nor a file", shown);
	return NULL;
}

/* Of a pattern that counts shards, and of what is not there, the folder is real. */
static void source_spell_path(const char *dataset, char *name, size_t size)
{
	const char *slash = strrchr(dataset, '/');
	const char *base = slash != NULL ? slash + 1 : dataset;
	char folder[PATH_MAX], real[PATH_MAX];

	snprintf(folder, sizeof(folder), "%.*s", (int)(base - dataset), dataset);
	if (realpath(dataset, real) != NULL)
		snprintf(name, size, "%s", real);
	else if (*base != '\0' && realpath(slash != NULL ? folder : ".", real) != NULL)
		snprintf(name, size, "%s/%s", real, base);
	else
		snprintf(name, size, "%s", dataset);
}

void source_spelling(const char *dataset, char *name, size_t size)
{
	static const struct source_config none = {0};

	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		if (variants[i]->spell == NULL ||
		    !variants[i]->claims(dataset, NULL, &none))
			continue;
		variants[i]->spell(dataset, name, size);
		return;
	}
	source_spell_path(dataset, name, size);
}

struct source *source_of(const struct source_variant *variant, void *state,
			 const struct source_facts *facts, struct error *err)
{
	struct source *source = malloc(sizeof(*source));

	if (source == NULL) {
		variant->close(state);
		error_sys(err, ENOMEM, "cannot open the data set");
		return NULL;
	}
	*source = (struct source){variant, state, *facts};
	return source;
}

struct source *source_open(const char *dataset, const struct source_config *config,
			   struct error *err)
{
	const struct source_variant *variant = source_find(dataset, config, err);
	struct source_facts facts;
	void *state;

	if (variant == NULL)
		return NULL;
	state = variant->open(dataset, config, &facts, err);
	return state != NULL ? source_of(variant, state, &facts, err) : NULL;
}

void source_close(struct source *source)
{
	if (source == NULL)
		return;
	source->variant->close(source->state);
	free(source);
}

const char *source_kind(const struct source *source)
{
	return source->variant->kind;
}

uint32_t source_count(const struct source *source)
{
	return source->facts.count;
}

const struct source_facts *source_facts(const struct source *source)
{
	return &source->facts;
}

uint32_t source_size(const struct source *source, uint32_t sample)
{
	return source->variant->size(source->state, sample);
}

uint32_t source_label(const struct source *source, uint32_t sample)
{
	return source->variant->label(source->state, sample);
}

void source_place(const struct source *source, uint32_t sample, char *buffer,
		  struct source_place *place)
{
	source->variant->place(source->state, sample, buffer, place);
}

const char *source_name(const struct source *source, uint32_t sample, char *buffer,
			size_t size)
{
	struct source_place place;
	char path[PATH_MAX];

	if (source->variant->name != NULL)
		return source->variant->name(source->state, sample, buffer, size);
	source_place(source, sample, path, &place);
	return name_escape(place.path, buffer, size);
}

bool source_sealed(const struct source *source)
{
	return source->facts.features != NULL;
}

int source_unseal(const struct source *source, uint32_t sample, const void *bytes,
		  struct source_part *part, const char **why)
{
	part->skip = 0;
	if (source->variant->unseal == NULL)
		return 0;
	return source->variant->unseal(source->state, sample, bytes, part, why);
}

bool source_outdated(const struct source *source, uint32_t sample)
{
	return source->variant->outdated != NULL &&
	       source->variant->outdated(source->state, sample);
}

const char *source_class(const struct source *source, uint32_t label)
{
	if (label >= source->facts.classes)
		return NULL;
	return source->variant->class(source->state, label);
}
