/*
 * fetch.h - how bytes come: reads samples from a source, many in flight.
 *
 *	client.next() -> job -> open, read, close (engine) -> throttle -> client.done()
 *
 * An engine is one file in loader/fetch/ plus one line in loader/base/variants.h. It
 * has threads of its own and pulls its work, so nothing queues in front of it.
 */
#ifndef DSA_FETCH_H
#define DSA_FETCH_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

struct blob;
struct disk;
struct error;
struct fetch;
struct source;
struct throttle;

/*
 * The system calls that reading one sample took. A file that is tried again, without
 * O_DIRECT or because it has grown, adds to them; bytes in memory take none. What the
 * engine learns about the storage before its first job is in none. Of a server's object:
 * one GET, wanted and answered, so that the counts don't depend on the network; requests
 * that were sent again are apart.
 */
struct fetch_calls {
	uint32_t opens; /* openat(), but of shards, which may be open already; GETs that
			 * were wanted */
	uint32_t reads; /* short, empty and failed ones too, interrupted ones not; GETs
			 * that brought the object */
	uint64_t bytes; /* that the reads brought, gaps between samples too; of the
			 * object */
	uint32_t retries; /* GETs after the first one */
	uint32_t hedges; /* GETs beside one that was late; their retries are in there */
};

struct fetch_job {
	uint64_t tag;   /* the client's */
	uint64_t start; /* clock_now() when the engine took it; the engine sets it */
	uint32_t sample;
	/* Not NULL: `count` samples of one file or object, in the order in which they lie
	 * there, come with one read, this one among them; of a file with as few as preadv()
	 * can do. done() is called for each, with its own sample, and calls with the first;
	 * the list is the client's until then. */
	const uint32_t *members;
	uint32_t count;
	bool unthrottled; /* the throttle neither counts nor slows this read */
	bool bypass;      /* reads from the source also what a cache on disk has */
	bool quiet;       /* is no use of what that cache has */
	bool hit; /* the engine sets it: that cache had it, and no call was made */
	struct fetch_calls calls; /* the engine sets it, of failed jobs too */
	const char *why; /* of a failed one, valid in done(); NULL: as errno says */
	uint32_t lost;   /* the engine sets it, where fetch_ends() says so: samples that
			  * were asked for and won't come, this one too */
};

/*
 * What the engine calls, from its own threads.
 * next: the next read wanted, in *job. With wait it blocks until there is one or the
 *	client closes; false means none now (without wait) or never again (with wait).
 * done: the job is finished: a blob whose one reference passes to the client, or NULL
 *	and result -errno (-ENOENT, -EIO, ...; -EBADMSG for an empty file or what is
 *	no file, -EFBIG beyond 1 GiB, -ENODATA where a file ends within its part; those
 *	of loader/net.h; -EHOSTDOWN when a server gave no answer to any request within
 *	its deadline).
 * drained: after done(), before the engine waits, or reads much more: done() may leave it
 *	to this call to wake others, once for many. It comes from any engine thread, with
 *	nothing new too. May be NULL.
 */
struct fetch_client {
	void *context;
	bool (*next)(void *context, bool wait, struct fetch_job *job);
	void (*done)(void *context, const struct fetch_job *job, struct blob *blob,
		     int result);
	void (*drained)(void *context);
};

/* The result of a sample is about all that follow, too. */
static inline bool fetch_ends(int result)
{
	return result == -EKEYREJECTED || result == -EHOSTDOWN;
}

struct fetch_config {
	const char *engine; /* auto, or one of FETCH_ENGINES */
	bool kernel_cache;  /* reads may use the page cache: auto takes a buffered
			     * engine; else it takes a direct one */
	unsigned depth;     /* reads in flight at the most, 1..LIMIT_FETCH_DEPTH */
	struct throttle *throttle; /* NULL: none; outlives the fetch */
	bool hedge;            /* servers are asked again where their answer is late */
	struct disk *disk;     /* a cache in front, which does, too; NULL: none */
	const uint32_t *probe; /* samples that auto may read: those wanted last */
	uint32_t probes;       /* how many; 0: it takes any */
	void (*thread_started)(void *context); /* in each engine thread; may be NULL */
};

struct fetch_stats {
	uint64_t reads, bytes; /* completed, throttled or not */
	uint64_t failures;
	uint64_t cpu_ns; /* of the engine's threads, without io_uring's in the kernel */
	/* System calls that read, failed ones too, and their bytes: what syscr and rchar
	 * of /proc/PID/io have of it. Those of io_uring are in neither. */
	uint64_t read_calls, read_call_bytes;
	uint64_t read_calls_begun; /* those under way, too */
};

/*
 * Opens the engine and starts its threads; they call client->next() from then on.
 * The source, client and throttle outlive it. "auto" takes net where
 * servers have the samples, and of files it reads a few samples with each
 * engine that fits (at most 0.2 s) and takes the one with the most bytes/s.
 */
struct fetch *fetch_open(const struct fetch_config *config, const struct source *source,
			 const struct fetch_client *client, struct error *err);

/*
 * The client's next() must return false by now. Waits for reads in flight; those that
 * only the throttle holds back are handed on at once.
 */
void fetch_close(struct fetch *fetch);

/* What was opened; the texts are the fetch's. */
struct fetch_facts {
	const char *engine; /* the one chosen */
	const char *reason; /* one line: why */
	bool direct; /* reads bypass the page cache; false: buffered, or memory */
	bool memory; /* the file system is (tmpfs, ramfs), or the source */
	bool remote; /* servers have the samples, or some: no storage of this machine */
};

struct fetch_facts fetch_facts(const struct fetch *fetch);

/*
 * Changes the reads in flight, 1..LIMIT_FETCH_DEPTH, for fetch-only windows. Returns 0,
 * or -errno when the threads for it cannot be had. One thread at a time.
 */
int fetch_set_depth(struct fetch *fetch, unsigned depth);

/* Wakes an engine that waits only for its reads in flight: there may be new work. */
void fetch_kick(struct fetch *fetch);

/* Puts a sample's pages, which parts of a file may share with their neighbours, out of
 * the page cache, as far as the kernel lets go of them. */
void fetch_evict(const struct fetch *fetch, uint32_t sample);

/*
 * Reads that have begun by now are not held back by the throttle any more. For the
 * switch between windows, with throttle_reset().
 */
void fetch_flush(struct fetch *fetch);

/* While it holds, no thread begins another of the calls that read_calls has, but for those
 * of a cache on disk; they look again every 50 us. */
void fetch_hold(struct fetch *fetch, bool hold);

void fetch_stats(const struct fetch *fetch, struct fetch_stats *stats);

#endif
