/* sample_kind.c - opens a data set as one kind after the other. */
#include "profiler/dataset/sample_kind.h"
#include "loader/base/error.h"
#include "loader/source.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* What a file is called tells tokens from a list or shards. */
static bool sample_kind_may(const char *dataset, enum sample_kind kind)
{
	static const char *const endings[] = {".bin", ".u16", ".u32"};
	const char *ending = strrchr(dataset, '.');
	struct stat status;

	for (size_t i = 0; ending != NULL && i < sizeof(endings) / sizeof(*endings);
	     i++)
		if (strcasecmp(ending, endings[i]) == 0)
			return kind == SAMPLE_TOKENS;
	return kind != SAMPLE_TOKENS || stat(dataset, &status) < 0 ||
	       !S_ISREG(status.st_mode);
}

struct source *sample_source_open(const char *dataset,
				  const struct source_config *config,
				  enum sample_kind *kind, struct error *err)
{
	static const char *const preps[] = {"image", "audio", "tokens"};
	struct source *source = NULL;

	*kind = SAMPLE_IMAGE;
	for (int i = SAMPLE_IMAGE; i <= SAMPLE_TOKENS && source == NULL; i++) {
		struct source_config as = *config;
		struct error own = {0};

		if (config->prep != NULL
			    ? strcmp(config->prep, preps[i]) != 0
			    : !sample_kind_may(dataset, (enum sample_kind)i))
			continue;
		as.prep = preps[i];
		source = source_open(dataset, &as, &own);
		*kind = (enum sample_kind)i;
		if (err->code == 0 || own.code != ENODATA)
			*err = own;
		if (own.code != ENODATA)
			break;
	}
	return source;
}
