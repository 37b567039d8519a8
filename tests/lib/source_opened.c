#include "tests/lib/source_opened.h"
#include "loader/base/error.h"
#include "tests/lib/test.h"

#include <stddef.h>

struct source *source_opened(const char *dataset, const struct source_config *config)
{
	struct error err = {0};
	struct source *source = source_open(dataset, config, &err);

	if (source == NULL)
		fail_msg("%s", err.message);
	return source;
}

void source_refused(const char *dataset, const struct source_config *config, int code,
		    const char *message)
{
	struct error err = {0};

	assert_null(source_open(dataset, config, &err));
	assert_string_equal(err.message, message);
	assert_int_equal(err.code, code);
}
