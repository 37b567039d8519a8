/* too_short.h - that a run ended before it measured what a model needs. */
#ifndef DSA_TOO_SHORT_H
#define DSA_TOO_SHORT_H

struct error;
struct profile;

/* -ENODATA, and err: "no time was left to measure WHAT: raise --budget to 30s". */
int too_short(const struct profile *profile, const char *what, struct error *err);

#endif
