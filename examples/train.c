/*
 * train.c - trains a small convolutional network on the batches of libdsa.
 *
 * A program to copy from: what concerns data is in the section "data". The network:
 * convolutions of stride 2 with ReLU, the mean over what is then left of the picture,
 * a linear layer; softmax loss; SGD with momentum. The samples of a batch are shared
 * out among threads.
 *
 *	train --dataset pictures --test unseen --epochs 10
 *	train --dataset pictures --emulate-gpu 2000	an accelerator's pace, no network
 */
#include <dsa/loader.h>

#include <argp.h>
#include <err.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { USAGE = 2, COULD_NOT = 3 }; /* exit status */
enum { LAYERS = 3, LANES = 8, ROWS = 4, REPORT = 50, REPORT_S = 3 };

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
	size_t pixels, seen;   /* out x out; kernel x kernel x channels */
	float *weights, *bias; /* seen x outs; outs */
	float *turned;         /* the weights as outs x seen */
};

struct network {
	struct layer layer[LAYERS + 1];
	unsigned classes;
	size_t count;
	float *values, *speed; /* all weights and biases; their momentum */
};

/* A thread's own: one sample on its way, and the sum of gradients over its samples. */
struct worker {
	pthread_t thread;
	struct trainer *trainer;
	unsigned number;
	float *in[LAYERS + 1], *columns[LAYERS + 1], *out[LAYERS + 1];
	float *in_slope[LAYERS + 1], *out_slope[LAYERS + 1]; /* of the loss by these */
	float *column_slope;
	float *gradient; /* of the loss by network.values */
	double loss;
	unsigned correct;
};

struct block { /* of memory; all are freed at the end */
	struct block *next;
	float values[];
};

struct trainer {
	struct network network;
	struct block *memory;
	struct worker *workers;
	unsigned threads;
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

static void convolve(const struct layer *l, float *in, float *columns, float *out)
{
	spread(l, in, columns, false); /* what is beyond the border stays 0 */
	for (size_t i = 0; i < l->pixels; i++)
		memcpy(out + i * l->outs, l->bias, l->outs * sizeof(float));
	multiply(out, (struct matrix){columns, l->seen, 1}, l->weights, l->pixels,
		 l->seen, l->outs);
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
	const struct layer *l = w->trainer->network.layer;
	const struct layer *last = &l[LAYERS - 1];

	standardise(picture, w->in[0], (size_t)l->in * l->in * l->channels);
	for (unsigned i = 0; i < LAYERS; i++) {
		convolve(&l[i], w->in[i], w->columns[i], w->out[i]);
		for (size_t j = 0; j < l[i].pixels * l[i].outs; j++)
			w->out[i][j] = fmaxf(w->out[i][j], 0);
	}
	memset(w->in[LAYERS], 0, last->outs * sizeof(float));
	for (size_t i = 0; i < last->pixels; i++)
		for (unsigned j = 0; j < last->outs; j++)
			w->in[LAYERS][j] += w->out[LAYERS - 1][i * last->outs + j] /
					    (float)last->pixels;
	convolve(&l[LAYERS], w->in[LAYERS], w->columns[LAYERS], w->out[LAYERS]);
}

/* Softmax and cross entropy. Leaves the slope by the scores. */
static void judge(struct worker *w, unsigned label)
{
	const float *score = w->out[LAYERS];
	float *slope = w->out_slope[LAYERS];
	unsigned classes = w->trainer->network.classes, best = 0;
	double sum = 0;

	for (unsigned i = 1; i < classes; i++)
		if (score[i] > score[best])
			best = i;
	for (unsigned i = 0; i < classes; i++)
		sum += exp((double)score[i] - score[best]);
	for (unsigned i = 0; i < classes; i++)
		slope[i] = (float)(exp((double)score[i] - score[best]) / sum);
	slope[label] -= 1;
	w->correct += best == label;
	w->loss += log(sum) - ((double)score[label] - score[best]);
}

static void convolve_back(struct worker *w, unsigned number)
{
	const struct network *network = &w->trainer->network;
	const struct layer *l = &network->layer[number];
	const float *slope = w->out_slope[number];
	float *bias = w->gradient + (l->bias - network->values);

	for (size_t i = 0; i < l->pixels; i++)
		for (unsigned j = 0; j < l->outs; j++)
			bias[j] += slope[i * l->outs + j];
	multiply(w->gradient + (l->weights - network->values),
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
	const struct layer *l = w->trainer->network.layer;
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
	const struct trainer *t = w->trainer;
	const struct dsa_batch *batch = t->batch;
	const char *data = batch->data;

	w->loss = 0;
	w->correct = 0;
	memset(w->gradient, 0, t->network.count * sizeof(float));
	for (uint32_t i = w->number; i < batch->count; i += t->threads) {
		forward(w, (const void *)(data + i * batch->sample_bytes));
		judge(w, batch->labels[i]);
		if (t->learn)
			backward(w);
	}
	return NULL;
}

/* Afterwards the first worker holds the sums over all. */
static void run_batch(struct trainer *t, const struct dsa_batch *batch, bool learn)
{
	struct worker *first = t->workers, *end = first + t->threads;

	t->batch = batch;
	t->learn = learn;
	for (struct worker *w = first + 1; w < end; w++)
		if (pthread_create(&w->thread, NULL, do_share, w) != 0)
			errx(COULD_NOT, "cannot start %u threads", t->threads);
	do_share(first);
	for (struct worker *w = first + 1; w < end; w++) {
		pthread_join(w->thread, NULL);
		first->loss += w->loss;
		first->correct += w->correct;
		for (size_t i = 0; learn && i < t->network.count; i++)
			first->gradient[i] += w->gradient[i];
	}
	t->batch = NULL;
}

static void turn_weights(struct network *network)
{
	for (struct layer *l = network->layer; l <= &network->layer[LAYERS]; l++)
		for (size_t i = 0; i < l->seen; i++)
			for (unsigned j = 0; j < l->outs; j++)
				l->turned[j * l->seen + i] =
					l->weights[i * l->outs + j];
}

static void descend(struct trainer *t, float rate, uint32_t samples)
{
	struct network *network = &t->network;
	const float *gradient = t->workers[0].gradient;

	for (size_t i = 0; i < network->count; i++) {
		float slope = gradient[i] / (float)samples + 1e-4f * network->values[i];

		network->speed[i] = 0.9f * network->speed[i] - rate * slope;
		network->values[i] += network->speed[i];
	}
	turn_weights(network);
}

/* ---- making the network ------------------------------------------------------- */

static float *floats(struct trainer *t, size_t count)
{
	struct block *block = calloc(1, sizeof(*block) + count * sizeof(float));

	if (block == NULL)
		errx(COULD_NOT, "no memory for the network");
	block->next = t->memory;
	t->memory = block;
	return block->values;
}

static void shape(struct network *network, unsigned side)
{
	unsigned channels = 3;

	for (unsigned i = 0; i <= LAYERS; i++) {
		struct layer *l = &network->layer[i];
		unsigned outs = i < LAYERS ? plan[i].channels : network->classes;

		l->in = i < LAYERS ? side : 1;
		l->channels = channels;
		l->kernel = i < LAYERS ? plan[i].kernel : 1;
		l->out = (l->in + 1) / 2;
		l->outs = (outs + LANES - 1) / LANES * LANES;
		l->pixels = (size_t)l->out * l->out;
		l->seen = (size_t)l->kernel * l->kernel * l->channels;
		network->count += (l->seen + 1) * l->outs;
		side = l->out;
		channels = l->outs;
	}
}

/* Normal, of standard deviation sqrt(2 / inputs), so that signals stay as strong as
 * they are (He et al., ICCV 2015). */
static void draw_weights(struct trainer *t, unsigned seed)
{
	struct network *network = &t->network;
	unsigned short draw[3] = {(unsigned short)seed, (unsigned short)(seed >> 16),
				  1};
	float *at = network->values = floats(t, network->count);

	network->speed = floats(t, network->count);
	for (struct layer *l = network->layer; l <= &network->layer[LAYERS]; l++) {
		size_t count = l->seen * l->outs;

		l->weights = at;
		l->bias = at + count;
		l->turned = floats(t, count);
		for (size_t i = 0; i < count; i++) {
			double length =
				sqrt(-4 * log(1 - erand48(draw)) / (double)l->seen);

			l->weights[i] = (float)(length * cos(2 * M_PI * erand48(draw)));
		}
		at = l->bias + l->outs;
	}
	turn_weights(network);
}

static void open_worker(struct trainer *t, struct worker *w)
{
	size_t most = 0;

	for (unsigned i = 0; i <= LAYERS; i++) {
		const struct layer *l = &t->network.layer[i];
		size_t in = (size_t)l->in * l->in * l->channels;
		size_t columns = l->pixels * l->seen;
		bool own = i == 0 || i == LAYERS; /* not what the layer before makes */

		w->in[i] = own ? floats(t, in) : w->out[i - 1];
		w->in_slope[i] = own ? floats(t, in) : w->out_slope[i - 1];
		w->columns[i] = floats(t, columns);
		w->out[i] = floats(t, l->pixels * l->outs);
		w->out_slope[i] = floats(t, l->pixels * l->outs);
		most = columns > most ? columns : most;
	}
	w->column_slope = floats(t, most);
	w->gradient = floats(t, t->network.count);
}

static void open_trainer(struct trainer *t, unsigned side, unsigned seed)
{
	t->workers = calloc(t->threads, sizeof(*t->workers));
	if (t->workers == NULL)
		errx(COULD_NOT, "no memory for threads");
	shape(&t->network, side);
	draw_weights(t, seed);
	for (unsigned i = 0; i < t->threads; i++) {
		struct worker *w = &t->workers[i];

		w->trainer = t;
		w->number = i;
		open_worker(t, w);
	}
	printf("training %zu weights on %u x %u pixels of %u classes in %u threads\n",
	       t->network.count, side, side, t->network.classes, t->threads);
}

static void close_trainer(struct trainer *t)
{
	free(t->workers);
	for (struct block *next; t->memory != NULL; t->memory = next) {
		next = t->memory->next;
		free(t->memory);
	}
}

/* ---- data -------------------------------------------------------------------- */

/* What the command line says: first its numbers, then its data sets. */
enum { BATCH, STEPS, EPOCHS, EMULATE, SIZE, RATE, SEED, THREADS, NUMBERS, DATA, TEST };

struct options {
	double number[NUMBERS];
	const char *dataset, *test;
};

/* The steps since the last line that was printed. */
struct report {
	struct timespec since;
	uint64_t samples, correct;
	double loss;
};

static double seconds_since(const struct timespec *then)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - then->tv_sec) +
	       (double)(now.tv_nsec - then->tv_nsec) / 1e9;
}

static void print_report(struct report *r, uint64_t step, bool emulated)
{
	double samples = (double)r->samples;

	printf("step %ju  ", (uintmax_t)step);
	if (emulated)
		printf("emulated  ");
	else
		printf("loss %.3f  accuracy %.1f %%  ", r->loss / samples,
		       100 * (double)r->correct / samples);
	printf("%.0f samples/s\n", samples / seconds_since(&r->since));
	fflush(stdout);
	*r = (struct report){0};
	clock_gettime(CLOCK_MONOTONIC, &r->since);
}

/* A line after the first steps, then one every few seconds. */
static bool report_due(const struct report *r, uint64_t step)
{
	return step % REPORT == 0 &&
	       (step == REPORT || seconds_since(&r->since) >= REPORT_S);
}

static struct dsa_loader *open_data(const char *dataset, const struct options *options,
				    bool evaluate)
{
	struct dsa_config config = {
		.dataset = dataset,
		.batch = (unsigned)options->number[BATCH],
		.epochs = evaluate ? 1 : (unsigned)options->number[EPOCHS],
		.seed = (uint64_t)options->number[SEED],
		.size = (unsigned)options->number[SIZE],
		.layout = DSA_NHWC,
		.in_order = evaluate,
		.evaluate = evaluate,
	};
	struct dsa_loader *loader;
	char why[DSA_WHY];

	if (dsa_open(&config, &loader, why) < 0)
		errx(COULD_NOT, "%s", why);
	return loader;
}

static unsigned classes_of(const struct dsa_loader *loader)
{
	struct dsa_stats stats;

	dsa_stats(loader, &stats);
	return stats.classes;
}

/* One step of descent. */
static void learn(struct trainer *t, const struct options *options,
		  const struct dsa_batch *batch, struct report *report)
{
	const struct worker *sums;

	if (t->workers == NULL) {
		unsigned side = (unsigned)sqrt((double)batch->sample_bytes / 12);

		if (side == 0 || 12ul * side * side != batch->sample_bytes)
			errx(COULD_NOT, "%zu bytes are no square of 3 x float32",
			     batch->sample_bytes);
		open_trainer(t, side, (unsigned)options->number[SEED]);
	}
	run_batch(t, batch, true);
	sums = t->workers;
	if (!isfinite(sums->loss))
		errx(COULD_NOT, "the loss is no number any more; try a smaller --lr");
	descend(t, (float)options->number[RATE], batch->count);
	report->loss += sums->loss;
	report->correct += sums->correct;
}

/* Steps until the data ends, or as many as were asked for. */
static void train(struct trainer *t, const struct options *options)
{
	struct dsa_loader *loader = open_data(options->dataset, options, false);
	double rate = options->number[EMULATE];
	uint64_t step = 0, steps = (uint64_t)options->number[STEPS];
	struct report report = {0};
	struct dsa_batch batch;
	int result = 1;

	t->network.classes = classes_of(loader);
	clock_gettime(CLOCK_MONOTONIC, &report.since);
	while ((steps == 0 || step < steps) &&
	       (result = dsa_next(loader, &batch)) > 0) {
		if (rate > 0)
			dsa_compute(loader, &batch, rate);
		else
			learn(t, options, &batch, &report);
		report.samples += batch.count;
		dsa_release(loader, &batch);
		if (report_due(&report, ++step))
			print_report(&report, step, rate > 0);
	}
	if (result < 0)
		errx(COULD_NOT, "%s", dsa_why(loader));
	if (report.samples > 0)
		print_report(&report, step, rate > 0);
	dsa_close(loader);
}

/* Accuracy on pictures that were not trained on. */
static void test(struct trainer *t, const struct options *options)
{
	struct dsa_loader *loader = open_data(options->test, options, true);
	uint64_t samples = 0, correct = 0;
	struct dsa_batch batch;
	int result;

	if (classes_of(loader) != t->network.classes)
		errx(COULD_NOT, "%s has %u classes, but %s has %u", options->test,
		     classes_of(loader), options->dataset, t->network.classes);
	while ((result = dsa_next(loader, &batch)) > 0) {
		run_batch(t, &batch, false);
		samples += batch.count;
		correct += t->workers[0].correct;
		dsa_release(loader, &batch);
	}
	if (result < 0)
		errx(COULD_NOT, "%s", dsa_why(loader));
	printf("held-out accuracy %.1f %% of %ju samples\n",
	       100 * (double)correct / (double)samples, (uintmax_t)samples);
	dsa_close(loader);
}

/* ---- the command line --------------------------------------------------------- */

#define KEY(number) (256 + (number))

static const char *const names[] = {"--batch", "--steps", "--epochs", "--emulate-gpu",
				    "--size",  "--lr",    "--seed",   "--threads"};

static const struct argp_option table[] = {
	{"dataset", KEY(DATA), "DATASET", 0, "Train on DATASET", 0},
	{"test", KEY(TEST), "DATASET", 0, "Then see how well DATASET is recognised", 0},
	{"batch", KEY(BATCH), "N", 0, "Samples a step (default 32)", 0},
	{"steps", KEY(STEPS), "N", 0, "End after N steps (default: when the data ends)",
	 0},
	{"epochs", KEY(EPOCHS), "N", 0, "End the data after N epochs", 0},
	{"emulate-gpu", KEY(EMULATE), "RATE", 0,
	 "Do not train: be an accelerator that takes RATE samples/s", 0},
	{"size", KEY(SIZE), "N", 0, "Crops of N x N pixels (default 64)", 0},
	{"lr", KEY(RATE), "RATE", 0, "Learning rate (default 0.05)", 0},
	{"seed", KEY(SEED), "N", 0, "Of weights, order and crops (default 0)", 0},
	{"threads", KEY(THREADS), "N", 0, "Train in N threads (default: one a core)",
	 0},
	{0},
};

static void parse_number(struct argp_state *state, int number, const char *arg)
{
	struct options *options = state->input;
	bool whole = number != RATE && number != EMULATE;
	char *end;
	double value = strtod(arg, &end);

	if (end == arg || *end != '\0' || !(value >= 0 && value <= UINT32_MAX) ||
	    (value == 0 && number != SEED) || (whole && value != floor(value)))
		argp_error(state, "no %s can be '%s'", names[number], arg);
	options->number[number] = value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	if (key >= KEY(0) && key < KEY(NUMBERS))
		parse_number(state, key - KEY(0), arg);
	else if (key == KEY(DATA))
		options->dataset = arg;
	else if (key == KEY(TEST))
		options->test = arg;
	else if (key == ARGP_KEY_ARG)
		argp_error(state, "what is '%s'? --dataset names the data set", arg);
	else if (key == ARGP_KEY_END && options->dataset == NULL)
		argp_error(state, "which --dataset?");
	else if (key != ARGP_KEY_END)
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static const struct argp argp = {
	.options = table,
	.parser = parse,
	.doc = "Train a small convolutional network on pictures.",
};

int main(int argc, char **argv)
{
	struct options options = {.number = {[BATCH] = 32, [SIZE] = 64, [RATE] = 0.05}};
	struct trainer trainer = {0};
	cpu_set_t cores;

	argp_err_exit_status = USAGE;
	if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
		options.number[THREADS] = CPU_COUNT(&cores);
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	trainer.threads = (unsigned)options.number[THREADS];
	train(&trainer, &options);
	if (options.test != NULL && trainer.workers != NULL)
		test(&trainer, &options);
	close_trainer(&trainer);
	return 0;
}
