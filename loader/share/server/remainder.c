/*
 * remainder.c - of a job that was in the way of others: which samples of its epoch it may not
 * have yet. The ring goes on without it, so it is told all of them when it is dropped.
 */
#include "loader/share/server/server_state.h"
#include "loader/share/wire/remainder_list.h"
#include "loader/source.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint32_t remainder_content(const struct share_server *server,
				  const struct client *client,
				  const struct bcast_place *place)
{
	if (place == NULL || (place->flags & (BCAST_GAP | BCAST_REPEATED)) != 0 ||
	    (place->readers >> client->slot & 1) == 0)
		return PROTOCOL_NOTHING;
	return place->flags & BCAST_BAD ? PROTOCOL_VOID
					: datasets_id(server, client, place->sample);
}

/* What lies in the ring, then what comes where the last place ends: an epoch of it, for
 * nobody needs more. */
static void remainder_fill(const struct share_server *server,
			   const struct client *client, struct protocol_remainder *rest,
			   uint32_t *numbers)
{
	const struct bcast_place *last = bcast_place(server->ring, rest->end - 1);
	uint32_t *behind = numbers + (rest->end - rest->first);

	for (uint64_t at = rest->first; at < rest->end; at++)
		numbers[at - rest->first] = remainder_content(
			server, client, bcast_place(server->ring, at));
	if (last != NULL)
		rest->count = server->scheduler->rest(server, client, last,
						      &rest->voids, behind);
	for (uint32_t i = 0; i < rest->count; i++)
		behind[i] = datasets_id(server, client, behind[i]);
}

static int write_numbers(const uint32_t *numbers, uint64_t count)
{
	size_t bytes = count * sizeof(*numbers);
	int fd = memfd_create("dsa-rest", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (write(fd, numbers, bytes) == (ssize_t)bytes)
		return fd;
	close(fd);
	return -ENOMEM;
}

static int remainder_write(const struct client *client,
			   const struct protocol_remainder *rest,
			   const uint32_t *numbers)
{
	int fd = write_numbers(numbers, remainder_count(rest)), result;

	if (fd < 0)
		return fd;
	result = protocol_send(client->socket, PROTOCOL_REMAINDER, rest, sizeof(*rest),
			       &fd, 1);
	close(fd);
	return result;
}

int remainder_send(struct share_server *server, struct client *client)
{
	struct protocol_remainder rest = {.end = bcast_published(server->ring)};
	struct bcast_reader_state slot;
	uint32_t *numbers;
	int result;

	bcast_reader_state(server->ring, client->slot, &slot);
	rest.first = slot.released;
	numbers = calloc(rest.end - rest.first + source_count(client->dataset->source),
			 sizeof(*numbers));
	if (numbers == NULL)
		return -ENOMEM;
	remainder_fill(server, client, &rest, numbers);
	/* First told, then dropped: whoever dies in between, nothing is lost. */
	result = remainder_write(client, &rest, numbers);
	if (result == 0)
		bcast_drop(server->ring, client->slot);
	free(numbers);
	return result;
}
