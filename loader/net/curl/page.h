/* page.h - the XML of one page of ListObjectsV2. */
#ifndef DSA_NET_PAGE_H
#define DSA_NET_PAGE_H

#include "loader/net.h"

/* As net_read_page(). */
int page_read(const char *text, size_t size, struct net_page *page, struct error *err);

#endif
