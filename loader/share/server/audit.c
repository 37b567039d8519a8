/* audit.c - records what each job got and checks it, epoch by epoch. */
#include "loader/share/server/audit.h"
#include "loader/base/error.h"
#include "loader/base/io.h"
#include "loader/share/ring/bcast_ring.h"
#include "loader/share/server/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A place that was published and that counts for somebody. */
struct note {
	uint64_t sequence, readers;
	uint32_t sample;
	bool bad;
};

struct audit_job {
	struct audit_job *next; /* of all that are there */
	struct audit_config config;
	char name[CLIENT_NAME];
	uint64_t at; /* number of the note it is to be shown next */
	uint64_t epoch, remaining;
	uint64_t seen, twice, bad; /* samples; places without one */
	uint64_t voids;            /* of these before the epoch's first sample */
	uint64_t *bits;            /* samples seen in this epoch */
};

struct audit {
	int fd;
	char path[4096];
	uint32_t samples;
	int failure;
	struct note *notes; /* note n in n % room */
	uint64_t first, end, room;
	struct audit_job *jobs;
	uint64_t all_jobs, epochs, wrong, unfinished;
};

/* ---- the file ---- */

static void audit_fail(struct audit *audit, int code)
{
	if (audit->failure == 0)
		audit->failure = code;
}

__attribute__((format(printf, 2, 3))) static void line(struct audit *audit,
						       const char *format, ...)
{
	char text[512];
	va_list arguments;
	int bytes, failure;

	va_start(arguments, format);
	bytes = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (bytes >= (int)sizeof(text))
		bytes = sizeof(text) - 1;
	failure = io_write(audit->fd, text, (size_t)bytes);
	if (failure < 0)
		audit_fail(audit, -failure);
}

struct audit *audit_open(const char *path, uint32_t samples, struct error *err)
{
	struct audit *audit = calloc(1, sizeof(*audit));

	if (audit == NULL)
		return error_null(error_sys(err, ENOMEM, "cannot open the audit"));
	audit->samples = samples;
	snprintf(audit->path, sizeof(audit->path), "%s", path);
	audit->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (audit->fd < 0) {
		error_sys(err, errno, "cannot write the audit %.100s", path);
		free(audit);
		return NULL;
	}
	line(audit, "dsa audit 1: %u samples\n", samples);
	return audit;
}

static void audit_verdict(struct audit *audit)
{
	uint64_t begun = audit->epochs + audit->unfinished;

	if (audit->failure != 0)
		line(audit, "verdict: not known: %s\n", strerror(audit->failure));
	else if (audit->wrong > 0)
		line(audit, "verdict: WRONG in %llu of %llu epochs of %llu jobs\n",
		     (unsigned long long)audit->wrong, (unsigned long long)begun,
		     (unsigned long long)audit->all_jobs);
	else
		line(audit,
		     "verdict: each sample exactly once in %llu epochs of %llu jobs, "
		     "none twice in %llu unfinished ones\n",
		     (unsigned long long)audit->epochs,
		     (unsigned long long)audit->all_jobs,
		     (unsigned long long)audit->unfinished);
}

int audit_close(struct audit *audit, struct error *err)
{
	int failure;

	if (audit == NULL)
		return 0;
	while (audit->jobs != NULL)
		audit_leave(audit, audit->jobs);
	audit_verdict(audit);
	if (fsync(audit->fd) < 0 && errno != EINVAL && errno != EROFS)
		audit_fail(audit, errno); /* a pipe has no storage */
	if (close(audit->fd) < 0)
		audit_fail(audit, errno);
	failure = audit->failure;
	if (failure != 0)
		error_sys(err, failure, "the audit %.100s is not complete",
			  audit->path);
	free(audit->notes);
	free(audit);
	return -failure;
}

/* ---- what was published ---- */

static bool audit_grow(struct audit *audit)
{
	uint64_t room = audit->room == 0 ? 4096 : 2 * audit->room;
	struct note *notes = calloc(room, sizeof(*notes));

	if (notes == NULL) {
		audit_fail(audit, ENOMEM);
		return false;
	}
	for (uint64_t at = audit->first; audit->room > 0 && at < audit->end; at++)
		notes[at % room] = audit->notes[at % audit->room];
	free(audit->notes);
	audit->notes = notes;
	audit->room = room;
	return true;
}

void audit_note(struct audit *audit, const struct bcast_ring *ring, uint64_t first)
{
	for (uint64_t at = first; at < bcast_published(ring); at++) {
		const struct bcast_place *place = bcast_place(ring, at);

		if (place == NULL || place->flags & (BCAST_GAP | BCAST_REPEATED))
			continue;
		if (audit->end - audit->first == audit->room && !audit_grow(audit))
			return;
		audit->notes[audit->end++ % audit->room] = (struct note){
			.sequence = at,
			.readers = place->readers,
			.sample = place->sample,
			.bad = (place->flags & BCAST_BAD) != 0,
		};
	}
}

void audit_forget(struct audit *audit, uint64_t tail)
{
	uint64_t least = audit->end;

	for (const struct audit_job *job = audit->jobs; job != NULL; job = job->next)
		if (job->at < least)
			least = job->at;
	while (audit->first < least &&
	       audit->notes[audit->first % audit->room].sequence < tail)
		audit->first++;
}

/* ---- jobs ---- */

struct audit_job *audit_join(struct audit *audit, const struct audit_config *config)
{
	struct audit_job *job = calloc(1, sizeof(*job));
	uint64_t *bits = calloc(audit->samples / 64 + 1, sizeof(*bits));

	if (job == NULL || bits == NULL) {
		free(job);
		free(bits);
		audit_fail(audit, ENOMEM);
		return NULL;
	}
	job->config = *config;
	job->bits = bits;
	job->voids = config->voids;
	job->remaining = config->remaining;
	snprintf(job->name, sizeof(job->name), "%s", config->name);
	job->at = audit->end;
	while (job->at > audit->first &&
	       audit->notes[(job->at - 1) % audit->room].sequence >= config->start)
		job->at--;
	job->next = audit->jobs;
	audit->jobs = job;
	audit->all_jobs++;
	return job;
}

static void audit_end_epoch(struct audit *audit, struct audit_job *job)
{
	uint64_t unreadable = job->bad - job->voids;
	int64_t missing = (int64_t)(job->config.samples - job->seen - unreadable);

	audit->epochs++;
	audit->wrong += job->twice > 0 || missing != 0;
	line(audit,
	     "%s: epoch %llu: samples %llu unreadable %llu twice %llu missing %lld\n",
	     job->name, (unsigned long long)job->epoch, (unsigned long long)job->seen,
	     (unsigned long long)unreadable, (unsigned long long)job->twice,
	     (long long)missing);
	memset(job->bits, 0, (audit->samples / 64 + 1) * sizeof(*job->bits));
	job->epoch++;
	job->remaining = job->config.samples;
	job->seen = job->twice = job->bad = job->voids = 0;
}

/* Whether it may have come at all. */
static bool audit_is_its_own(const struct audit *audit, const struct audit_job *job,
			     uint32_t sample)
{
	const uint64_t *sets = job->config.sets;

	return sample < audit->samples &&
	       (sets == NULL || (sets[sample] >> job->config.set & 1) != 0);
}

static void audit_count(struct audit *audit, struct audit_job *job,
			const struct note *note)
{
	uint64_t bit = UINT64_C(1) << (note->sample % 64);

	if ((note->readers >> job->config.slot & 1) == 0)
		return;
	if (note->bad) {
		job->bad++;
	} else if (!audit_is_its_own(audit, job, note->sample) ||
		   (job->bits[note->sample / 64] & bit) != 0) {
		job->twice++; /* or not its own: as wrong */
	} else {
		job->bits[note->sample / 64] |= bit;
		job->seen++;
	}
	if (--job->remaining == 0)
		audit_end_epoch(audit, job);
}

void audit_released(struct audit *audit, struct audit_job *job,
		    const struct bcast_reader_state *slot)
{
	uint64_t released = slot->taken < slot->released ? slot->taken : slot->released;

	while (job->at < audit->end) {
		const struct note *note = &audit->notes[job->at % audit->room];

		if (note->sequence >= released)
			return;
		if (note->sequence >= job->config.start)
			audit_count(audit, job, note);
		job->at++;
	}
}

void audit_leave(struct audit *audit, struct audit_job *job)
{
	struct audit_job **link = &audit->jobs;

	if (job == NULL)
		return;
	if (job->seen + job->twice + job->bad > 0) {
		audit->unfinished++;
		audit->wrong += job->twice > 0;
		line(audit, "%s: left in epoch %llu: samples %llu twice %llu\n",
		     job->name, (unsigned long long)job->epoch,
		     (unsigned long long)job->seen, (unsigned long long)job->twice);
	}
	while (*link != job)
		link = &(*link)->next;
	*link = job->next;
	free(job->bits);
	free(job);
}
