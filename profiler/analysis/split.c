/* split.c - tells prep and fetch apart without cached windows. */
#include "profiler/analysis/split.h"
#include "loader/base/math/quadrature.h"
#include "profiler/analysis/statistics.h"
#include "profiler/turns/turn_proof.h"

#include <stdio.h>

/* What the batches of real windows read. */
struct split_reads {
	uint64_t batches, bytes, storage_bytes;
	uint32_t unseen; /* enum trace_unseen */
};

static struct split_reads split_look(const struct window *windows, size_t count)
{
	struct split_reads reads = {0};

	for (size_t i = 0; i < count; i++) {
		const struct trace_made *made = &windows[i].raw->made;

		if (windows[i].kind != TRACE_REAL || windows[i].seconds <= 0)
			continue;
		reads.batches += made->batches;
		reads.bytes += made->bytes;
		reads.storage_bytes += made->storage_bytes;
		reads.unseen |= made->unseen;
	}
	return reads;
}

static enum profile_split split_choose(const struct split_reads *reads,
				       const struct profile *profile)
{
	/* Of a loader that is watched, processes may read that nobody knows. */
	bool known = profile_loader(profile) != LOADER_WATCH;

	if (known && reads->batches > 0 && reads->unseen == 0 && reads->bytes == 0)
		return SPLIT_MEMORY;
	if (known && reads->unseen == TRACE_MAPPED && reads->storage_bytes == 0)
		return SPLIT_STORAGE;
	return isfinite(profile->proof.share[STAGE_FETCH]) ? SPLIT_REPLAY : SPLIT_NONE;
}

/* ---- shares ---- */

static struct interval split_about(double value, double half)
{
	return statistics_within((struct interval){value, value - half, value + half},
				 0, 1);
}

/* All that training waits is prep, but for what is fetch. */
static void split_set(struct profile *profile, enum profile_split by)
{
	const struct interval *compute = &profile->stalls[STAGE_COMPUTE];
	double wait = 1 - compute->value, half = interval_half(*compute);
	bool replayed = by == SPLIT_REPLAY;
	double fetch = replayed ? fmax(0, profile->proof.share[STAGE_FETCH]) : 0;
	double off = replayed ? TURN_CLOSE : 0;

	if (replayed && isfinite(profile->proof.fetch_half))
		off = quadrature(off, profile->proof.fetch_half);
	profile->stalls[STAGE_FETCH] = split_about(fetch, isnan(half) ? NAN : off);
	profile->stalls[STAGE_PREP] = split_about(wait - fetch, quadrature(half, off));
}

/* ---- words ---- */

/* `from`: whose batches can't be given again; "": of a run that gives none again. */
static int split_write_replay(const char *from, struct profile *profile)
{
	const char *why =
		"prep and fetch are told apart by what the batches took to read";

	if (from[0] == '\0')
		return profile_text(&profile->split_why, "%s", why);
	return profile_text(&profile->split_why,
			    "%s, as those of %s can't be given again", why, from);
}

static int split_write_none(const char *from, struct profile *profile)
{
	const char *replay = "a replay of them does not give what training was seen to "
			     "wait";

	if (from[0] == '\0')
		return profile_text(&profile->split_why,
				    "prep and fetch can't be told apart by what the "
				    "batches took to read: %s",
				    replay);
	return profile_text(
		&profile->split_why,
		"prep and fetch can't be told apart: batches of %s can't be "
		"given again, and %s",
		from, replay);
}

static int split_write(const struct window *windows, const struct split_reads *reads,
		       struct profile *profile)
{
	char from[TRACE_NO_LIST];

	snprintf(from, sizeof(from), "%.*s", TRACE_NO_LIST - 1,
		 windows[0].trace->loader.no_list);
	switch ((enum profile_split)profile->split.id) {
	case SPLIT_MEMORY:
		return profile_text(&profile->split_why,
				    "no file is read for its batches, so that there is "
				    "no fetch");
	case SPLIT_STORAGE:
		return profile_text(&profile->split_why,
				    "no byte came from storage, so that there was no "
				    "fetch; mapped files can't be evicted");
	case SPLIT_REPLAY:
		return split_write_replay(from, profile);
	default:
		break;
	}
	if (profile->beside != UNKNOWN)
		return profile_text(&profile->split_why,
				    "prep and fetch can't be told apart: each step has "
				    "batches of several loaders");
	if (reads->unseen != 0)
		return profile_text(&profile->split_why,
				    "prep and fetch can't be told apart: how long "
				    "batches wait for %s is not seen",
				    window_unseen(reads->unseen));
	if (profile->reads_ahead)
		return profile_text(
			&profile->split_why,
			"prep and fetch can't be told apart: another thread "
			"reads ahead of the one that trains");
	if (profile_loader(profile) == LOADER_WATCH)
		return profile_text(
			&profile->split_why,
			"prep and fetch can't be told apart: the loader reads in "
			"threads or processes of its own, or none of its reads is "
			"seen");
	return split_write_none(from, profile);
}

int split_stalls(const struct window *windows, size_t count, struct profile *profile)
{
	struct split_reads reads = split_look(windows, count);
	bool measured = isfinite(profile->stalls[STAGE_COMPUTE].value);
	bool unknown = isnan(profile->stalls[STAGE_FETCH].value);
	enum profile_split by = split_choose(&reads, profile);

	if (count == 0 || windows[0].trace->loader.kind == TRACE_LIBDSA || !measured ||
	    (!unknown && by != SPLIT_MEMORY))
		return 0;
	profile->split.id = (int)by;
	if (by != SPLIT_NONE)
		split_set(profile, by);
	return split_write(windows, &reads, profile);
}
