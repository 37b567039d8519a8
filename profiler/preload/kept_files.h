/*
 * kept_files.h - what the program overwrites while its data is repeated: kept in a folder of
 * the run, with a script that puts all back, to which the program adds each file that it
 * keeps (profiler/io/kept/put_back.h).
 */
#ifndef DSA_KEPT_FILES_H
#define DSA_KEPT_FILES_H

struct error;
struct io_page;
struct profile;

/* Makes a folder in that of the run, in which nothing lies yet, and names it in the page.
 * 0 or -errno. */
int kept_files_open(struct io_page *page, const char *folder, struct error *err);

/* Tells the result what was kept, and removes the folder where nothing was. 0 or -errno. */
int kept_files_close(const struct io_page *page, struct profile *profile);

/* The same where there is no page any more, as its dsa died; the program may still run, so
 * nothing is removed. */
int kept_files_recover(const char *folder, struct profile *profile);

/* Runs the script of the page's folder, and removes that where nothing is left to be put
 * back. 0, or -EIO where not all of it could be kept and put back. */
int kept_files_put_back(const struct io_page *page, struct error *err);

#endif
