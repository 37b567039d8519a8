/* io_counts.h - what /proc/PID/io says at a snapshot, and what of it the program read.
 */
#ifndef DSA_IO_COUNTS_H
#define DSA_IO_COUNTS_H

struct driver;
struct fetch;
struct trace_snapshot;

/* Sets read_bytes and, of a real window, program_reads and program_bytes, without those
 * of the loader's own fetch (NULL: it has none); leaves what is unknown as it is. Those of
 * an observed window are exact: it lets the fetch begin no reads until those in flight are
 * over, for 100 ms at the most, or does not know them. Those of others are, within the
 * reads that are in flight. */
void io_counts_take(struct driver *driver, struct fetch *fetch,
		    struct trace_snapshot *snapshot);

#endif
