/*
 * audit_job.c - a job that looks at every byte it gets: DATASET KEY=VALUE...
 *
 *	table=FILE    makes FILE if it is not there: label and checksum of every sample, by
 *	              a loader of its own; else holds what it gets against it
 *	batch=N size=N epochs=N
 *	leave=N       after so many batches
 *	hold=N        batches held at once (1)
 *	rate=R        an emulated accelerator, samples/s
 *	from=T to=T   CLOCK_MONOTONIC in s: counts what it gets in between, and the longest
 *	              wait for a batch, then ends
 *	recipe=1      random crops, float32: what training does; nothing is checked
 *
 * Every epoch that ends must have had each good sample once, whole and under its own
 * number. Prints one line; status 0: all was right, 1: not, 3: the loader failed.
 */
#include "loader/loader.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

enum { HOLD = 16 };

/* What a sample is; checksum 0: it can't be used. */
struct entry {
	uint64_t checksum;
	uint32_t label, reserved;
};

struct job {
	const char *dataset, *table;
	unsigned batch, size, epochs, hold;
	uint64_t leave;
	double rate, from, to;
	bool recipe;

	struct dsa_loader *loader;
	struct entry *entries;
	uint32_t count;      /* entries */
	uint8_t *seen;       /* times in this epoch */
	uint64_t epoch, got; /* of samples in it */
	struct dsa_batch held[HOLD];
	unsigned holds;

	uint64_t batches, samples, whole; /* whole: epochs */
	uint64_t wrong, twice, missing;
	uint64_t counted; /* between from and to */
	double cpu_s;     /* in between */
	double longest_s; /* wait, in between */
	bool counting;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double cpu(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void parse(struct job *job, char **words)
{
	for (; *words != NULL; words++) {
		const char *value = strchr(*words, '=');
		size_t length = value != NULL ? (size_t)(value++ - *words) : 0;
		const struct {
			const char *name;
			unsigned *number;
			double *real;
			const char **text;
		} keys[] = {
			{"table", NULL, NULL, &job->table},
			{"batch", &job->batch, NULL, NULL},
			{"size", &job->size, NULL, NULL},
			{"epochs", &job->epochs, NULL, NULL},
			{"hold", &job->hold, NULL, NULL},
			{"rate", NULL, &job->rate, NULL},
			{"from", NULL, &job->from, NULL},
			{"to", NULL, &job->to, NULL},
		};
		bool known = false;

		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
			if (strlen(keys[i].name) != length ||
			    memcmp(*words, keys[i].name, length) != 0)
				continue;
			known = true;
			if (keys[i].number != NULL)
				*keys[i].number = (unsigned)strtoul(value, NULL, 10);
			if (keys[i].real != NULL)
				*keys[i].real = strtod(value, NULL);
			if (keys[i].text != NULL)
				*keys[i].text = value;
		}
		if (value != NULL && strncmp(*words, "leave=", 6) == 0)
			job->leave = strtoull(value, NULL, 10);
		else if (strcmp(*words, "recipe=1") == 0)
			job->recipe = true;
		else if (!known) {
			fprintf(stderr, "audit_job: what is %s?\n", *words);
			exit(2);
		}
	}
}

static struct dsa_loader *open_loader(const struct job *job)
{
	const struct dsa_config config = {
		.dataset = job->dataset,
		.batch = job->batch,
		.epochs = job->epochs,
		.size = job->size,
		.evaluate = !job->recipe,
		.type = job->recipe ? DSA_FLOAT32 : DSA_UINT8,
	};
	struct dsa_loader *loader;
	char why[DSA_WHY];

	if (dsa_open(&config, &loader, why) == 0)
		return loader;
	fprintf(stderr, "audit_job: %s\n", why);
	exit(3);
}

static uint64_t checksum(const struct dsa_batch *batch, uint32_t at)
{
	const char *data = batch->data;

	return XXH3_64bits(data + at * batch->sample_bytes, batch->sample_bytes) | 1;
}

/* One epoch by a loader of its own. */
static void make_table(struct job *job)
{
	struct dsa_loader *loader;
	struct dsa_batch batch;
	struct dsa_stats stats;
	FILE *file;

	unsetenv("DSA_SHARE");
	job->epochs = 1;
	loader = open_loader(job);
	dsa_stats(loader, &stats);
	job->entries = calloc(stats.dataset_samples, sizeof(*job->entries));
	while (job->entries != NULL && dsa_next(loader, &batch) > 0) {
		for (uint32_t i = 0; i < batch.count; i++)
			job->entries[batch.samples[i]] =
				(struct entry){checksum(&batch, i), batch.labels[i], 0};
		dsa_release(loader, &batch);
	}
	dsa_close(loader);
	file = fopen(job->table, "wxe");
	if (file == NULL || job->entries == NULL ||
	    fwrite(job->entries, sizeof(*job->entries), stats.dataset_samples, file) !=
		    stats.dataset_samples ||
	    fclose(file) != 0) {
		perror(job->table);
		exit(3);
	}
	exit(0);
}

static void read_table(struct job *job)
{
	FILE *file = fopen(job->table, "re");
	struct dsa_stats stats;

	dsa_stats(job->loader, &stats);
	job->count = (uint32_t)stats.dataset_samples;
	job->entries = calloc(job->count, sizeof(*job->entries));
	job->seen = calloc(job->count, 1);
	if (file == NULL || job->entries == NULL || job->seen == NULL ||
	    fread(job->entries, sizeof(*job->entries), job->count, file) !=
		    job->count) {
		perror(job->table);
		exit(3);
	}
	fclose(file);
}

/* Every good sample must have come once. */
static void end_epoch(struct job *job)
{
	for (uint32_t i = 0; i < job->count; i++) {
		job->missing += job->entries[i].checksum != 0 && job->seen[i] == 0;
		job->twice += job->seen[i] > 1;
		job->seen[i] = 0;
	}
	job->whole++;
	job->got = 0;
}

static void look(struct job *job, const struct dsa_batch *batch)
{
	if (batch->epoch != job->epoch) {
		end_epoch(job);
		job->wrong += batch->epoch != job->epoch + 1;
		job->epoch = batch->epoch;
	}
	for (uint32_t i = 0; i < batch->count; i++) {
		const struct entry *entry;

		if (batch->samples[i] >= job->count) {
			job->wrong++;
			continue;
		}
		entry = &job->entries[batch->samples[i]];
		job->wrong += entry->checksum != checksum(batch, i) ||
			      entry->label != batch->labels[i];
		job->seen[batch->samples[i]]++;
	}
	job->got += batch->count;
}

/* The data must not have changed while it was held. */
static void give_back(struct job *job, unsigned at)
{
	const struct dsa_batch *batch = &job->held[at];

	for (uint32_t i = 0; job->entries != NULL && i < batch->count; i++)
		if (batch->samples[i] < job->count)
			job->wrong += job->entries[batch->samples[i]].checksum !=
				      checksum(batch, i);
	dsa_release(job->loader, batch);
	job->holds--;
	memmove(&job->held[at], &job->held[at + 1],
		(job->holds - at) * sizeof(*job->held));
}

/* False: the time is over. */
static bool count(struct job *job, const struct dsa_batch *batch)
{
	double time = now();

	if (job->to == 0)
		return true;
	if (time >= job->from && !job->counting) {
		job->counting = true;
		job->from = time;
		job->cpu_s = cpu();
	} else if (job->counting) {
		job->counted += batch->count;
	}
	if (time < job->to)
		return true;
	job->to = time;
	job->cpu_s = cpu() - job->cpu_s;
	return false;
}

static int run(struct job *job)
{
	struct dsa_batch batch;
	double asked = now();
	int result;

	while ((result = dsa_next(job->loader, &batch)) > 0) {
		bool more;

		if (job->counting && now() - asked > job->longest_s)
			job->longest_s = now() - asked;
		more = count(job, &batch);
		job->batches++;
		job->samples += batch.count;
		if (job->entries != NULL && !batch.repeated)
			look(job, &batch);
		if (job->rate > 0)
			dsa_compute(job->loader, &batch, job->rate);
		job->held[job->holds++] = batch;
		if (job->holds >= job->hold) /* not always the oldest first */
			give_back(job, job->batches % 3 == 0 ? job->holds - 1 : 0);
		if (!more || (job->leave > 0 && job->batches >= job->leave))
			break;
		asked = now();
	}
	while (job->holds > 0)
		give_back(job, 0);
	if (result == 0 && job->got > 0)
		end_epoch(job);
	return result;
}

int main(int argc, char **argv)
{
	struct job job = {.batch = 64, .size = 32, .hold = 1};
	int result;

	if (argc < 2)
		return 2;
	job.dataset = argv[1];
	parse(&job, argv + 2);
	if (job.hold < 1 || job.hold > HOLD)
		return 2;
	if (job.table != NULL && access(job.table, F_OK) != 0)
		make_table(&job);
	job.loader = open_loader(&job);
	if (job.table != NULL)
		read_table(&job);
	result = run(&job);
	printf("batches %llu samples %llu epochs %llu wrong %llu twice %llu missing "
	       "%llu "
	       "counted %llu seconds %.6f cpu %.6f longest %.6f%s%s%s%s\n",
	       (unsigned long long)job.batches, (unsigned long long)job.samples,
	       (unsigned long long)job.whole, (unsigned long long)job.wrong,
	       (unsigned long long)job.twice, (unsigned long long)job.missing,
	       (unsigned long long)job.counted, job.counting ? job.to - job.from : 0.,
	       job.counting ? job.cpu_s : 0., job.longest_s, result < 0 ? " " : "",
	       result < 0 ? strerrorname_np(-result) : "", result < 0 ? ": " : "",
	       result < 0 ? dsa_why(job.loader) : "");
	dsa_close(job.loader);
	free(job.entries);
	free(job.seen);
	if (result < 0)
		return 3;
	return job.wrong + job.twice + job.missing > 0;
}
