/* A program with DSA_SHARE: how it joins a loader, and what it gets. SLEEPS while there
 * is none. */
#include "loader/base/error.h"
#include "tests/lib/actor.h"
#include "tests/lib/inherited.h"
#include "tests/lib/nomem.h"
#include "tests/lib/program.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- joining ---- */

static int teardown(void **state)
{
	unsetenv("DSA_SHARE");
	unsetenv("DSA_LOADER");
	return scratch_teardown(state);
}

TEST_WITH(an_unchanged_program_gets_the_shared_batches, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_welcome, 0);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader = program_joined(&server, &config, "");
	struct dsa_stats stats;

	assert_int_equal(server.hello.version, PROTOCOL_VERSION);
	assert_int_equal(server.hello.batch, PROGRAM_BATCH);
	assert_string_equal(server.hello.prep, "image");
	assert_int_equal(server.hello.size, 4);
	assert_int_equal(server.hello.type, DSA_UINT8);
	assert_int_equal(server.hello.layout, DSA_NCHW);
	assert_string_equal(server.hello.dataset, actor_dataset);
	assert_int_equal(server.hello.resumes, 0);
	for (int epoch = 0; epoch < 2; epoch++) {
		actor_put_all(&server, 0, ACTOR_COUNT);
		program_steps(loader, 8);
	}
	assert_int_equal(program_step(loader, true), 0);
	assert_int_equal(program_step(loader, true), 0);
	program_once(0, 2);
	stats = program_stats(loader);
	assert_int_equal(stats.samples, 2 * ACTOR_COUNT);
	assert_int_equal(stats.batches, 16);
	assert_int_equal(stats.skipped, 0);
	assert_int_equal(stats.epoch, 2);
	assert_int_equal(stats.step, 0);
	assert_int_equal(stats.steps_per_epoch, 8);
	assert_int_equal(stats.dataset_samples, ACTOR_COUNT);
	assert_int_equal(stats.classes, ACTOR_NAMES);
	assert_int_equal(stats.workers, 3);
	assert_int_equal(stats.shared, 1);
	assert_int_equal(stats.copied_bytes, 0);
	assert_string_equal(dsa_class(loader, 3), "class 3");
	assert_null(dsa_class(loader, ACTOR_NAMES));
	dsa_close(loader);
	actor_end(&server);
}

TEST_WITH(who_has_to_wait_waits, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_welcome_late, 0);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader = program_joined(&server, &config, "");

	actor_put_all(&server, 0, ACTOR_COUNT);
	program_steps(loader, 8);
	dsa_close(loader);
	actor_end(&server);
}

static void expect_refusal(struct actor *server, const char *settings, int result,
			   const char *says)
{
	const struct dsa_config config = program_config();
	struct dsa_loader *loader;

	actor_start(server);
	assert_int_equal(program_open(&config, server->path, settings, &loader),
			 result);
	actor_join(server);
	assert_null(loader);
	assert_null(strchr(program.why, '\n'));
	if (strstr(program.why, says) == NULL)
		fail_msg("'%s' does not say '%s'", program.why, says);
	actor_end(server);
}

TEST_WITH(what_does_not_fit_is_refused_and_named, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_refuse, 0);

	expect_refusal(&server, "alone=load", -EACCES, "there are 64 jobs");
	server = actor_of("s", actor_welcome, 0);
	server.welcome.version = 9;
	expect_refusal(&server, "alone=load", -EPROTO,
		       "speaks version 9, this program 6");
	server = actor_of("s", actor_welcome, 0);
	strcpy(server.welcome.dataset, "/data/cats");
	expect_refusal(&server, "alone=load", -EINVAL,
		       "reads /data/cats, this program wants synthetic:60");
	server = actor_of("s", actor_welcome, 0);
	strcpy(server.welcome.output, "float32 NHWC 4");
	expect_refusal(&server, "alone=load", -EINVAL,
		       "delivers float32 NHWC 4, this program wants uint8 NCHW 4");
	server = actor_of("s", actor_welcome, 0);
	strcpy(server.welcome.features, "image, label");
	expect_refusal(&server, "image_feature=image,label_feature=fine", -EINVAL,
		       "reads the features 'image, label' of records, this program "
		       "wants 'image, fine'");
	server = actor_of("s", actor_welcome, 0);
	server.welcome.epoch_places = 0;
	expect_refusal(&server, "", -EPROTO, "make no sense");
	server = actor_of("s", actor_welcome, 0);
	server.welcome.remaining = 0;
	expect_refusal(&server, "", -EPROTO, "make no sense");
	server = actor_of("s", actor_welcome, 0);
	server.welcome.classes = ACTOR_NAMES + 1;
	expect_refusal(&server, "", -EPROTO, "names of classes");
}

TEST_WITH(a_loader_that_is_none_is_told_from_one_that_left, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_hang_up, 0);

	expect_refusal(&server, "", -EPIPE, "ended while this program joined");
	server = actor_of("s", actor_wait_and_hang_up, 0);
	expect_refusal(&server, "", -EPIPE, "ended while this program joined");
	server = actor_of("s", actor_talk_nonsense, 0);
	expect_refusal(&server, "", -EPROTO, "is no shared loader");
	server = actor_of("s", actor_welcome_empty_handed, 0);
	expect_refusal(&server, "", -EBADMSG, "");
}

TEST_WITH(a_loader_that_is_not_there_is_told_how_to_start, scratch_setup, teardown)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "dead"};
	int dead = socket(AF_UNIX, SOCK_STREAM, 0);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader;
	char path[200];

	assert_int_equal(program_open(&config, "nowhere", "", &loader), -ENOENT);
	assert_non_null(strstr(program.why, "nowhere: start one: dsa serve"));
	assert_int_equal(bind(dead, (struct sockaddr *)&address, sizeof(address)), 0);
	close(dead);
	assert_int_equal(program_open(&config, "dead", "", &loader), -ECONNREFUSED);
	assert_non_null(strstr(program.why, "no shared loader"));
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(program_open(&config, path, "alone=load", &loader),
			 -ENAMETOOLONG);
	assert_int_equal(program_open(&config, "nowhere", "alone=load", &loader), 0);
	while (program_step(loader, false) == 1)
		;
	program_once(0, 2);
	assert_int_equal(program_stats(loader).shared, 0);
	dsa_close(loader);
}

/* Whoever serves sees what is trained on, and is believed. */
TEST_WITH(a_loader_of_another_user_is_refused, scratch_setup, teardown)
{
	const struct dsa_config config = program_config();
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "s"};
	struct dsa_loader *loader;
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), status;
	pid_t child;

	if (geteuid() != 0)
		skip();
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)),
			 0);
	child = fork();
	if (child == 0)
		_exit(setuid(65534) == 0 && listen(listener, 1) == 0 ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(program_open(&config, "s", "alone=load", &loader), -EPERM);
	assert_non_null(strstr(program.why, "is user 65534's"));
	close(listener);
}

TEST_WITH(what_a_shared_loader_can_not_do_is_refused, scratch_setup, teardown)
{
	struct dsa_config config = program_config();
	struct dsa_loader *loader;

	config.world = 2;
	assert_int_equal(program_open(&config, "nowhere", "", &loader), -EINVAL);
	assert_non_null(strstr(program.why, "no ranks"));
	config = program_config();
	config.start_step = 3;
	assert_int_equal(program_open(&config, "nowhere", "", &loader), -EINVAL);
	assert_non_null(strstr(program.why, "start_step"));
}

/* ---- batches ---- */

TEST_WITH(epochs_are_numbered_as_the_program_asks, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_welcome, 0);
	struct dsa_config config = program_config();
	struct dsa_loader *loader;
	struct dsa_batch batch;

	config.start_epoch = 5;
	config.epochs = 1;
	config.drop_last = 1;
	loader = program_joined(&server, &config, "");
	actor_put_all(&server, 0, ACTOR_COUNT);
	assert_int_equal(program_stats(loader).epoch, 5);
	assert_int_equal(program_stats(loader).steps_per_epoch, 7);
	for (uint64_t i = 0; i < 7; i++) {
		assert_int_equal(dsa_next(loader, &batch), 1);
		assert_int_equal(batch.epoch, 5);
		assert_int_equal(batch.step, i);
		assert_int_equal(batch.number, i);
		assert_int_equal(batch.count, PROGRAM_BATCH);
		assert_int_equal(dsa_release(loader, &batch), 0);
	}
	assert_int_equal(dsa_next(loader, &batch), 0);
	assert_int_equal(program_stats(loader).epoch, 6);
	dsa_close(loader);
	actor_end(&server);
}

TEST_WITH(batches_may_be_held_and_given_back_in_any_order, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_welcome, 0);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader = program_joined(&server, &config, "prefetch=2");
	struct dsa_batch held[3], more;

	actor_put_all(&server, 0, ACTOR_COUNT);
	for (int i = 0; i < 3; i++)
		assert_int_equal(dsa_next(loader, &held[i]), 1);
	assert_int_equal(dsa_next(loader, &more), -EBUSY);
	assert_true(held[0].slot != held[1].slot && held[1].slot != held[2].slot);
	assert_int_equal(dsa_release(loader, &held[1]), 0);
	assert_int_equal(dsa_release(loader, &held[1]), -EINVAL);
	assert_int_equal(dsa_next(loader, &more), 1);
	program_note(&held[0], true);
	program_note(&held[2], true);
	program_note(&more, true);
	assert_int_equal(bcast_tail(server.ring), 0);
	assert_int_equal(dsa_release(loader, &held[0]), 0);
	more.slot = 77;
	assert_int_equal(dsa_release(loader, &more), -EINVAL);
	dsa_close(loader);
	actor_end(&server);
}

/* What it holds is all the room that there is: to wait would be for ever. */
TEST_WITH(a_program_does_not_wait_for_itself, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_welcome, 0);
	struct dsa_config config = program_config();
	struct dsa_loader *loader;
	struct dsa_batch held[8], more;
	uint32_t sample = 0, count = 0;
	int result;

	config.epochs = 0;
	loader = program_joined(&server, &config, "prefetch=64,batch=60");
	while (actor_put(&server, sample, ACTOR_PIECE, 0))
		sample = (sample + ACTOR_PIECE) % ACTOR_COUNT;
	while ((result = dsa_next(loader, &held[count])) == 1)
		count++;
	assert_int_equal(result, -EBUSY);
	assert_true(count >= 1);
	assert_int_equal(dsa_release(loader, &held[0]), 0);
	while (actor_put(&server, sample, ACTOR_PIECE, 0))
		sample = (sample + ACTOR_PIECE) % ACTOR_COUNT;
	assert_int_equal(dsa_next(loader, &more), 1);
	dsa_close(loader);
	actor_end(&server);
}

TEST_WITH(a_program_that_has_all_its_epochs_is_in_nobodys_way, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_welcome, 0);
	struct dsa_config config = program_config();
	struct dsa_loader *loader;
	struct dsa_batch batch;
	char byte;

	config.epochs = 1;
	loader = program_joined(&server, &config, "batch=60");
	actor_put_all(&server, 0, ACTOR_COUNT);
	assert_int_equal(dsa_next(loader, &batch), 1);
	program_note(&batch, true);
	assert_int_equal(recv(server.peer, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(dsa_release(loader, &batch), 0);
	assert_int_equal(recv(server.peer, &byte, 1, 0), 0); /* it left */
	assert_int_equal(program_step(loader, true), 0);
	program_once(0, 1);
	assert_int_equal(program_stats(loader).epoch, 1);
	assert_string_equal(dsa_class(loader, 9), "class 9");
	dsa_close(loader);
	actor_end(&server);
}

TEST_WITH(voids_shorten_an_epoch_and_are_counted, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_welcome, 0);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader = program_joined(&server, &config, "batch=20");
	struct dsa_stats stats;

	actor_put(&server, 0, 9, 1);
	actor_put_all(&server, 10, 50);
	program_steps(loader, 2);
	assert_true(actor_put(&server, 50, 9, 0));
	assert_true(actor_put(&server, 59, 0, 1)); /* the last place of all */
	program_steps(loader, 1);
	actor_put_all(&server, 0, ACTOR_COUNT);
	program_steps(loader, 3);
	stats = program_stats(loader);
	assert_int_equal(stats.skipped, 2);
	assert_int_equal(stats.samples, 58 + ACTOR_COUNT);
	assert_int_equal(stats.epoch, 2);
	assert_int_equal(program.epoch[57], 0);
	assert_int_equal(program.epoch[58], 1);
	assert_true(stats.copied_bytes >= 20 * ACTOR_BYTES); /* round a void */
	dsa_close(loader);
	actor_end(&server);
}

TEST_WITH(an_epoch_that_ends_with_voids_ends, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_welcome, 0);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader = program_joined(&server, &config, "batch=10");

	actor_put_all(&server, 0, 50);
	program_steps(loader, 5);
	assert_true(
		actor_put(&server, 50, 0, 10)); /* nothing of the last ten is good */
	actor_put_all(&server, 0, 50);
	program_steps(loader, 5);
	assert_int_equal(program.epoch[50], 1);
	assert_int_equal(program.step[50], 0);
	assert_true(actor_put(&server, 50, 0, 10));
	assert_int_equal(program_step(loader, true), 0);
	assert_int_equal(program_stats(loader).skipped, 10); /* the same ones */
	dsa_close(loader);
	actor_end(&server);
}

/* It begins in the midst of a batch of the loader's: its first epoch is that longer. */
TEST_WITH(places_that_went_to_others_before_are_not_skipped, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_welcome, 0);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader;

	server.welcome.remaining = ACTOR_COUNT + 2;
	loader = program_joined(&server, &config, "batch=30,on_error=fail");
	actor_put(&server, 0, 0, 2);
	actor_put_all(&server, 0, ACTOR_COUNT);
	program_steps(loader, 2);
	actor_put_all(&server, 0, 30);
	program_steps(loader, 1);
	assert_int_equal(program_stats(loader).skipped, 0);
	assert_true(actor_put(&server, 30, 9, 1));
	actor_put_all(&server, 40, ACTOR_COUNT);
	assert_int_equal(program_step(loader, true), -EBADMSG);
	assert_non_null(strstr(dsa_why(loader), "epoch 1, step 1"));
	assert_int_equal(program_step(loader, true), -EBADMSG);
	dsa_close(loader);
	actor_end(&server);
}

TEST_WITH(a_batch_that_changes_is_found, scratch_setup, teardown)
{
	const struct bcast_config checked = {.places = ACTOR_PLACES,
					     .slots = 1,
					     .batch = ACTOR_PIECE,
					     .sample_bytes = ACTOR_BYTES,
					     .audit = true};
	struct actor server = actor_of("s", actor_welcome, 0);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader;
	struct dsa_batch batch;
	unsigned char *data;

	bcast_close(server.ring);
	server.ring = bcast_open(&checked, NULL);
	server.welcome.audit = 1;
	loader = program_joined(&server, &config, "");
	actor_put_all(&server, 0, ACTOR_PIECE);
	data = bcast_sink(server.ring)->ops->sample(bcast_sink(server.ring), 0, 7);
	assert_int_equal(dsa_next(loader, &batch), 1);
	data[5] ^= 1;
	assert_int_equal(dsa_release(loader, &batch), -EBADMSG);
	assert_non_null(strstr(dsa_why(loader), "epoch 0, step 0 changed"));
	actor_put_all(&server, 10, 2 * ACTOR_PIECE);
	data = bcast_sink(server.ring)->ops->sample(bcast_sink(server.ring), 0, 0);
	data[5] ^= 1;
	assert_int_equal(dsa_next(loader, &batch), -EBADMSG);
	assert_true(strlen(dsa_why(loader)) > 0);
	dsa_close(loader);
	actor_end(&server);
}

TEST_WITH(a_forked_child_may_only_close, scratch_setup, teardown)
{
	struct actor server = actor_of("s", actor_welcome, 0);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader = program_joined(&server, &config, "");
	struct dsa_batch held, batch;
	int status;
	pid_t child;

	actor_put_all(&server, 0, ACTOR_COUNT);
	assert_int_equal(dsa_next(loader, &held), 1);
	child = fork();
	if (child == 0) {
		int result = dsa_next(loader, &batch);

		dsa_close(loader);
		_exit(result == -EOWNERDEAD && !inherited(held.data) ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(dsa_release(loader, &held), 0);
	program_steps(loader, 7);
	dsa_close(loader);
	actor_end(&server);
}

/* ---- memory ---- */

TEST_WITH(memory_that_runs_out_is_told, scratch_setup, teardown)
{
	const struct dsa_config config = program_config();
	struct dsa_loader *loader = NULL;
	unsigned nth = 0;

	while (loader == NULL) {
		struct actor server = actor_of("s", actor_welcome_who_comes, 0);
		int result;

		actor_start(&server);
		setenv("DSA_SHARE", "s", 1);
		nomem_at(++nth);
		result = dsa_open(&config, &loader, program.why);
		nomem_at(0);
		assert_true(result == 0 || result == -ENOMEM);
		shutdown(server.listener, SHUT_RDWR);
		actor_join(&server);
		actor_end(&server);
		assert_true(nth < 100);
	}
	assert_true(nth > 8);
	dsa_close(loader);
}
