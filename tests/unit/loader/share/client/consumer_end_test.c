/* A program with DSA_SHARE: what becomes of it when the loader brings no more. */
#include "tests/lib/actor.h"
#include "tests/lib/nomem.h"
#include "tests/lib/program.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int teardown(void **state)
{
	unsetenv("DSA_SHARE");
	unsetenv("DSA_LOADER");
	return scratch_teardown(state);
}

TEST_WITH(what_a_dead_loader_published_is_delivered_first, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_welcome, 0);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader = program_joined(&server, &config, "");

	actor_put_all(&server, 0, 20);
	actor_die(&server);
	program_steps(loader, 2);
	assert_int_equal(program_step(loader, true),
			 -EPIPE); /* four samples are no batch */
	assert_non_null(strstr(dsa_why(loader), "(process 4711) died before epoch 0, "
						"step 2"));
	assert_non_null(strstr(dsa_why(loader), "alone=load"));
	assert_int_equal(program_step(loader, true), -EPIPE);
	dsa_close(loader);
	actor_end(&server);
}

/* It waits for what a program holds, and will for ever. */
TEST_WITH(a_death_is_seen_by_who_holds_all_there_was, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_welcome, 0);
	struct dsa_config config = program_config();
	struct dsa_loader *loader;
	struct dsa_batch batch;
	uint32_t sample = 0;
	int result;

	config.epochs = 0;
	loader = program_joined(&server, &config, "prefetch=64,batch=60");
	while (actor_put(&server, sample, ACTOR_PIECE, 0))
		sample = (sample + ACTOR_PIECE) % ACTOR_COUNT;
	actor_die(&server);
	do
		result = dsa_next(loader, &batch);
	while (result == 1);
	assert_int_equal(result, -EPIPE);
	dsa_close(loader);
	actor_end(&server);
}

TEST_WITH(the_end_of_the_shared_data_is_the_end_of_endless_data, scratch_setup,
	  teardown)
{
	struct actor server = actor_of("s", actor_welcome, 0);
	struct dsa_config config = program_config();
	struct dsa_loader *loader;

	config.epochs = 0;
	loader = program_joined(&server, &config, "alone=load,takeover=60s");
	actor_put_all(&server, 0, 20);
	bcast_end(server.ring, 0, NULL);
	actor_die(&server);
	program_steps(loader, 3);
	assert_int_equal(program.count, 20);
	assert_int_equal(program_step(loader, true), 0);
	assert_int_equal(program_step(loader, true), 0);
	dsa_close(loader);
	actor_end(&server);
}

TEST_WITH(endless_data_of_a_stopped_loader_is_an_error, scratch_setup, teardown)
{
	static const char *const settings[] = {"", "takeover=30ms"};

	for (int i = 0; i < 2; i++) {
		struct actor server = actor_of("s", actor_welcome, 0);
		struct dsa_config config = program_config();
		struct dsa_loader *loader;

		config.epochs = 0;
		loader = program_joined(&server, &config, settings[i]);
		actor_put_all(&server, 0, 20);
		bcast_stop(server.ring);
		actor_die(&server);
		program_steps(loader, 2);
		assert_int_equal(program_step(loader, true), -ECANCELED);
		assert_non_null(
			strstr(dsa_why(loader), "was stopped before epoch 0, step 2"));
		dsa_close(loader);
		actor_end(&server);
	}
}

TEST_WITH(an_end_before_the_programs_own_is_an_error, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_welcome, 0);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader = program_joined(&server, &config, "");

	actor_put_all(&server, 0, ACTOR_COUNT);
	bcast_end(server.ring, 0, NULL);
	actor_die(&server);
	program_steps(loader, 8);
	assert_int_equal(program_step(loader, true), -ENODATA);
	assert_non_null(
		strstr(dsa_why(loader), "ended its data before epoch 1, step 0"));
	dsa_close(loader);
	actor_end(&server);
}

TEST_WITH(the_loaders_failure_is_told_in_its_words, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_welcome, 0);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader =
		program_joined(&server, &config, "alone=load,takeover=9s");

	bcast_end(server.ring, EIO, "cats/7.jpg: Input/output error");
	actor_die(&server);
	assert_int_equal(program_step(loader, true), -EPIPE);
	assert_non_null(strstr(dsa_why(loader), "cats/7.jpg: Input/output error"));
	dsa_close(loader);
	actor_end(&server);
}

/* Descriptors of this process. */
static unsigned open_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned count = 0;

	while (readdir(folder) != NULL)
		count++;
	closedir(folder);
	return count;
}

/* As a program does that was built with DSA_1, whose batches end before the type. */
static void release_shorter(struct dsa_loader *loader, const struct dsa_batch *batch)
{
	void *shorter = malloc(offsetof(struct dsa_batch, type));

	assert_non_null(shorter);
	memcpy(shorter, batch, offsetof(struct dsa_batch, type));
	assert_int_equal(dsa_release(loader, shorter), 0);
	free(shorter);
}

TEST_WITH(a_program_that_was_dropped_goes_on_alone, scratch_setup, teardown)
{
	unsigned files = open_files();
	struct actor server = actor_of("s", actor_welcome, 0);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader = program_joined(&server, &config, "");
	struct dsa_batch held, own;
	struct dsa_stats stats;

	actor_put_all(&server, 0, ACTOR_COUNT);
	program_steps(loader, 1);
	assert_int_equal(dsa_next(loader, &held), 1);
	bcast_drop(server.ring, server.slot);
	program_note(&held, true);
	assert_int_equal(program_step(loader, false), 1);
	assert_int_equal(program.step[2 * PROGRAM_BATCH], 2);
	assert_int_equal(dsa_release(loader, &held), 0);
	assert_int_equal(dsa_release(loader, &held), -EINVAL);
	stats = program_stats(loader);
	assert_int_equal(stats.shared, 2);
	assert_int_equal(stats.epoch, 0);
	assert_int_equal(stats.step, 3);
	assert_int_equal(dsa_next(loader, &own), 1);
	program_note(&own, false);
	release_shorter(loader, &own);
	while (program_step(loader, false) == 1)
		;
	program_once(0, 2);
	assert_int_equal(program_stats(loader).epoch, 2);
	dsa_close(loader);
	actor_end(&server);
	assert_int_equal(open_files(), files);
}

TEST_WITH(a_drop_at_an_epochs_end_leaves_whole_epochs, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_welcome, 0);
	struct dsa_config config = program_config();
	struct dsa_loader *loader;

	config.drop_last = 1;
	loader = program_joined(&server, &config, "");
	actor_put_all(&server, 0, ACTOR_COUNT);
	program_steps(loader, 7);
	bcast_drop(server.ring, server.slot);
	while (program_step(loader, false) == 1)
		;
	assert_int_equal(program.count, 2 * 56);
	assert_int_equal(program.epoch[55], 0);
	assert_int_equal(program.epoch[56], 1);
	assert_int_equal(program.step[56], 0);
	dsa_close(loader);
	actor_end(&server);
}

TEST_WITH(memory_that_runs_out_for_the_rest_is_told, scratch_setup, teardown)
{
	const struct dsa_config config = program_config();

	for (unsigned nth = 1; nth < 4; nth++) {
		struct actor server = actor_of("s", actor_welcome, 0);
		struct dsa_loader *loader = program_joined(&server, &config, "");

		bcast_drop(server.ring, server.slot);
		nomem_at(nth);
		assert_int_equal(program_step(loader, false), -ENOMEM);
		nomem_at(0);
		assert_true(strlen(dsa_why(loader)) > 0);
		assert_int_equal(program_step(loader, false), -ENOMEM);
		dsa_close(loader);
		actor_end(&server);
	}
}

/* ---- take-over ---- */

TEST_WITH(another_loader_brings_what_is_missing, scratch_setup, teardown)
{
	struct actor first = actor_of("s", actor_welcome, 0);
	struct actor second = actor_of("s", actor_welcome, 0);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader = program_joined(&first, &config, "takeover=60s");
	struct dsa_batch held, batch;

	actor_put_all(&first, 0, 20);
	program_steps(loader, 1);
	assert_int_equal(dsa_next(loader, &held), 1);
	actor_die(&first);
	actor_put_all(&second, 0, ACTOR_COUNT);
	actor_start(&second);
	program_note(&held, true);
	assert_int_equal(dsa_next(loader, &batch), 1); /* 16 .. 23 */
	program_note(&batch, true);
	actor_join(&second);
	assert_int_equal(second.hello.resumes, 1);
	bcast_close(first.ring);
	assert_int_equal(dsa_release(loader, &held), 0);
	assert_int_equal(dsa_release(loader, &batch), 0);
	program_steps(loader, 5);
	actor_put_all(&second, 0, ACTOR_COUNT);
	program_steps(loader, 8);
	assert_int_equal(program_step(loader, true), 0);
	program_once(0, 2);
	assert_int_equal(program_stats(loader).shared, 1);
	dsa_close(loader);
	actor_end(&second);
}

TEST_WITH(a_loader_of_other_data_is_refused, scratch_setup, teardown)
{
	struct actor first = actor_of("s", actor_welcome, 0);
	struct actor second = actor_of("s", actor_welcome, 0);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader = program_joined(&first, &config, "takeover=60s");

	actor_put_all(&first, 0, 20);
	actor_die(&first);
	second.welcome.dataset_bytes++;
	actor_start(&second);
	program_steps(loader, 2);
	assert_int_equal(program_step(loader, true), -ESTALE);
	actor_join(&second);
	assert_non_null(strstr(dsa_why(loader), "had other data"));
	dsa_close(loader);
	actor_end(&first);
	actor_end(&second);
}

TEST_WITH(a_loader_that_does_not_take_over_tells_why, scratch_setup, teardown)
{
	struct actor first = actor_of("s", actor_welcome, 0);
	struct actor second = actor_of("s", actor_refuse, 0);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader = program_joined(&first, &config, "takeover=60s");

	actor_die(&first);
	actor_start(&second);
	assert_int_equal(program_step(loader, true), -EACCES);
	actor_join(&second);
	assert_non_null(strstr(dsa_why(loader), "there are 64 jobs"));
	dsa_close(loader);
	actor_end(&first);
	actor_end(&second);
}

/* Listens once a program was here and found that nobody answers. */
static void *start_late(void *context)
{
	struct actor *server = context;
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "s"};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)),
			 0);
	assert_int_equal(listen(listener, 1), 0);
	close(accept(listener, NULL, NULL));
	close(listener);
	actor_start(server);
	return NULL;
}

/* Also at the begin: it may be started after its programs. */
TEST_WITH(a_loader_may_come_late, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_welcome, 0);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader;
	pthread_t late;

	program_settings("s", "takeover=60s");
	assert_int_equal(pthread_create(&late, NULL, start_late, &server), 0);
	assert_int_equal(program_begin(&config, &loader), 0);
	pthread_join(late, NULL);
	actor_join(&server);
	dsa_close(loader);
	actor_end(&server);
}

TEST_WITH(nobody_who_takes_over_is_told_as_a_death, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_welcome, 0);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader = program_joined(&server, &config, "takeover=30ms");

	actor_die(&server);
	assert_int_equal(program_step(loader, true), -EPIPE);
	assert_non_null(strstr(dsa_why(loader), "died before epoch 0, step 0"));
	dsa_close(loader);
	actor_end(&server);
}
