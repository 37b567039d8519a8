/* net_api.h - what libdsa-net.so gives libdsa: the calls of loader/net.h that need a
 * library below it. */
#ifndef DSA_NET_API_H
#define DSA_NET_API_H

#include "loader/net.h"
#include "loader/net/remote.h"

/* Another one than this library's is refused. */
enum { NET_API_VERSION = 2 };

struct net_api {
	unsigned version;
	void *(*open)(const struct net_config *config, struct error *err);
	void (*close)(void *state);
	void (*start)(void *state, struct net_get *get);
	void (*cancel)(void *state, const struct net_get *get);
	void (*wait)(void *state, uint64_t most_ns);
	void (*wake)(void *state);
	int (*read_page)(const char *text, size_t size, struct net_page *page,
			 struct error *err);
};

#define NET_API_SYMBOL "dsa_net_api"
typedef const struct net_api *net_api_get(void);

#endif
