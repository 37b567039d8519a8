/* bcast_random_test.c - random schedules of a writer and readers. */
#include "loader/base/random.h"
#include "tests/lib/check_ring.h"
#include "tests/lib/test.h"
#include "tests/lib/trials.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

enum { JOBS = 5, HOLDS = 3, STEPS = 4000 };

struct player {
	struct check_reader job;
	struct check_held held[HOLDS];
	unsigned holds;
	uint32_t batch;
	bool dropped;
};

struct game {
	struct random random;
	struct check_writer writer;
	struct player players[JOBS];
	uint64_t epochs, drops, thrown, repeats;
};

static void join_game(struct game *game, struct player *player)
{
	static const uint32_t sizes[] = {1, 3, 8, 11};

	/* with the batch that is begun next: epochs begin where batches do */
	*player = (struct player){.batch = sizes[random_below(&game->random, 4)]};
	check_reader_join(&game->writer, &player->job,
			  bcast_reserved(game->writer.ring));
}

static void leave_game(struct game *game, struct player *player)
{
	bcast_detach(game->writer.ring, player->job.slot);
	game->epochs += player->job.epochs;
	check_reader_leave(&player->job);
	*player = (struct player){0};
}

static void play_release(struct game *game, struct player *player)
{
	unsigned which = random_below(&game->random, player->holds);

	assert_true(check_reader_release(&player->job, &player->held[which]));
	player->held[which] = player->held[--player->holds];
}

static void play_take(struct player *player)
{
	int result = check_reader_take(&player->job, player->batch, 0,
				       &player->held[player->holds]);

	if (player->dropped)
		assert_int_equal(result, -ENOLINK);
	else
		assert_true(result == 1 || result == -EAGAIN);
	player->holds += result == 1;
}

static void play_job(struct game *game)
{
	struct player *player = &game->players[random_below(&game->random, JOBS)];
	uint32_t what = random_below(&game->random, 200);

	if (player->job.reader == NULL) {
		if (what < 40)
			join_game(game, player);
	} else if (what == 0) {
		leave_game(game, player);
	} else if (what == 1 && !player->dropped) {
		bcast_drop(game->writer.ring, player->job.slot);
		player->dropped = true;
		game->drops++;
	} else if (what < 100 && player->holds < HOLDS) {
		play_take(player);
	} else if (player->holds > 0) {
		play_release(game, player);
	}
}

/* Another turn: what is in flight goes back; then repeats or batches thrown away. */
static void play_turn(struct game *game)
{
	struct check_writer *writer = &game->writer;

	check_writer_rewind(writer);
	if (random_below(&game->random, 2) == 0) {
		game->repeats +=
			bcast_repeat(writer->ring, random_below(&game->random, 30), 0);
		return;
	}
	for (uint32_t i = 0; i < 3 * CHECK_SLOTS; i++) {
		bool began = check_writer_begin(writer, true);

		game->thrown += began;
		if (!began && writer->open > 0)
			check_writer_finish(writer);
	}
	check_writer_rewind(writer);
}

static void play_writer(struct game *game)
{
	uint32_t what = random_below(&game->random, 100);

	if (what == 0)
		play_turn(game);
	else if (what < 50)
		check_writer_begin(&game->writer, false);
	else if (game->writer.open > 0)
		check_writer_finish(&game->writer);
}

static void play(uint64_t seed, struct game *total)
{
	static const uint32_t lengths[] = {5, 40, 64, 150};
	struct game game = {.random = {.state = seed}};

	game.writer = check_writer_of(96, lengths[random_below(&game.random, 4)]);
	for (int step = 0; step < STEPS; step++) {
		if (random_below(&game.random, 3) == 0)
			play_writer(&game);
		else
			play_job(&game);
	}
	for (int i = 0; i < JOBS; i++)
		if (game.players[i].job.reader != NULL)
			leave_game(&game, &game.players[i]);
	bcast_close(game.writer.ring);
	total->epochs += game.epochs;
	total->drops += game.drops;
	total->thrown += game.thrown;
	total->repeats += game.repeats;
}

TEST(random_schedules_deliver_each_sample_once_an_epoch)
{
	uint64_t games = getenv("SOAK") != NULL ? 20000 : TRIALS_OF(300);
	struct game total = {0};

	for (uint64_t seed = 1; seed <= games; seed++)
		play(seed, &total);
	assert_true(total.epochs > games && total.drops > games / 2 &&
		    total.thrown > games && total.repeats > games);
}
