#include "profiler/doctor/doctor.h"

#include "profiler/doctor/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum needs { ALWAYS, A_DATASET, A_PROGRAM };

static const struct {
	const char *name;
	check *run;
	enum needs needs;
} checks[] = {
	{"kernel", check_kernel, ALWAYS},
	{"cores", check_cores, ALWAYS},
	{"memory", check_memory, ALWAYS},
	{"clock", check_clock, ALWAYS},
	{"memory file", check_memory_file, ALWAYS},
	{"huge pages", check_huge_pages, ALWAYS},
	{"locked memory", check_locked_memory, ALWAYS},
	{"shared memory", check_shared_memory, ALWAYS},
	{"io_uring", check_io_uring, ALWAYS},
	{"counters", check_counters, ALWAYS},
	{"I/O accounting", check_accounting, ALWAYS},
	{"gnuplot", check_gnuplot, ALWAYS},
	{"data set", check_dataset, A_DATASET},
	{"O_DIRECT", check_direct, A_DATASET},
	{"residency", check_residency, A_DATASET},
	{"program", check_program, A_PROGRAM},
};

_Static_assert(sizeof(checks) / sizeof(checks[0]) <= DOCTOR_LINES, "room for all");

const char *doctor_status_name(enum doctor_status status)
{
	static const char *const names[] = {"ok", "limited", "broken"};

	return names[status];
}

void check_say(struct doctor_line *line, enum doctor_status status, const char *fix,
	       const char *found, ...)
{
	va_list args;

	va_start(args, found);
	vsnprintf(line->found, sizeof(line->found), found, args);
	va_end(args);
	line->status = status;
	snprintf(line->fix, sizeof(line->fix), "%s", fix != NULL ? fix : "");
}

static bool examine_asked(enum needs needs, const struct check_subject *subject)
{
	return needs == ALWAYS || (needs == A_DATASET && subject->dataset != NULL) ||
	       (needs == A_PROGRAM && subject->program != NULL);
}

void doctor_examine(struct doctor *doctor, const char *dataset, const char *program)
{
	struct check_subject subject = {.dataset = dataset, .program = program};

	memset(doctor, 0, sizeof(*doctor));
	if (dataset != NULL)
		check_find_sample(&subject);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		struct doctor_line *line = &doctor->lines[doctor->count];

		if (!examine_asked(checks[i].needs, &subject))
			continue;
		line->name = checks[i].name;
		checks[i].run(line, &subject);
		doctor->count++;
	}
}

bool doctor_fit(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->count; i++)
		if (doctor->lines[i].status == DOCTOR_BROKEN)
			return false;
	return true;
}
