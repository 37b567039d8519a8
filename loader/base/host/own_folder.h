/* own_folder.h - where what belongs to this code lies. */
#ifndef DSA_OWN_FOLDER_H
#define DSA_OWN_FOLDER_H

#include <limits.h>
#include <stdbool.h>

/* Finds a file beside the library or program that holds this code, as in build/, or where both
 * are installed. False, and "": there is none. */
bool own_folder_find(const char *name, char path[PATH_MAX]);

#endif
