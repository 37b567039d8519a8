/*
 * json_part.h - what the JSON of results, baselines and verdicts is made of.
 *
 * Functions that place return 0, or -1 when memory is short. Those that read fill err
 * with what is wrong and where: -EBADMSG or -ENOMEM.
 */
#ifndef DSA_JSON_PART_H
#define DSA_JSON_PART_H

#include "profiler/field.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct error;
struct interval;
struct profile;

/* Nine digits: nanoseconds in a second, and every decimal survives the way back. */
#define JSON_PART_FLAGS (JSON_SORT_KEYS | JSON_INDENT(2) | JSON_REAL_PRECISION(9))

/* A text, as UTF-8. NULL: no memory. */
json_t *json_part_text(const char *text);

/* value if it is `whole`; else frees it and returns NULL. */
json_t *json_part_whole(json_t *value, bool whole);

/* A new value of a member; null: nothing is known to write. NULL: no memory. */
json_t *json_part_value(enum field_type type, const void *at);

/* Appends a value, which may be NULL, to an array. Returns the array, or NULL and frees
 * it when memory is short; a NULL array stays NULL. */
json_t *json_part_append(json_t *array, json_t *value);

/* An array of texts that ends with NULL; NULL stands for an empty one. */
json_t *json_part_words(char *const *words);

/* Writes `root`, which it frees, and a newline; NULL is an error: no memory. `what` it
 * is ("the verdict") is for the message. 0 or -errno. */
int json_part_write(json_t *root, FILE *out, const char *what, struct error *err);

/* Sets key of object unless number is unknown, or infinite. */
int json_part_number(json_t *object, const char *key, double number);

/* An interval whose value is called `name`; what is unknown of it is absent. */
json_t *json_part_interval(const struct interval *interval, const char *name);

/* What the fields name of *from, where it is known, in object. */
int json_part_place(json_t *object, const struct field *fields, const void *from);

/* The facts that `keep` wants, or all, as "environment". */
int json_part_place_facts(json_t *root, const struct profile *profile,
			  bool (*keep)(const char *key));

/* *to from what the fields name in object; what is not there stays as it is. */
int json_part_read(const json_t *object, const struct field *fields, void *to,
		   struct error *err);
int json_part_read_facts(json_t *root, struct profile *profile, struct error *err);

/* -EBADMSG: "should be ...". */
int json_part_wrong(struct error *err, const char *what);

/* What a file says that it is, and what to do if it says something else. */
struct json_part_kind {
	const char *schema; /* "dsa.result/1" */
	const char *what;   /* "a result of dsa" */
	const char *advice;
	const char *instead; /* the same, of what is of another kind altogether */
};

/* 0; -EBADMSG: it says nothing; -EPROTO: another, named. */
int json_part_schema(const json_t *root, const struct json_part_kind *kind,
		     struct error *err);

/* An object or array, or NULL with err naming line and column; each key once. */
json_t *json_part_parse(const char *text, size_t size, struct error *err);

/* All of a regular file of at most 8 MiB, to be freed, or NULL with -errno in *result;
 * what it should have been ("a result of dsa") is for the message. */
char *json_part_slurp(const char *path, const char *what, size_t *size, int *result,
		      struct error *err);

#endif
