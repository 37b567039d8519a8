/* sample_kind.h - what the samples of a data set are, and which it has. */
#ifndef DSA_SAMPLE_KIND_H
#define DSA_SAMPLE_KIND_H

struct error;
struct source;
struct source_config;

enum sample_kind { SAMPLE_IMAGE, SAMPLE_AUDIO, SAMPLE_TOKENS };

/*
 * As source_open(); of a config without prep the first of these kinds that there are samples
 * of. Sets *kind. NULL and *err, which is 0 before.
 */
struct source *sample_source_open(const char *dataset,
				  const struct source_config *config,
				  enum sample_kind *kind, struct error *err);

#endif
