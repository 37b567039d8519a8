#include "tests/lib/program.h"
#include "tests/lib/actor.h"
#include "tests/lib/test.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct program program;

struct dsa_config program_config(void)
{
	return (struct dsa_config){.dataset = actor_dataset,
				   .batch = PROGRAM_BATCH,
				   .epochs = 2,
				   .size = ACTOR_SIDE,
				   .workers = 1,
				   .type = DSA_UINT8};
}

void program_settings(const char *path, const char *settings)
{
	setenv("DSA_SHARE", path, 1);
	setenv("DSA_LOADER", settings, 1);
}

int program_begin(const struct dsa_config *config, struct dsa_loader **loader)
{
	program.why[0] = '\0';
	program.count = 0;
	*loader = NULL;
	return dsa_open(config, loader, program.why);
}

int program_open(const struct dsa_config *config, const char *path,
		 const char *settings, struct dsa_loader **loader)
{
	program_settings(path, settings);
	return program_begin(config, loader);
}

struct dsa_loader *program_joined(struct actor *actor, const struct dsa_config *config,
				  const char *settings)
{
	struct dsa_loader *loader;
	int result;

	actor_start(actor);
	result = program_open(config, actor->path, settings, &loader);
	actor_join(actor);
	if (result != 0)
		fail_msg("%s", program.why);
	return loader;
}

void program_note(const struct dsa_batch *batch, bool actors)
{
	for (uint32_t i = 0; i < batch->count; i++) {
		const unsigned char *data =
			(const unsigned char *)batch->data + i * batch->sample_bytes;

		assert_true(batch->samples[i] < ACTOR_COUNT);
		if (actors)
			assert_int_equal(batch->labels[i],
					 batch->samples[i] % ACTOR_NAMES);
		assert_true(!actors || batch->sample_bytes == ACTOR_BYTES);
		for (size_t at = 0; actors && at < ACTOR_BYTES; at++)
			assert_int_equal(data[at], actor_pixel(batch->samples[i], at));
		assert_true(program.count < PROGRAM_MOST);
		program.epoch[program.count] = batch->epoch;
		program.step[program.count] = batch->step;
		program.sample[program.count++] = batch->samples[i];
	}
}

int program_step(struct dsa_loader *loader, bool actors)
{
	struct dsa_batch batch;
	int result = dsa_next(loader, &batch);

	if (result != 1)
		return result;
	program_note(&batch, actors);
	assert_int_equal(dsa_release(loader, &batch), 0);
	return 1;
}

void program_steps(struct dsa_loader *loader, unsigned count)
{
	while (count-- > 0)
		assert_int_equal(program_step(loader, true), 1);
}

void program_once(uint64_t first_epoch, uint64_t epochs)
{
	assert_int_equal(program.count, epochs * ACTOR_COUNT);
	for (uint64_t epoch = 0; epoch < epochs; epoch++) {
		bool seen[ACTOR_COUNT] = {false};

		for (uint32_t i = 0; i < ACTOR_COUNT; i++) {
			uint64_t at = epoch * ACTOR_COUNT + i;

			assert_int_equal(program.epoch[at], first_epoch + epoch);
			assert_false(seen[program.sample[at]]);
			seen[program.sample[at]] = true;
			assert_true(i == 0 ? program.step[at] == 0
					   : program.step[at] - program.step[at - 1] <=
						     1);
		}
	}
}

struct dsa_stats program_stats(const struct dsa_loader *loader)
{
	struct dsa_stats stats;

	assert_int_equal(dsa_stats(loader, &stats), 0);
	return stats;
}
