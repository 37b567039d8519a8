/* program_file.h - the file of a program: where it lies, and what starts it. */
#ifndef DSA_PROGRAM_FILE_H
#define DSA_PROGRAM_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Where a shell would find a program; false if nowhere. path holds size bytes. */
bool program_file_find(const char *name, char *path, size_t size);

/*
 * The words of a script's first line, without env(1) and its options: an interpreter, with
 * a space before each of its own options. "": it names none. False: it is no script.
 */
bool program_file_script(const char *path, char *words, size_t room);

/* The dynamic loader that an ELF file of 64 bits names. False: it names none, or is no
 * such file. */
bool program_file_loader(const char *path, char *loader, size_t room);

#endif
