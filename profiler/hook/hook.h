/*
 * hook.h - what the hook of a loader that the program brought calls, by ctypes, to be
 * driven by dsa.
 *
 * The hook knows how its loader comes to rest, which batches come next and how they are
 * given; windows, files, counts and proofs are this side's. One loader of a process is
 * driven. All calls from the thread that asks for batches, but where it says otherwise.
 *
 *	the program asks	request(): may call drain(), list() and start()
 *	the loader gives	delivered()
 */
#ifndef DSA_HOOK_H
#define DSA_HOOK_H

#include <stdint.h>

#define HOOK_EXPORT __attribute__((visibility("default")))

/* Where batches come from. */
enum hook_source {
	HOOK_STREAM, /* the loader, as the program asked */
	HOOK_LIST, /* the loader, those of the list, from its first on, again and again */
	HOOK_POOL,   /* copies of batches of the list; the loader rests */
	HOOK_LOADED, /* these, while its workers make as many of the list and throw them
		      * away: dsa_io_may_make(), dsa_io_await_made() */
};

/* What dsa wants of a program: dsa_hook_observes(). */
enum hook_wish {
	HOOK_WINDOWS,
	HOOK_WATCH, /* that all is left as it is */
	HOOK_COUNT, /* to count what samples take */
};

/* What the hook does. A negative result: it failed, and the program is told why when
 * request() has returned; nothing more is asked of it then. */
struct hook_calls {
	/* Nothing is under way then, and nothing lies ready. */
	int (*drain)(void);

	/* From rest: takes the next batches of the stream for a list, has the loader make
	 * each, and delivers none. At rest again it returns how many of them may be
	 * delivered before the loader, ahead of that, begins the list anew: `batches` or
	 * some more; 0: an epoch has fewer, and it begins anew all the time. Where batches
	 * can't be given again: only copies them for HOOK_POOL, once, as many as it likes,
	 * and returns 0. */
	int (*list)(uint32_t batches);

	/* From rest: begins to give batches of `source`. */
	int (*start)(uint32_t source);

	/* Waits until devices have done what the program gave them; enum trace_devices. */
	int (*still)(void);

	/* From rest: has the loader make so many samples, the same ones in every run on
	 * the same data where it can, and delivers none. Tells of each batch by
	 * dsa_hook_counted(). */
	int (*count)(uint32_t samples);

	/* From rest, and again until drain(): has so many workers (0: the loader's own)
	 * make batches of the list, whole rounds of them, for so long or a little more,
	 * and delivers none. 1: it can't have so many. */
	int (*make)(uint32_t workers, uint64_t ns);
};

/* What is loaded and how. Texts are copied. */
struct hook_about {
	uint32_t kind;       /* enum trace_loader_kind */
	const char *dataset; /* a path, or its class */
	const char *source;  /* what brought the loader: "torch 2.1.0" */
	uint64_t samples, steps_per_epoch;
	uint32_t batch;
	uint32_t workers;   /* processes; 0: the program itself */
	uint32_t prefetch;  /* batches ahead, of each */
	uint32_t any_order; /* 1: batches come as they are ready */
	/* Why batches can't be given again, for trace_loader.no_list: nothing is asked from
	 * HOOK_LIST then. NULL: they can, as far as the hook knows. */
	const char *no_list;
	uint32_t untrained; /* 1: no backward() has followed a batch of it */
	uint32_t
		libdsa; /* 1: the program has dsa's module, and may open its loader, too */
	uint32_t apart; /* enum trace_apart */
};

/* How the program's loader prepares pictures. Texts are copied; NULL: "". */
struct hook_recipe {
	const char *folder; /* that they lie in */
	const char
		*lacks;   /* the first of its ops that libdsa has not; "": it has all */
	const char *code; /* what to write for libdsa's loader in its place */
	uint32_t size;    /* pixels, of a side of what it delivers */
	uint32_t evaluate; /* 1: resizes and crops the centre */
	uint32_t bytes;    /* 1: delivers bytes, not floats */
};

/*
 * The loader that asks will be driven from its next batch on. What was observed of an
 * untrained one that closed, in any process, is forgotten for one that is not. 0; -EBUSY: another one is, or
 * the program has libdsa's, or is one of several; -ENOENT: there is no session or no page
 * (io_page.h), or it is of another version of dsa.
 */
HOOK_EXPORT int dsa_hook_open(const struct hook_about *about,
			      const struct hook_calls *calls);

/* Ends it, as before the program does. */
HOOK_EXPORT void dsa_hook_close(void);

/* The program asked for a batch at `now` (CLOCK_MONOTONIC). Returns 1; 0 when dsa has seen
 * enough, or a call failed. */
HOOK_EXPORT int dsa_hook_request(uint64_t now);

/* It was given one of so many samples, after a wait for it. */
HOOK_EXPORT void dsa_hook_delivered(uint32_t samples, uint64_t blocked_ns);

/* So many other loaders give batches in each step from now on: none of its batches come from
 * HOOK_LIST any more. */
HOOK_EXPORT void dsa_hook_beside(uint32_t loaders);

/* Whose batches, as dsa_io_batch_of() has it, count as its own: of one of them, counted from 0
 * on. Those of the last HOOK_BESIDE do; in windows, only what is made from now on. */
enum { HOOK_BESIDE = 8 };
HOOK_EXPORT void dsa_hook_loader_beside(uint32_t which, uint64_t loader);

/* So many backward passes were since the last call, in another thread than takes the batches; and
 * so long it was from the last one before it to the last one now. */
HOOK_EXPORT void dsa_hook_trained(uint32_t backwards, uint64_t took_ns);

/* The step under way waited so long for a batch of one of them. */
HOOK_EXPORT void dsa_hook_waited(uint64_t blocked_ns);

/* A batch of those that count() makes is there. */
HOOK_EXPORT void dsa_hook_counted(uint32_t samples);

/* Between steps: what the program had changed of a copy was made anew. */
HOOK_EXPORT void dsa_hook_renewed(uint64_t ns);

/* The step under way is none of the loop, nor is what comes before the next request. */
HOOK_EXPORT void dsa_hook_outside(void);

/* The loader turned out to have so many batches ready together, again and again: from the
 * next window on all are of whole rounds. */
HOOK_EXPORT void dsa_hook_round(uint32_t batches);

/* The program began another epoch by itself: the loader does what it asked for. `other`: of
 * other data, of which another list is to be made. */
HOOK_EXPORT void dsa_hook_cut(uint32_t other);

/* Whose batches, as dsa_io_batch_of() has it, count from now on or, in a program that is
 * observed, from the next epoch on, before dsa_hook_cut(); not called: those of all loaders of
 * the program. */
HOOK_EXPORT void dsa_hook_loader(uint64_t loader);

/* So long did it take from when the program began an epoch until its first batch came; and so
 * long the step with that batch, if nothing measured it. */
HOOK_EXPORT void dsa_hook_epoch(uint64_t ns, uint64_t step_ns);

/* Of a program without workers: so long would these take to pickle a batch, which writes it into
 * new pages of memory that processes share, and the training process to unpickle it. */
HOOK_EXPORT void dsa_hook_passing(uint64_t pickle_ns, uint64_t unpickle_ns);

/* True when dsa is gone, and as long as ranks of a job have not come together: epochs end by
 * themselves. */
HOOK_EXPORT int dsa_hook_left(void);

/* The same, or dsa has seen enough; of ranks what all of them know before the same batch. */
HOOK_EXPORT int dsa_hook_stopped(void);

/* False while another loader may take the place of the one that drives, once that closed:
 * no window of it counts. */
HOOK_EXPORT int dsa_hook_measured(void);

/* enum hook_wish. From any thread, before open() too. */
HOOK_EXPORT int dsa_hook_observes(void);

/* So long did its workers take to end with an epoch; not called where they persist. */
HOOK_EXPORT void dsa_hook_epoch_end(uint64_t ns);

/* The hook runs in a process of the program, whatever that loads later. */
HOOK_EXPORT void dsa_hook_ran(void);

/* True for one rank of a job, the first that calls it, in each of its processes: that rank
 * is observed. Before open() and before its workers begin. */
HOOK_EXPORT int dsa_hook_rank(uint32_t rank, uint32_t world);

/* The same of a job whose ranks are measured: they come into each window together, as long as all
 * of them run on this machine under this dsa. False: there are too many, or there is no page for
 * this one. */
HOOK_EXPORT int dsa_hook_join(uint32_t rank, uint32_t world);

/* Why ranks do not come into windows together any more; NULL: they do, or this is none of several.
 * request() returns 0 then. */
HOOK_EXPORT const char *dsa_hook_over(void);

/* Tells dsa how pictures are prepared, once. */
HOOK_EXPORT void dsa_hook_recipe(const struct hook_recipe *recipe);

/* And what these transforms make of a file in evaluation: 3 x size x size bytes of red, green
 * and blue, one colour after another. 0; -ENOSPC: there is no room for it, nor for others;
 * -EINVAL: the recipe is of another size, or there is none, or the path is too long. */
HOOK_EXPORT int dsa_hook_picture(const char *path, uint32_t size, const void *pixels);

/* Tells dsa why the program goes on without it, unless libdsa's loader is measured. From any
 * thread. */
HOOK_EXPORT void dsa_hook_refuse(const char *why);

/* The epoch goes on, as its data is repeated: enum trace_beyond. */
HOOK_EXPORT void dsa_hook_beyond(uint32_t how);

#endif
