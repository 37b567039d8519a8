/*
 * counters.c - adds up what the threads of each stage used.
 *
 * A poll reads every thread and adds the difference to its stage, and the difference of
 * the session's sample counters beside it, so that both sides of "per sample" always
 * cover the same time:
 *
 *	thread -> metric -> last reading     (threads come and go)
 *	stage  -> metric -> sum of differences, samples
 *
 * The difference between two polls counts only when every known thread was followed all
 * the time, and no paired window was on at either.
 *
 * The kernel switches more slowly to and from a thread that has events: on a virtual
 * machine, where each write to a register of the counters leaves the guest, that took 10 %
 * of a training which switches twice a sample, and 2 % where the events were stopped. So
 * they are open in short spells alone, whose samples stand for all.
 */
#include "profiler/host/counters.h"
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "profiler/host/metric.h"
#include "profiler/profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { OPENED_A_POLL = 64 }; /* each costs about 50 us */

#define REST_NS 1.5e9 /* between two spells, on average */
#define GOLDEN  .6180339887498949

/* As enum trace_stage, and the whole process of the driver. */
enum counters_stage { FETCH, PREP, CONSUMER, PROCESS, COUNTED };

struct thread {
	uint32_t tid; /* 0: this place is free */
	enum counters_stage stage;
	struct metric_target target;
	struct metric_reading last;
};

struct total {
	struct metric_value sum;
	enum rung rung; /* lowest that any thread used */
	bool missing;   /* some thread had none: the sum is no sum */
};

struct counters {
	struct metrics metrics;
	struct thread *threads; /* TRACE_THREADS + 1 places a process; the last is the
				 * process itself */
	struct total totals[COUNTED][METRICS];
	uint64_t samples[COUNTED];
	uint64_t samples_last[COUNTED];
	uint64_t due;
	unsigned spells;
	bool counted; /* the last poll may start a difference */
};

enum { PLACES = TRACE_THREADS + 1 };

struct counters *counters_open(const struct counters_config *config, struct error *err)
{
	static const struct counters_config real = {0};
	struct counters *counters = calloc(1, sizeof(*counters));

	if (counters == NULL)
		goto no_memory;
	counters->threads = calloc(TRACE_PROCESSES * PLACES, sizeof(struct thread));
	if (counters->threads == NULL)
		goto no_memory;
	metric_init(&counters->metrics, config != NULL ? config : &real);
	return counters;

no_memory:
	counters_close(counters);
	error_sys(err, ENOMEM, "cannot count events");
	return NULL;
}

void counters_close(struct counters *counters)
{
	if (counters == NULL)
		return;
	for (size_t i = 0; counters->threads != NULL && i < TRACE_PROCESSES * PLACES;
	     i++)
		if (counters->threads[i].tid != 0)
			metric_detach(&counters->threads[i].target);
	free(counters->threads);
	free(counters);
}

void counters_support(const struct counters *counters, struct counters_support *support)
{
	metric_support(&counters->metrics, support);
}

/* Adds what the thread did since its last reading; nothing when it is gone. */
static void read_thread(struct counters *counters, struct thread *thread, bool count)
{
	struct metric_reading now = thread->last;

	if (!metric_read(&counters->metrics, &thread->target, &now))
		return;
	for (int i = 0; i < METRICS; i++) {
		struct total *total = &counters->totals[thread->stage][i];

		if (count && now.rung[i] == thread->last.rung[i])
			metric_add(&total->sum, &thread->last.value[i], &now.value[i]);
		if (now.rung[i] > total->rung)
			total->rung = now.rung[i];
		total->missing |= now.rung[i] == RUNG_NONE;
	}
	thread->last = now;
}

/* Makes place `thread` follow `tid`. False when that has to wait for the next poll. */
static bool counters_follow(struct counters *counters, struct thread *thread,
			    uint32_t pid, uint32_t tid, unsigned *budget)
{
	if (thread->tid == tid)
		return true;
	if (*budget == 0)
		return false;
	--*budget;
	if (thread->tid != 0)
		metric_detach(&thread->target);
	thread->tid = tid;
	thread->last = (struct metric_reading){0};
	metric_attach(&counters->metrics, &thread->target, pid,
		      thread->stage == PROCESS ? 0 : tid);
	return true;
}

/* The loader that drove may have closed, and one in another slot drives now. */
static void counters_forget(struct thread *thread)
{
	if (thread->tid != 0)
		metric_detach(&thread->target);
	thread->tid = 0;
}

/* False when some of its threads are not followed yet. */
static bool follow_process(struct counters *counters, struct thread *places,
			   const struct trace_process *process, bool drives,
			   unsigned *budget)
{
	uint32_t pid = process->pid;
	bool all = true;

	for (unsigned i = 0; i < TRACE_THREADS; i++) {
		uint32_t tid = process->threads[i].tid;
		uint32_t stage = process->threads[i].stage;

		if (tid == 0) /* places are taken in order */
			break;
		if (stage < TRACE_STAGE_FETCH || stage > TRACE_STAGE_CONSUMER)
			continue;
		places[i].stage = (enum counters_stage)(stage - TRACE_STAGE_FETCH);
		all &= counters_follow(counters, &places[i], pid, tid, budget);
	}
	if (!drives) {
		counters_forget(&places[TRACE_THREADS]);
		return all;
	}
	places[TRACE_THREADS].stage = PROCESS;
	return counters_follow(counters, &places[TRACE_THREADS], pid, pid, budget) &&
	       all;
}

/* False when some thread is not followed yet; *opened is how many are new. */
static bool follow_all(struct counters *counters, const struct trace *trace,
		       const struct trace_process *driver, unsigned *opened)
{
	unsigned budget = OPENED_A_POLL;
	bool all = true;

	for (unsigned i = 0; i < TRACE_PROCESSES; i++) {
		const struct trace_process *process = &trace->processes[i];

		if (process->pid != 0)
			all &= follow_process(counters, &counters->threads[i * PLACES],
					      process, process == driver, &budget);
	}
	*opened = OPENED_A_POLL - budget;
	return all;
}

/* What the stage's threads worked for. */
static uint64_t process_samples(const struct trace_process *process, bool drives,
				int stage)
{
	switch (stage) {
	case FETCH:
		return process->counters[TRACE_fetched_samples] +
		       process->counters[TRACE_staged_samples];
	case PREP:
		return process->counters[TRACE_prepared_samples];
	case CONSUMER:
		return process->counters[TRACE_delivered_samples];
	default: /* the driver's process */
		return drives ? process->counters[TRACE_delivered_samples] : 0;
	}
}

static void count_samples(struct counters *counters, const struct trace *trace,
			  const struct trace_process *driver, bool count)
{
	for (int stage = 0; stage < COUNTED; stage++) {
		uint64_t now = 0;

		for (unsigned i = 0; i < TRACE_PROCESSES; i++) {
			const struct trace_process *process = &trace->processes[i];

			now += process_samples(process, process == driver, stage);
		}
		if (count)
			counters->samples[stage] += now - counters->samples_last[stage];
		counters->samples_last[stage] = now;
	}
}

static bool in_paired_window(const struct trace *trace)
{
	uint32_t begun = trace->window_now;

	return begun > 0 && begun <= TRACE_WINDOWS &&
	       (trace->windows[begun - 1].flags & TRACE_PAIRED) != 0;
}

bool counters_poll_now(struct counters *counters, const struct trace *trace)
{
	const struct trace_process *driver = trace_driver(trace);
	bool any = false, paired = in_paired_window(trace);
	unsigned opened;
	bool countable = follow_all(counters, trace, driver, &opened) && !paired;
	bool count = countable && opened == 0 && counters->counted;

	for (size_t i = 0; i < TRACE_PROCESSES * PLACES; i++)
		if (counters->threads[i].tid != 0) {
			read_thread(counters, &counters->threads[i], count);
			any = true;
		}
	count_samples(counters, trace, driver, count);
	counters->counted = countable;
	return any && (count || paired);
}

static void counters_rest(struct counters *counters)
{
	for (size_t i = 0; i < TRACE_PROCESSES * PLACES; i++)
		counters_forget(&counters->threads[i]);
	counters->counted = false;
}

/* Half to one and a half of the average, in turns that no rhythm of windows follows. */
static uint64_t counters_pause(struct counters *counters)
{
	double turn = GOLDEN * ++counters->spells;

	return (uint64_t)(REST_NS * (.5 + turn - floor(turn)));
}

void counters_poll(struct counters *counters, const struct trace *trace, uint64_t now)
{
	if (now < counters->due)
		return;
	counters->due = now + COUNTERS_SPELL_NS;
	if (!counters_poll_now(counters, trace))
		return;
	counters_rest(counters);
	counters->due = now + counters_pause(counters);
}

static int add_result(struct profile *profile, enum counters_stage stage, int metric,
		      const struct total *total, uint64_t samples)
{
	static const char *const stages[COUNTED] = {"fetch", "prep", "consumer",
						    "process"};
	double running, value = metric_scaled(&total->sum, metric, &running);
	struct profile_counter *counter;

	if (isnan(value))
		return 0;
	counter = profile_add_counter(profile);
	if (counter == NULL)
		return -ENOMEM;
	counter->per_sample = value / (double)samples;
	counter->running = running;
	if (profile_text(&counter->stage, "%s", stages[stage]) < 0 ||
	    profile_text(&counter->name, "%s", metric_name(metric)) < 0)
		return -ENOMEM;
	return profile_text(&counter->rung, "%s", rung_name(total->rung));
}

int counters_result(const struct counters *counters, struct profile *profile)
{
	for (int stage = 0; stage < COUNTED; stage++)
		for (int i = 0; i < METRICS && counters->samples[stage] > 0; i++) {
			const struct total *total = &counters->totals[stage][i];

			if (total->missing || total->rung == RUNG_UNREAD)
				continue;
			if (add_result(profile, (enum counters_stage)stage, i, total,
				       counters->samples[stage]) < 0)
				return -ENOMEM;
		}
	return 0;
}
