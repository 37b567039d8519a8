/* bench_recipes.c - prepares some samples in several ways, and compares what each took. */
#include "profiler/bench/bench_recipes.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/math/student.h"
#include "loader/base/random.h"
#include "loader/base/scratch.h"
#include "loader/source.h"
#include "profiler/dataset/convert.h"
#include "profiler/dataset/sample_file.h"
#include "profiler/dataset/shrink.h"
#include "profiler/profile_prediction.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	LEAST = 8,   /* samples that show their scatter */
	MOST = 256,  /* samples */
	TRIED = 512, /* samples, those that can't be prepared too */
	WAYS = 7,
};

/* A way to prepare a sample: of what, and into what. */
struct way {
	struct profile_change change; /* none: as the run does */
	struct prep *prep;
	struct prep_worker *worker;
	double stored;       /* bytes, all samples together */
	double cpu_s[MOST];  /* of each sample */
	struct scratch last; /* input of the sample before, */
	size_t last_size;    /* so many bytes; 0: there was none */
};

struct recipes {
	const struct bench_recipes *config;
	struct source *source;
	struct way ways[WAYS]; /* the first: as the run does */
	size_t way_count, sample_count;

	struct prep *decode;
	struct prep_worker *decoder;
	struct shrinker *shrinker;
	struct sample_bytes bytes;
	uint8_t *canvas;
	void *out;
};

/* ---- the ways ---- */

static int recipes_add_way(struct recipes *recipes, const struct profile_change *change,
			   struct error *err)
{
	struct way *way = &recipes->ways[recipes->way_count];
	struct prep_config config = recipes->config->prep;

	if (change->decoded)
		config.op = "canvas";
	if (change->type.id >= 0)
		config.type = (enum prep_type)change->type.id;
	way->change = *change;
	way->prep = prep_open(&config, err);
	if (way->prep == NULL)
		return -EINVAL;
	recipes->way_count++;
	way->worker = prep_worker_new(way->prep);
	return way->worker == NULL ? -ENOMEM : 0;
}

/* Smaller: to what evaluation resizes to before its crop, and to half as much again. */
static int recipes_add_ways(struct recipes *recipes, struct error *err)
{
	const struct prep_config *prep = &recipes->config->prep;
	struct profile_change changes[WAYS];
	size_t count = 0;
	int result = 0;

	for (size_t i = 0; i < WAYS; i++)
		changes[i] = PROFILE_NO_CHANGE;
	count++; /* the run's */
	changes[count++].resize = prep->resize;
	changes[count++].resize = prep->resize * 3 / 2;
	changes[count++].decoded = true;
	changes[count].resize = prep->resize;
	changes[count++].decoded = true;
	if (prep->type == PREP_F32)
		changes[count++].type.id = PREP_F16;
	if (prep->type != PREP_U8)
		changes[count++].type.id = PREP_U8;
	for (size_t i = 0; result == 0 && i < count; i++)
		result = recipes_add_way(recipes, &changes[i], err);
	return result;
}

/* Of a sample; the run's own are the largest. */
static void *recipes_room(const struct prep *prep)
{
	return aligned_alloc(64, (prep_sample_bytes(prep) + 63) / 64 * 64);
}

static int recipes_open(struct recipes *recipes, struct error *err)
{
	const struct bench_recipes *config = recipes->config;
	const struct source_config indexing = {.threads = 0};
	struct prep_config decode = config->prep;
	int result;

	recipes->source = source_open(config->dataset, &indexing, err);
	if (recipes->source == NULL)
		return -EIO;
	result = recipes_add_ways(recipes, err);
	if (result < 0)
		return result;
	decode.op = "decoded";
	recipes->decode = prep_open(&decode, err);
	if (recipes->decode != NULL)
		recipes->decoder = prep_worker_new(recipes->decode);
	recipes->shrinker = shrinker_new();
	if (recipes->decoder != NULL)
		recipes->canvas = recipes_room(recipes->decode);
	recipes->out = recipes_room(recipes->ways[0].prep);
	if (recipes->decoder == NULL || recipes->shrinker == NULL ||
	    recipes->canvas == NULL || recipes->out == NULL)
		return error_sys(err, ENOMEM, "measuring prep of other inputs");
	return 0;
}

static void recipes_close(struct recipes *recipes)
{
	for (size_t i = 0; i < recipes->way_count; i++) {
		scratch_fini(&recipes->ways[i].last);
		prep_worker_free(recipes->ways[i].worker);
		prep_close(recipes->ways[i].prep);
	}
	prep_worker_free(recipes->decoder);
	prep_close(recipes->decode);
	shrinker_free(recipes->shrinker);
	sample_bytes_fini(&recipes->bytes);
	free(recipes->canvas);
	free(recipes->out);
	source_close(recipes->source);
}

/* ---- samples ---- */

/* The input of a way: what would be stored. */
static int recipes_input(struct recipes *recipes, const struct way *way,
			 struct shrunk *input)
{
	int result = 0;

	*input = (struct shrunk){recipes->bytes.bytes, recipes->bytes.size, true};
	if (way->change.resize > 0)
		result = shrinker_run(recipes->shrinker, recipes->bytes.bytes,
				      recipes->bytes.size, way->change.resize,
				      CONVERT_QUALITY, input, NULL);
	if (result < 0 || !way->change.decoded)
		return result;
	result = prep_run(recipes->decoder, input->bytes, input->size, 0,
			  recipes->canvas, NULL);
	*input = (struct shrunk){recipes->canvas, prep_sample_bytes(recipes->decode),
				 false};
	return result;
}

/* Bytes that are stored of it: of a decoded picture its pixels alone. */
static double recipes_bytes(const struct recipes *recipes, const struct way *way,
			    const struct shrunk *input)
{
	return way->change.decoded ? 3. * (double)prep_pixels(recipes->decoder)
				   : (double)input->size;
}

/* In a run one sample follows another and finds code and tables in the caches, which the
 * other ways have driven out here: so the sample before is prepared once more. */
static int recipes_warm(struct recipes *recipes, const struct way *way, uint64_t seed)
{
	return way->last_size == 0 ? 0
				   : prep_run(way->worker, way->last.memory,
					      way->last_size, seed, recipes->out, NULL);
}

static int recipes_remember(struct way *way, const struct shrunk *input)
{
	if (scratch_get(&way->last, input->size) == NULL)
		return -ENOMEM;
	memcpy(way->last.memory, input->bytes, input->size);
	way->last_size = input->size;
	return 0;
}

static int recipes_measure_way(struct recipes *recipes, struct way *way, uint64_t seed,
			       double *stored)
{
	struct shrunk input;
	uint64_t before;
	int result = recipes_input(recipes, way, &input);

	if (result == 0)
		result = recipes_warm(recipes, way, seed);
	if (result < 0)
		return result;
	before = clock_thread_cpu();
	result = prep_run(way->worker, input.bytes, input.size, seed, recipes->out,
			  NULL);
	way->cpu_s[recipes->sample_count] =
		(double)(clock_thread_cpu() - before) * 1e-9;
	*stored = recipes_bytes(recipes, way, &input);
	return result < 0 ? result : recipes_remember(way, &input);
}

/* In all ways, another first each time; a sample that one of them fails is none. */
static int recipes_take(struct recipes *recipes, uint32_t sample, uint64_t seed)
{
	size_t count = recipes->way_count, first = recipes->sample_count % count;
	double stored[WAYS] = {0};
	int result = sample_load(recipes->source, sample, &recipes->bytes, NULL);

	for (size_t i = 0; result == 0 && i < count; i++) {
		size_t at = (first + i) % count;

		result = recipes_measure_way(recipes, &recipes->ways[at], seed,
					     &stored[at]);
	}
	if (result < 0)
		return result;
	for (size_t i = 0; i < count; i++)
		recipes->ways[i].stored += stored[i];
	recipes->sample_count++;
	return 0;
}

static bool recipes_is_over(const struct recipes *recipes, uint64_t began)
{
	const struct bench_recipes *config = recipes->config;
	size_t count = recipes->sample_count;

	return config->interrupted() || count == MOST ||
	       (count >= LEAST && clock_since(began) > config->seconds);
}

static int recipes_take_all(struct recipes *recipes, struct error *err)
{
	uint64_t began = clock_now();
	uint32_t all = source_facts(recipes->source)->count;

	for (unsigned i = 0; i < TRIED && !recipes_is_over(recipes, began); i++) {
		uint64_t seed = random_seed(recipes->config->seed, i, 0);

		if (recipes_take(recipes, (uint32_t)(seed % all), seed) == -ENOMEM)
			return error_sys(err, ENOMEM, "measuring prep of other inputs");
	}
	return recipes->sample_count >= LEAST
		       ? 0
		       : error_set(err, ENODATA, "too few samples could be prepared");
}

/* ---- ratios ---- */

static double recipes_sum(const struct recipes *recipes, const struct way *way)
{
	double sum = 0;

	for (size_t i = 0; i < recipes->sample_count; i++)
		sum += way->cpu_s[i];
	return sum;
}

/* Of sums; its error by the residuals, the first order of the jackknife (Cochran,
 * Sampling Techniques, 6.4). */
static struct interval recipes_ratio(const struct recipes *recipes,
				     const struct way *way)
{
	const struct way *run = &recipes->ways[0];
	double n = (double)recipes->sample_count, squares = 0, half;
	double all = recipes_sum(recipes, run);
	double ratio = recipes_sum(recipes, way) / all;

	for (size_t i = 0; i < recipes->sample_count; i++) {
		double off = way->cpu_s[i] - ratio * run->cpu_s[i];

		squares += off * off;
	}
	half = student_t(.95, (unsigned)n - 1) * sqrt(squares * n / (n - 1)) / all;
	return (struct interval){ratio, fmax(0, ratio - half), ratio + half};
}

static int recipes_note(const struct recipes *recipes, struct profile *profile)
{
	for (size_t i = 1; i < recipes->way_count; i++) {
		const struct way *way = &recipes->ways[i];
		struct profile_recipe *recipe = profile_add_recipe(profile);

		if (recipe == NULL)
			return -ENOMEM;
		recipe->change = way->change;
		recipe->prep_ratio = recipes_ratio(recipes, way);
		recipe->bytes_ratio = way->stored / recipes->ways[0].stored;
		recipe->samples = recipes->sample_count;
	}
	return 0;
}

int bench_recipes_run(const struct bench_recipes *config, struct profile *profile,
		      struct error *err)
{
	struct recipes *recipes = calloc(1, sizeof(*recipes));
	int result;

	if (recipes == NULL)
		return error_sys(err, ENOMEM, "measuring prep of other inputs");
	recipes->config = config;
	result = recipes_open(recipes, err);
	if (result == 0)
		result = recipes_take_all(recipes, err);
	if (result == 0)
		result = recipes_note(recipes, profile);
	recipes_close(recipes);
	free(recipes);
	return result;
}
