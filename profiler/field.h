/*
 * field.h - what a profile and its elements are made of, and where each number of them is
 * found in run.json.
 *
 * One table a structure; what is unknown at first and freed in the end, reading, writing,
 * the CSV and the test of dsa-result.5 all follow it, so that they can't disagree. To add a
 * number: a member in profiler/profile.h, its line here, its line in man/dsa-result.5. What a
 * window has, and settings and counts, which baselines hold too, have their lines in
 * profiler/profile_fields.h.
 */
#ifndef DSA_FIELD_H
#define DSA_FIELD_H

#include <stdbool.h>
#include <stddef.h>

struct profile;

enum field_type {
	FIELD_TEXT,      /* char *; NULL is absent */
	FIELD_KIND,      /* struct profile_word of profile_kinds; none is absent */
	FIELD_STATUS,    /* the same of profile_statuses */
	FIELD_LIMIT,     /* the same of profile_limits */
	FIELD_PROTOCOL,  /* of profile_protocols */
	FIELD_ENGINE,    /* of profile_engines */
	FIELD_CACHE,     /* of profile_caches */
	FIELD_TYPE,      /* of profile_types */
	FIELD_LOADER,    /* of profile_loaders */
	FIELD_SPLIT,     /* of profile_splits */
	FIELD_COUNT,     /* uint64_t; absent from INT64_MAX on, UNKNOWN with it */
	FIELD_UNSIGNED,  /* unsigned; 0 is absent */
	FIELD_INDEX,     /* int; negative is absent */
	FIELD_FLAG,      /* bool; always there */
	FIELD_YES,       /* bool; false is absent */
	FIELD_ANSWER,    /* int: 1 true, 0 false; negative is absent */
	FIELD_NUMBER,    /* double; NAN is absent */
	FIELD_SPEEDS,    /* double[PROFILE_SPEEDS] as an array, 0 is its end */
	FIELD_SHARE,     /* struct interval as {"share", "low", "high"} */
	FIELD_ESTIMATE,  /* struct interval as {"value", "low", "high"} */
	FIELD_WORDS,     /* char **, NULL terminated: an array of texts */
	FIELD_HISTOGRAM, /* struct profile_histogram as {"low", "counts"} */
	FIELD_END
};

struct field {
	const char *path; /* keys with dots between them: "rates.real_per_s" */
	enum field_type type;
	size_t offset;
};

/* A line of such a table: `type` without FIELD_, `member` of that structure. */
#define FIELD_AT(structure, path, type, member)                                        \
	{                                                                              \
		path, FIELD_##type, offsetof(struct structure, member)                 \
	}

/* An array of objects: its path, what each holds, and where the array is. */
struct field_list {
	const char *path;
	const struct field *fields;
	const struct field *unwritten; /* that an element has, but no file */
	size_t size;                   /* of an element */
	size_t array, count;           /* offsets in struct profile */
	bool if_any;                   /* absent where it is empty */
};

/* Appends an element whose fields are all unknown. NULL: no memory. */
void *field_add(const struct field_list *list, struct profile *profile);

/* The table of a type of words; NULL: it is another type. */
const char *const *field_table(enum field_type type);

/* The text or word at a member; NULL: none is known, or it is of another type. */
const char *field_text(enum field_type type, const void *at);

extern const struct field field_profile[]; /* end with FIELD_END, NULL path */
extern const struct field field_window[];
extern const struct field field_draw[];       /* of "draws", an array each */
extern const struct field_list field_lists[]; /* ends with a NULL path */

#endif
