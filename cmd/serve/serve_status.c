/* serve_status.c - figures of a shared loader as text: a start, a table, a line. */
#include "cmd/serve/serve_status.h"
#include "loader/base/error.h"
#include "loader/base/text/shell_word.h"
#include "reports/common/escape.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { JOB_WIDTH = 20 };

/* A figure as text. */
struct cell {
	char text[32];
};

static json_t *serve_status_parse(const char *json, struct error *err)
{
	json_t *root = json_loads(json, 0, NULL);
	const char *schema = json_string_value(json_object_get(root, "schema"));

	if (schema != NULL && strcmp(schema, "dsa.share/1") == 0)
		return root;
	json_decref(root);
	error_set(err, EBADMSG, "the loader's status is none that this dsa can read");
	return NULL;
}

/* NAN: there is none. */
static double serve_status_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *serve_status_text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value != NULL ? value : "n/a";
}

static struct cell serve_status_whole(const json_t *object, const char *key)
{
	double value = serve_status_number(object, key);
	struct cell cell;

	snprintf(cell.text, sizeof(cell.text), isnan(value) ? "n/a" : "%.0f", value);
	return cell;
}

static struct cell serve_status_bytes(const json_t *object, const char *key)
{
	static const struct {
		double size;
		const char *unit;
	} units[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}};
	double value = serve_status_number(object, key);
	struct cell cell;

	snprintf(cell.text, sizeof(cell.text), isnan(value) ? "n/a" : "%.0f B", value);
	for (size_t i = sizeof(units) / sizeof(units[0]); i-- > 0;)
		if (value >= units[i].size)
			snprintf(cell.text, sizeof(cell.text), "%.1f %s",
				 value / units[i].size, units[i].unit);
	return cell;
}

static struct cell serve_status_seconds(const json_t *object, const char *key)
{
	double value = serve_status_number(object, key);
	struct cell cell;
	unsigned long long s =
		value >= 0 && value < 1e15 ? (unsigned long long)value : 0;

	if (isnan(value))
		snprintf(cell.text, sizeof(cell.text), "n/a");
	else if (value < 60)
		snprintf(cell.text, sizeof(cell.text), "%.1f s", value);
	else
		snprintf(cell.text, sizeof(cell.text), "%llu:%02llu:%02llu", s / 3600,
			 s / 60 % 60, s % 60);
	return cell;
}

static void put_datasets(FILE *to, const json_t *root)
{
	const json_t *datasets = json_object_get(root, "datasets");

	for (size_t i = 0; i < json_array_size(datasets); i++) {
		const char *name = json_string_value(json_array_get(datasets, i));

		fputs(i > 0 ? ", " : "", to);
		escape_plain(to, name != NULL ? name : "n/a");
	}
}

/* ---- beginning ---- */

/* A job may run in another folder. */
static void put_socket(FILE *to, const char *socket)
{
	char *path = realpath(socket, NULL);

	shell_word(to, path != NULL ? path : socket);
	free(path);
}

int serve_status_begin(FILE *to, const char *json, struct error *err)
{
	json_t *root = serve_status_parse(json, err);

	if (root == NULL)
		return -EBADMSG;
	fputs("DSA_SHARE=", to);
	put_socket(to, serve_status_text(root, "socket"));
	putc('\n', to);
	put_datasets(to, root);
	fprintf(to, ": %s samples, %s; %s mode, %s workers\n",
		serve_status_whole(root, "dataset_samples").text,
		serve_status_bytes(root, "dataset_bytes").text,
		serve_status_text(root, "mode"),
		serve_status_whole(root, "workers").text);
	json_decref(root);
	return 0;
}

/* ---- table ---- */

static void serve_status_put_figure(FILE *to, const char *title, struct cell cell)
{
	fprintf(to, "%-18s%12s\n", title, cell.text);
}

static void serve_status_put_all(FILE *to, const json_t *root)
{
	double hits = serve_status_number(root, "cache_hits"),
	       misses = serve_status_number(root, "cache_misses");
	double cpu = serve_status_number(root, "prep_cpu_s"),
	       samples = serve_status_number(root, "samples");

	put_datasets(to, root);
	fprintf(to, ": %s mode, process %s, up %s\n", serve_status_text(root, "mode"),
		serve_status_whole(root, "pid").text,
		serve_status_seconds(root, "uptime_s").text);
	serve_status_put_figure(to, "samples/s",
				serve_status_whole(root, "samples_per_s"));
	serve_status_put_figure(to, "samples", serve_status_whole(root, "samples"));
	serve_status_put_figure(to, "skipped", serve_status_whole(root, "skipped"));
	if (hits + misses > 0)
		fprintf(to, "%-18s%11.1f%%\n", "cache hits",
			100 * hits / (hits + misses));
	serve_status_put_figure(to, "fetched",
				serve_status_bytes(root, "fetched_bytes"));
	if (samples > 0 && !isnan(cpu))
		fprintf(to, "%-18s%12.1f\n", "CPU us/sample", 1e6 * cpu / samples);
	serve_status_put_figure(to, "shared memory",
				serve_status_bytes(root, "memory_bytes"));
	serve_status_put_figure(to, "full for", serve_status_seconds(root, "full_s"));
	fprintf(to, "%-18s%12s came, %s left, %s dropped, %s refused\n", "jobs",
		serve_status_whole(root, "jobs_came").text,
		serve_status_whole(root, "jobs_left").text,
		serve_status_whole(root, "jobs_dropped").text,
		serve_status_whole(root, "jobs_refused").text);
}

static void serve_status_put_name(FILE *to, const char *name)
{
	const char *cut, *end = escape_tail(name, JOB_WIDTH, &cut);
	size_t width = strlen(cut) + escape_width(end);

	fputs(cut, to);
	escape_plain(to, end);
	fprintf(to, "%*s", (int)(JOB_WIDTH - width), "");
}

static const struct column {
	const char *title, *key;
	int width;
	struct cell (*show)(const json_t *job, const char *key);
} columns[] = {
	{"pid", "pid", 8, serve_status_whole},
	{"batch", "batch_samples", 6, serve_status_whole},
	{"epoch", "epoch", 6, serve_status_whole},
	{"position", "position_samples", 9, serve_status_whole},
	{"lag", "lag_batches", 5, serve_status_whole},
	{"waits", "waits", 7, serve_status_whole},
	{"waited", "waited_s", 9, serve_status_seconds},
	{"batches", "batches", 9, serve_status_whole},
	{"data", "data_bytes", 9, serve_status_bytes},
};

static void put_job(FILE *to, const json_t *job)
{
	serve_status_put_name(to, serve_status_text(job, "job"));
	fprintf(to, " %-8s", serve_status_text(job, "state"));
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		fprintf(to, " %*s", columns[i].width,
			columns[i].show(job, columns[i].key).text);
	putc('\n', to);
}

static void serve_status_put_jobs(FILE *to, const json_t *jobs)
{
	if (json_array_size(jobs) == 0)
		return;
	fprintf(to, "\n%-*s %-8s", JOB_WIDTH, "job", "state");
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		fprintf(to, " %*s", columns[i].width, columns[i].title);
	putc('\n', to);
	for (size_t i = 0; i < json_array_size(jobs); i++)
		put_job(to, json_array_get(jobs, i));
}

int serve_status_table(FILE *to, const char *json, struct error *err)
{
	json_t *root = serve_status_parse(json, err);

	if (root == NULL)
		return -EBADMSG;
	serve_status_put_all(to, root);
	serve_status_put_jobs(to, json_object_get(root, "jobs"));
	json_decref(root);
	return 0;
}

/* ---- one line ---- */

/* The job that is furthest behind, if others wait for it; else the one with most lag. */
static const json_t *last_job(const json_t *jobs)
{
	const json_t *last = NULL;
	bool behind = false;

	for (size_t i = 0; i < json_array_size(jobs); i++) {
		const json_t *job = json_array_get(jobs, i);
		bool is_behind = strcmp(serve_status_text(job, "state"), "behind") == 0;
		double lag = serve_status_number(job, "lag_samples");

		if (isnan(lag) || lag <= 0 || (behind && !is_behind))
			continue;
		if (last != NULL && behind == is_behind &&
		    lag <= serve_status_number(last, "lag_samples"))
			continue;
		last = job;
		behind = is_behind;
	}
	return last;
}

static unsigned jobs_there(const json_t *jobs)
{
	unsigned count = 0;

	for (size_t i = 0; i < json_array_size(jobs); i++)
		count += strcmp(serve_status_text(json_array_get(jobs, i), "state"),
				"left") != 0;
	return count;
}

void serve_status_line(FILE *to, const char *json)
{
	json_t *root = serve_status_parse(json, NULL);
	const json_t *jobs = json_object_get(root, "jobs"), *last = last_job(jobs);
	unsigned count = jobs_there(jobs);

	if (root == NULL)
		return;
	if (!isnan(serve_status_number(root, "samples_per_s")))
		fprintf(to, "%s samples/s, ",
			serve_status_whole(root, "samples_per_s").text);
	fprintf(to, "%u job%s", count, count == 1 ? "" : "s");
	if (last != NULL && count > 1) {
		fputs("; last is ", to);
		escape_plain(to, serve_status_text(last, "job"));
		fprintf(to, ", behind by %s",
			serve_status_whole(last, "lag_batches").text);
	}
	json_decref(root);
}
