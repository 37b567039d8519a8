/* source_opened.h - opens data sets for tests, or sees that they are refused. */
#ifndef DSA_TESTS_SOURCE_OPENED_H
#define DSA_TESTS_SOURCE_OPENED_H

#include "loader/source.h"

/* Fails the test where it can't be opened. */
struct source *source_opened(const char *dataset, const struct source_config *config);

/* Fails the test unless it is refused with this code and message. */
void source_refused(const char *dataset, const struct source_config *config, int code,
		    const char *message);

#endif
