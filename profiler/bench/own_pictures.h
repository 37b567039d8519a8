/* own_pictures.h - compares libdsa's pixels with those of the program's own loader. */
#ifndef DSA_OWN_PICTURES_H
#define DSA_OWN_PICTURES_H

struct io_page;
struct profile;

/*
 * Prepares the files that the program has made pictures of (io_page.pictures) as libdsa does
 * in evaluation, and fills pictures and psnr of profile->own_recipe. Unknown where there are
 * none, or where one of them can't be prepared, or a signal waits that ends dsa.
 */
void own_pictures_compare(const struct io_page *page, struct profile *profile);

#endif
