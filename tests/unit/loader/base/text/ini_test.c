#include "loader/base/error.h"
#include "loader/base/text/ini.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>

TEST(settings_come_with_their_section)
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

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(ini_next(&ini, &name, &value, NULL), 1);
		assert_string_equal(ini.section, want[i].section);
		assert_string_equal(name, want[i].name);
		assert_string_equal(value, want[i].value);
		assert_int_equal(ini.line, want[i].line);
	}
	assert_int_equal(ini_next(&ini, &name, &value, NULL), 0);
}

TEST(other_lines_are_told_with_their_number)
{
	static const char *const bad[] = {"\nbudget", "\n= 3", "\n[run", "\n[]"};

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
