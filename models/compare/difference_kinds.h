/* difference_kinds.h - what the finders of differences share; private to their room. */
#ifndef DSA_DIFFERENCE_KINDS_H
#define DSA_DIFFERENCE_KINDS_H

#include "models/compare/amount_text.h"
#include "models/compare/differences.h"

#define DIFFERENCE_EXACT 1e-6 /* nearer to 1 a ratio is none: rounding of a quotient */

/* Short, as tables of them are wide. */
enum { SLOW = DIFFERENCE_SLOWER, FAST = DIFFERENCE_FASTER, EITHER = DIFFERENCE_EITHER };

/* Each stage's member of an array, in tables. */
#define BY_STAGE(fetch, prep, copy, compute)                                           \
	{                                                                              \
		[STAGE_COMPUTE] = compute, [STAGE_COPY] = copy, [STAGE_PREP] = prep,   \
		[STAGE_FETCH] = fetch                                                  \
	}

/* More of it makes a stage slower or faster, or either. */
struct difference_kind {
	const char *name;
	enum difference_rank rank;
	signed char more[STAGES]; /* enum difference_way */
	enum amount_unit unit;
	double least; /* |ln| of a ratio that is none */
};

/* What is no number: which stages it may slow, or speed up. */
struct difference_words {
	const char *name;
	enum difference_rank rank;
	bool stage[STAGES];
};

/* NULL: there is no room for more of them. */
struct difference *difference_add(struct differences *all, enum difference_rank rank);

/* Adds that one if it is one. NULL: unknown, as good as equal, or no room. */
struct difference *difference_number(struct differences *all,
				     const struct difference_kind *kind, double base,
				     double now);
struct difference *difference_words(struct differences *all,
				    const struct difference_words *kind,
				    const char *base, const char *now);

/* |ln| of the ratio; infinite where one of them is 0 or has no end. */
double difference_size(double base, double now);

/* NAN for UNKNOWN. */
double difference_known(uint64_t count);

/* Each adds what it finds: in counts and data; in settings; in machines. */
typedef void difference_finder(struct differences *all, const struct profile *base,
			       const struct profile *now);
difference_finder differences_of_data, differences_of_settings, differences_of_machines;

#endif
