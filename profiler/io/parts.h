/* parts.h - which file the sample of a batch that is looked at began with. */
#ifndef DSA_IO_PARTS_H
#define DSA_IO_PARTS_H

/* The calling thread opened a file of data. */
void parts_opened(const char *path);

#endif
