/* doctor.c - dsa doctor: what works on this machine. */
#include "profiler/doctor/doctor.h"
#include "cmd/common/argument.h"
#include "cmd/common/cmd.h"

#include <jansson.h>
#include <stdio.h>

struct doctor_options {
	const char *dataset;
	char *const *program; /* and its words; NULL: none */
	bool json;
};

static const struct argument arguments[] = {
	{"dataset", 'd', "DIR", ARGUMENT(doctor_options, TEXT, dataset),
	 "Examine what DIR lies on as well, or the server of s3://... or https://..."},
	{"json", 0, NULL, ARGUMENT(doctor_options, FLAG, json),
	 "Write JSON to standard output"},
	{NULL, 0, "[-- CMD...]", ARGUMENT(doctor_options, REST, program), NULL},
	{0},
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

static int doctor_run(const struct command *self, int argc, char **argv)
{
	struct doctor_options asked = {0};
	struct doctor doctor;
	int status = 0;

	argument_read(self, argc, argv, &asked);
	/* "dsa doctor s3://bucket" means no program */
	if (asked.dataset == NULL && asked.program != NULL &&
	    asked.program[1] == NULL && doctor_is_remote(asked.program[0])) {
		asked.dataset = asked.program[0];
		asked.program = NULL;
	}
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
	.arguments = arguments,
	.doc = "Say what works on this machine, and how to mend what does not.",
	.run = doctor_run,
};
