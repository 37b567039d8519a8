/* examine.c - runs the doctor's checks in turn. */
#include "profiler/doctor/doctor.h"

#include "profiler/doctor/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The machine is always checked; a data set and a program where they are named. */
static const struct {
	const char *name;
	check_machine *machine;
	check_named *dataset, *remote, *program;
} checks[] = {
	{"kernel", check_kernel, NULL, NULL, NULL},
	{"cores", check_cores, NULL, NULL, NULL},
	{"memory", check_memory, NULL, NULL, NULL},
	{"other programs", check_others, NULL, NULL, NULL},
	{"clock", check_clock, NULL, NULL, NULL},
	{"memory file", check_memory_file, NULL, NULL, NULL},
	{"huge pages", check_huge_pages, NULL, NULL, NULL},
	{"locked memory", check_locked_memory, NULL, NULL, NULL},
	{"shared memory", check_shared_memory, NULL, NULL, NULL},
	{"io_uring", check_io_uring, NULL, NULL, NULL},
	{"counters", check_counters, NULL, NULL, NULL},
	{"I/O accounting", check_accounting, NULL, NULL, NULL},
	{"gnuplot", check_gnuplot, NULL, NULL, NULL},
	{"gpu", check_gpu, NULL, NULL, NULL},
	{"gpu CUPTI", check_gpu_cupti, NULL, NULL, NULL},
	{"gpu injection", check_gpu_injection, NULL, NULL, NULL},
	{"data set", NULL, check_dataset, NULL, NULL},
	{"samples", NULL, check_samples, NULL, NULL},
	{"O_DIRECT", NULL, check_direct, NULL, NULL},
	{"residency", NULL, check_residency, NULL, NULL},
	{"data set", NULL, NULL, check_remote, NULL},
	{"endpoint", NULL, NULL, check_endpoint, NULL},
	{"credentials", NULL, NULL, check_credentials, NULL},
	{"server clock", NULL, NULL, check_server_clock, NULL},
	{"requests", NULL, NULL, check_requests, NULL},
	{"program", NULL, NULL, NULL, check_program},
	{"preload", NULL, NULL, NULL, check_preload},
	{"Python", NULL, NULL, NULL, check_python},
	{"PyTorch", NULL, NULL, NULL, check_torch},
	{"recipe", NULL, NULL, NULL, check_recipe},
	{"ranks", NULL, NULL, NULL, check_ranks},
};

_Static_assert(sizeof(checks) / sizeof(checks[0]) <= DOCTOR_LINES, "room for all");

const char *doctor_status_name(enum doctor_status status)
{
	static const char *const names[] = {"ok", "limited", "broken"};

	return names[status];
}

void check_report(struct doctor_line *line, enum doctor_status status, const char *fix,
		  const char *found, ...)
{
	va_list args;

	va_start(args, found);
	vsnprintf(line->found, sizeof(line->found), found, args);
	va_end(args);
	line->status = status;
	snprintf(line->fix, sizeof(line->fix), "%s",
		 fix != NULL && status != DOCTOR_OK ? fix : "");
}

void doctor_examine(struct doctor *doctor, const char *dataset, char *const *program)
{
	struct check_subject subject = {.dataset = dataset, .program = program};

	memset(doctor, 0, sizeof(*doctor));
	subject.remote = dataset != NULL && doctor_is_remote(dataset);
	if (subject.remote)
		check_ask_objects(&subject);
	else if (dataset != NULL)
		check_find_sample(&subject);
	if (program != NULL)
		check_ask_python(&subject);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		struct doctor_line *line = &doctor->lines[doctor->count];

		if (checks[i].machine != NULL)
			checks[i].machine(line);
		else if (checks[i].dataset != NULL && dataset != NULL &&
			 !subject.remote)
			checks[i].dataset(line, &subject);
		else if (checks[i].remote != NULL && subject.remote)
			checks[i].remote(line, &subject);
		else if (checks[i].program != NULL && program != NULL)
			checks[i].program(line, &subject);
		else
			continue;
		line->name = checks[i].name;
		doctor->count += line->found[0] != '\0';
	}
}

bool doctor_fit(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->count; i++)
		if (doctor->lines[i].status == DOCTOR_BROKEN)
			return false;
	return true;
}
