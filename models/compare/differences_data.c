/* differences_data.c - differences in counts and in the data set. */
#include "models/compare/difference_kinds.h"

#include <stdio.h>
#include <string.h>

#define TIMED      .05 /* what a run of the same differs by in a number without interval */
#define PART_TIMED .15  /* the same of a transform's time, of a few batches */
#define PART_LEAST .1   /* of what a sample takes: a smaller part is no cause */
#define DRAWN      .25  /* the same of the sizes of some samples that were drawn */
#define SIZES      .005 /* of means over a data set */

/* "shards/" of "/data/shards". */
static void differences_data_where(char *to, size_t size, const char *path)
{
	size_t end = path == NULL ? 0 : strlen(path), begin;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (begin = end; begin > 0 && path[begin - 1] != '/'; begin--)
		;
	*to = '\0';
	if (begin == end)
		return;
	differences_append(to, size, " in %.*s/", (int)(end - begin), path + begin);
}

/* Two counts, each a sample of its stream. */
struct stream {
	const struct profile *base, *now;
	double least; /* what samples that are others differ by */
};

/* Counts of other samples are exact, too, but say nothing of the program. */
static bool is_same_stream(const struct profile *base, const struct profile *now)
{
	return base->seed == now->seed &&
	       base->counted.samples == now->counted.samples &&
	       (base->digest == NULL || now->digest == NULL ||
		strcmp(base->digest, now->digest) == 0);
}

static struct difference *count_of(struct differences *all, const struct stream *stream,
				   const struct difference_kind *kind, double base,
				   double now)
{
	struct difference_kind of = *kind;

	of.least = stream->least;
	return difference_number(all, &of, base, now);
}

static const struct difference_kind more_reads = {
	"reads per sample", DIFFERENCE_COUNTED, BY_STAGE(SLOW, 0, 0, 0), AMOUNT_COUNT,
	0};
static const struct difference_kind more_bytes = {
	"bytes read per sample", DIFFERENCE_COUNTED, BY_STAGE(SLOW, 0, 0, 0),
	AMOUNT_BYTES, 0};
static const struct difference_kind mean_read = {
	"mean read", DIFFERENCE_COUNTED, BY_STAGE(FAST, 0, 0, 0), AMOUNT_BYTES, 0};

/* A file opened once more is read once more: then only the opening is listed. */
static bool follow_opens(const struct profile_counted *base,
			 const struct profile_counted *now)
{
	double opens = profile_quotient(now->opens, now->samples) -
		       profile_quotient(base->opens, base->samples);
	double reads = profile_quotient(now->reads, now->samples) -
		       profile_quotient(base->reads, base->samples);

	return opens > 0 &&
	       reads <= opens * fmax(1, profile_quotient(now->reads, now->opens));
}

/* As many bytes in more reads are smaller reads. Where both changed, each is listed. */
static void differences_data_reads(struct differences *all, const struct stream *stream)
{
	const struct profile_counted *a = &stream->base->counted,
				     *b = &stream->now->counted;
	double reads_a = profile_quotient(a->reads, a->samples),
	       reads_b = profile_quotient(b->reads, b->samples);
	double bytes_a = profile_quotient(a->read_bytes, a->samples),
	       bytes_b = profile_quotient(b->read_bytes, b->samples);
	bool same_bytes = difference_size(bytes_a, bytes_b) <
			  difference_size(reads_a, reads_b) / 4;
	struct difference *found;
	char place[64];

	if (same_bytes && follow_opens(a, b))
		return;
	if (!same_bytes) {
		count_of(all, stream, &more_bytes, bytes_a, bytes_b);
		count_of(all, stream, &more_reads, reads_a, reads_b);
		return;
	}
	found = count_of(all, stream, &mean_read,
			 profile_quotient(a->read_bytes, a->reads),
			 profile_quotient(b->read_bytes, b->reads));
	if (found == NULL)
		return;
	differences_data_where(place, sizeof(place), stream->now->dataset);
	differences_append(found->text, sizeof(found->text), "%s", place);
	if (reads_b >= 1.5 * reads_a && isfinite(reads_b / reads_a))
		snprintf(found->aside, sizeof(found->aside), "%.4g times as many reads",
			 round(reads_b / reads_a * 10) / 10);
}

static const struct {
	struct difference_kind kind;
	size_t at; /* in struct profile_counted */
} counts[] = {
#define COUNT(name, member, fetch, prep, copy, unit)                                   \
	{                                                                              \
		{name, DIFFERENCE_COUNTED, BY_STAGE(fetch, prep, copy, 0), unit, 0},   \
			offsetof(struct profile_counted, member)                       \
	}
	COUNT("files opened or GETs per sample", opens, SLOW, 0, 0, AMOUNT_COUNT),
	COUNT("hit ratio of the cache", hits, FAST, 0, 0, AMOUNT_SHARE),
	COUNT("decoded pixels per sample", decoded_pixels, 0, SLOW, 0, AMOUNT_COUNT),
	COUNT("samples that can't be used", skipped, SLOW, SLOW, 0, AMOUNT_SHARE),
	COUNT("bytes copied per sample", device_bytes, 0, 0, SLOW, AMOUNT_BYTES),
#undef COUNT
};

static double counted_of(const struct profile_counted *counted, size_t at)
{
	return profile_quotient(*(const uint64_t *)((const char *)counted + at),
				counted->samples);
}

static void differences_data_counted(struct differences *all,
				     const struct profile *base,
				     const struct profile *now)
{
	const struct stream stream = {
		base, now, is_same_stream(base, now) ? DIFFERENCE_EXACT : DRAWN};

	differences_data_reads(all, &stream);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		count_of(all, &stream, &counts[i].kind,
			 counted_of(&base->counted, counts[i].at),
			 counted_of(&now->counted, counts[i].at));
}

static void other_data(struct differences *all, const struct profile *base,
		       const struct profile *now)
{
	struct difference *found;
	char from[64], to[64];

	if (base->digest == NULL || now->digest == NULL ||
	    strcmp(base->digest, now->digest) == 0)
		return;
	found = difference_add(all, DIFFERENCE_SET);
	if (found == NULL)
		return;
	found->way[STAGE_FETCH] = found->way[STAGE_PREP] = DIFFERENCE_EITHER;
	differences_data_where(from, sizeof(from), base->dataset);
	differences_data_where(to, sizeof(to), now->dataset);
	differences_append(found->text, sizeof(found->text),
			   strcmp(from, to) == 0
				   ? "the data%s is other data"
				   : "the data%s is other data than that%s",
			   to, from);
}

bool differences_is_estimated(const struct profile *profile)
{
	return profile_loader(profile) != LOADER_DSA;
}

static void differences_data_set(struct differences *all, const struct profile *base,
				 const struct profile *now)
{
	const bool drawn =
		differences_is_estimated(base) || differences_is_estimated(now);
	const struct difference_kind mean = {"mean size of a sample", DIFFERENCE_SET,
					     BY_STAGE(SLOW, SLOW, 0, 0), AMOUNT_BYTES,
					     drawn ? DRAWN : SIZES};
	static const struct difference_kind samples = {
		"samples of the data set", DIFFERENCE_BESIDE, BY_STAGE(EITHER, 0, 0, 0),
		AMOUNT_COUNT, DIFFERENCE_EXACT};

	other_data(all, base, now);
	difference_number(all, &mean,
			  profile_quotient(base->dataset_bytes, base->dataset_samples),
			  profile_quotient(now->dataset_bytes, now->dataset_samples));
	difference_number(all, &samples, difference_known(base->dataset_samples),
			  difference_known(now->dataset_samples));
}

static void differences_data_hits(struct differences *all, const struct profile *base,
				  const struct profile *now)
{
	static const struct difference_kind kind = {
		"hit ratio of the cache", DIFFERENCE_MEASURED, BY_STAGE(FAST, 0, 0, 0),
		AMOUNT_SHARE, 0};

	if (differences_are_clear(&base->hit_ratio, &now->hit_ratio, SIZES))
		difference_number(all, &kind, base->hit_ratio.value,
				  now->hit_ratio.value);
}

/* Bytes that the storage had to give for a sample of real windows. */
static double stored_per_sample(const struct profile *profile)
{
	double bytes = 0, samples = 0;

	for (size_t i = 0; i < profile->window_count; i++) {
		const struct profile_window *window = &profile->windows[i];

		if (!window->used || window->kind.id != TRACE_REAL)
			continue;
		bytes += difference_known(window->read_bytes);
		samples += difference_known(window->samples);
	}
	return samples > 0 ? bytes / samples : NAN;
}

/* Of a sample, by system calls; NAN: unknown. */
struct own_reads {
	double reads, bytes;
};

/* A gate counts them over the first samples of the stream. */
static struct own_reads own_reads_of(const struct profile *profile)
{
	const struct profile_counted *counted = &profile->counted;

	if (!isnan(profile->program_reads_per_sample))
		return (struct own_reads){profile->program_reads_per_sample,
					  profile->program_bytes_per_sample};
	return (struct own_reads){
		profile_quotient(counted->program_reads, counted->samples),
		profile_quotient(counted->program_bytes, counted->samples)};
}

/* What the program itself reads takes the step's time, and the storage's. More calls
 * bring more bytes: one of them is listed. */
static void differences_data_own(struct differences *all, const struct profile *base,
				 const struct profile *now)
{
	static const struct difference_kind reads = {
		"the program's own reads per sample", DIFFERENCE_MEASURED,
		BY_STAGE(SLOW, 0, 0, SLOW), AMOUNT_COUNT, TIMED};
	static const struct difference_kind bytes = {
		"the program's own bytes read per sample", DIFFERENCE_MEASURED,
		BY_STAGE(SLOW, 0, 0, SLOW), AMOUNT_BYTES, TIMED};
	struct own_reads was = own_reads_of(base), is = own_reads_of(now);

	if (difference_number(all, &reads, was.reads, is.reads) == NULL)
		difference_number(all, &bytes, was.bytes, is.bytes);
}

static bool was_counted(const struct profile *profile)
{
	return profile->counted.read_bytes != UNKNOWN;
}

static void differences_data_measured(struct differences *all,
				      const struct profile *base,
				      const struct profile *now)
{
	static const struct difference_kind stored = {
		"bytes from storage per sample", DIFFERENCE_MEASURED,
		BY_STAGE(SLOW, 0, 0, 0), AMOUNT_BYTES, DRAWN};
	static const struct difference_kind cpu = {
		"CPU time per sample", DIFFERENCE_BESIDE, BY_STAGE(0, SLOW, 0, 0),
		AMOUNT_SECONDS, TIMED};

	if (!was_counted(base) || !was_counted(now)) {
		differences_data_hits(all, base, now);
		difference_number(all, &stored, stored_per_sample(base),
				  stored_per_sample(now));
	}
	differences_data_own(all, base, now);
	difference_number(all, &cpu, base->cpu_s_per_sample, now->cpu_s_per_sample);
}

/* A transform or the like that was or is much of what making a sample takes, by the clock of a
 * few batches; NULL: it was not there, or is no longer. */
static void differences_data_part(struct differences *all,
				  const struct profile_part *base,
				  const struct profile_part *now)
{
	const struct difference_kind kind = {now == NULL ? base->name : now->name,
					     DIFFERENCE_PART, BY_STAGE(0, SLOW, 0, 0),
					     AMOUNT_SECONDS, PART_TIMED};
	double share =
		fmax(base == NULL ? 0 : base->share, now == NULL ? 0 : now->share);
	struct difference *found = NULL;

	if (share >= PART_LEAST)
		found = difference_number(all, &kind, base == NULL ? 0 : base->mean_s,
					  now == NULL ? 0 : now->mean_s);
	if (found != NULL)
		differences_append(found->text, sizeof(found->text), " a sample");
}

static void differences_data_parts(struct differences *all, const struct profile *base,
				   const struct profile *now)
{
	if (base->part_count == 0 || now->part_count == 0)
		return;
	for (size_t i = 0; i < now->part_count; i++) {
		const struct profile_part *part = &now->parts[i];

		if (profile_part_of(now, part->name) == part)
			differences_data_part(all, profile_part_of(base, part->name),
					      part);
	}
	for (size_t i = 0; i < base->part_count; i++) {
		const struct profile_part *part = &base->parts[i];

		if (profile_part_of(base, part->name) == part &&
		    profile_part_of(now, part->name) == NULL)
			differences_data_part(all, part, NULL);
	}
}

void differences_of_data(struct differences *all, const struct profile *base,
			 const struct profile *now)
{
	differences_data_counted(all, base, now);
	differences_data_set(all, base, now);
	differences_data_measured(all, base, now);
	differences_data_parts(all, base, now);
}
