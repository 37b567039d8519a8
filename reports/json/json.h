/*
 * json.h - a profile as run.json and back. dsa-result(5) describes every key.
 *
 * What is written, read and written again is the same text. Keys are sorted, units are
 * in their names, and what is unknown is absent. Text that is not UTF-8 is written
 * with its odd bytes as \xHH.
 */
#ifndef DSA_JSON_H
#define DSA_JSON_H

#include <stddef.h>
#include <stdio.h>

struct error;
struct profile;

#define JSON_RESULT_SCHEMA "dsa.result/1"

/* A larger run.json, or one with more draws, is not read. */
enum { JSON_RESULT_MAX = 8 << 20 /* bytes */, JSON_RESULT_DRAWS = 65536 };

/* Writes profile to out. Returns 0, -ENOMEM, or -errno when out failed. */
int json_result_write(const struct profile *profile, FILE *out, struct error *err);

/*
 * Fills *profile, which the caller ends with profile_free(), from `size` bytes of text.
 * Keys it does not know are left alone. -EPROTO: another or a newer schema, named;
 * -EBADMSG: cut short, not JSON, or a key holds the wrong kind of value, named. On
 * failure *profile is empty.
 */
int json_result_read(const char *text, size_t size, struct profile *profile,
		     struct error *err);

/* The same from a file; its name begins the message. */
int json_result_load(const char *path, struct profile *profile, struct error *err);

#endif
