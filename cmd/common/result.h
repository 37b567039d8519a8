/*
 * result.h - the result of a run, where it lies: run.json and report.html in a folder,
 * or the session of a run whose dsa died.
 */
#ifndef DSA_RESULT_H
#define DSA_RESULT_H

struct error;
struct profile;

/*
 * Loads RUN: a folder, or a run.json. *profile comes from profile_init(), and ends with
 * profile_free() in either case. 0 or -errno.
 */
int result_load(const char *run, struct profile *profile, struct error *err);

/* The folder that RUN lies in, PATH_MAX bytes. -EINVAL: a file that is no run.json. */
int result_where(const char *run, char *folder, struct error *err);

/* Makes the folder, with those above it, and sees that it can be written into. */
int result_folder(const char *folder, struct error *err);

/* 0: a run.json there is one of dsa, or there is none; -EEXIST: another program's, not ours
 * to replace; or another -errno. */
int result_replaces(const char *folder, struct error *err);

/* The form of what is written to `output` (NULL: standard output): the one asked for, else
 * (NULL) by the file's ending, where that is of one of `forms` (as choice.h has them), else
 * text. */
const char *result_form(const char *asked, const char *output, const char *forms);

/* Writes run.json and report.html there, each whole or not at all. */
int result_save(const char *folder, const struct profile *profile, struct error *err);

#endif
