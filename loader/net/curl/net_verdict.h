/* net_verdict.h - what a try came to: done, failed for good, or worth another. */
#ifndef DSA_NET_VERDICT_H
#define DSA_NET_VERDICT_H

#include <stdbool.h>

struct transfer;

/* 0, or -errno as loader/net.h has them, and one line in get->error; *again: another try
 * may succeed. */
int verdict_of(struct transfer *transfer, bool *again);

#endif
