/*
 * status.c - one table of figures; JSON and OpenMetrics are two ways to write it.
 *
 * Written by hand, as the loader links no JSON library: numbers are whole or of a fixed
 * number of places, so that no locale can turn a point into a comma.
 */
#include "loader/share/wire/status.h"
#include "loader/base/io.h"
#include "loader/base/name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum kind { COUNT, TOTAL, BYTES, TOTAL_BYTES, TIME, TOTAL_TIME, RATE };

/* How a kind is named and written. */
static const struct {
	const char *key;    /* behind a name in JSON */
	const char *metric; /* behind a name in OpenMetrics: its unit */
	const char *type;
	uint64_t divisor; /* of what is stored, then: */
	unsigned decimals;
} kinds[] = {
	[COUNT] = {"", "", "gauge", 1, 0},
	[TOTAL] = {"", "", "counter", 1, 0},
	[BYTES] = {"_bytes", "_bytes", "gauge", 1, 0},
	[TOTAL_BYTES] = {"_bytes", "_bytes", "counter", 1, 0},
	[TIME] = {"_s", "_seconds", "gauge", 1000, 6},
	[TOTAL_TIME] = {"_s", "_seconds", "counter", 1000, 6},
	[RATE] = {"_per_s", "_per_second", "gauge", 1, 3},
};

struct figure {
	const char *name;
	enum kind kind;
	size_t offset;
	const char *help;
};

#define ALL(name, kind, member, help)                                                  \
	{                                                                              \
		name, kind, offsetof(struct share_figures, member), help               \
	}
static const struct figure figures_of_all[] = {
	ALL("uptime", TIME, uptime_ns, "Time since the loader began"),
	ALL("dataset_samples", COUNT, dataset_samples, "Samples in the data set"),
	ALL("dataset", BYTES, dataset_bytes, "Size of the data set"),
	ALL("memory", BYTES, memory_bytes, "Shared memory"),
	ALL("sample", BYTES, sample_bytes, "Size of a prepared sample"),
	ALL("window_samples", COUNT, window, "Samples that the shared memory holds"),
	ALL("drop_after", TIME, drop_after_ns,
	    "Time after which a job in the way of others loads alone"),
	ALL("workers", COUNT, workers, "Threads that prepare samples"),
	ALL("lap", COUNT, lap, "Lap of the order in which samples are read"),
	ALL("parts", COUNT, parts, "Parts that the data set is in: places to begin at"),
	ALL("samples", TOTAL, samples, "Samples prepared for jobs, each counted once"),
	ALL("samples", RATE, samples_per_1000s, "The same a second, of late"),
	ALL("skipped", TOTAL, skipped, "Samples that could not be read or decoded"),
	ALL("cache_hits", TOTAL, hits, "Samples found in the cache"),
	ALL("cache_misses", TOTAL, misses, "Samples not found in the cache"),
	ALL("fetched", TOTAL_BYTES, fetched_bytes, "Read from storage"),
	ALL("device", TOTAL_BYTES, device_bytes,
	    "Copied to the device, for all jobs there"),
	ALL("prep_cpu", TOTAL_TIME, prep_cpu_ns, "CPU time of threads that prepare"),
	ALL("full", TOTAL_TIME, full_ns, "Time that the shared memory was full"),
	ALL("jobs_came", TOTAL, came, "Jobs that began"),
	ALL("jobs_left", TOTAL, left, "Jobs that left, or died"),
	ALL("jobs_dropped", TOTAL, dropped, "Jobs that were left to load alone"),
	ALL("jobs_refused", TOTAL, refused, "Jobs that were not let in"),
};

#define JOB(name, kind, member, help)                                                  \
	{                                                                              \
		name, kind, offsetof(struct share_job_figures, member), help           \
	}
static const struct figure figures_of_job[] = {
	JOB("batch_samples", COUNT, batch, "Samples in a batch of the job"),
	JOB("epoch", COUNT, epoch, "Epochs that the job is through with"),
	JOB("position_samples", COUNT, position, "Samples of its epoch that it had"),
	JOB("lag_samples", COUNT, lag_samples, "Samples ready that it did not take"),
	JOB("lag_batches", COUNT, lag_batches, "The same in its own batches"),
	JOB("held_samples", COUNT, held_samples, "Samples that it works with"),
	JOB("waits", TOTAL, waits, "Times that the job found nothing to take"),
	JOB("waited", TOTAL_TIME, waited_ns, "Time that it waited then"),
	JOB("batches", TOTAL, batches, "Batches that the job gave back"),
	JOB("samples", TOTAL, samples, "Samples that the job gave back"),
	JOB("data", TOTAL_BYTES, bytes, "Size of what the job gave back"),
	JOB("age", TIME, age_ns, "Time since the job came"),
};

enum {
	ALL_FIGURES = sizeof(figures_of_all) / sizeof(figures_of_all[0]),
	JOB_FIGURES = sizeof(figures_of_job) / sizeof(figures_of_job[0]),
	STATES = 5,
};

static const char *const states[STATES] = {
	[SHARE_JOB_WAITING] = "waiting", [SHARE_JOB_READING] = "reading",
	[SHARE_JOB_BEHIND] = "behind",   [SHARE_JOB_DROPPED] = "dropped",
	[SHARE_JOB_LEFT] = "left",
};

/* False: it is not known. */
static bool status_value_of(const void *of, const struct figure *figure,
			    uint64_t *value)
{
	memcpy(value, (const char *)of + figure->offset, sizeof(*value));
	return *value != SHARE_UNKNOWN;
}

/* Short texts of ours alone: what is longer is cut. */
static void status_put(FILE *to, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void status_put(FILE *to, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fputs(text, to);
}

static void status_put_value(FILE *to, enum kind kind, uint64_t value)
{
	uint64_t one = kinds[kind].decimals == 6   ? 1000000
		       : kinds[kind].decimals == 3 ? 1000
						   : 1;

	value /= kinds[kind].divisor;
	status_put(to, "%" PRIu64, value / one);
	if (one > 1)
		status_put(to, ".%0*" PRIu64, (int)kinds[kind].decimals, value % one);
}

static void status_put_character(FILE *to, const char *at, size_t length,
				 uint32_t point)
{
	if (length == 0 || (point < ' ' && point != '\n') || point == 127) {
		status_put(to, "\\\\x%02x", (unsigned char)*at);
	} else if (point == '\n') {
		fputs("\\n", to);
	} else {
		if (point == '\\' || point == '"')
			putc('\\', to);
		fwrite(at, 1, length, to);
	}
}

/* A text in quotes, the same for both forms; what no text may hold becomes \\xNN. */
static void status_put_text(FILE *to, const char *text)
{
	uint32_t point;

	putc('"', to);
	while (*text != '\0') {
		size_t length = name_character(text, &point);

		status_put_character(to, text, length, point);
		text += length > 0 ? length : 1;
	}
	putc('"', to);
}

/* ---- JSON ---- */

static void status_put_figures(FILE *to, const struct figure *figures, size_t count,
			       const void *of, const char *between)
{
	uint64_t value;

	for (size_t i = 0; i < count; i++) {
		if (!status_value_of(of, &figures[i], &value))
			continue;
		status_put(to, "%s\"%s%s\": ", between, figures[i].name,
			   kinds[figures[i].kind].key);
		status_put_value(to, figures[i].kind, value);
	}
}

static void status_put_json_job(FILE *to, const struct share_job_figures *job)
{
	fputs("\n    {\"job\": ", to);
	status_put_text(to, job->job);
	status_put(to, ", \"state\": \"%s\", \"pid\": %" PRIu64, states[job->state],
		   job->pid);
	if (job->slot != SHARE_UNKNOWN)
		status_put(to, ", \"slot\": %" PRIu64, job->slot);
	if (job->device != NULL)
		status_put(to, ", \"device\": \"%s\"", job->device);
	status_put_figures(to, figures_of_job, JOB_FIGURES, job, ", ");
	putc('}', to);
}

static void status_put_json(FILE *to, const struct share_figures *figures)
{
	/* The generation is a text: 64 bits are more than a JSON number may hold. */
	status_put(to,
		   "{\n  \"schema\": \"dsa.share/1\",\n  \"pid\": %" PRIu64
		   ",\n  \"generation\": \"%" PRIu64 "\",\n  \"mode\": ",
		   figures->pid, figures->generation);
	status_put_text(to, figures->mode);
	fputs(",\n  \"socket\": ", to);
	status_put_text(to, figures->socket);
	if (figures->device != NULL)
		status_put(to, ",\n  \"device\": \"%s\"", figures->device);
	fputs(",\n  \"datasets\": [", to);
	for (size_t i = 0; figures->datasets[i] != NULL; i++) {
		fputs(i > 0 ? ", " : "", to);
		status_put_text(to, figures->datasets[i]);
	}
	putc(']', to);
	status_put_figures(to, figures_of_all, ALL_FIGURES, figures, ",\n  ");
	fputs(",\n  \"jobs\": [", to);
	for (size_t i = 0; i < figures->job_count; i++) {
		fputs(i > 0 ? "," : "", to);
		status_put_json_job(to, &figures->jobs[i]);
	}
	fputs(figures->job_count > 0 ? "\n  ]\n}\n" : "]\n}\n", to);
}

/* ---- OpenMetrics 1.0 ---- */

/* The lines before a family's values. */
static void status_put_family(FILE *to, const char *of, const struct figure *figure)
{
	const char *name = figure->name, *unit = kinds[figure->kind].metric;

	status_put(to, "# TYPE %s%s%s %s", of, name, unit, kinds[figure->kind].type);
	if (unit[0] != '\0')
		status_put(to, "\n# UNIT %s%s%s %s", of, name, unit, unit + 1);
	status_put(to, "\n# HELP %s%s%s %s.\n", of, name, unit, figure->help);
}

static void status_put_name(FILE *to, const char *of, const struct figure *figure)
{
	bool total = strcmp(kinds[figure->kind].type, "counter") == 0;

	status_put(to, "%s%s%s%s", of, figure->name, kinds[figure->kind].metric,
		   total ? "_total" : "");
}

/* Of a job that has a slot: the slot's number identifies the job. */
static void status_put_labels(FILE *to, const struct share_job_figures *job)
{
	fputs("{job=", to);
	status_put_text(to, job->job);
	status_put(to, ",pid=\"%" PRIu64 "\",slot=\"%" PRIu64 "\"} ", job->pid,
		   job->slot);
}

static void status_put_job_family(FILE *to, const struct figure *figure,
				  const struct share_figures *figures)
{
	uint64_t value;

	status_put_family(to, "dsa_share_job_", figure);
	for (size_t i = 0; i < figures->job_count; i++) {
		const struct share_job_figures *job = &figures->jobs[i];

		if (job->slot == SHARE_UNKNOWN || !status_value_of(job, figure, &value))
			continue;
		status_put_name(to, "dsa_share_job_", figure);
		status_put_labels(to, job);
		status_put_value(to, figure->kind, value);
		putc('\n', to);
	}
}

static void status_put_states(FILE *to, const struct share_figures *figures)
{
	fputs("# TYPE dsa_share_jobs gauge\n"
	      "# HELP dsa_share_jobs Jobs that are there, by state.\n",
	      to);
	for (unsigned state = 0; state < SHARE_JOB_LEFT; state++) {
		uint64_t jobs = 0;

		for (size_t i = 0; i < figures->job_count; i++)
			jobs += figures->jobs[i].state == state;
		status_put(to, "dsa_share_jobs{state=\"%s\"} %" PRIu64 "\n",
			   states[state], jobs);
	}
}

static void status_put_info(FILE *to, const struct share_figures *figures)
{
	fputs("# TYPE dsa_share info\n# HELP dsa_share What is served.\n"
	      "dsa_share_info{mode=",
	      to);
	status_put_text(to, figures->mode);
	fputs(",socket=", to);
	status_put_text(to, figures->socket);
	fputs(",dataset=", to);
	status_put_text(to, figures->datasets[0]);
	status_put(to, ",pid=\"%" PRIu64 "\"} 1\n", figures->pid);
}

static void status_put_metrics(FILE *to, const struct share_figures *figures)
{
	uint64_t value;

	status_put_info(to, figures);
	for (size_t i = 0; i < ALL_FIGURES; i++) {
		if (!status_value_of(figures, &figures_of_all[i], &value))
			continue;
		status_put_family(to, "dsa_share_", &figures_of_all[i]);
		status_put_name(to, "dsa_share_", &figures_of_all[i]);
		putc(' ', to);
		status_put_value(to, figures_of_all[i].kind, value);
		putc('\n', to);
	}
	status_put_states(to, figures);
	for (size_t i = 0; i < JOB_FIGURES; i++)
		status_put_job_family(to, &figures_of_job[i], figures);
	fputs("# EOF\n", to);
}

/* ---- texts ---- */

typedef void write_text(FILE *to, const struct share_figures *figures);

static int status_text_of(const struct share_figures *figures, write_text *write,
			  char **text)
{
	size_t bytes;
	FILE *to = open_memstream(text, &bytes);

	if (to == NULL)
		return -ENOMEM;
	write(to, figures);
	return io_text(to, text) == NULL ? -ENOMEM : 0;
}

int share_status_json(const struct share_figures *figures, char **text)
{
	return status_text_of(figures, status_put_json, text);
}

int share_status_metrics(const struct share_figures *figures, char **text)
{
	return status_text_of(figures, status_put_metrics, text);
}
