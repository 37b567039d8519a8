/* A program with DSA_SHARE whose data set is one of several that are read as one. */
#include "loader/share/wire/id_map.h"
#include "tests/lib/actor.h"
#include "tests/lib/program.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LAST = ACTOR_COUNT - 1, MORE = 7, SEALS = F_SEAL_SHRINK | F_SEAL_WRITE };

static int teardown(void **state)
{
	unsetenv("DSA_SHARE");
	unsetenv("DSA_LOADER");
	return scratch_teardown(state);
}

/* The ring's samples are ours in the opposite order; the last MORE are not ours. */
static int make_numbers(int seals)
{
	int fd = memfd_create("numbers", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	for (uint32_t i = 0; i < ACTOR_COUNT + MORE; i++) {
		const struct id_map_entry own = {LAST - i, (i + 3) % ACTOR_NAMES};
		const struct id_map_entry none = {UINT32_MAX, UINT32_MAX};

		assert_int_equal(write(fd, i > LAST ? &none : &own, sizeof(own)),
				 sizeof(own));
	}
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals | F_SEAL_GROW), 0);
	return fd;
}

static struct actor actor_with_numbers(int seals)
{
	struct actor server = actor_of("s", actor_welcome, 0);

	server.numbers = make_numbers(seals);
	return server;
}

static void end(struct actor *server)
{
	close(server->numbers);
	actor_end(server);
}

static void check(const struct dsa_batch *batch)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		const unsigned char *data =
			(const unsigned char *)batch->data + i * batch->sample_bytes;
		uint32_t theirs = LAST - batch->samples[i];

		assert_int_equal(batch->labels[i], (theirs + 3) % ACTOR_NAMES);
		for (size_t at = 0; at < ACTOR_BYTES; at++)
			assert_int_equal(data[at], actor_pixel(theirs, at));
	}
}

TEST_WITH(samples_are_copied_and_have_their_own_numbers, scratch_setup, teardown)
{
	struct actor server = actor_with_numbers(SEALS);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader = program_joined(&server, &config, "");
	struct dsa_batch held[2];

	for (int epoch = 0; epoch < 2; epoch++) {
		for (uint32_t first = 0; first < ACTOR_COUNT; first += ACTOR_PIECE) {
			assert_true(actor_put(&server, first, 4, 0));
			assert_true(actor_put(&server, first + 4, 6, 0));
		}
		for (int i = 0; i < 8; i += 2) { /* what is held stays as it is */
			assert_int_equal(dsa_next(loader, &held[0]), 1);
			assert_int_equal(dsa_next(loader, &held[1]), 1);
			for (int j = 0; j < 2; j++) {
				check(&held[j]);
				program_note(&held[j], false);
				assert_int_equal(dsa_release(loader, &held[j]), 0);
			}
		}
	}
	assert_int_equal(dsa_next(loader, &held[0]), 0);
	program_once(0, 2);
	assert_int_equal(program_stats(loader).copied_bytes,
			 2 * ACTOR_COUNT * ACTOR_BYTES);
	dsa_close(loader);
	end(&server);
}

TEST_WITH(a_sample_of_others_is_an_error, scratch_setup, teardown)
{
	struct actor server = actor_with_numbers(SEALS);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader = program_joined(&server, &config, "");

	assert_true(actor_put(&server, LAST, 2, 0));
	assert_int_equal(program_step(loader, false), -EBADMSG);
	assert_non_null(strstr(dsa_why(loader), "not in synthetic"));
	dsa_close(loader);
	end(&server);
}

TEST_WITH(numbers_that_may_change_are_refused, scratch_setup, teardown)
{
	struct actor server = actor_with_numbers(F_SEAL_SHRINK);
	const struct dsa_config config = program_config();
	struct dsa_loader *loader;

	actor_start(&server);
	assert_int_equal(program_open(&config, "s", "alone=load", &loader), -EPROTO);
	actor_join(&server);
	assert_non_null(strstr(program.why, "no numbers of this data set"));
	end(&server);
}

TEST_WITH(a_death_is_told_where_nothing_else_is_asked_for, scratch_setup, teardown)
{
	static const char *const settings[] = {"", "takeover=30ms"};

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		struct actor server = actor_with_numbers(SEALS);
		const struct dsa_config config = program_config();
		struct dsa_loader *loader =
			program_joined(&server, &config, settings[i]);

		assert_true(actor_put(&server, 0, 10, 0));
		assert_int_equal(program_step(loader, false), 1);
		actor_die(&server);
		assert_int_equal(program_step(loader, false), -EPIPE);
		assert_non_null(strstr(dsa_why(loader), "epoch 0, step 1: resume"));
		dsa_close(loader);
		end(&server);
	}
}
