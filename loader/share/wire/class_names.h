/* class_names.h - names of classes on their way from loader to consumer: a memfd of
 * texts, each ended by 0. Private to loader/share/. */
#ifndef DSA_SHARE_CLASS_NAMES_H
#define DSA_SHARE_CLASS_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct source;

enum { CLASS_NAMES_MOST = 1 << 26 }; /* bytes */

/* Makes the memfd. The descriptor, or -errno. */
int class_names_write(const struct source *source, struct error *err);

/* Reads `count` names out of it; *names is the caller's to free. 0 or -errno. */
int class_names_read(int fd, uint32_t count, char **names, struct error *err);

/* Name `label` of `count`; NULL: there is none. */
const char *class_names_get(const char *names, uint32_t count, uint32_t label);

#endif
