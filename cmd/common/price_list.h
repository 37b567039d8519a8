/* price_list.h - the file of --prices. */
#ifndef DSA_PRICE_LIST_H
#define DSA_PRICE_LIST_H

struct error;
struct prices;
struct profile;

/* Reads it. 0 or -errno. */
int price_list_read(const char *path, struct prices *prices, struct error *err);

/* Names the currency in a profile, and what its requests cost. 0 or -ENOMEM. */
int price_list_note(const struct prices *prices, struct profile *profile);

#endif
