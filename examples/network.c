/*
 * network.c - convolutions of stride 2 with ReLU, the mean over what is then left of
 * the picture, a linear layer; softmax loss; SGD with momentum. The samples of a batch
 * are shared out among threads.
 */
#include "network.h"

#include <dsa/loader.h>

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 3, LANES = 8, ROWS = 4 };

static const struct {
	unsigned kernel, channels;
} plan[LAYERS] = {{5, 16}, {3, 32}, {3, 64}};

/*
 * A convolution of stride 2 from in x in x channels to out x out x outs. Its input is
 * spread into columns, a row for each output pixel with the kernel x kernel x channels
 * numbers it sees; then the convolution is columns x weights. The linear layer at the
 * end is one too: of 1 x 1 pixel.
 */
struct layer {
	unsigned in, channels, kernel, out, outs;
	size_t pixels, seen;  /* out x out; kernel x kernel x channels */
	size_t weights, bias; /* where they begin in values: seen x outs; outs */
	float *turned;        /* the weights as outs x seen */
};

/* A thread's own: one sample on its way, and the sum of gradients over its samples. */
struct worker {
	struct network *network;
	pthread_t thread;
	bool started;
	unsigned number;
	float *in[LAYERS + 1], *columns[LAYERS + 1], *out[LAYERS + 1];
	float *in_slope[LAYERS + 1], *out_slope[LAYERS + 1]; /* of the loss by these */
	float *column_slope;
	float *gradient; /* of the loss by values */
	struct network_score score;
};

struct network {
	struct layer layer[LAYERS + 1];
	unsigned classes;
	size_t count;          /* of values: */
	float *values, *speed; /* all weights and biases; their momentum */
	struct worker *workers;
	unsigned threads;
	float *memory; /* all floats above */
	size_t used;   /* of it */
	const struct dsa_batch *batch;
	bool learn;
};

/* ---- products of matrices ---------------------------------------------------- */

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4)));

/* gcc compiles such a function for old and new processors, and picks one at start. */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) &&     \
	!defined(__SANITIZE_ADDRESS__)
#define FASTEST                                                                        \
	__attribute__((optimize("O3"),                                                 \
		       target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FASTEST
#endif

struct matrix {
	const float *at;
	size_t down, right; /* floats to the next row, to the next column */
};

/*
 * out (rows x columns) += a (rows x inner) x b (inner x columns); columns are a
 * multiple of LANES. A block of ROWS x LANES of out stays in registers meanwhile.
 */
FASTEST static void multiply(float *out, struct matrix a, const float *b, size_t rows,
			     size_t inner, size_t columns)
{
	size_t row = 0;

	for (; row + ROWS <= rows; row += ROWS)
		for (size_t column = 0; column < columns; column += LANES) {
			const float *left = a.at + row * a.down, *right = b + column;
			float *to = out + row * columns + column;
			lanes sum[ROWS] = {{0}};

			for (size_t k = 0; k < inner; k++) {
				lanes line = *(const lanes *)(const void *)right;

				for (size_t i = 0; i < ROWS; i++)
					sum[i] += left[i * a.down] * line;
				left += a.right;
				right += columns;
			}
			for (size_t i = 0; i < ROWS; i++)
				*(lanes *)(void *)(to + i * columns) += sum[i];
		}
	for (; row < rows; row++)
		for (size_t k = 0; k < inner; k++) {
			float left = a.at[row * a.down + k * a.right];

			for (size_t i = 0; i < columns; i++)
				out[row * columns + i] += left * b[k * columns + i];
		}
}

/* ---- one sample, forward and back -------------------------------------------- */

/*
 * What output `pixel` sees of the input through line ky of the kernel: where it begins
 * in the input and in the pixel's row of columns, and how many numbers it is. Beyond
 * the border there is nothing to see.
 */
static size_t visible(const struct layer *l, size_t pixel, unsigned ky, size_t at[2])
{
	int pad = (int)l->kernel / 2;
	int y = 2 * (int)(pixel / l->out) - pad + (int)ky;
	int x = 2 * (int)(pixel % l->out) - pad;
	int from = x < 0 ? 0 : x, to = x + (int)l->kernel;

	if (y < 0 || y >= (int)l->in)
		return 0;
	if (to > (int)l->in)
		to = (int)l->in;
	at[0] = ((size_t)y * l->in + (size_t)from) * l->channels;
	at[1] = (ky * l->kernel + (size_t)(from - x)) * l->channels;
	return (size_t)(to - from) * l->channels;
}

/* Copies the input to all places of columns that see it; `back` adds those up. */
FASTEST static void spread(const struct layer *l, float *in, float *columns, bool back)
{
	for (size_t pixel = 0; pixel < l->pixels; pixel++, columns += l->seen)
		for (unsigned ky = 0; ky < l->kernel; ky++) {
			size_t at[2], count = visible(l, pixel, ky, at);

			for (size_t i = 0; back && i < count; i++)
				in[at[0] + i] += columns[at[1] + i];
			for (size_t i = 0; !back && i < count; i++)
				columns[at[1] + i] = in[at[0] + i];
		}
}

static void convolve(struct worker *w, unsigned number)
{
	const struct layer *l = &w->network->layer[number];
	const float *values = w->network->values;
	float *out = w->out[number];

	/* What is beyond the border stays 0. */
	spread(l, w->in[number], w->columns[number], false);
	for (size_t i = 0; i < l->pixels; i++)
		memcpy(out + i * l->outs, values + l->bias, l->outs * sizeof(float));
	multiply(out, (struct matrix){w->columns[number], l->seen, 1},
		 values + l->weights, l->pixels, l->seen, l->outs);
}

/* Brightness and contrast of a picture say nothing: mean 0, standard deviation 1. */
static void standardise(const float *from, float *to, size_t count)
{
	double sum = 0, squares = 0, mean, scale;

	for (size_t i = 0; i < count; i++) {
		sum += from[i];
		squares += (double)from[i] * from[i];
	}
	mean = sum / (double)count;
	scale = 1 / sqrt(fmax(squares / (double)count - mean * mean, 0) + 1e-4);
	for (size_t i = 0; i < count; i++)
		to[i] = (float)((from[i] - mean) * scale);
}

static void forward(struct worker *w, const float *picture)
{
	const struct layer *l = w->network->layer;
	const struct layer *last = &l[LAYERS - 1];

	standardise(picture, w->in[0], (size_t)l->in * l->in * l->channels);
	for (unsigned i = 0; i < LAYERS; i++) {
		convolve(w, i);
		for (size_t j = 0; j < l[i].pixels * l[i].outs; j++)
			w->out[i][j] = fmaxf(w->out[i][j], 0);
	}
	memset(w->in[LAYERS], 0, last->outs * sizeof(float));
	for (size_t i = 0; i < last->pixels; i++)
		for (unsigned j = 0; j < last->outs; j++)
			w->in[LAYERS][j] += w->out[LAYERS - 1][i * last->outs + j] /
					    (float)last->pixels;
	convolve(w, LAYERS);
}

/* Softmax and cross entropy. Leaves the slope by the scores. */
static void judge(struct worker *w, unsigned label)
{
	const float *score = w->out[LAYERS];
	float *slope = w->out_slope[LAYERS];
	unsigned classes = w->network->classes, best = 0;
	double sum = 0;

	for (unsigned i = 1; i < classes; i++)
		if (score[i] > score[best])
			best = i;
	for (unsigned i = 0; i < classes; i++)
		sum += exp((double)score[i] - score[best]);
	for (unsigned i = 0; i < classes; i++)
		slope[i] = (float)(exp((double)score[i] - score[best]) / sum);
	slope[label] -= 1;
	w->score.correct += best == label;
	w->score.loss += log(sum) - ((double)score[label] - score[best]);
}

static void convolve_back(struct worker *w, unsigned number)
{
	const struct layer *l = &w->network->layer[number];
	const float *slope = w->out_slope[number];
	float *bias = w->gradient + l->bias;

	for (size_t i = 0; i < l->pixels; i++)
		for (unsigned j = 0; j < l->outs; j++)
			bias[j] += slope[i * l->outs + j];
	multiply(w->gradient + l->weights,
		 (struct matrix){w->columns[number], 1, l->seen}, slope, l->seen,
		 l->pixels, l->outs);
	if (number == 0)
		return;
	memset(w->column_slope, 0, l->pixels * l->seen * sizeof(float));
	multiply(w->column_slope, (struct matrix){slope, l->outs, 1}, l->turned,
		 l->pixels, l->outs, l->seen);
	memset(w->in_slope[number], 0,
	       (size_t)l->in * l->in * l->channels * sizeof(float));
	spread(l, w->in_slope[number], w->column_slope, true);
}

static void backward(struct worker *w)
{
	const struct layer *l = w->network->layer;
	const struct layer *last = &l[LAYERS - 1];

	convolve_back(w, LAYERS);
	for (size_t i = 0; i < last->pixels; i++)
		for (unsigned j = 0; j < last->outs; j++)
			w->out_slope[LAYERS - 1][i * last->outs + j] =
				w->in_slope[LAYERS][j] / (float)last->pixels;
	for (unsigned i = LAYERS; i-- > 0;) {
		for (size_t j = 0; j < l[i].pixels * l[i].outs; j++)
			if (w->out[i][j] <= 0)
				w->out_slope[i][j] = 0;
		convolve_back(w, i);
	}
}

/* ---- a batch, by all threads -------------------------------------------------- */

static void *do_share(void *arg)
{
	struct worker *w = arg;
	const struct network *n = w->network;
	const struct dsa_batch *batch = n->batch;
	const char *data = batch->data;

	w->score = (struct network_score){0};
	memset(w->gradient, 0, n->count * sizeof(float));
	for (uint32_t i = w->number; i < batch->count; i += n->threads) {
		forward(w, (const void *)(data + i * batch->sample_bytes));
		judge(w, batch->labels[i]);
		if (n->learn)
			backward(w);
	}
	return NULL;
}

/* Afterwards the first worker holds the sums over all. */
static struct network_score run_batch(struct network *n, const struct dsa_batch *batch,
				      bool learn)
{
	struct worker *first = n->workers, *end = first + n->threads;

	n->batch = batch;
	n->learn = learn;
	for (struct worker *w = first + 1; w < end; w++)
		w->started = pthread_create(&w->thread, NULL, do_share, w) == 0;
	do_share(first);
	for (struct worker *w = first + 1; w < end; w++) {
		if (w->started)
			pthread_join(w->thread, NULL);
		else
			do_share(w);
		first->score.loss += w->score.loss;
		first->score.correct += w->score.correct;
		for (size_t i = 0; learn && i < n->count; i++)
			first->gradient[i] += w->gradient[i];
	}
	return first->score;
}

static void turn_weights(struct network *n)
{
	for (struct layer *l = n->layer; l <= &n->layer[LAYERS]; l++)
		for (size_t i = 0; i < l->seen; i++)
			for (unsigned j = 0; j < l->outs; j++)
				l->turned[j * l->seen + i] =
					n->values[l->weights + i * l->outs + j];
}

static void descend(struct network *n, float rate, uint32_t samples)
{
	const float *gradient = n->workers[0].gradient;

	for (size_t i = 0; i < n->count; i++) {
		float slope = gradient[i] / (float)samples + 1e-4f * n->values[i];

		n->speed[i] = 0.9f * n->speed[i] - rate * slope;
		n->values[i] += n->speed[i];
	}
	turn_weights(n);
}

struct network_score network_test(struct network *network,
				  const struct dsa_batch *batch)
{
	return run_batch(network, batch, false);
}

struct network_score network_learn(struct network *network,
				   const struct dsa_batch *batch, float rate)
{
	struct network_score score = run_batch(network, batch, true);

	descend(network, rate, batch->count);
	return score;
}

/* ---- making the network ------------------------------------------------------- */

static void shape(struct network *n, unsigned side)
{
	unsigned channels = 3;

	for (unsigned i = 0; i <= LAYERS; i++) {
		struct layer *l = &n->layer[i];
		unsigned outs = i < LAYERS ? plan[i].channels : n->classes;

		l->in = i < LAYERS ? side : 1;
		l->channels = channels;
		l->kernel = i < LAYERS ? plan[i].kernel : 1;
		l->out = (l->in + 1) / 2;
		l->outs = (outs + LANES - 1) / LANES * LANES;
		l->pixels = (size_t)l->out * l->out;
		l->seen = (size_t)l->kernel * l->kernel * l->channels;
		l->weights = n->count;
		l->bias = l->weights + l->seen * l->outs;
		n->count = l->bias + l->outs;
		side = l->out;
		channels = l->outs;
	}
}

/* Takes so many floats of the memory; NULL while that is only measured. */
static float *floats(struct network *n, size_t count)
{
	float *at = n->memory == NULL ? NULL : n->memory + n->used;

	n->used += count;
	return at;
}

static void place_worker(struct network *n, struct worker *w)
{
	size_t most = 0;

	for (unsigned i = 0; i <= LAYERS; i++) {
		const struct layer *l = &n->layer[i];
		size_t in = (size_t)l->in * l->in * l->channels;
		size_t columns = l->pixels * l->seen;
		bool own = i == 0 || i == LAYERS; /* not what the layer before makes */

		w->in[i] = own ? floats(n, in) : w->out[i - 1];
		w->in_slope[i] = own ? floats(n, in) : w->out_slope[i - 1];
		w->columns[i] = floats(n, columns);
		w->out[i] = floats(n, l->pixels * l->outs);
		w->out_slope[i] = floats(n, l->pixels * l->outs);
		most = columns > most ? columns : most;
	}
	w->column_slope = floats(n, most);
	w->gradient = floats(n, n->count);
}

static void place(struct network *n)
{
	n->used = 0;
	n->values = floats(n, n->count);
	n->speed = floats(n, n->count);
	for (struct layer *l = n->layer; l <= &n->layer[LAYERS]; l++)
		l->turned = floats(n, l->seen * l->outs);
	for (unsigned i = 0; i < n->threads; i++)
		place_worker(n, &n->workers[i]);
}

/* Normal, of standard deviation sqrt(2 / inputs), so that signals stay as strong as
 * they are (He et al., ICCV 2015). */
static void draw_weights(struct network *n, unsigned seed)
{
	unsigned short draw[3] = {(unsigned short)seed, (unsigned short)(seed >> 16),
				  1};

	for (struct layer *l = n->layer; l <= &n->layer[LAYERS]; l++)
		for (size_t i = l->weights; i < l->bias; i++) {
			double length =
				sqrt(-4 * log(1 - erand48(draw)) / (double)l->seen);

			n->values[i] = (float)(length * cos(2 * M_PI * erand48(draw)));
		}
	turn_weights(n);
}

struct network *network_new(unsigned side, unsigned classes, unsigned threads,
			    unsigned seed)
{
	struct network *n = calloc(1, sizeof(*n));

	if (n == NULL)
		return NULL;
	n->classes = classes;
	n->threads = threads;
	n->workers = calloc(threads, sizeof(*n->workers));
	if (n->workers == NULL)
		goto fail;
	for (unsigned i = 0; i < threads; i++) {
		n->workers[i].network = n;
		n->workers[i].number = i;
	}
	shape(n, side);
	place(n);
	n->memory = calloc(n->used, sizeof(*n->memory));
	if (n->memory == NULL)
		goto fail;
	place(n);
	draw_weights(n, seed);
	return n;
fail:
	network_free(n);
	return NULL;
}

void network_free(struct network *network)
{
	if (network == NULL)
		return;
	free(network->memory);
	free(network->workers);
	free(network);
}

size_t network_weights(const struct network *network)
{
	return network->count;
}

unsigned network_classes(const struct network *network)
{
	return network->classes;
}
