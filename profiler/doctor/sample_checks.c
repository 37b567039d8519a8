/* sample_checks.c - the check of a data set's samples: are there any that libdsa reads? */
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/source.h"
#include "profiler/dataset/look.h"
#include "profiler/doctor/check.h"

#include <stdio.h>

enum { LOOKS = 16, WHY = 100 };

/* What was seen of samples spread evenly over the data set. */
struct sample_checks {
	uint32_t looked, broken;
	char first[WHY]; /* of the broken ones: its name, and why */
};

static void sample_checks_note(struct sample_checks *seen, const struct source *source,
			       uint32_t sample, const struct error *err)
{
	char name[NAME_SHOWN];

	if (seen->broken++ == 0)
		snprintf(seen->first, sizeof(seen->first), "%.48s: %.48s",
			 source_name(source, sample, name, sizeof(name)), err->message);
}

/* Tokens can't be broken: whatever lies there is one. */
static void sample_checks_look(const struct source *source, enum sample_kind kind,
			       struct sample_checks *seen)
{
	struct looker *looker = kind != SAMPLE_TOKENS ? looker_new(kind) : NULL;
	uint32_t count = source_count(source);

	for (; looker != NULL && seen->looked < LOOKS && seen->looked < count;
	     seen->looked++) {
		uint32_t sample = (uint32_t)((uint64_t)seen->looked * count / LOOKS);
		struct look look = {0};
		struct error err = {0};

		if (count < LOOKS)
			sample = seen->looked;
		if (looker_run(looker, source, sample, false, &look, &err) < 0)
			sample_checks_note(seen, source, sample, &err);
	}
	looker_free(looker);
}

static void sample_checks_report(struct doctor_line *line, const struct source *source,
				 enum sample_kind kind)
{
	static const char *const names[] = {"pictures", "recordings"};
	struct sample_checks seen = {0};

	sample_checks_look(source, kind, &seen);
	if (kind == SAMPLE_TOKENS)
		check_report(line, DOCTOR_OK, NULL, "files of tokens, with %u targets",
			     source_count(source));
	else if (seen.broken == 0)
		check_report(line, DOCTOR_OK, NULL, "%u %s, of which %u were looked at",
			     source_count(source), names[kind], seen.looked);
	else
		check_report(line,
			     seen.broken == seen.looked ? DOCTOR_BROKEN
							: DOCTOR_LIMITED,
			     "dsa dataset inspect names all that are broken",
			     "%u of %u %s looked at are broken, first %s", seen.broken,
			     seen.looked, names[kind], seen.first);
}

void check_samples(struct doctor_line *line, const struct check_subject *subject)
{
	const struct source_config config = {.index_dir = "", .length = 1};
	enum sample_kind kind;
	struct error err = {0};
	struct source *source;

	if (subject->sample[0] == '\0')
		return; /* there are none */
	source = sample_source_open(subject->dataset, &config, &kind, &err);
	if (source == NULL)
		check_report(line, DOCTOR_LIMITED,
			     "only a program with a loader of its own can be measured "
			     "with it; dsa-dataset(1) tells what libdsa reads",
			     "not for libdsa: %.160s", err.message);
	else
		sample_checks_report(line, source, kind);
	source_close(source);
}
