/*
 * train.c - trains a network on the batches of libdsa. A program to copy from; the
 * network itself is in network.c.
 *
 *	cc -O2 -D_GNU_SOURCE train.c network.c $(pkg-config --cflags --libs dsa) -lm
 *	train --dataset pictures --test unseen --epochs 10
 *	train --dataset pictures --emulate-gpu 2000	an accelerator's pace, no network
 */
#include "network.h"

#include <dsa/loader.h>

#include <argp.h>
#include <err.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { USAGE = 2, COULD_NOT = 3 };  /* exit status */
enum { REPORT = 50, REPORT_S = 3 }; /* steps and seconds between lines */

/* What the command line says: first its numbers, then its data sets. */
enum { BATCH, STEPS, EPOCHS, EMULATE, SIZE, RATE, SEED, THREADS, NUMBERS, DATA, TEST };

struct options {
	double number[NUMBERS];
	const char *dataset, *test;
};

/* ---- data -------------------------------------------------------------------- */

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

/* The library prints nothing: a program tells itself what it had none of. */
static void close_data(struct dsa_loader *loader)
{
	struct dsa_stats stats;

	dsa_stats(loader, &stats);
	dsa_close(loader);
	if (stats.skipped > 0)
		warnx("%ju of %ju samples could not be read or decoded, and were "
		      "skipped (DSA_LOADER=on_error=fail names the first)",
		      (uintmax_t)stats.skipped, (uintmax_t)stats.dataset_samples);
	if (stats.skipped > 0 && stats.samples == 0)
		errx(COULD_NOT, "no batch came");
}

/* ---- what is printed --------------------------------------------------------- */

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

/* ---- training ---------------------------------------------------------------- */

/* For pictures as the loader makes them, which need not be what this program asked for:
 * DSA_LOADER may have changed it. */
static struct network *make_network(const struct options *options,
				    const struct dsa_loader *loader,
				    const struct dsa_batch *batch)
{
	unsigned side = (unsigned)sqrt((double)batch->sample_bytes / 12);
	unsigned classes = classes_of(loader);
	unsigned threads = (unsigned)options->number[THREADS];
	struct network *network;

	if (side == 0 || 12ul * side * side != batch->sample_bytes)
		errx(COULD_NOT, "%zu bytes are no square of 3 x float32",
		     batch->sample_bytes);
	network = network_new(side, classes, threads, (unsigned)options->number[SEED]);
	if (network == NULL)
		errx(COULD_NOT, "no memory for the network");
	printf("training %zu weights on %u x %u pixels of %u classes in %u threads\n",
	       network_weights(network), side, side, classes, threads);
	return network;
}

static void learn(struct network *network, const struct dsa_batch *batch, double rate,
		  struct report *report)
{
	struct network_score score = network_learn(network, batch, (float)rate);

	if (!isfinite(score.loss))
		errx(COULD_NOT, "the loss is no number any more; try a smaller --lr");
	report->loss += score.loss;
	report->correct += score.correct;
}

/* Steps until the data ends, or as many as were asked for. The network; NULL: it was
 * emulated. */
static struct network *train(const struct options *options)
{
	struct dsa_loader *loader = open_data(options->dataset, options, false);
	double emulated = options->number[EMULATE];
	uint64_t step = 0, steps = (uint64_t)options->number[STEPS];
	struct network *network = NULL;
	struct report report = {0};
	struct dsa_batch batch;
	int result = 1;

	clock_gettime(CLOCK_MONOTONIC, &report.since);
	while ((steps == 0 || step < steps) &&
	       (result = dsa_next(loader, &batch)) > 0) {
		if (emulated == 0 && network == NULL)
			network = make_network(options, loader, &batch);
		if (network != NULL)
			learn(network, &batch, options->number[RATE], &report);
		else
			dsa_compute(loader, &batch, emulated);
		report.samples += batch.count;
		dsa_release(loader, &batch);
		if (report_due(&report, ++step))
			print_report(&report, step, network == NULL);
	}
	if (result < 0)
		errx(COULD_NOT, "%s", dsa_why(loader));
	if (report.samples > 0)
		print_report(&report, step, network == NULL);
	close_data(loader);
	return network;
}

/* Accuracy on pictures that were not trained on. */
static void test(struct network *network, const struct options *options)
{
	struct dsa_loader *loader = open_data(options->test, options, true);
	uint64_t samples = 0, correct = 0;
	struct dsa_batch batch;
	int result;

	if (classes_of(loader) != network_classes(network))
		errx(COULD_NOT, "%s has %u classes, but %s has %u", options->test,
		     classes_of(loader), options->dataset, network_classes(network));
	while ((result = dsa_next(loader, &batch)) > 0) {
		samples += batch.count;
		correct += network_test(network, &batch).correct;
		dsa_release(loader, &batch);
	}
	if (result < 0)
		errx(COULD_NOT, "%s", dsa_why(loader));
	close_data(loader);
	if (samples > 0) /* dsa run may have seen enough before */
		printf("held-out accuracy %.1f %% of %ju samples\n",
		       100 * (double)correct / (double)samples, (uintmax_t)samples);
}

/* ---- the command line --------------------------------------------------------- */

#define KEY(number) (256 + (number))

static const struct argp_option table[] = {
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
	{"dataset", KEY(DATA), "DATASET", 0, "Train on DATASET", 0},
	{"test", KEY(TEST), "DATASET", 0, "Then see how well DATASET is recognised", 0},
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
		argp_error(state, "no --%s can be '%s'", table[number].name, arg);
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
	struct options options = {
		.number = {[BATCH] = 32, [SIZE] = 64, [RATE] = 0.05, [THREADS] = 1}};
	struct network *network;
	cpu_set_t cores;

	argp_err_exit_status = USAGE;
	if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
		options.number[THREADS] = CPU_COUNT(&cores);
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	network = train(&options);
	if (options.test != NULL && network != NULL)
		test(network, &options);
	network_free(network);
	return 0;
}
