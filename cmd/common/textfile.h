/* textfile.h - a whole file as text: of settings, of prices. */
#ifndef DSA_TEXTFILE_H
#define DSA_TEXTFILE_H

struct error;

/*
 * Reads a file of at most 64 KiB without bytes of 0. The caller frees *text. 0; -errno
 * of the file, -EINVAL (too long), -EBADMSG or -ENOMEM, and err names the path.
 */
int textfile_read(const char *path, char **text, struct error *err);

#endif
