/* gate_side.c - copies what a profile says, and cuts a run into blocks. */
#include "models/gate/gate_side.h"
#include "loader/base/trace.h"
#include "profiler/profile_fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define APART_S 3600.

void gate_side_init(struct gate_side *side)
{
	*side = (struct gate_side){0};
	profile_init(&side->about);
}

void gate_side_free(struct gate_side *side)
{
	for (size_t i = 0; i < side->session_count; i++) {
		free(side->sessions[i].when);
		free(side->sessions[i].values);
	}
	free(side->sessions);
	profile_free(&side->about);
	gate_side_init(side);
}

struct gate_session *gate_side_add_session(struct gate_side *side, const char *when)
{
	size_t size = (side->session_count + 1) * sizeof(*side->sessions);
	struct gate_session *sessions = realloc(side->sessions, size);
	struct gate_session fresh = {0};

	if (sessions == NULL)
		return NULL;
	side->sessions = sessions;
	if (profile_text(&fresh.when, "%s", when) < 0)
		return NULL;
	sessions[side->session_count] = fresh;
	return &sessions[side->session_count++];
}

int gate_session_add(struct gate_session *session, const double values[GATE_METRICS])
{
	size_t size = sizeof(*session->values);
	void *grown = realloc(session->values, (session->count + 1) * size);

	if (grown == NULL)
		return -ENOMEM;
	session->values = grown;
	memcpy(session->values[session->count++], values, size);
	return 0;
}

/* ---- separate sessions ---- */

/* Seconds since 1970; false: it is no time. */
static bool read_time(const char *text, time_t *seconds)
{
	struct tm parts = {0};
	const char *end =
		text == NULL ? NULL : strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts);

	if (end == NULL || *end != '\0')
		return false;
	*seconds = timegm(&parts);
	return true;
}

static bool are_apart(const struct gate_session *a, const struct gate_session *b)
{
	time_t left, right;

	return read_time(a->when, &left) && read_time(b->when, &right) &&
	       fabs(difftime(left, right)) >= APART_S;
}

size_t gate_side_separate(const struct gate_side *side, size_t first)
{
	size_t end = first + 1;

	while (end < side->session_count &&
	       !are_apart(&side->sessions[first], &side->sessions[end]))
		end++;
	return end;
}

size_t gate_side_separate_count(const struct gate_side *side)
{
	size_t count = 0;

	for (size_t i = 0; i < side->session_count; i = gate_side_separate(side, i))
		count++;
	return count;
}

/* ---- about what ---- */

#define COPY_TEXT(name)        failed |= profile_copy_text(&to->name, from->name);
#define COPY_WORD(name)        failed |= profile_word_copy(&to->name, &from->name);
#define COPY_ENGINE(name)      COPY_WORD(name)
#define COPY_CACHE(name)       COPY_WORD(name)
#define COPY_COUNT(name)       to->name = from->name;
#define COPY_NUMBER(name)      to->name = from->name;
#define COPY_FLAG(name)        to->name = from->name;
#define COPY_YES(name)         to->name = from->name;
#define COPY(path, type, name) COPY_##type(name)

static int gate_side_copy(struct profile *to, const struct profile *from)
{
	bool failed = false;

	to->seed = from->seed;
	COPY_TEXT(version)
	COPY_TEXT(started)
	COPY_WORD(protocol)
	COPY_TEXT(loader)
	COPY_TEXT(asked)
	COPY_TEXT(loader_choice)
	COPY_TEXT(epoch_ends)
	COPY_WORD(loader_kind)
	COPY_TEXT(directory)
	COPY_TEXT(dataset)
	COPY_TEXT(engine_reason)
	PROFILE_DATASET(COPY)
	PROFILE_LOADING(COPY, "")
	PROFILE_STAGES(COPY, "")
	if (from->command != NULL) {
		to->command = profile_copy_texts(from->command);
		failed |= to->command == NULL;
	}
	return failed ? -ENOMEM : 0;
}

static int copy_facts(struct profile *to, const struct profile *from)
{
	for (size_t i = 0; i < from->fact_count; i++) {
		const struct profile_fact *old = &from->environment[i];

		if (profile_set_fact(to, old->key, old->value) < 0)
			return -ENOMEM;
	}
	return 0;
}

int gate_side_describe(struct gate_side *side, const struct profile *profile)
{
	struct profile *about = &side->about;
	struct profile_counted counted =
		profile->counted.samples != UNKNOWN ? profile->counted : about->counted;
	struct profile_busy busy = about->busy;

	profile_busy_join(&busy, &profile->busy);
	profile_free(about);
	about->counted = counted;
	about->busy = busy;
	return gate_side_copy(about, profile) < 0 ? -ENOMEM
						  : copy_facts(about, profile);
}

/* ---- a run's blocks ---- */

/* What the windows of a block took together, of each stage. */
struct block {
	double seconds[STAGES], samples[STAGES];
	double cpu_s; /* of the real ones */
};

static enum stage gate_side_stage(const struct profile_window *window)
{
	return window->kind.id < 0 ? STAGES
				   : stage_of_kind((enum trace_kind)window->kind.id);
}

static bool gate_side_counts(const struct profile_window *window)
{
	return window->block >= 0 && window->used && window->certified &&
	       gate_side_stage(window) < STAGES && window->samples != UNKNOWN &&
	       window->per_s > 0;
}

static void gate_side_add_window(struct block *block,
				 const struct profile_window *window)
{
	enum stage stage = gate_side_stage(window);

	block->samples[stage] += (double)window->samples;
	block->seconds[stage] += (double)window->samples / window->per_s;
	if (stage == STAGE_REAL)
		block->cpu_s += window->cpu_s;
}

/* A session holds no more; a file may say anything, and blocks are searched for. */
static size_t window_count(const struct profile *run)
{
	return run->window_count < TRACE_WINDOWS ? run->window_count : TRACE_WINDOWS;
}

/* The block that begins with this window, whose others come after it. */
static struct block block_from(const struct profile *run, size_t first)
{
	struct block block = {0};

	for (size_t i = first; i < window_count(run); i++)
		if (gate_side_counts(&run->windows[i]) &&
		    run->windows[i].block == run->windows[first].block)
			gate_side_add_window(&block, &run->windows[i]);
	return block;
}

static bool begins_block(const struct profile *run, size_t at)
{
	if (!gate_side_counts(&run->windows[at]))
		return false;
	for (size_t i = 0; i < at; i++)
		if (gate_side_counts(&run->windows[i]) &&
		    run->windows[i].block == run->windows[at].block)
			return false;
	return true;
}

static bool gate_side_complete(const struct block *block)
{
	for (int i = 0; i < STAGES; i++)
		if (!(block->samples[i] > 0) && !stage_table[i].optional)
			return false;
	return true;
}

/* As the shares of a whole run, of one block: profiler/analysis/shares.h. */
static void block_values(const struct block *block, double values[GATE_METRICS])
{
	struct profile repetition;
	double times[STAGES], shares[STAGES];

	for (int i = 0; i < STAGES; i++)
		times[i] = block->seconds[i] / block->samples[i];
	stage_split(times, shares);
	profile_init(&repetition);
	for (int i = 0; i < STAGES; i++)
		repetition.stalls[i].value = shares[i];
	repetition.rates[TRACE_REAL].value = 1 / times[STAGE_REAL];
	repetition.cpu_s_per_sample = block->cpu_s / block->samples[STAGE_REAL];
	gate_metric_timed(&repetition, values);
}

int gate_side_of_run(struct gate_side *side, const struct profile *run)
{
	const char *when = run->started == NULL ? "" : run->started;
	struct gate_session *session;

	if (gate_side_describe(side, run) < 0)
		return -ENOMEM;
	session = gate_side_add_session(side, when);
	for (size_t i = 0; session != NULL && i < window_count(run); i++) {
		double values[GATE_METRICS];
		struct block block;

		if (!begins_block(run, i))
			continue;
		block = block_from(run, i);
		if (!gate_side_complete(&block))
			continue;
		block_values(&block, values);
		if (gate_session_add(session, values) < 0)
			return -ENOMEM;
	}
	return session == NULL ? -ENOMEM : 0;
}
