/* put_back.h - the script that puts kept files back: whole after each of them, whatever
 * becomes of dsa and of the program. */
#ifndef DSA_PUT_BACK_H
#define DSA_PUT_BACK_H

#include <stdbool.h>
#include <stdint.h>

/* What to do with a file. Paths are absolute, and shorter than PATH_MAX. */
struct put_back {
	const char *kept; /* FOLDER and a number */
	const char *path; /* what it was called */
	bool again;       /* to move it to `path` with a dot and that number */
	uint64_t names;   /* to add(): that it had */
	uint64_t most;    /* its first bytes, the user's; UINT64_MAX: all are */
	uint64_t inode;   /* to cut(): of the file that has these */
};

/*
 * Each adds a line to FOLDER/put-back, which does nothing where there is no `kept`, but for
 * the folder: add() one that moves it, unless `path` is that file already, and cuts off what
 * was added; cut() one that cuts that off where it is, and then removes `kept`. False: the
 * script has no such line.
 */
bool put_back_add(const char *folder, const struct put_back *back);
bool put_back_cut(const char *folder, const struct put_back *back);

#endif
