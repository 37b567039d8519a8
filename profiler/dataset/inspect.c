/* inspect.c - looks at the files in several threads, and sums up what they are. */
#include "profiler/dataset/inspect.h"
#include "loader/base/bytes/array.h"
#include "loader/base/error.h"
#include "loader/base/thread_pool.h"
#include "loader/source.h"
#include "profiler/dataset/look.h"
#include "profiler/dataset/sample_file.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHARE = 64 }; /* files that a thread takes at once */

const double inspect_shares[INSPECT_QUANTILES] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};
const char *const inspect_sampling_names[INSPECT_SAMPLINGS] = {
	[JPEG_444] = "4:4:4", [JPEG_422] = "4:2:2", [JPEG_420] = "4:2:0",
	[JPEG_440] = "4:4:0", [JPEG_411] = "4:1:1", [JPEG_OTHER] = "other"};
_Static_assert(INSPECT_SAMPLINGS == (int)JPEG_SAMPLINGS, "a name for each sampling");

struct inspection {
	const struct inspect_config *config;
	const struct source *source;
	enum sample_kind kind;
	struct look *looks;
	atomic_uint_fast32_t next;
	atomic_bool over; /* no sample after this one can be read */

	pthread_mutex_t lock; /* guards what follows */
	uint32_t done, broken;
	size_t room;
	struct inspect_broken *list;
	int code;          /* ENOMEM: the result would not be whole */
	struct error lost; /* why it is over */
};

/* Called with the lock held. */
static void note_broken(struct inspection *inspection, uint32_t sample,
			const struct error *err)
{
	struct inspect_broken *list =
		array_grow(inspection->list, &inspection->room,
			   inspection->broken + 1ul, sizeof(*list));

	if (list == NULL) {
		inspection->code = ENOMEM;
		return;
	}
	inspection->list = list;
	list[inspection->broken].sample = sample;
	snprintf(list[inspection->broken].why, sizeof(list->why), "%s", err->message);
	inspection->broken++;
}

/* What comes of samples [from, to) when one can't be read. */
static void inspect_failed(struct inspection *inspection, uint32_t from, uint32_t to,
			   struct error *err)
{
	pthread_mutex_lock(&inspection->lock);
	if (sample_file_is_lost(inspection->source, from, err)) {
		if (!atomic_exchange(&inspection->over, true))
			inspection->lost = *err;
	} else {
		for (uint32_t i = from; i < to; i++)
			note_broken(inspection, i, err);
	}
	pthread_mutex_unlock(&inspection->lock);
}

/* Looks at a sample, of tokens at those of its file, too. Returns the next. */
static uint32_t look_at_one(struct inspection *inspection, struct looker *looker,
			    uint32_t from, uint32_t to)
{
	const struct inspect_config *config = inspection->config;
	struct look_windows windows = {inspection->source, from, to, config->length};
	struct look *look = &inspection->looks[from];
	struct error err = {0};
	int result;

	if (inspection->kind == SAMPLE_TOKENS) {
		result = looker_run_tokens(looker, &windows, look, &err);
		to = windows.to;
	} else {
		result = looker_run(looker, inspection->source, from, config->full,
				    look, &err);
		to = from + 1;
	}
	if (result < 0)
		inspect_failed(inspection, from, to, &err);
	return to;
}

static void look_at_some(struct inspection *inspection, struct looker *looker,
			 uint32_t from, uint32_t to)
{
	const struct inspect_config *config = inspection->config;

	for (uint32_t i = from; i < to && !atomic_load(&inspection->over);)
		i = look_at_one(inspection, looker, i, to);
	pthread_mutex_lock(&inspection->lock);
	inspection->done += to - from;
	if (config->progress != NULL)
		config->progress(config->arg, inspection->done,
				 source_count(inspection->source));
	pthread_mutex_unlock(&inspection->lock);
}

static void inspect_work(void *arg)
{
	struct inspection *inspection = arg;
	uint32_t count = source_count(inspection->source);
	struct looker *looker = looker_new(inspection->kind);

	while (looker != NULL && !atomic_load(&inspection->over)) {
		uint_fast32_t from = atomic_fetch_add(&inspection->next, SHARE);

		if (from >= count)
			break;
		look_at_some(inspection, looker, (uint32_t)from,
			     count - from < SHARE ? count : (uint32_t)from + SHARE);
	}
	looker_free(looker);
}

static int by_sample(const void *a, const void *b)
{
	uint32_t one = ((const struct inspect_broken *)a)->sample;
	uint32_t other = ((const struct inspect_broken *)b)->sample;

	return (one > other) - (one < other);
}

static int inspect_work_together(struct inspection *inspection, struct error *err)
{
	thread_pool_run(inspection->config->threads, inspect_work, inspection);
	if (atomic_load(&inspection->over)) {
		*err = inspection->lost;
		return -err->code;
	}
	if (inspection->done < source_count(inspection->source) ||
	    inspection->code != 0)
		return error_set(err, ENOMEM, "no memory to inspect %s",
				 inspection->config->dataset);
	if (inspection->broken > 0)
		qsort(inspection->list, inspection->broken, sizeof(*inspection->list),
		      by_sample);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

static void find_law(uint64_t *values, uint32_t count, struct inspect_law *law)
{
	double sum = 0;

	qsort(values, count, sizeof(*values), by_value);
	for (uint32_t i = 0; i < count; i++)
		sum += (double)values[i];
	law->mean = sum / count;
	for (unsigned i = 0; i < INSPECT_QUANTILES; i++)
		law->quantile[i] =
			values[(uint32_t)(inspect_shares[i] * (count - 1) + 0.5)];
}

static void count_kinds(const struct look *look, struct inspect *result)
{
	const struct jpeg_info *header = &look->header;

	result->readable++;
	result->gray += header->components == 1;
	result->cmyk += header->components == 4;
	result->progressive += header->progressive;
	result->restarts += header->restarts;
	if (header->components >= 3)
		result->sampling[header->sampling]++;
}

enum look_number {
	LOOK_SIZE,
	LOOK_WIDTH,
	LOOK_HEIGHT,
	LOOK_LENGTH_MS,
	LOOK_RATE,
	LOOK_CHANNELS,
	LOOK_FORMAT
};

static uint64_t look_number(const struct look *look, enum look_number which)
{
	const struct audio_info *audio = &look->audio;

	switch (which) {
	case LOOK_SIZE:
		return look->size;
	case LOOK_WIDTH:
		return look->header.width;
	case LOOK_HEIGHT:
		return look->header.height;
	case LOOK_LENGTH_MS:
		return (audio->frames * 1000 + audio->rate / 2) / audio->rate;
	case LOOK_RATE:
		return audio->rate;
	case LOOK_CHANNELS:
		return audio->channels;
	default:
		return audio->format;
	}
}

static bool look_readable(const struct look *look)
{
	return look->header.width > 0 || look->audio.rate > 0;
}

/* One number of all samples whose header could be read. Returns how many these are. */
static uint32_t inspect_numbers(const struct inspect *result, const struct look *looks,
				enum look_number which, uint64_t *values)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < result->count; i++)
		if (which == LOOK_SIZE || look_readable(&looks[i]))
			values[count++] = look_number(&looks[i], which);
	return count;
}

static void inspect_law_of(const struct inspect *result, const struct look *looks,
			   enum look_number which, uint64_t *values,
			   struct inspect_law *law)
{
	uint32_t count = inspect_numbers(result, looks, which, values);

	if (count > 0)
		find_law(values, count, law);
}

/* Which values there are. 0 or -ENOMEM. */
static int inspect_tally(const struct inspect *result, const struct look *looks,
			 enum look_number which, uint64_t *values,
			 struct inspect_tallies *tallies)
{
	uint32_t count = inspect_numbers(result, looks, which, values);
	size_t room = 0;

	if (count > 0)
		qsort(values, count, sizeof(*values), by_value);
	for (uint32_t i = 0; i < count; i++) {
		struct inspect_tally *list = tallies->list;

		if (i == 0 || values[i] != values[i - 1]) {
			list = array_grow(list, &room, tallies->count + 1ul,
					  sizeof(*list));
			if (list == NULL)
				return -ENOMEM;
			tallies->list = list;
			list[tallies->count++] = (struct inspect_tally){values[i], 0};
		}
		list[tallies->count - 1].count++;
	}
	return 0;
}

static int inspect_audio_of(const struct look *looks, uint64_t *values,
			    struct inspect *result)
{
	struct inspect_audio *audio = &result->audio;
	int status;

	inspect_law_of(result, looks, LOOK_LENGTH_MS, values, &audio->length_ms);
	for (uint32_t i = 0; i < result->count; i++) {
		if (looks[i].audio.rate == 0)
			continue;
		result->readable++;
		audio->seconds +=
			(double)looks[i].audio.frames / (double)looks[i].audio.rate;
	}
	status = inspect_tally(result, looks, LOOK_RATE, values, &audio->rates);
	if (status == 0)
		status = inspect_tally(result, looks, LOOK_CHANNELS, values,
				       &audio->channels);
	if (status == 0)
		status = inspect_tally(result, looks, LOOK_FORMAT, values,
				       &audio->formats);
	return status;
}

static void inspect_tokens_of(const struct look *looks, unsigned length,
			      struct inspect *result)
{
	struct inspect_tokens *tokens = &result->tokens;

	for (uint32_t i = 0; i < result->count; i++) {
		unsigned bits = source_size(result->source, i) * 8 / (length + 1);
		struct source_place place;
		char path[PATH_MAX];

		source_place(result->source, i, path, &place);
		tokens->files += place.offset == 0;
		tokens->tokens += length + (place.offset == 0);
		tokens->bits = i == 0 || tokens->bits == bits ? bits : 0;
		if (looks[i].largest > tokens->largest)
			tokens->largest = looks[i].largest;
	}
	result->bytes = source_facts(result->source)->bytes;
}

static int sum_up(const struct inspection *inspection, struct inspect *result,
		  struct error *err)
{
	const struct look *looks = inspection->looks;
	uint64_t *values = calloc(result->count, sizeof(*values));
	int status = 0;

	result->per_class = calloc(source_facts(result->source)->classes,
				   sizeof(*result->per_class));
	if (values == NULL || result->per_class == NULL) {
		status = -ENOMEM;
		goto out;
	}
	for (uint32_t i = 0; i < result->count; i++) {
		result->bytes += looks[i].size;
		result->per_class[source_label(result->source, i)]++;
		if (looks[i].header.width > 0)
			count_kinds(&looks[i], result);
	}
	inspect_law_of(result, looks, LOOK_SIZE, values, &result->size);
	if (result->kind == SAMPLE_AUDIO) {
		status = inspect_audio_of(looks, values, result);
	} else if (result->kind == SAMPLE_TOKENS) {
		inspect_tokens_of(looks, inspection->config->length, result);
	} else {
		inspect_law_of(result, looks, LOOK_WIDTH, values, &result->width);
		inspect_law_of(result, looks, LOOK_HEIGHT, values, &result->height);
	}
out:
	free(values);
	return status == 0 ? 0
			   : error_set(err, ENOMEM, "no memory to sum up %s",
				       inspection->config->dataset);
}

static int inspect_files(struct inspection *inspection, struct inspect *result,
			 struct error *err)
{
	int status;

	inspection->looks = calloc(result->count, sizeof(*inspection->looks));
	if (inspection->looks == NULL)
		return error_set(err, ENOMEM, "no memory to inspect %u files",
				 result->count);
	pthread_mutex_init(&inspection->lock, NULL);
	status = inspect_work_together(inspection, err);
	pthread_mutex_destroy(&inspection->lock);
	if (status != 0)
		return status;
	result->broken = inspection->broken;
	return sum_up(inspection, result, err);
}

int inspect_run(const struct inspect_config *config, struct inspect *result,
		struct error *err)
{
	struct inspection inspection = {.config = config};
	const struct source_config sources = {
		.threads = config->threads,
		.relist = config->relist,
		.prep = config->prep,
		.length = config->length,
		.token_bits = config->token_bits,
		.image_feature = config->image_feature,
		.label_feature = config->label_feature,
	};
	struct error own = {0};
	int status;

	*result = (struct inspect){0};
	result->source =
		sample_source_open(config->dataset, &sources, &inspection.kind, &own);
	result->kind = inspection.kind;
	if (result->source == NULL) {
		status = -own.code;
		goto out;
	}
	inspection.source = result->source;
	result->count = source_count(result->source);
	result->classes = source_facts(result->source)->classes;
	status = inspect_files(&inspection, result, &own);
	result->first = inspection.list;
	free(inspection.looks);
	if (status != 0)
		inspect_free(result);
out:
	if (status != 0 && err != NULL)
		*err = own;
	return status;
}

void inspect_free(struct inspect *result)
{
	source_close(result->source);
	free(result->per_class);
	free(result->first);
	free(result->audio.rates.list);
	free(result->audio.channels.list);
	free(result->audio.formats.list);
	*result = (struct inspect){0};
}
