/* python.c - what will be seen of a program that brings its own loader: by the preload, by
 * the Python that it runs in, of that Python's torch. */
#include "profiler/doctor/check.h"

#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/base/number.h"
#include "profiler/program_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDER = PATH_MAX, NAME = 60 };

/* ---- asking it ---- */

/* "dsa-ask\t3.11.2\t2.1.0\t_reset\tline 12: libdsa has no RandAugment" */
static void python_read(char *told, struct check_subject *subject)
{
	char *const to[] = {subject->version, subject->torch, subject->missing};

	strsep(&told, "\t");
	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]) && told != NULL; i++)
		snprintf(to[i], CHECK_WORD, "%s", strsep(&told, "\t"));
	if (told != NULL)
		snprintf(subject->recipe, sizeof(subject->recipe), "%s", told);
}

void check_ask_python(struct check_subject *subject)
{
	char script[FOLDER + 16], told[4 * CHECK_WORD + CHECK_LINE];
	const char *const words[] = {subject->python.interpreter, "-B", script,
				     subject->python.script, NULL};
	struct preload preload = {.page = NULL};

	subject->is_python = preload_find_python(subject->program, &subject->python);
	if (!subject->is_python || preload_find(&preload, NULL) < 0)
		return;
	snprintf(script, sizeof(script), "%s/dsa_ask.py", preload.python);
	if (check_ask(words, CHECK_PATIENCE_S, "dsa-ask\t", told, sizeof(told)) == 0)
		python_read(told, subject);
}

/* ---- the lines ---- */

static bool python_kept(const char *variable)
{
	const char *value = getenv(variable);

	return value != NULL && *value != '\0';
}

void check_preload(struct doctor_line *line, const struct check_subject *subject)
{
	struct preload_hidden hidden;
	struct preload preload = {.page = NULL};
	struct error err = {0};
	char path[PATH_MAX];

	if (!program_file_find(subject->program[0], path, sizeof(path)))
		return; /* there is nothing to be seen */
	if (preload_find(&preload, &err) < 0)
		check_report(line, DOCTOR_LIMITED,
			     "install dsa as a whole: make install, or its wheel",
			     "only libdsa's loader can be measured: %.120s",
			     err.message);
	else if (preload_is_hidden(subject->program, &hidden))
		check_report(line, DOCTOR_LIMITED, hidden.fix,
			     "a loader of its own will not be seen: %s", hidden.why);
	else
		check_report(line, DOCTOR_OK, NULL, "what it reads will be seen%s",
			     python_kept("LD_PRELOAD") ? "; your LD_PRELOAD is kept"
						       : "");
}

static bool python_is_old(const struct check_subject *subject)
{
	int major = 0, minor = 0;

	return sscanf(subject->version, "%d.%d", &major, &minor) != 2 || major < 3 ||
	       (major == 3 && minor < 8);
}

void check_python(struct doctor_line *line, const struct check_subject *subject)
{
	char name[NAME];

	if (!subject->is_python)
		return;
	name_escape(subject->python.interpreter, name, sizeof(name));
	if (subject->version[0] == '\0')
		check_report(line, DOCTOR_LIMITED,
			     "see what it says: name it on the command line alone",
			     "%s does not answer: its loader may not be seen", name);
	else if (python_is_old(subject))
		check_report(line, DOCTOR_LIMITED, "use Python 3.8 or later",
			     "%s is Python %s: too old for the hook", name,
			     subject->version);
	else
		check_report(line, DOCTOR_OK, NULL, "%s is Python %s%s", name,
			     subject->version,
			     python_kept("PYTHONPATH") ? "; your PYTHONPATH is kept"
						       : "");
}

void check_torch(struct doctor_line *line, const struct check_subject *subject)
{
	char fix[192], name[NAME];

	if (subject->version[0] == '\0' || python_is_old(subject) ||
	    (subject->torch[0] == '\0' && check_uses_dsa(subject)))
		return;
	name_escape(subject->python.interpreter, name, sizeof(name));
	snprintf(fix, sizeof(fix),
		 "%s -m pip install torch; or start the program with the Python that "
		 "has it",
		 name);
	if (subject->torch[0] == '\0')
		check_report(line, DOCTOR_LIMITED, fix,
			     "none in %s: there is no DataLoader to be measured", name);
	else if (subject->missing[0] != '\0')
		check_report(line, DOCTOR_LIMITED,
			     "use a torch from 1.13 on, or dsa.watch(loader) "
			     "(dsa_python(3))",
			     "torch %s has no %s: its DataLoader can't be measured",
			     subject->torch, subject->missing);
	else
		check_report(line, DOCTOR_OK, NULL,
			     "torch %s: its DataLoader can be measured",
			     subject->torch);
}

void check_recipe(struct doctor_line *line, const struct check_subject *subject)
{
	if (subject->recipe[0] != '\0')
		check_report(line, DOCTOR_OK, NULL, "%s", subject->recipe);
}

/* ---- ranks ---- */

/* The program that starts ranks; NULL: it starts none that is known. */
static const char *python_launcher(const struct check_subject *subject)
{
	static const char *const names[] = {"torchrun", "deepspeed", "mpirun",
					    "mpiexec",  "srun",      "horovodrun"};
	const char *word = subject->program[0], *slash = strrchr(word, '/');
	const char *module = subject->python.module;

	word = slash != NULL ? slash + 1 : word;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(word, names[i]) == 0)
			return names[i];
	if (strcmp(word, "accelerate") == 0 && subject->program[1] != NULL &&
	    strcmp(subject->program[1], "launch") == 0)
		return "accelerate launch";
	if (module != NULL && (strncmp(module, "torch.distributed.", 18) == 0 ||
			       strncmp(module, "accelerate.commands.l", 21) == 0))
		return module;
	return NULL;
}

void check_ranks(struct doctor_line *line, const struct check_subject *subject)
{
	static const char fix[] = "let dsa start the launcher: dsa run -- torchrun ...";
	const char *world = getenv("WORLD_SIZE"), *launcher = python_launcher(subject);
	uint64_t ranks;

	if (world != NULL && number_whole(world, UINT32_MAX, &ranks) && ranks > 1)
		check_report(line, DOCTOR_LIMITED, fix,
			     "WORLD_SIZE is %llu: of ranks that each have a dsa none "
			     "is measured",
			     (unsigned long long)ranks);
	else if (launcher != NULL)
		check_report(line, DOCTOR_OK, NULL,
			     "%.60s starts ranks, up to 16 of them are measured "
			     "together, if "
			     "all run on this machine",
			     launcher);
}
