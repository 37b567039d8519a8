/* conductor.c - starts the programs of a launch, waits for signals, polls. */
#include "profiler/run/conductor/conductor.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "profiler/host/counters.h"
#include "profiler/run/conductor/barrier.h"
#include "profiler/run/conductor/conductor_state.h"
#include "profiler/session/merge_shared.h"

#include <errno.h>
#include <time.h>

#define POLL_NS UINT64_C(30000000)
#define STEP_NS UINT64_C(4000000) /* while jobs wait for one another */
/* Until the loader is open, whose first step waits for no window. */
#define START_NS UINT64_C(2000000)

static void conductor_keep_in_step(struct conductor *conductor)
{
	int lost;

	if (conductor->count == 1 || conductor->config->observe)
		return;
	for (unsigned i = 0; conductor->loader != NULL && i < conductor->count; i++)
		if (!conductor_is_loader(conductor, i))
			merge_shared_turn(conductor->jobs[i].trace,
					  conductor->loader->trace);
	barrier_pass(&conductor->barrier);
	lost = barrier_lost(&conductor->barrier, clock_now());
	if (lost >= 0)
		conductor_leave(conductor, (unsigned)lost, CONDUCTOR_DIED,
				"came no further for too long");
}

/* ---- the loop ---- */

static bool all_ready(const struct conductor *conductor)
{
	for (unsigned i = 0; i < conductor->count; i++)
		if (!conductor->jobs[i].trace->loader_ready)
			return false;
	return true;
}

/* For programs that can't see whether dsa lives. */
static void conductor_beat(const struct conductor *conductor)
{
	for (unsigned i = 0; i < conductor->count; i++)
		atomic_fetch_add(&conductor->jobs[i].trace->heartbeat, 1);
}

/* What means something to a program alone, as "write a checkpoint" before a batch system
 * ends it. */
static bool is_for_programs(int number)
{
	return number == SIGUSR1 || number == SIGUSR2;
}

static void conductor_notify(const struct conductor *conductor, int number)
{
	for (unsigned i = 0; i < conductor->count; i++)
		if (&conductor->jobs[i] != conductor->loader)
			target_notify(&conductor->targets[i], number);
}

/* Sleeps until the next poll or signal; passes a signal on to the programs. */
static void conductor_wait(struct conductor *conductor, const sigset_t *signals)
{
	uint64_t poll = conductor->count > 1 ? STEP_NS : POLL_NS;
	struct timespec timeout = {0, (long)(all_ready(conductor) ? poll : START_NS)};
	int number;

	conductor_beat(conductor);
	number = sigtimedwait(signals, NULL, &timeout);
	if (number <= 0 || number == SIGCHLD || number == SIGTTOU)
		return;
	if (is_for_programs(number)) {
		conductor_notify(conductor, number);
		return;
	}
	for (unsigned i = 0; i < conductor->count; i++)
		target_signal(&conductor->targets[i], number);
	conductor_interrupt(conductor, number);
}

static void conductor_report(const struct conductor *conductor)
{
	struct conductor_progress now = {
		.elapsed_s = conductor_elapsed(conductor),
		.budget_s = conductor->config->schedule.budget_s,
		.shares = schedule_shares(conductor->jobs[0].schedule),
		.leaving = conductor->stopping && conductor->end->why != CONDUCTOR_DIED,
	};

	if (conductor->config->progress != NULL && now.elapsed_s > 0 &&
	    !conductor_is_alone(conductor))
		conductor->config->progress(conductor->config->context, &now);
}

/* Of all sessions; the one that leads has every window: the shared loader's, or the
 * first job's that is in. */
static void conductor_watch_load(struct conductor *conductor)
{
	struct trace *traces[BARRIER_MEMBERS];
	int lead = conductor->loader != NULL
			   ? (int)(conductor->loader - conductor->jobs)
			   : conductor_first(conductor);

	if (lead < 0) /* all have ended, some in their last window */
		lead = 0;
	for (unsigned i = 0; i < conductor->count; i++)
		traces[i] = conductor->jobs[i].trace;
	traces[0] = conductor->jobs[lead].trace;
	traces[lead] = conductor->jobs[0].trace;
	load_watch_poll(&conductor->load, traces, conductor->count);
}

/* Polls counters and reports progress, less often than jobs in step are looked at. */
static void conductor_poll(struct conductor *conductor)
{
	struct counters *counters = conductor->config->counters;
	uint64_t now = clock_now();

	if (now - conductor->polled < POLL_NS)
		return;
	conductor->polled = now;
	if (counters != NULL)
		counters_poll(counters, conductor->jobs[0].trace, now);
	conductor_report(conductor);
}

static bool any_runs(const struct conductor *conductor)
{
	for (unsigned i = 0; i < conductor->count; i++)
		if (conductor->targets[i].running)
			return true;
	return false;
}

/* Programs whose loader never drives see nothing of windows. */
static void conductor_note_window(struct conductor *conductor)
{
	const struct conductor_config *config = conductor->config;

	if (conductor->repeats || config->observe || config->repeats == NULL)
		return;
	for (unsigned i = 0; i < conductor->count; i++)
		conductor->repeats |= !conductor_is_loader(conductor, i) &&
				      conductor->jobs[i].trace->window_now > 0;
	if (conductor->repeats)
		config->repeats(config->context);
}

/* Until no program runs any more, in the background neither. */
static void conductor_lead(struct conductor *conductor, const sigset_t *signals)
{
	while (any_runs(conductor) || conductor_background(conductor) != 0) {
		conductor_wait(conductor, signals);
		target_poll(conductor->targets, conductor->count, &conductor->children);
		conductor_note_window(conductor);
		conductor_note_data_end(conductor);
		for (unsigned i = 0; i < conductor->count; i++) {
			conductor_note_unmeasured(conductor, i);
			conductor_note_skipping(conductor, i);
			conductor_note_end(conductor, i);
		}
		conductor_watch_load(conductor);
		if (!conductor->stopping && !conductor_is_alone(conductor)) {
			conductor_keep_in_step(conductor);
			conductor_check(conductor);
			conductor_extend(conductor);
		}
		conductor_poll(conductor);
		for (unsigned i = 0; i < conductor->count; i++)
			conductor_escalate(conductor, i);
	}
	if (conductor->loader != NULL)
		conductor_windows_conclude(conductor);
	for (unsigned i = 0; i < conductor->count; i++)
		conductor->jobs[i].given->target_status = conductor->targets[i].status;
	conductor->end->left = target_clear(conductor->targets, conductor->count,
					    &conductor->children);
}

/* An ignored signal must not be waited for: while blocked it would be queued. */
static bool is_ignored(int number)
{
	struct sigaction action;

	return number != SIGCHLD && sigaction(number, NULL, &action) == 0 &&
	       action.sa_handler == SIG_IGN;
}

/* Blocks the signals that dsa waits for; the target's mask does not inherit them.
 * Signals that dsa was started to ignore, as by nohup(1), stay ignored. */
static void block_signals(sigset_t *signals, sigset_t *target)
{
	static sigset_t given; /* before the first launch */
	static bool known;
	static const int numbers[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
				      SIGUSR1, SIGUSR2, SIGCHLD, SIGTTOU};

	sigprocmask(SIG_BLOCK, NULL, target);
	if (!known)
		given = *target;
	known = true;
	sigemptyset(signals);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (is_ignored(numbers[i]))
			continue;
		sigaddset(signals, numbers[i]);
		if (!is_for_programs(numbers[i]) ||
		    sigismember(&given, numbers[i]) != 1)
			sigdelset(target, numbers[i]);
	}
	sigprocmask(SIG_BLOCK, signals, NULL);
}

static int conductor_add(struct conductor *conductor, struct conductor_job *given)
{
	struct job *job = &conductor->jobs[conductor->count];
	uint64_t samples = conductor->config->samples;
	bool observe = conductor->config->observe;

	job->given = given;
	job->trace = given->trace;
	given->target_status = -1;
	given->forced = false;
	given->left[0] = '\0';
	job->schedule = schedule_new(&conductor->config->schedule);
	if (job->schedule == NULL)
		return -ENOMEM;
	conductor->count++;
	conductor->targets[conductor->count - 1].gone = true; /* not there yet */
	barrier_join(&conductor->barrier, job->trace);
	job->trace->in_step = conductor->config->schedule.in_step && !observe;
	if (observe)
		conductor_observe(job->trace);
	job->trace->most_gets = conductor->config->most_gets;
	job->trace->until_once = samples == UNKNOWN;
	job->trace->until_samples = samples == UNKNOWN ? CONDUCTOR_SAMPLES : samples;
	return 0;
}

static int start_one(struct conductor *conductor, unsigned number, const sigset_t *mask,
		     struct error *err)
{
	struct conductor_job *given = conductor->jobs[number].given;

	given->target.mask = mask;
	given->target.session = given->session;
	return target_start(&conductor->targets[number], &given->target, err);
}

/* Waits until the loader can be asked for batches. */
static int await_loader(struct conductor *conductor, const sigset_t *signals,
			struct error *err)
{
	const struct trace *trace = conductor->loader->trace;
	struct target *target = &conductor->targets[conductor->count - 1];
	double timeout_s = conductor->config->timeout_s;

	while (!trace->loader_ready && target->running && !conductor->stopping &&
	       clock_since(conductor->started) < timeout_s) {
		conductor_wait(conductor, signals);
		target_poll(target, 1, &conductor->children);
	}
	if (trace->loader_ready || conductor->stopping)
		return 0;
	return error_set(err, ECHILD, "the shared loader %s",
			 target->running ? "did not begin in time" : "did not begin");
}

/* Starts the loader, then all jobs; ends those already started when one fails. */
static int conductor_start(struct conductor *conductor, const sigset_t *signals,
			   const sigset_t *mask, struct error *err)
{
	unsigned jobs = conductor->count - (conductor->loader != NULL), started = 0;
	int result = 0;

	if (conductor->loader != NULL)
		result = start_one(conductor, jobs, mask, err);
	if (conductor->loader != NULL && result == 0)
		result = await_loader(conductor, signals, err);
	while (result == 0 && started < jobs) {
		result = start_one(conductor, started, mask, err);
		started += result == 0;
	}
	if (result < 0)
		target_clear(conductor->targets, conductor->count,
			     &conductor->children);
	return result;
}

int conduct(const struct conductor_config *config, struct conductor_job *jobs,
	    unsigned count, struct conductor_end *end, struct error *err)
{
	uint64_t now = clock_now();
	struct conductor conductor = {
		.config = config, .end = end, .started = now, .checked = now};
	sigset_t signals, mask;
	int result = 0;

	*end = (struct conductor_end){0};
	for (unsigned i = 0; result == 0 && i < count; i++)
		result = conductor_add(&conductor, &jobs[i]);
	if (result == 0 && config->loader != NULL) {
		conductor.loader = &conductor.jobs[conductor.count];
		result = conductor_add(&conductor, config->loader);
	}
	if (result < 0) {
		error_sys(err, ENOMEM, "planning the windows");
		goto out;
	}
	block_signals(&signals, &mask);
	load_watch_init(&conductor.load, jobs[0].target.cores, &conductor.children);
	children_note(&conductor.children, jobs[0].session);
	conductor_extend(&conductor);
	result = conductor_start(&conductor, &signals, &mask, err);
	if (result == 0)
		conductor_lead(&conductor, &signals);
out:
	for (unsigned i = 0; i < conductor.count; i++)
		schedule_free(conductor.jobs[i].schedule);
	return result;
}
