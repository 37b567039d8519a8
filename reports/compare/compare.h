/*
 * compare.h - two results side by side, for people: causes first, then every number
 * that both have, with what changed and whether the intervals overlap.
 */
#ifndef DSA_COMPARE_H
#define DSA_COMPARE_H

#include "reports/common/form_style.h"

struct compare {
	const struct profile *a, *b;
	const char *a_name, *b_name;
};

/* "text", "json", "html", or "markdown". -EINVAL: no such form. 0 or -errno. */
int compare_write(const char *form, const struct compare *compare,
		  const struct form_style *style, FILE *out, struct error *err);

#endif
