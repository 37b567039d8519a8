/*
 * preload.h - what a program is started with so that a loader of its own can be measured:
 * libdsa-io.so, the hook in Python, and the page that these share with dsa.
 */
#ifndef DSA_PRELOAD_H
#define DSA_PRELOAD_H

#include <limits.h>
#include <stdbool.h>

struct error;
struct io_page;
struct profile;

/* Whose loader is to be measured: the first that asks, libdsa's alone, torch's. */
enum preload_choice { PRELOAD_AUTO, PRELOAD_DSA, PRELOAD_TORCH, PRELOAD_NONE };

extern const char *const preload_choices[];

/* Begins all 0. */
struct preload {
	char library[PATH_MAX];
	char python[PATH_MAX]; /* folder of sitecustomize.py */
	char folder[PATH_MAX]; /* of the run */
	char links
		[PATH_MAX]; /* a folder of links to the first two; "": they are named as
				* they are called */
	char path[PATH_MAX]; /* of the page: DSA_IO */
	int memory;          /* the page lies in memory that this holds; 0: in a file */
	struct io_page *page; /* NULL: there is none, */
	char why[256]; /* for this reason, with PRELOAD_AUTO; "": none is wanted */
	struct io_page *spare; /* for processes that can't find the memory: DSA_IO_FILE;
				* NULL: none */
	const char *asked;     /* as in the wishes */
	bool ends_data, own_epochs;
};

struct preload_wishes {
	enum preload_choice choice;
	/* What dsa was given for the loader, in the syntax of DSA_LOADER; NULL: nothing.
	 * storage_bandwidth, storage_latency and prep_delay act by the page. */
	const char *asked;
	bool observes;  /* the emulated storage holds reads back all the time */
	bool several;   /* programs at once: no loader of their own is measured */
	bool ends_data; /* loops end, not the program, when enough is measured */
	bool own_epochs; /* epochs end where they would have, though windows repeat data */
	bool overwrites; /* files are not kept that it overwrites while data is repeated */
};

/* Finds library and hook beside dsa, as in build/, or in ../lib/dsa from there. 0 or
 * -ENOENT. */
int preload_find(struct preload *preload, struct error *err);

/*
 * Makes the page of one launch, whose run has this folder. 0 without a page where none is
 * wanted, or with PRELOAD_AUTO can be had: preload->why; or -errno. preload_close() ends it,
 * and preload_forget() that of a dsa that died.
 */
int preload_open(struct preload *preload, const char *folder,
		 const struct preload_wishes *wishes, struct error *err);
void preload_close(struct preload *preload);

/* Before that, once the program ended: puts back what it overwrote. 0 or -EIO. */
int preload_put_back(const struct preload *preload, struct error *err);
void preload_forget(const char *folder);

/* The page that the program's processes write; NULL: there is none. Lasts until
 * preload_close(). */
const struct io_page *preload_page(const struct preload *preload);

/* True once a Python of the program looked for the hook, and found it. */
bool preload_was_hooked(const struct preload *preload);

/* What the page has for a result: files written and kept, and how much was seen of what was
 * read. 0 or -errno. */
int preload_result(const struct preload *preload, struct profile *profile);

/* The same of a run whose dsa died: the files that it kept. 0 or -errno. */
int preload_recover(const char *folder, struct profile *profile);

/* Sets DSA_IO, DSA_IO_FILE, DSA_ASKED, LD_PRELOAD and PYTHONPATH of this process, and keeps what the last
 * two had. 0 or -1. */
int preload_set_environment(const struct preload *preload);

/* The Python that a command starts, itself or by its script's first line. */
struct preload_python {
	char interpreter[512]; /* as it is called there */
	char blind; /* 'I', 'S' or 'E': with that option, so that it never looks for the
		     * hook; 0: it does */
	char script[PATH_MAX]; /* "": it runs a module, a text, or what it is told */
	const char *module;    /* NULL: none */
};

/* False: the command starts something else, as far as its first word tells. */
bool preload_find_python(char *const *command, struct preload_python *python);

/* What keeps a program from being seen. */
struct preload_hidden {
	char why[96]; /* one line */
	char fix[96];
};

/* False: nothing is known that hides the command's program with its loader. */
bool preload_is_hidden(char *const *command, struct preload_hidden *hidden);

#endif
