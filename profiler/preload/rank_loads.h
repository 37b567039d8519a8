/* rank_loads.h - what each rank of a job waited for its own batches, out of the page into a
 * result. */
#ifndef DSA_RANK_LOADS_H
#define DSA_RANK_LOADS_H

struct io_page;
struct profile;

/* Adds a row for each rank, by the real rate that the profile has; none where no ranks were
 * measured together. 0 or -ENOMEM. */
int rank_loads_add(const struct io_page *page, struct profile *profile);

#endif
