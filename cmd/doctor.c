/* doctor.c - dsa doctor: what works on this machine. */
#include "profiler/doctor/doctor.h"
#include "cmd/common/argument.h"
#include "cmd/common/cmd.h"

#include <jansson.h>
#include <stdio.h>

struct doctor_options {
	const char *dataset;
	const char *program;
	bool json;
};

enum { JSON = 256 };

static const struct argp_option options[] = {
	{"dataset", 'd', "DIR", 0, "Examine what DIR, a data set, lies on as well", 0},
	{"json", JSON, NULL, 0, "Write JSON to standard output", 0},
	{0},
};

static const struct argument arguments[] = {
	ARGUMENT(doctor_options, 'd', TEXT, dataset),
	ARGUMENT(doctor_options, JSON, FLAG, json),
	{0},
};

static error_t doctor_parse(int key, char *arg, struct argp_state *state)
{
	struct doctor_options *doctor = state->input;

	if (key != ARGP_KEY_ARG)
		return argument_take(options, arguments, key, arg, state);
	doctor->program = arg;
	state->next = state->argc; /* the rest is the program's own */
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = doctor_parse,
	.args_doc = "[-- CMD...]",
	.doc = "Say what works on this machine, and how to mend what does not.",
};

static void doctor_print(const struct doctor *doctor)
{
	for (size_t i = 0; i < doctor->count; i++) {
		const struct doctor_line *line = &doctor->lines[i];

		printf("%-8s%-15s%s\n", doctor_status_name(line->status), line->name,
		       line->found);
		if (line->status != DOCTOR_OK && line->fix[0] != '\0')
			printf("%-8s%-15sto mend: %s\n", "", "", line->fix);
	}
}

static int doctor_print_json(const struct doctor *doctor)
{
	json_t *checks = json_array();

	for (size_t i = 0; i < doctor->count; i++) {
		const struct doctor_line *line = &doctor->lines[i];
		json_t *one = json_pack("{s:s, s:s, s:s}", "check", line->name, "found",
					line->found, "status",
					doctor_status_name(line->status));

		if (line->fix[0] != '\0')
			json_object_set_new(one, "fix", json_string(line->fix));
		json_array_append_new(checks, one);
	}
	return cmd_print_json(json_pack("{s:s, s:b, s:o}", "schema", "dsa.doctor/1",
					"fit", doctor_fit(doctor), "checks", checks),
			      0);
}

static int doctor_run(int argc, char **argv)
{
	struct doctor_options asked = {0};
	struct doctor doctor;
	int status = 0;

	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &asked);
	doctor_examine(&doctor, asked.dataset, asked.program);
	if (asked.json)
		status = doctor_print_json(&doctor);
	else
		doctor_print(&doctor);
	return doctor_fit(&doctor) ? status : 3;
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "check what works on this machine, each line with the exact fix",
	.argp = &argp,
	.run = doctor_run,
};
