/* datasets.h - the data sets that a server serves. Private to loader/share/. */
#ifndef DSA_SHARE_DATASETS_H
#define DSA_SHARE_DATASETS_H

#include "loader/share.h"
#include <stdint.h>

struct client;
struct error;
struct share_server;
struct source;

/* A data set that jobs may ask for. */
struct dataset {
	unsigned set;                /* its number */
	char name[4096];             /* real path */
	const struct source *source; /* parts.source, or a part of it */
	int classes;                 /* memfd of their names */
	int id_map; /* memfd (id_map.h); -1: samples of the ring are its own */
};

struct datasets {
	struct dataset at[SHARE_DATASETS];
	unsigned count;
};

/* Opens them as one; *source is the caller's. NULL: there is but the loader's own,
 * which the caller opens. */
int datasets_source(struct share_server *server, struct source **source,
		    struct error *err);
int datasets_open(struct share_server *server, struct error *err);
void datasets_close(struct datasets *datasets);

/* Sets the data set that a client asks for. -EINVAL: there is no such. */
int datasets_find(const struct datasets *datasets, struct client *client,
		  struct error *err);

#endif
