/* prep_parts.h - the parts of making samples, out of the page into a result. */
#ifndef DSA_PREP_PARTS_H
#define DSA_PREP_PARTS_H

struct io_page;
struct profile;

/* Adds the parts, with the hand-over that the profile has, and the slowest samples; none
 * where no batch was looked at. 0 or -ENOMEM. */
int prep_parts_add(const struct io_page *page, struct profile *profile);

#endif
