/* s3_profile_fuzz.c - a file of ~/.aws: what is taken of it lies within its text. */
#include "loader/net/s3_profile.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_value(const char *value, const char *text, size_t size)
{
	if (value != NULL && (value < text || value >= text + size || *value == '\0' ||
			      strchr(value, '\n') != NULL))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int config = 0; config < 2; config++) {
		char *text = strndup((const char *)data, size);
		size_t length = text != NULL ? strlen(text) : 0;
		struct s3_profile profile = {0};

		if (text == NULL)
			return 0;
		s3_profile_read(&profile, text, "a", config == 1);
		check_value(profile.id, text, length);
		check_value(profile.secret, text, length);
		check_value(profile.token, text, length);
		check_value(profile.region, text, length);
		check_value(profile.endpoint, text, length);
		check_value(profile.style, text, length);
		check_value(profile.ca_bundle, text, length);
		if (!profile.found && profile.id != NULL)
			abort();
		free(text);
	}
	return 0;
}
