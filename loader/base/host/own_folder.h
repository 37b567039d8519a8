/* own_folder.h - where this code lies: what belongs to it lies near. */
#ifndef DSA_OWN_FOLDER_H
#define DSA_OWN_FOLDER_H

#include <limits.h>
#include <stdbool.h>

/* The folder of the library or program that holds this code. False: not known. */
bool own_folder(char folder[PATH_MAX]);

#endif
