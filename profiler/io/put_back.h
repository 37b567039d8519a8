/* put_back.h - the script that puts kept files back: whole after each of them, whatever
 * becomes of dsa and of the program. */
#ifndef DSA_PUT_BACK_H
#define DSA_PUT_BACK_H

#include <stdbool.h>

/* Adds a line to FOLDER/put-back, which moves `kept`, FOLDER and a number, to `path`, unless
 * it is that file already; or does nothing where there is no `kept`, but for the folder.
 * `again`: to `path` with a dot and that number. Paths are absolute, and shorter than
 * PATH_MAX. False: the script has no such line. */
bool put_back_add(const char *folder, const char *kept, const char *path, bool again);

#endif
