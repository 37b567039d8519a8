#include "loader/base/error.h"
#include "loader/base/text/ini.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void settings_come_with_their_section(void **state)
{
	static const struct {
		const char *section, *name, *value;
		unsigned line;
	} want[] = {{"", "budget", "30s", 2},
		    {"run", "json", "yes", 4},
		    {"run", "output", "a = b", 6},
		    {"bench fetch", "depth", "", 8}};
	char text[] = "# everyone's\n  budget=30s  \r\n[ run ]\njson = yes\n; no\n"
		      "output = a = b\n[bench fetch]\ndepth =";
	struct ini ini = {.at = text};
	const char *name, *value;

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(ini_next(&ini, &name, &value, NULL), 1);
		assert_string_equal(ini.section, want[i].section);
		assert_string_equal(name, want[i].name);
		assert_string_equal(value, want[i].value);
		assert_int_equal(ini.line, want[i].line);
	}
	assert_int_equal(ini_next(&ini, &name, &value, NULL), 0);
}

static void other_lines_are_told_with_their_number(void **state)
{
	static const char *const bad[] = {"\nbudget", "\n= 3", "\n[run", "\n[]"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[16];
		struct ini ini = {.at = text};
		struct error err = {0};
		const char *name, *value;

		snprintf(text, sizeof(text), "%s", bad[i]);
		assert_int_equal(ini_next(&ini, &name, &value, &err), -EBADMSG);
		assert_string_equal(err.message,
				    "line 2 is neither [section] nor name = value");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_come_with_their_section),
		cmocka_unit_test(other_lines_are_told_with_their_number),
	};

	return cmocka_run_group_tests_name("ini", tests, NULL, NULL);
}
