/* merge.c - finds what is read together, and holds what came ahead. */
#include "loader/pipeline/merge.h"
#include "loader/base/blob.h"
#include "loader/base/clock.h"
#include "loader/cache.h"
#include "loader/components.h"
#include "loader/options.h"
#include "loader/pipeline/pipeline_state.h"
#include "loader/source.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Of one read, at the most. */
enum { MERGE_SAMPLES = 4096, MERGE_BYTES = 8 << 20 };

#define NO_PLACE UINT64_MAX

struct merge_member {
	uint32_t sample;
	uint32_t fetch_ns;
	bool coming, hit;
	uint64_t tag;             /* of its place; NO_PLACE: none is open */
	struct blob *blob;        /* it came, and is held; */
	struct fetch_calls calls; /* and what that took */
};

/* What was read together. */
struct merge_group {
	struct merge_group *next; /* of the same run */
	uint64_t pass;            /* that wants them */
	uint32_t count, left;     /* members, and those that are coming or held */
	uint32_t *samples;        /* as the job has them: rising */
	struct merge_member members[];
};

struct merge {
	struct permutation_blocks blocks;
	uint64_t room;             /* bytes that may be held, and of one read */
	struct merge_group **runs; /* of each run: the groups that are under way */
	uint32_t run_count;
	uint64_t pass;  /* the latest that was begun */
	uint32_t found; /* of the list: samples that may be read together */
	struct merge_member list[MERGE_SAMPLES];
};

int merge_open(struct pipeline *p, struct error *err)
{
	const struct source *source = p->parts.source;
	const struct options *options = p->parts.options;
	struct permutation_blocks blocks = components_blocks(options, source);
	uint64_t mean = source_facts(source)->bytes / source_count(source), room;
	struct source_place first;
	char path[PATH_MAX];

	source_place(source, 0, path, &first);
	if (options->in_order) {
		blocks = permutation_blocks_of(source_facts(source)->bytes,
					       source_count(source));
		blocks.window = blocks.run;
	}
	room = blocks.window * mean + MERGE_BYTES;
	if (blocks.run < 2 || !first.part ||
	    (options->prefetch_bytes > 0 && options->prefetch_bytes / 2 < room))
		return 0;
	p->merge = calloc(1, sizeof(*p->merge));
	if (p->merge == NULL)
		return error_sys(err, ENOMEM, "cannot plan reads");
	p->merge->blocks = blocks;
	p->merge->room = room;
	p->merge->run_count = (source_count(source) - 1) / blocks.run + 1;
	p->merge->runs = calloc(p->merge->run_count, sizeof(struct merge_group *));
	return p->merge->runs != NULL ? 0 : error_sys(err, ENOMEM, "cannot plan reads");
}

uint64_t merge_room(const struct pipeline *p)
{
	return p->merge != NULL ? p->merge->room : 0;
}

static void merge_group_free(struct merge_group *group)
{
	for (uint32_t i = 0; i < group->count; i++)
		blob_put(group->members[i].blob);
	free(group->samples);
	free(group);
}

void merge_forget(struct pipeline *p)
{
	for (uint32_t i = 0; p->merge != NULL && i < p->merge->run_count; i++)
		while (p->merge->runs[i] != NULL) {
			struct merge_group *group = p->merge->runs[i];

			p->merge->runs[i] = group->next;
			merge_group_free(group);
		}
}

static bool merge_comes(const struct merge_group *group)
{
	uint32_t i = 0;

	while (i < group->count && !group->members[i].coming)
		i++;
	return i < group->count;
}

/* Of the run, those of passes before it. */
static void merge_end_passes(struct merge_group **at, uint64_t pass)
{
	while (*at != NULL) {
		struct merge_group *group = *at;

		if (group->pass >= pass || merge_comes(group)) {
			at = &group->next;
			continue;
		}
		*at = group->next;
		merge_group_free(group);
	}
}

void merge_pass(struct pipeline *p, uint64_t pass)
{
	if (p->merge == NULL || pass <= p->merge->pass)
		return;
	p->merge->pass = pass;
	for (uint32_t i = 0; i < p->merge->run_count; i++)
		merge_end_passes(&p->merge->runs[i], pass);
}

void merge_close(struct pipeline *p)
{
	if (p->merge == NULL)
		return;
	if (p->merge->runs != NULL)
		merge_forget(p);
	free(p->merge->runs);
	free(p->merge);
}

/* ---- what is under way ---- */

static int merge_compare(const void *a, const void *b)
{
	const struct merge_member *x = a, *y = b;

	return (x->sample > y->sample) - (x->sample < y->sample);
}

static struct merge_member *merge_member(struct merge_group *group, uint32_t sample)
{
	const struct merge_member wanted = {.sample = sample};

	return bsearch(&wanted, group->members, group->count, sizeof(wanted),
		       merge_compare);
}

/* The sample, if it is coming or held for this pass, and its group. */
static struct merge_member *merge_find(const struct merge *merge, uint64_t pass,
				       uint32_t sample, struct merge_group **found)
{
	struct merge_group *group = merge->runs[sample / merge->blocks.run];

	for (; group != NULL; group = group->next) {
		struct merge_member *member =
			group->pass == pass ? merge_member(group, sample) : NULL;

		*found = group;
		if (member != NULL && (member->coming || member->blob != NULL))
			return member;
	}
	return NULL;
}

/* The group whose samples, or some of them, the job has read. */
static struct merge_group *merge_group_of(const struct merge *merge,
					  const struct fetch_job *job)
{
	struct merge_group *group = merge->runs[job->sample / merge->blocks.run];

	while (job->members < group->samples ||
	       job->members >= group->samples + group->count)
		group = group->next;
	return group;
}

/* A member came and went. */
static void merge_leave(struct merge *merge, struct merge_group *group)
{
	struct merge_group **at =
		&merge->runs[group->members[0].sample / merge->blocks.run];

	if (--group->left > 0)
		return;
	while (*at != group)
		at = &(*at)->next;
	*at = group->next;
	merge_group_free(group);
}

struct blob *merge_take(struct pipeline *p, const struct batch *batch,
			struct place *place)
{
	struct merge_group *group;
	struct merge_member *member;
	struct blob *blob;

	if (p->merge == NULL)
		return NULL;
	member = merge_find(p->merge, batch->pass, place->sample, &group);
	if (member == NULL || member->blob == NULL)
		return NULL;
	blob = member->blob;
	member->blob = NULL;
	place->hit = member->hit;
	place->fetch_ns = member->fetch_ns;
	place->calls = member->calls;
	stream_hold(p, place, (uint32_t)blob->size);
	merge_leave(p->merge, group);
	return blob;
}

static uint64_t merge_tag(const struct pipeline *p, const struct batch *batch,
			  const struct place *place)
{
	return (uint64_t)stream_slot(p, batch) << 32 |
	       (uint64_t)(place - batch->places);
}

bool merge_join(struct pipeline *p, const struct batch *batch, struct place *place)
{
	struct merge_group *group;
	struct merge_member *member;

	if (p->merge == NULL || !p->turn.ops->merges)
		return false;
	member = merge_find(p->merge, batch->pass, place->sample, &group);
	if (member == NULL || !member->coming || member->tag != NO_PLACE)
		return false;
	member->tag = merge_tag(p, batch, place);
	place->state = PLACE_READING;
	stream_hold(p, place, source_size(p->parts.source, place->sample));
	return true;
}

bool merge_came(struct pipeline *p, const struct fetch_job *job, struct blob *blob,
		uint64_t *tag)
{
	struct merge_group *group = merge_group_of(p->merge, job);
	struct merge_member *member = merge_member(group, job->sample);
	bool placed = member->tag != NO_PLACE;

	*tag = member->tag;
	member->coming = false;
	member->hit = job->hit;
	member->calls = job->calls;
	member->fetch_ns = pipeline_ns((clock_now() - job->start) / group->count);
	if (!placed)
		member->blob = blob;
	if (placed || blob == NULL)
		merge_leave(p->merge, group);
	return placed;
}

void merge_rewind(struct pipeline *p)
{
	for (uint32_t i = 0; p->merge != NULL && i < p->merge->run_count; i++)
		for (struct merge_group *group = p->merge->runs[i]; group != NULL;
		     group = group->next)
			for (uint32_t j = 0; j < group->count; j++)
				group->members[j].tag = NO_PLACE;
}

/* ---- what is to be read together ---- */

static void merge_list(struct merge *merge, uint64_t pass, uint32_t sample,
		       uint64_t tag)
{
	struct merge_group *group;

	if (merge->found < MERGE_SAMPLES &&
	    merge_find(merge, pass, sample, &group) == NULL)
		merge->list[merge->found++] = (struct merge_member){
			.sample = sample, .coming = true, .tag = tag};
}

/* True if these two lie in one object, the second not far behind the first, or over its
 * end. */
static bool merge_near(const struct pipeline *p, uint32_t first, uint32_t second)
{
	char paths[2][PATH_MAX];
	struct source_place a, b;
	uint64_t end;

	source_place(p->parts.source, first, paths[0], &a);
	source_place(p->parts.source, second, paths[1], &b);
	end = a.offset + a.size;
	return a.part && b.part && a.remote == b.remote && a.dir == b.dir &&
	       (a.object == NULL) == (b.object == NULL) &&
	       strcmp(a.object != NULL ? a.object : a.path,
		      b.object != NULL ? b.object : b.path) == 0 &&
	       b.offset >= a.offset && b.offset + b.size > end &&
	       (b.offset <= end || b.offset - end <= p->parts.options->read_gap);
}

/* Samples from `first` on, in the order in which they lie. */
struct merge_reach {
	uint32_t first, end;
};

/* What could be read with a sample if all of its run were wanted: of two neighbours that
 * are too far apart none before is near to one behind. */
static struct merge_reach merge_reach(const struct pipeline *p, uint32_t sample)
{
	uint32_t run = p->merge->blocks.run, begin = sample / run * run;
	uint32_t left = source_count(p->parts.source) - begin;
	struct merge_reach reach = {sample, sample + 1};

	if (source_size(p->parts.source, sample) == 0)
		return reach;
	while (reach.first > begin && sample - reach.first < MERGE_SAMPLES &&
	       merge_near(p, reach.first - 1, reach.first))
		reach.first--;
	while (reach.end - begin < (left < run ? left : run) &&
	       reach.end - sample < MERGE_SAMPLES &&
	       merge_near(p, reach.end - 1, reach.end))
		reach.end++;
	return reach;
}

/* An empty one can't be read at all. */
static bool merge_reaches(const struct pipeline *p, struct merge_reach reach,
			  uint32_t sample)
{
	return sample >= reach.first && sample < reach.end &&
	       source_size(p->parts.source, sample) > 0;
}

static bool merge_found_all(const struct merge *merge, struct merge_reach reach)
{
	return merge->found == reach.end - reach.first;
}

/* Those that have places already. */
static void merge_list_open(const struct pipeline *p, uint64_t pass,
			    struct merge_reach reach)
{
	for (uint32_t i = 0; i < p->open; i++) {
		const struct batch *batch =
			&p->batches[p->fifo[(p->head + i) % RING_SLOTS]];

		if (!batch->stream || batch->pass != pass)
			continue;
		for (uint32_t j = 0; batch->waiting > 0 && j < batch->count; j++) {
			const struct place *place = &batch->places[j];

			if (place->state == PLACE_WAITING &&
			    merge_reaches(p, reach, place->sample))
				merge_list(p->merge, pass, place->sample,
					   merge_tag(p, batch, place));
		}
	}
}

/* Those that the plan has in the window of this position, or in one as long. */
static void merge_list_ahead(struct pipeline *p, uint64_t of_pass, uint32_t position,
			     struct merge_reach reach)
{
	struct plan *plan = p->parts.plan;
	struct plan_pass pass;
	uint32_t at = p->next.position, end;

	plan_pass(plan, of_pass, &pass);
	if (p->next.pass != of_pass)
		return;
	if (p->head_pass == of_pass && p->stolen > at)
		at = p->stolen;
	end = pass.length - position > p->merge->blocks.window
		      ? position + p->merge->blocks.window
		      : pass.length;
	for (; at < end && !merge_found_all(p->merge, reach); at++) {
		uint32_t sample = plan_sample(plan, of_pass, at);

		if (merge_reaches(p, reach, sample) && !stream_useless(p, sample) &&
		    !cache_has(p->parts.cache, sample))
			merge_list(p->merge, of_pass, sample, NO_PLACE);
	}
}

static uint64_t merge_bytes(const struct pipeline *p, uint32_t first, uint32_t last)
{
	char path[PATH_MAX];
	struct source_place a, b;

	source_place(p->parts.source, first, path, &a);
	source_place(p->parts.source, last, path, &b);
	return b.offset + b.size - a.offset;
}

/* Cuts the list to those around `sample`, which is in it, that one read brings. */
static struct merge_member *merge_cut(const struct pipeline *p, uint32_t sample,
				      uint32_t *count)
{
	struct merge_member *list = p->merge->list, wanted = {.sample = sample};
	uint32_t first, end;

	qsort(list, p->merge->found, sizeof(*list), merge_compare);
	first = (uint32_t)((struct merge_member *)bsearch(
				   &wanted, list, p->merge->found, sizeof(*list),
				   merge_compare) -
			   list);
	end = first + 1;
	while (end < p->merge->found &&
	       merge_near(p, list[end - 1].sample, list[end].sample) &&
	       merge_bytes(p, list[first].sample, list[end].sample) <= MERGE_BYTES)
		end++;
	while (first > 0 && merge_near(p, list[first - 1].sample, list[first].sample) &&
	       merge_bytes(p, list[first - 1].sample, list[end - 1].sample) <=
		       MERGE_BYTES)
		first--;
	*count = end - first;
	return list + first;
}

static struct merge_group *merge_group_new(const struct merge_member *members,
					   uint32_t count, uint64_t pass)
{
	struct merge_group *group =
		malloc(sizeof(*group) + count * sizeof(*group->members));

	if (group == NULL)
		return NULL;
	*group = (struct merge_group){.pass = pass, .count = count, .left = count};
	group->samples = calloc(count, sizeof(*group->samples));
	if (group->samples == NULL) {
		free(group);
		return NULL;
	}
	memcpy(group->members, members, count * sizeof(*members));
	for (uint32_t i = 0; i < count; i++)
		group->samples[i] = members[i].sample;
	return group;
}

/* Their places wait no more: they are being read. */
static void merge_claim(struct pipeline *p, const struct merge_group *group)
{
	for (uint32_t i = 0; i < group->count; i++) {
		uint64_t tag = group->members[i].tag;
		struct batch *batch;
		struct place *place;

		if (tag == NO_PLACE)
			continue;
		batch = &p->batches[tag >> 32];
		place = &batch->places[(uint32_t)tag];
		if (place->state != PLACE_WAITING)
			continue; /* the one that began it */
		place->state = PLACE_READING;
		stream_hold(p, place, source_size(p->parts.source, place->sample));
		batch->waiting--;
	}
	p->in_flight += group->count - 1;
}

/* The job reads those of the list that go with its sample, if they are so many. Near the end
 * of what the session allows it reads that one alone: a cache on disk may have any of them,
 * and what lies between is asked for apart. */
static bool merge_begin(struct pipeline *p, uint64_t pass, uint32_t least,
			struct fetch_job *job)
{
	struct merge_group **run = &p->merge->runs[job->sample / p->merge->blocks.run];
	uint32_t count;
	const struct merge_member *members = merge_cut(p, job->sample, &count);
	struct merge_group *group;

	if (cache_disk(p->parts.cache) != NULL && count > fetch_client_left(p)) {
		while (members->sample != job->sample)
			members++;
		count = 1;
	}
	group = count >= least ? merge_group_new(members, count, pass) : NULL;
	if (group == NULL)
		return false;
	group->next = *run;
	*run = group;
	merge_claim(p, group);
	job->members = group->samples;
	job->count = count;
	return true;
}

void merge_add(struct pipeline *p, struct batch *batch, const struct place *place,
	       struct fetch_job *job)
{
	struct merge *merge = p->merge;
	struct merge_reach reach;

	if (merge == NULL || !p->turn.ops->merges || !batch->stream)
		return;
	reach = merge_reach(p, place->sample);
	merge->found = 0;
	merge_list(merge, batch->pass, place->sample, job->tag);
	if (!merge_found_all(merge, reach))
		merge_list_open(p, batch->pass, reach);
	merge_list_ahead(p, batch->pass,
			 batch->first + (uint32_t)(place - batch->places), reach);
	merge_begin(p, batch->pass, 2, job);
}

uint32_t merge_ahead(struct pipeline *p)
{
	struct plan_pass pass;
	uint32_t window, left;

	if (p->merge == NULL)
		return 0;
	stream_pass(p, &p->next, &pass);
	window = p->merge->blocks.window;
	left = pass.length - p->next.position;
	window -= p->next.position % window;
	return left < window ? left : window;
}

bool merge_hold(struct pipeline *p, uint32_t sample, struct fetch_job *job)
{
	struct merge_group *group;

	if (merge_find(p->merge, p->next.pass, sample, &group) != NULL ||
	    cache_has(p->parts.cache, sample))
		return false;
	p->merge->found = 0;
	merge_list(p->merge, p->next.pass, sample, NO_PLACE);
	merge_list_ahead(p, p->next.pass, p->next.position, merge_reach(p, sample));
	job->sample = sample;
	return merge_begin(p, p->next.pass, 1, job);
}
