/* profiled.h - a server whose batches the windows of a dsa run decide. Private to
 * loader/share/. */
#ifndef DSA_SHARE_PROFILED_H
#define DSA_SHARE_PROFILED_H

#include "loader/ring.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct error;
struct share_server;
struct windows;

struct profiled {
	struct windows *windows; /* NULL: no dsa run keeps this server in step, or
				  * another loader drives its session */
	pthread_t thread;
	_Atomic bool on; /* dsa lives, and has not seen enough */
	struct ring_shape shape;
};

bool profiled_is(const struct share_server *server);
bool profiled_over(const struct share_server *server); /* the run has ended */
int profiled_open(struct share_server *server, struct error *err);
void profiled_close(struct share_server *server);

#endif
