/* put_back.h - the script that puts kept files back: whole after each of them, whatever
 * becomes of dsa and of the program. */
#ifndef DSA_PUT_BACK_H
#define DSA_PUT_BACK_H

/* Adds a line to FOLDER/put-back, which moves `kept` to `path`. Paths are shorter than
 * IO_PATH. */
void put_back_add(const char *folder, const char *kept, const char *path);

#endif
