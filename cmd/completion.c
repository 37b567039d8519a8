/*
 * completion.c - completion for shells, written from the tables that --help prints.
 *
 * What may follow an option is read from its argument in these tables: "a|b|c" are
 * words, FILE, DIR, RUN, DATASET and FROM are paths, CMD is a command with its own
 * words, anything else is free.
 */
#include "cmd/common/argument.h"
#include "cmd/common/cmd.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 64 };

/* How one shell wants it; `command` writes dsa, and each command below it. */
struct shell {
	const char *name;
	const char *begin, *end;
	void (*command)(const struct command *command, const char *path);
};

typedef void visit_option(const struct argument *option, const char *path);

static bool takes_path(const char *arg)
{
	static const char *const paths[] = {"FILE", "DIR", "RUN", "DATASET", "FROM"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (strstr(arg, paths[i]) != NULL)
			return true;
	return false;
}

static bool takes_words(const char *arg)
{
	return strchr(arg, '|') != NULL && strpbrk(arg, " []") == NULL;
}

static bool takes_command(const char *arg)
{
	return strstr(arg, "CMD") != NULL;
}

/* The words of "a|b|c". */
static void put_words(const char *arg)
{
	for (; *arg != '\0'; arg++)
		putchar(*arg == '|' ? ' ' : *arg);
}

/* Text inside single quotes; characters in `special` get a backslash. */
static void put_quoted(const char *text, const char *special)
{
	for (; *text != '\0'; text++) {
		if (*text == '\'' && strchr(special, '\'') == NULL) {
			fputs("'\\''", stdout);
			continue;
		}
		if (strchr(special, *text) != NULL)
			putchar('\\');
		putchar(*text);
	}
}

static void each_option(const struct command *command, const char *path,
			visit_option *visit)
{
	struct argument_walk walk = {.next = command->arguments,
				     .unfit = command->unfit};
	const struct argument *row;

	while ((row = argument_next(&walk)) != NULL)
		if (row->name != NULL)
			visit(row, path);
}

/* The words that are no options, as --help has them; or NULL. */
static const char *completion_words(const struct command *command)
{
	const struct argument *words = argument_words(command->arguments);

	return words != NULL ? words->arg : NULL;
}

static void each_command(const struct command *command, const char *path,
			 const struct shell *shell)
{
	char longer[PATH_SIZE];

	shell->command(command, path);
	for (size_t i = 0; command->below != NULL && command->below[i] != NULL; i++) {
		snprintf(longer, sizeof(longer), "%s %s", path,
			 command->below[i]->name);
		each_command(command->below[i], longer, shell);
	}
}

/* bash: _dsa_after prints what may follow a command or an option of it. */

static const char bash_begin[] =
	"# Completion of dsa for bash, written by: dsa completion bash\n"
	"_dsa_after()\n"
	"{\n"
	"\tcase $1 in\n";

static const char bash_end[] =
	"\t*) return 1 ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"_dsa_reply()\n"
	"{\n"
	"\tcase $1 in\n"
	"\t@path) compopt -o filenames 2>/dev/null\n"
	"\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$2\") ;;\n"
	"\t*) mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$2\") ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"_dsa()\n"
	"{\n"
	"\tlocal at=dsa word=${COMP_WORDS[COMP_CWORD]} "
	"option=${COMP_WORDS[COMP_CWORD-1]} i words\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then\n"
	"\t\t\tmapfile -t COMPREPLY < <(compgen -c -f -- \"$word\")\n"
	"\t\t\treturn\n"
	"\t\tfi\n"
	"\t\t_dsa_after \"$at ${COMP_WORDS[i]}\" >/dev/null && [[ ${COMP_WORDS[i]} != "
	"-* ]] && at+=\" ${COMP_WORDS[i]}\"\n"
	"\tdone\n"
	"\tif [[ $word == = ]]; then\n"
	"\t\tword=\n"
	"\telif [[ $option == = ]]; then\n"
	"\t\toption=${COMP_WORDS[COMP_CWORD-2]}\n"
	"\tfi\n"
	"\tif [[ $option == -* ]] && words=$(_dsa_after \"$at $option\"); then\n"
	"\t\t_dsa_reply \"$words\" \"$word\"\n"
	"\telif [[ $word == -* ]]; then\n"
	"\t\t_dsa_reply \"$(_dsa_after \"$at -\") --help\" \"$word\"\n"
	"\telse\n"
	"\t\t_dsa_reply \"$(_dsa_after \"$at\")\" \"$word\"\n"
	"\tfi\n"
	"}\n"
	"complete -F _dsa dsa\n";

static void bash_put_after(const char *arg)
{
	if (takes_words(arg))
		put_words(arg);
	else if (takes_path(arg))
		fputs("@path", stdout);
}

static void bash_name(const struct argument *option, const char *path)
{
	(void)path;
	printf("--%s ", option->name);
}

static void bash_value(const struct argument *option, const char *path)
{
	if (option->arg == NULL)
		return;
	printf("\t'%s --%s'", path, option->name);
	if (isalpha(option->key))
		printf(" | '%s -%c'", path, option->key);
	fputs(") echo '", stdout);
	bash_put_after(option->arg);
	puts("' ;;");
}

static void bash_command(const struct command *command, const char *path)
{
	const char *words = completion_words(command);

	printf("\t'%s') echo '", path);
	for (size_t i = 0; command->below != NULL && command->below[i] != NULL; i++)
		printf("%s ", command->below[i]->name);
	if (words != NULL)
		bash_put_after(words);
	printf("' ;;\n\t'%s -') echo '", path);
	each_option(command, path, bash_name);
	puts("' ;;");
	each_option(command, path, bash_value);
}

/* zsh: one _arguments for each command. */

static const char zsh_begin[] =
	"#compdef dsa\n"
	"# Completion of dsa for zsh, written by: dsa completion zsh\n"
	"_dsa_at()\n"
	"{\n"
	"\tcase $1 in\n";

static const char zsh_end[] =
	"\t*) return 1 ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"_dsa()\n"
	"{\n"
	"\tlocal at=dsa\n"
	"\twhile ((CURRENT > 2)) && _dsa_is \"$at $words[2]\"; do\n"
	"\t\tat=\"$at $words[2]\"\n"
	"\t\tshift words\n"
	"\t\t((CURRENT--))\n"
	"\tdone\n"
	"\t_dsa_at $at\n"
	"}\n"
	"\n"
	"_dsa_is()\n"
	"{\n"
	"\t[[ $functions[_dsa_at] == *\"'$1'\"* ]]\n"
	"}\n"
	"\n"
	"if [[ $funcstack[1] == _dsa ]]; then\n" /* from fpath; else it was sourced */
	"\t_dsa \"$@\"\n"
	"else\n"
	"\tcompdef _dsa dsa\n"
	"fi\n";

static void zsh_put_after(const char *arg)
{
	putchar(':');
	if (takes_words(arg)) {
		fputs("one of:(", stdout);
		put_words(arg);
		putchar(')');
	} else {
		put_quoted(arg, ":");
		putchar(':');
		if (takes_path(arg))
			fputs("_files", stdout);
	}
}

static void zsh_option(const struct argument *option, const char *path)
{
	(void)path;
	printf(" \\\n\t\t'--%s%s[", option->name, option->arg != NULL ? "=" : "");
	put_quoted(option->doc, "[]:\\");
	putchar(']');
	if (option->arg != NULL)
		zsh_put_after(option->arg);
	putchar('\'');
}

static void zsh_command(const struct command *command, const char *path)
{
	const char *words = completion_words(command);

	printf("\t'%s') _arguments -S '--help[say what it does]'", path);
	if (command->below != NULL) {
		fputs(" '1:command:((", stdout);
		for (size_t i = 0; command->below[i] != NULL; i++) {
			printf("%s\\:\"", command->below[i]->name);
			put_quoted(command->below[i]->summary, "\":\\");
			fputs("\" ", stdout);
		}
		fputs("))'", stdout);
	} else {
		each_option(command, path, zsh_option);
		fputs(" \\\n\t\t'*:", stdout);
		if (words != NULL && takes_command(words))
			fputs("::command:_normal", stdout);
		else if (words != NULL)
			zsh_put_after(words);
		putchar('\'');
	}
	puts(" ;;");
}

/* fish: one complete for each option of each command. */

static const char fish_begin[] =
	"# Completion of dsa for fish, written by: dsa completion fish\n"
	"function __dsa_at\n"
	"\tset -l at dsa\n"
	"\tfor word in (commandline -opc)[2..]\n"
	"\t\tstring match -q -- '-*' $word; or set at \"$at $word\"\n"
	"\tend\n"
	"\tstring match -q -- \"$argv[1]*\" $at\n"
	"end\n"
	"function __dsa_is\n"
	"\tset -l at (commandline -opc)\n"
	"\ttest \"$at\" = \"$argv[1]\"\n"
	"end\n"
	"complete -c dsa -l help -d 'say what it does'\n";

static void fish_put_after(const char *arg)
{
	if (takes_words(arg)) {
		fputs(" -x -a '", stdout);
		put_words(arg);
		putchar('\'');
	} else {
		fputs(takes_path(arg) ? " -r -F" : " -x", stdout);
	}
}

static void fish_option(const struct argument *option, const char *path)
{
	printf("complete -c dsa -n \"__dsa_at '%s'\" -l %s", path, option->name);
	if (isalpha(option->key))
		printf(" -s %c", option->key);
	fputs(" -d '", stdout);
	put_quoted(option->doc, "'\\");
	putchar('\'');
	if (option->arg != NULL)
		fish_put_after(option->arg);
	putchar('\n');
}

static void fish_below(const struct command *command, const char *path)
{
	for (size_t i = 0; command->below[i] != NULL; i++) {
		printf("complete -c dsa -n \"__dsa_is '%s'\" -f -a %s -d '", path,
		       command->below[i]->name);
		put_quoted(command->below[i]->summary, "'\\");
		puts("'");
	}
}

static void fish_command(const struct command *command, const char *path)
{
	const char *words = completion_words(command);

	if (command->below != NULL) {
		fish_below(command, path);
		return;
	}
	each_option(command, path, fish_option);
	if (words != NULL && takes_words(words)) {
		printf("complete -c dsa -n \"__dsa_is '%s'\"", path);
		fish_put_after(words);
		putchar('\n');
	}
}

static const struct shell shells[] = {
	{"bash", bash_begin, bash_end, bash_command},
	{"zsh", zsh_begin, zsh_end, zsh_command},
	{"fish", fish_begin, "", fish_command},
};

static void completion_choose(struct argp_state *state, void *shell, const char *name)
{
	const struct shell **chosen = shell;

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
		if (strcmp(name, shells[i].name) == 0)
			*chosen = &shells[i];
	if (*chosen == NULL || state->arg_num > 0)
		argument_error(state, "one of bash, zsh and fish, not '%s'", name);
}

static const struct argument arguments[] = {
	{NULL, 0, "bash|zsh|fish", ARGUMENT_ALL_BY(EACH, completion_choose),
	 "for which shell: bash, zsh or fish?"},
	{0},
};

static int completion_run(const struct command *self, int argc, char **argv)
{
	const struct shell *shell = NULL;

	argument_read(self, argc, argv, &shell);
	fputs(shell->begin, stdout);
	each_command(&command_dsa, command_dsa.name, shell);
	fputs(shell->end, stdout);
	return 0;
}

const struct command command_completion = {
	.name = "completion",
	.summary = "write completion for bash, zsh or fish",
	.arguments = arguments,
	.doc = "Write completion for a shell to standard output.",
	.run = completion_run,
};
