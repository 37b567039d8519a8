/* net_fetch_test.c - what the net engine makes of answers, which a made-up net gives. */
#include "loader/base/blob.h"
#include "loader/fetch.h"
#include "loader/fetch/hedge.h"
#include "loader/net.h"
#include "tests/lib/client.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Samples before the one whose requests the test answers. */
enum { BEFORE = HEDGE_LEAST };

/* ---- a net that answers at once, but the object "late" when it was asked for twice ---- */

struct net {
	struct net_get *quick[BEFORE];
	unsigned count;
	struct net_get *late[2];
	unsigned asked, cancelled;
};

static struct net net;
static struct {
	unsigned first; /* the request for "late" that is answered first */
	int result[2];  /* of the one answered first, and of the other */
} plan;

struct net *net_open(const struct net_config *config, struct error *err)
{
	(void)config;
	(void)err;
	net = (struct net){0};
	return &net;
}

static void net_answer(struct net_get *get, int result)
{
	get->got = result == 0 ? get->room : 0;
	memset(get->body, get == net.late[1] ? 'b' : 'a', get->got);
	if (result < 0)
		error_set(&get->error, -result, "made up");
	get->done(get, result);
}

void net_start(struct net *own, struct net_get *get)
{
	get->retries = get == own->late[0] ? 1 : 0;
	if (strcmp(get->path, "late") == 0)
		own->late[own->asked++] = get;
	else
		own->quick[own->count++] = get;
}

void net_cancel(struct net *own, const struct net_get *get)
{
	for (int i = 0; i < 2; i++)
		if (own->late[i] == get)
			own->late[i] = NULL;
	own->cancelled++;
}

void net_wait(struct net *own, uint64_t most_ns)
{
	(void)most_ns;
	while (own->count > 0)
		net_answer(own->quick[--own->count], 0);
	if (own->asked < 2)
		return;
	own->asked = 0;
	net_answer(own->late[plan.first], plan.result[0]);
	if (own->late[1 - plan.first] != NULL && own->cancelled == 0)
		net_answer(own->late[1 - plan.first], plan.result[1]);
}

void net_wake(struct net *own)
{
	(void)own;
}

void net_close(struct net *own)
{
	assert_int_equal(own->count, 0);
}

uint64_t net_remote_deadline(const struct net_remote *remote)
{
	(void)remote;
	return UINT64_MAX;
}

double net_remote_deadline_s(const struct net_remote *remote)
{
	(void)remote;
	return 1;
}

const char *net_remote_url(const struct net_remote *remote)
{
	(void)remote;
	return "http://made.up/";
}

/* ---- tests ---- */

/* The byte that the sample's blob is full of, or why there is none. */
static int late_sample(unsigned first, int result, int other)
{
	struct source *source = folder_new("/tmp");
	struct client client;
	const struct fetch_config config = {.engine = "net",
					    .depth = BEFORE,
					    .hedge = true,
					    .thread_started = client_thread_started};
	const struct fetch_client calls = {&client, client_next, client_done,
					   client_drained};
	struct fetch *fetch;
	int came;

	plan.first = first;
	plan.result[0] = result;
	plan.result[1] = other;
	source->facts.remote = true;
	source->count = BEFORE + 1;
	for (int i = 0; i <= BEFORE; i++)
		source->place[i] = (struct source_place){
			.object = i < BEFORE ? "quick" : "late", .size = 10};
	client_init(&client, BEFORE);
	fetch = fetch_open(&config, source, &calls, NULL);
	assert_non_null(fetch);
	client_wait(&client, &client.waits, 1);
	assert_int_equal(client.undrained, 0);
	client_want(&client, BEFORE + 1);
	client_wait(&client, &client.done, BEFORE + 1);
	came = client.result[BEFORE];
	if (came == 0)
		came = client.blob[BEFORE]->data[0];
	client_set(&client, &client.closed, true);
	fetch_close(fetch);
	client_fini(&client);
	folder_free(source);
	return came;
}

TEST(the_first_success_counts)
{
	assert_int_equal(late_sample(0, 0, 0), 'a');
	assert_int_equal(net.cancelled, 1);
	assert_int_equal(late_sample(1, 0, 0), 'b');
	assert_int_equal(net.cancelled, 1);
}

TEST(one_that_fails_leaves_it_to_the_other)
{
	assert_int_equal(late_sample(0, -ENOENT, 0), 'b');
	assert_int_equal(net.cancelled, 0);
	assert_int_equal(late_sample(1, -ENOENT, 0), 'a');
	assert_int_equal(net.cancelled, 0);
}

TEST(of_two_failures_the_last_is_told)
{
	assert_int_equal(late_sample(0, -EACCES, -ENOENT), -ENOENT);
	assert_int_equal(late_sample(1, -EACCES, -ENOENT), -ENOENT);
}
