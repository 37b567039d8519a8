/*
 * rest.c - of a job that was in the way of others: which samples of its epoch it may not
 * have yet. The feed goes on without it, so it is told all of them when it is dropped.
 */
#include "loader/share/server/server_state.h"
#include "loader/share/wire/rest_list.h"
#include "loader/source.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint32_t rest_content(const struct share_server *server,
			     const struct member *member,
			     const struct feed_place *place)
{
	if (place == NULL || (place->flags & (FEED_ISLAND | FEED_REPEATED)) != 0 ||
	    (place->seats >> member->seat & 1) == 0)
		return PROTOCOL_NOTHING;
	return place->flags & FEED_BAD ? PROTOCOL_VOID
				       : offers_number(server, member, place->sample);
}

/* What lies in the feed, then what comes where the last place ends: an epoch of it, for
 * nobody needs more. */
static void rest_fill(const struct share_server *server, const struct member *member,
		      struct protocol_rest *rest, uint32_t *numbers)
{
	const struct feed_place *last = feed_place(server->feed, rest->end - 1);
	uint32_t *behind = numbers + (rest->end - rest->first);

	for (uint64_t at = rest->first; at < rest->end; at++)
		numbers[at - rest->first] =
			rest_content(server, member, feed_place(server->feed, at));
	if (last != NULL)
		rest->count =
			server->order->rest(server, member, last, &rest->voids, behind);
	for (uint32_t i = 0; i < rest->count; i++)
		behind[i] = offers_number(server, member, behind[i]);
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

static int send_rest(const struct member *member, const struct protocol_rest *rest,
		     const uint32_t *numbers)
{
	int fd = write_numbers(numbers, rest_numbers(rest)), result;

	if (fd < 0)
		return fd;
	result = protocol_send(member->socket, PROTOCOL_REST, rest, sizeof(*rest), &fd,
			       1);
	close(fd);
	return result;
}

int rest_drop(struct share_server *server, struct member *member)
{
	struct protocol_rest rest = {.end = feed_published(server->feed)};
	struct feed_seat_state seat;
	uint32_t *numbers;
	int result;

	feed_seat_state(server->feed, member->seat, &seat);
	rest.first = seat.released;
	numbers = calloc(rest.end - rest.first + source_count(member->offer->source),
			 sizeof(*numbers));
	if (numbers == NULL)
		return -ENOMEM;
	rest_fill(server, member, &rest, numbers);
	/* First told, then dropped: whoever dies in between, nothing is lost. */
	result = send_rest(member, &rest, numbers);
	if (result == 0)
		feed_drop(server->feed, member->seat);
	free(numbers);
	return result;
}
