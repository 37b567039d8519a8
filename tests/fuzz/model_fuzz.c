/*
 * model_fuzz.c - a run.json may hold anything: what it can't tell is refused in one line,
 * and what is predicted from it is a number.
 */
#include "loader/base/error.h"
#include "models/predict/model.h"
#include "profiler/profile_prediction.h"
#include "reports/json/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

static bool is_number(uint8_t byte)
{
	return byte != '\0' && strchr("0123456789.-+e", byte) != NULL;
}

/* Most bytes of a result are names and brackets: other numbers are what is wanted. */
static size_t change_number(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	static const char *const numbers[] = {
		"0",     "1",          "2",
		"-1",    "3",          "1e-300",
		"1e300", "4294967295", "9223372036854775807",
		"0.5",   "1e-9",       "100000",
		"1e12"};
	const char *number =
		numbers[seed / 7919 % (sizeof(numbers) / sizeof(*numbers))];
	size_t from = size == 0 ? 0 : seed % size, to, length = strlen(number);

	while (from < size &&
	       !(is_number(data[from]) && data[from - (from > 0)] == ':'))
		from++;
	for (to = from; to < size && is_number(data[to]); to++)
		;
	if (from == size || size - (to - from) + length > most)
		return LLVMFuzzerMutate(data, size, most);
	memmove(data + from + length, data + to, size - to);
	memcpy(data + from, number, length);
	return size - (to - from) + length;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
	return seed % 16 == 0 ? LLVMFuzzerMutate(data, size, most)
			      : change_number(data, size, most, seed);
}

static void require(bool fact)
{
	if (!fact)
		abort();
}

static void check(const struct profile_prediction *prediction)
{
	const struct interval *rate = &prediction->per_s;

	require(!isinf(rate->value) && !isinf(rate->low) && !isinf(rate->high));
	require(isnan(rate->value) || rate->value >= 0);
	require(isnan(rate->value) || isnan(rate->low) ||
		(rate->low <= rate->value && rate->value <= rate->high));
	require(isnan(prediction->hit_ratio) ||
		(prediction->hit_ratio >= 0 && prediction->hit_ratio <= 1));
}

static void ask(struct profile *profile, const struct model *model,
		const struct profile_change *change)
{
	struct profile_prediction *made = profile_add_prediction(profile);
	struct error err = {0};

	if (made == NULL)
		return;
	if (model_predict(model, change, made, &err) == 0)
		check(made);
	else
		require(err.message[0] != '\0' && strchr(err.message, '\n') == NULL);
}

static void ask_some(struct profile *profile, const struct model *model)
{
	struct profile_change change = PROFILE_NO_CHANGE;

	change.cores = 3;
	change.batch = 16;
	change.jobs = 2;
	ask(profile, model, &change);
	change = PROFILE_NO_CHANGE;
	change.cache_share = .5;
	change.cache_policy.id = CACHE_LRU;
	change.gpu_speed = 2;
	change.storage_latency_s = .001;
	change.jobs = 2;
	change.job_speed[0] = 1;
	change.job_speed[1] = .5;
	change.share = true;
	ask(profile, model, &change);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile profile;
	struct error err = {0};
	struct model *model;

	profile_init(&profile);
	if (json_result_read((const char *)data, size, &profile, &err) < 0)
		return 0;
	model = model_new(&profile, &err);
	if (model != NULL) {
		ask_some(&profile, model);
	} else {
		require(err.message[0] != '\0' && strchr(err.message, '\n') == NULL);
	}
	model_free(model);
	profile_free(&profile);
	return 0;
}
