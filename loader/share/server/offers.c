/* offers.c - the data sets that a shared loader has: one, or some that are read as one. */
#include "loader/base/name.h"
#include "loader/share/server/server_state.h"
#include "loader/share/wire/classes.h"
#include "loader/share/wire/hello.h"
#include "loader/share/wire/numbers.h"
#include "loader/source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *offers_dataset(const struct share_server *server, unsigned at)
{
	const char *const *datasets = server->config.datasets;

	return datasets != NULL ? datasets[at]
	       : at == 0        ? server->options.dataset
				: NULL;
}

int offers_source(struct share_server *server, struct source **source,
		  struct error *err)
{
	const struct source_config config = {.seed = server->options.seed};
	struct source *parts[SHARE_DATASETS];
	unsigned count = 0;

	if (server->config.mode != SHARE_JOADER)
		return 0;
	for (; offers_dataset(server, count) != NULL; count++) {
		if (count == SHARE_DATASETS) {
			error_set(err, EINVAL, "at most %d data sets", SHARE_DATASETS);
			goto fail;
		}
		parts[count] = source_open(offers_dataset(server, count), &config, err);
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

static int open_offer(struct share_server *server, unsigned at, struct error *err)
{
	const struct source *all = server->parts.source;
	bool joined = server->config.mode == SHARE_JOADER;
	struct offer *offer = &server->offers[at];

	hello_dataset(offers_dataset(server, at), offer->name, sizeof(offer->name));
	offer->source = joined ? source_part(all, at) : all;
	offer->numbers = -1;
	offer->classes = classes_write(offer->source, err);
	if (offer->classes < 0)
		return offer->classes;
	server->offer_count++;
	if (joined)
		offer->numbers = numbers_write(all, at, err);
	return joined && offer->numbers < 0 ? offer->numbers : 0;
}

int offers_open(struct share_server *server, struct error *err)
{
	int result = 0;

	for (unsigned at = 0; offers_dataset(server, at) != NULL && result == 0; at++)
		result = open_offer(server, at, err);
	return result;
}

void offers_close(struct share_server *server)
{
	for (; server->offer_count > 0; server->offer_count--) {
		const struct offer *offer = &server->offers[server->offer_count - 1];

		close(offer->classes);
		if (offer->numbers >= 0)
			close(offer->numbers);
	}
}

static int no_such(const struct share_server *server, const char *wanted,
		   struct error *err)
{
	char ours[160] = "", theirs[64];
	size_t used = 0;

	name_escape(wanted, theirs, sizeof(theirs));
	for (unsigned i = 0; i < server->offer_count && used < sizeof(ours) - 8; i++) {
		if (i > 0)
			used += (size_t)snprintf(ours + used, sizeof(ours) - used,
						 "', '");
		name_escape(server->offers[i].name, ours + used, sizeof(ours) - used);
		used += strlen(ours + used);
	}
	return error_set(err, EINVAL,
			 "the loader has data set '%s', the job wants '%s'", ours,
			 theirs);
}

int offers_find(const struct share_server *server, struct member *member,
		struct error *err)
{
	const char *wanted = member->hello.dataset;

	for (unsigned i = 0; i < server->offer_count; i++) {
		member->offer = &server->offers[i];
		if (wanted[0] == '\0' || strcmp(wanted, member->offer->name) == 0)
			return 0;
	}
	member->offer = NULL;
	return no_such(server, wanted, err);
}

uint32_t offers_number(const struct share_server *server, const struct member *member,
		       uint32_t sample)
{
	unsigned at = (unsigned)(member->offer - server->offers);

	if (member->offer->numbers < 0)
		return sample;
	return source_in_part(server->parts.source, at, sample);
}
