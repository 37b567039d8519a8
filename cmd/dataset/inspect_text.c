/* inspect_text.c - what a data set holds, for people. */
#include "cmd/dataset/inspect_print.h"
#include "loader/audio.h"
#include "loader/base/name.h"
#include "loader/prep.h"
#include "loader/source.h"
#include "profiler/dataset/inspect.h"

#include <inttypes.h>
#include <stdio.h>

enum { LISTED = 20 }; /* classes and broken files that are listed */

static void print_law(const char *what, const struct inspect_law *law)
{
	printf("%-8s%9.0f", what, law->mean);
	for (unsigned i = 0; i < INSPECT_QUANTILES; i++)
		printf("%9" PRIu64, law->quantile[i]);
	putchar('\n');
}

static void print_laws(const struct inspect *result)
{
	bool pictures = result->kind == SAMPLE_IMAGE;

	printf("%-8s%9s%9s", "", "mean", "least");
	for (unsigned i = 1; i + 1 < INSPECT_QUANTILES; i++)
		printf("%7.0f %%", 100 * inspect_shares[i]);
	printf("%9s\n", "most");
	print_law("bytes", &result->size);
	if (result->readable > 0 && pictures) {
		print_law("width", &result->width);
		print_law("height", &result->height);
	} else if (result->readable > 0) {
		print_law("ms", &result->audio.length_ms);
	}
}

static void print_kinds(const struct inspect *result)
{
	const struct {
		const char *name;
		uint32_t count;
	} others[] = {{"gray", result->gray},
		      {"CMYK", result->cmyk},
		      {"progressive", result->progressive},
		      {"with restart markers", result->restarts}};
	const char *between = "";

	printf("JPEG    ");
	for (unsigned i = 0; i < INSPECT_SAMPLINGS; i++)
		if (result->sampling[i] > 0) {
			printf("%s%u %s", between, result->sampling[i],
			       inspect_sampling_names[i]);
			between = ", ";
		}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].count > 0) {
			printf("%s%u %s", between, others[i].count, others[i].name);
			between = ", ";
		}
	putchar('\n');
}

static void print_classes(const struct inspect *result)
{
	char name[NAME_SHOWN];

	printf("classes ");
	for (uint32_t i = 0; i < result->classes && i < LISTED; i++)
		printf("%s%s %u", i > 0 ? ", " : "",
		       name_escape(source_class(result->source, i), name, sizeof(name)),
		       result->per_class[i]);
	if (result->classes > LISTED)
		printf(" and %u more; --json lists all", result->classes - LISTED);
	putchar('\n');
}

static void print_broken(const struct inspect *result)
{
	char name[1024];

	printf("broken  %u\n", result->broken);
	for (uint32_t i = 0; i < result->broken && i < LISTED; i++)
		printf("        %s: %s\n",
		       source_name(result->source, result->first[i].sample, name,
				   sizeof(name)),
		       result->first[i].why);
	if (result->broken > LISTED)
		printf("        and %u more; --json names all\n",
		       result->broken - LISTED);
}

static void print_tallies(const char *what, const struct inspect_tallies *tallies,
			  const char *unit)
{
	printf("%-7s", what);
	for (uint32_t i = 0; i < tallies->count; i++)
		printf("%s %u %" PRIu64 "%s", i > 0 ? "," : "", tallies->list[i].count,
		       tallies->list[i].value, unit);
	putchar('\n');
}

static void print_formats(const struct inspect_tallies *formats)
{
	for (uint32_t i = 0; i < formats->count; i++) {
		char name[AUDIO_FORMAT];

		prep_recording_format((unsigned)formats->list[i].value, name);
		printf("%-8s%u %s\n", i == 0 ? "format" : "", formats->list[i].count,
		       name);
	}
}

static void print_audio(const struct inspect_audio *audio)
{
	print_tallies("rate", &audio->rates, " Hz");
	print_tallies("channels", &audio->channels, "");
	print_formats(&audio->formats);
}

static void print_tokens(const struct inspect_tokens *tokens)
{
	printf("tokens  %" PRIu64 " of ", tokens->tokens);
	if (tokens->bits != 0)
		printf("%u bits", tokens->bits);
	else
		printf("16 and 32 bits");
	printf(" in the windows of %u file%s, the largest %u\n", tokens->files,
	       tokens->files == 1 ? "" : "s", tokens->largest);
}

static void print_head(const char *dataset, const struct inspect *result)
{
	static const char *const what[] = {"file", "recording", "window"};
	char name[1024];

	printf("%s: %u %s%s of %u class%s, %.1f MB",
	       name_escape(dataset, name, sizeof(name)), result->count,
	       what[result->kind], result->count == 1 ? "" : "s", result->classes,
	       result->classes == 1 ? "" : "es", (double)result->bytes / 1e6);
	if (result->kind == SAMPLE_AUDIO && result->readable > 0)
		printf(", %.1f s", result->audio.seconds);
	putchar('\n');
}

void dataset_inspect_print_text(const char *dataset, const struct inspect *result)
{
	const struct source_facts *facts = source_facts(result->source);
	char name[1024];

	print_head(dataset, result);
	if (result->kind == SAMPLE_TOKENS)
		print_tokens(&result->tokens);
	else
		print_laws(result);
	if (result->readable > 0 && result->kind == SAMPLE_IMAGE)
		print_kinds(result);
	else if (result->readable > 0)
		print_audio(&result->audio);
	print_classes(result);
	if (facts->features != NULL)
		printf("records %s\n",
		       name_escape(facts->features, name, sizeof(name)));
	printf("ignored %llu\n", (unsigned long long)facts->ignored);
	print_broken(result);
}
