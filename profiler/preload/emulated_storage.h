/* emulated_storage.h - settings of a loader -> the storage and prep of a page. */
#ifndef DSA_EMULATED_STORAGE_H
#define DSA_EMULATED_STORAGE_H

struct io_page;

/* Sets what a text in the syntax of DSA_LOADER says of them; of a key that comes again, the
 * last. Other keys are left to the hook. NULL: nothing is said. */
void emulated_storage_read(const char *text, struct io_page *page);

#endif
