/*
 * result_fuzz.c - a run.json may hold anything: it is refused in one line, or it can be
 * shown in every form, and compared with itself and with nothing; and writing, reading
 * and writing it again changes nothing.
 */
#include "loader/base/error.h"
#include "profiler/profile.h"
#include "reports/compare/compare.h"
#include "reports/form.h"
#include "reports/json/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Without gnuplot: it would take all the time, and gets only our own numbers. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return setenv("PATH", "/nowhere", 1);
}

static char *write_form(const char *name, const struct profile *profile, size_t *size)
{
	struct form_style style = {.ascii = true};
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	if (form_find(name, NULL)->write(profile, &style, out, NULL) < 0)
		abort();
	fclose(out);
	return text;
}

static void write_again(const struct profile *profile)
{
	size_t size = 0, again_size = 0;
	char *text = write_form("json", profile, &size), *again_text;
	struct profile again;

	if (json_result_read(text, size, &again, NULL) < 0)
		abort();
	again_text = write_form("json", &again, &again_size);
	if (size != again_size || memcmp(text, again_text, size) != 0)
		abort();
	free(text);
	free(again_text);
	profile_free(&again);
}

static void compare(const struct profile *a, const struct profile *b)
{
	static const char *const kinds[] = {"text", "json", "html", "markdown"};
	const struct compare compare = {a, b, "a", "b"};
	const struct form_style style = {.ascii = true};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		if (compare_write(kinds[i], &compare, &style, out, NULL) < 0)
			abort();
		fclose(out);
		free(text);
	}
}

static void compare_with_nothing(const struct profile *profile)
{
	struct profile nothing;

	profile_init(&nothing);
	compare(&nothing, profile);
	compare(profile, &nothing);
	profile_free(&nothing);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile profile;
	struct error err = {0};
	size_t length;

	if (json_result_read((const char *)data, size, &profile, &err) < 0) {
		if (err.message[0] == '\0')
			abort();
		return 0;
	}
	write_again(&profile);
	free(write_form("text", &profile, &length));
	free(write_form("csv", &profile, &length));
	free(write_form("html", &profile, &length));
	compare(&profile, &profile);
	compare_with_nothing(&profile);
	profile_free(&profile);
	return 0;
}
