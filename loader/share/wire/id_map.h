/*
 * id_map.h - what the samples of several data sets read as one are called in one of
 * them: a sealed memfd with an entry for each. Private to loader/share/.
 */
#ifndef DSA_SHARE_ID_MAP_H
#define DSA_SHARE_ID_MAP_H

#include <stddef.h>
#include <stdint.h>

struct error;
struct source;

/* In the data set; UINT32_MAX: the sample is not in it. */
struct id_map_entry {
	uint32_t sample, label;
};

struct id_map {
	const struct id_map_entry *of; /* each sample of them all; NULL: none */
	size_t count;
};

/* Makes the memfd for a part of a union. The descriptor, or -errno. */
int id_map_write(const struct source *all, unsigned part, struct error *err);

/* Maps it. -EPROTO: this is no such memfd. 0 or -errno; id_map_fini() after 0. */
int id_map_read(int fd, struct id_map *id_map, struct error *err);
void id_map_fini(struct id_map *id_map); /* of none is allowed */

struct id_map_entry id_map_find(const struct id_map *id_map, uint32_t sample);

#endif
