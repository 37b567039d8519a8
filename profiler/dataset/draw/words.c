/*
 * words.c - files of tokens whose frequencies are as those of a language's: the nth most
 * frequent one is as frequent as 1 / n (Zipf).
 *
 * The class decides which tokens are the frequent ones. There are as many as GPT-2 has in
 * 16 bits, as Llama 3 in 32.
 */
#include "loader/base/random.h"
#include "profiler/dataset/draw/draw.h"
#include "profiler/dataset/draw/size_law.h"

#include <endian.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct words {
	struct draw_config config;
	size_t bytes; /* of a token */
	uint32_t vocabulary;
	uint8_t *file;
};

static void words_name(unsigned label, char name[DRAW_NAME])
{
	snprintf(name, DRAW_NAME, "topic-%02u", label);
}

static size_t words_count(const struct words *words, double bytes)
{
	size_t count = (size_t)(bytes / (double)words->bytes);

	return count > 0 ? count : 1;
}

static void *words_open(const struct draw_config *config, size_t bytes,
			uint32_t vocabulary)
{
	struct words *words = malloc(sizeof(*words));

	if (words == NULL)
		return NULL;
	*words = (struct words){
		.config = *config, .bytes = bytes, .vocabulary = vocabulary};
	words->file =
		malloc(bytes * words_count(words, size_law_most(config->size_mean)));
	if (words->file != NULL)
		return words;
	free(words);
	return NULL;
}

static void *words_open_16(const struct draw_config *config)
{
	return words_open(config, sizeof(uint16_t), 50257);
}

static void *words_open_32(const struct draw_config *config)
{
	return words_open(config, sizeof(uint32_t), 128256);
}

static void words_close(void *state)
{
	struct words *words = state;

	if (words == NULL)
		return;
	free(words->file);
	free(words);
}

static const uint8_t *words_take(void *state, uint32_t number, size_t *size)
{
	struct words *words = state;
	const struct draw_config *config = &words->config;
	struct random random = {random_seed(config->seed, number, 1)};
	uint64_t label = number % config->classes;
	uint32_t most = words->vocabulary;
	uint32_t first = (uint32_t)(label * most / config->classes);
	double range = log1p(most);
	size_t count =
		words_count(words, size_law(config->size_mean, config->seed, number));

	for (size_t i = 0; i < count; i++) {
		uint32_t rank = (uint32_t)exp(range * random_unit(&random)) - 1;
		uint32_t token = htole32((first + rank % most) % most);

		memcpy(words->file + i * words->bytes, &token, words->bytes);
	}
	*size = count * words->bytes;
	return words->file;
}

const struct draw draw_tokens_16 = {
	.ending = "u16",
	.name = words_name,
	.open = words_open_16,
	.close = words_close,
	.take = words_take,
};

const struct draw draw_tokens_32 = {
	.ending = "u32",
	.name = words_name,
	.open = words_open_32,
	.close = words_close,
	.take = words_take,
};
