/* pricelist.h - prices from a file of theirs: dsa-prices(5). */
#ifndef DSA_PRICELIST_H
#define DSA_PRICELIST_H

struct error;
struct prices;

/* 0; -errno, and err names the file, the line and what is wrong. */
int pricelist_read(const char *path, struct prices *prices, struct error *err);

#endif
