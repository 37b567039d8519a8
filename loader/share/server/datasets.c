/* datasets.c - the data sets of a shared loader: one, or several read as one. */
#include "loader/base/name.h"
#include "loader/components.h"
#include "loader/share/server/server_state.h"
#include "loader/share/wire/class_names.h"
#include "loader/share/wire/id_map.h"
#include "loader/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *datasets_path(const struct share_server *server, unsigned at)
{
	const char *const *datasets = server->config.datasets;

	return datasets != NULL ? datasets[at]
	       : at == 0        ? server->options.dataset
				: NULL;
}

int datasets_source(struct share_server *server, struct source **source,
		    struct error *err)
{
	const struct options *options = &server->options;
	struct source *parts[SHARE_DATASETS];
	unsigned count = 0;

	if (server->config.mode != SHARE_JOADER)
		return 0;
	for (; datasets_path(server, count) != NULL; count++) {
		if (count == SHARE_DATASETS) {
			error_set(err, EINVAL, "at most %d data sets", SHARE_DATASETS);
			goto fail;
		}
		parts[count] =
			components_source(options, datasets_path(server, count), err);
		if (parts[count] == NULL)
			goto fail;
	}
	*source = source_union(parts, count, err);
	return *source != NULL ? 0 : -err->code;
fail:
	while (count-- > 0)
		source_close(parts[count]);
	return -err->code;
}

static int datasets_open_one(struct share_server *server, unsigned at,
			     struct error *err)
{
	const struct source *all = server->parts.source;
	bool joined = server->config.mode == SHARE_JOADER;
	struct dataset *dataset = &server->datasets.at[at];

	dataset->set = at;
	source_spelling(datasets_path(server, at), dataset->name,
			sizeof(dataset->name));
	dataset->source = joined ? source_part(all, at) : all;
	dataset->id_map = -1;
	dataset->classes = class_names_write(dataset->source, err);
	if (dataset->classes < 0)
		return dataset->classes;
	server->datasets.count++;
	if (joined)
		dataset->id_map = id_map_write(all, at, err);
	return joined && dataset->id_map < 0 ? dataset->id_map : 0;
}

int datasets_open(struct share_server *server, struct error *err)
{
	int result = 0;

	for (unsigned at = 0; datasets_path(server, at) != NULL && result == 0; at++)
		result = datasets_open_one(server, at, err);
	return result;
}

void datasets_close(struct datasets *datasets)
{
	for (; datasets->count > 0; datasets->count--) {
		const struct dataset *dataset = &datasets->at[datasets->count - 1];

		close(dataset->classes);
		if (dataset->id_map >= 0)
			close(dataset->id_map);
	}
}

static int datasets_refuse(const struct datasets *datasets, const char *wanted,
			   struct error *err)
{
	char ours[96] = "", theirs[56];
	size_t used = 0;

	name_escape(wanted, theirs, sizeof(theirs));
	for (unsigned i = 0; i < datasets->count && used < sizeof(ours) - 8; i++) {
		if (i > 0)
			used += (size_t)snprintf(ours + used, sizeof(ours) - used,
						 "', '");
		name_escape(datasets->at[i].name, ours + used, sizeof(ours) - used);
		used += strlen(ours + used);
	}
	return error_set(err, EINVAL,
			 "the loader has data set '%s', the job wants '%s': start one "
			 "for it (--socket), or one for both (--mode joader)",
			 ours, theirs);
}

int datasets_find(const struct datasets *datasets, struct client *client,
		  struct error *err)
{
	const char *wanted = client->hello.dataset;

	for (unsigned i = 0; i < datasets->count; i++) {
		client->dataset = &datasets->at[i];
		if (wanted[0] == '\0' || strcmp(wanted, client->dataset->name) == 0)
			return 0;
	}
	client->dataset = NULL;
	return datasets_refuse(datasets, wanted, err);
}
