/* conductor_end.c - how a launch ends, or one of its programs before. */
#include "loader/base/clock.h"
#include "loader/base/trace.h"
#include "profiler/io_page.h"
#include "profiler/preload.h"
#include "profiler/run/conductor/conductor_state.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ALONE_S   10. /* that a loader of libdsa's may come later than the first */
#define LEAVES_S  1.  /* that processes of a command may take to end after it */
#define KILL_S    5.  /* after SIGTERM, and between two SIGKILL */
#define KILLS     6   /* then a program is given up: it waits for a device */
#define ASLEEP_NS 1000000000ULL /* between two checks that are milliseconds apart */

#define HOW                                                                            \
	"use dsa.Loader or dsa.watch() in Python (dsa_python(3)), libdsa in C "        \
	"(dsa_loader(3))"

bool conductor_has(const struct conductor *conductor, unsigned job)
{
	return conductor->barrier.jobs[job].in;
}

bool conductor_is_loader(const struct conductor *conductor, unsigned job)
{
	return &conductor->jobs[job] == conductor->loader;
}

int conductor_first(const struct conductor *conductor)
{
	int first = barrier_first(&conductor->barrier);

	return first >= 0 && conductor_is_loader(conductor, (unsigned)first) ? -1
									     : first;
}

double conductor_elapsed(const struct conductor *conductor)
{
	uint64_t latest = 0;

	for (unsigned i = 0; i < conductor->count; i++) {
		uint64_t first = conductor->jobs[i].trace->first_request_ns;

		if (!conductor_has(conductor, i))
			continue;
		if (first == 0)
			return 0;
		latest = first > latest ? first : latest;
	}
	return latest == 0 ? 0 : clock_since(latest);
}

static uint64_t conductor_end_in(double seconds)
{
	return clock_now() + (uint64_t)(seconds * 1e9);
}

/* Ends the job's data, and sets when its program is terminated if it does not exit. */
static void end_job(struct conductor *conductor, struct job *job,
		    enum conductor_why why)
{
	if (job->stopping)
		return;
	job->stopping = true;
	job->trace->stop = 1;
	job->terminate =
		conductor_end_in(why == CONDUCTOR_SILENT || why == CONDUCTOR_HUNG
					 ? 0
					 : conductor->config->grace_s);
}

void conductor_stop(struct conductor *conductor, enum conductor_why why,
		    const char *text, ...)
{
	va_list args;

	if (conductor->stopping)
		return;
	conductor->stopping = true;
	conductor->end->why = why;
	va_start(args, text);
	vsnprintf(conductor->end->text, sizeof(conductor->end->text), text, args);
	va_end(args);
	for (unsigned i = 0; i < conductor->count; i++)
		end_job(conductor, &conductor->jobs[i], why);
}

void conductor_interrupt(struct conductor *conductor, int number)
{
	conductor->end->signal = number;
	conductor_stop(conductor, CONDUCTOR_INTERRUPTED, "SIG%s", sigabbrev_np(number));
}

void conductor_spent(struct conductor *conductor)
{
	bool closed = conductor_has(conductor, 0) &&
		      conductor->jobs[0].trace->driver_done != 0;

	conductor_stop(conductor, CONDUCTOR_BUDGET, "%s",
		       closed ? "the program closed the loader that was measured, and "
				"opened none of the same data and batch"
			      : "");
}

static bool any_asked(const struct conductor *conductor)
{
	for (unsigned i = 0; i < conductor->count; i++)
		if (conductor->jobs[i].trace->first_request_ns != 0)
			return true;
	return false;
}

void conductor_leave(struct conductor *conductor, unsigned number,
		     enum conductor_why why, const char *text, ...)
{
	struct job *job = &conductor->jobs[number];
	char who[24] = "the program";
	bool loader = conductor_is_loader(conductor, number);
	va_list args;

	if (!conductor_has(conductor, number))
		return;
	barrier_leave(&conductor->barrier, number);
	va_start(args, text);
	vsnprintf(job->given->left, sizeof(job->given->left), text, args);
	va_end(args);
	end_job(conductor, job, why);
	if (conductor_first(conductor) >= 0 && !loader)
		return;
	if (why == CONDUCTOR_SILENT && any_asked(conductor))
		why = CONDUCTOR_DIED;
	if (loader)
		snprintf(who, sizeof(who), "the shared loader");
	else if (conductor->count > 1)
		snprintf(who, sizeof(who), "job %u", number);
	conductor_stop(conductor, why, "%s %s", who, job->given->left);
}

void conductor_escalate(struct conductor *conductor, unsigned number)
{
	struct job *job = &conductor->jobs[number];
	struct target *target = &conductor->targets[number];
	uint64_t now = clock_now();

	if (job->terminate != 0 && now >= job->terminate) {
		job->given->forced |=
			target->running || conductor_background(conductor) != 0;
		job->terminate = 0;
		job->kill = conductor_end_in(KILL_S);
		target_signal(target, SIGTERM);
		target_signal(target, SIGCONT); /* it may be stopped */
	}
	if (job->kill != 0 && now >= job->kill) {
		job->kill = conductor_end_in(KILL_S);
		target_signal(target, SIGKILL);
		if (++job->kills == KILLS && target->running) {
			target->running = false;
			target->status = -1;
		}
	}
}

/* A fault of the program's own, not somebody else's signal. */
static bool is_crash(int number)
{
	return number == SIGSEGV || number == SIGABRT || number == SIGBUS ||
	       number == SIGFPE || number == SIGILL || number == SIGSYS ||
	       number == SIGTRAP;
}

/* True where the program's own loader made batches, measured or not. */
static bool conductor_end_made(const struct job *job)
{
	const struct preload *preload = job->given->target.preload;

	return preload != NULL && preload_page(preload)->batch_count > 0;
}

/* Of a program whose loader the hook is to see. */
static void conductor_end_hint_of_hook(const struct job *job, char text[CONDUCTOR_LEFT])
{
	const struct target_config *target = &job->given->target;
	struct preload_hidden hidden;

	if (target->command != NULL && preload_is_hidden(target->command, &hidden))
		snprintf(text, CONDUCTOR_LEFT, ": %s; %s", hidden.why, hidden.fix);
	else if (conductor_end_made(job))
		snprintf(text, CONDUCTOR_LEFT,
			 ": torch's DataLoader made batches, but no backward() ran "
			 "between two of them: --observe measures what only evaluates");
	else if (preload_was_hooked(target->preload))
		snprintf(text, CONDUCTOR_LEFT,
			 ": the hook runs in it, and saw no batch of torch's "
			 "DataLoader; for another loader " HOW);
	else
		snprintf(text, CONDUCTOR_LEFT,
			 ": no loader of torch's or dsa's was seen, nor the hook "
			 "(python -E, PYTHONPATH set anew?): " HOW);
}

/* ": " and what a program lacks that has no loader of ours; "" where it has one. */
static const char *conductor_end_hint(const struct job *job, char text[CONDUCTOR_LEFT])
{
	const struct target_config *target = &job->given->target;

	text[0] = '\0';
	if (job->trace->processes[0].pid != 0)
		return text;
	if (target->preload != NULL)
		conductor_end_hint_of_hook(job, text);
	else if (target->blind != NULL && *target->blind != '\0')
		snprintf(text, CONDUCTOR_LEFT,
			 ": no loader of its own could be seen: %s", target->blind);
	else
		snprintf(text, CONDUCTOR_LEFT,
			 ": it does not load its data with dsa: " HOW);
	return text;
}

bool conductor_is_alone(const struct conductor *conductor)
{
	return conductor->count == 1 && trace_is_alone(conductor->jobs[0].trace);
}

void conductor_note_unmeasured(struct conductor *conductor, unsigned number)
{
	struct job *job = &conductor->jobs[number];

	if (job->alone_ns > 0 || atomic_load(&job->trace->unmeasured) == 0)
		return;
	job->alone_ns = clock_now();
	if (conductor->config->schedule.in_step && !conductor->config->observe)
		return; /* a loader of libdsa's may come: check_silence() */
	if (conductor->config->unmeasured != NULL)
		conductor->config->unmeasured(conductor->config->context,
					      job->trace->unmeasured_why);
	else
		conductor_leave(conductor, number, CONDUCTOR_SILENT,
				"was not measured: %.*s", TRACE_WHY,
				job->trace->unmeasured_why);
}

void conductor_note_skipping(struct conductor *conductor, unsigned number)
{
	if (!conductor->stopping &&
	    atomic_load(&conductor->jobs[number].trace->beyond) == TRACE_SKIPPED)
		conductor_leave(conductor, number, CONDUCTOR_DIED,
				"skips what comes beyond the end of its epoch");
}

/* The process that drives, or drove, or went on without dsa; 0: none did yet. */
static pid_t conductor_end_trainer(const struct trace *trace)
{
	const struct trace_process *driver = trace_driver(trace);

	if (atomic_load(&trace->unmeasured) != 0 && trace_is_alone(trace))
		return (pid_t)trace->unmeasured_pid;
	return driver != NULL && trace->first_request_ns != 0 ? (pid_t)driver->pid : 0;
}

pid_t conductor_background(const struct conductor *conductor)
{
	const struct target *target = &conductor->targets[0];
	const struct job *job = &conductor->jobs[0];
	pid_t trainer = conductor_end_trainer(job->trace);

	if (conductor->count > 1 || target->running || target->status != 0 ||
	    (job->stopping && job->terminate == 0) ||
	    (trainer != 0 && kill(trainer, 0) < 0 && errno != EPERM))
		return 0;
	return children_signal(&conductor->children, 0);
}

/* True while a process is waited for. The terminal is dsa's then: a shell has such a process
 * ignore Ctrl-C. */
static bool conductor_note_background(struct conductor *conductor)
{
	const struct conductor_config *config = conductor->config;
	pid_t process = conductor_background(conductor);

	conductor->targets[0].heir = conductor_end_trainer(conductor->jobs[0].trace);
	if (process == 0)
		return false;
	if (conductor->ended == 0) {
		conductor->ended = clock_now();
		target_take_terminal(&conductor->targets[0]);
	}
	if (!conductor->background && clock_since(conductor->ended) > LEAVES_S) {
		conductor->background = true;
		if (config->background != NULL)
			config->background(config->context, process);
	}
	return true;
}

void conductor_note_end(struct conductor *conductor, unsigned number)
{
	const struct target *target = &conductor->targets[number];
	const struct job *job = &conductor->jobs[number];
	const struct trace *trace = job->trace;
	bool asked = trace->first_request_ns != 0;
	const char *before = asked                     ? ""
			     : conductor_end_made(job) ? " before a loop was measured"
						       : " before it asked for a batch";
	/* NULL: of an exit status that is no signal's */
	const char *killer =
		target->status > 128 ? sigabbrev_np(target->status - 128) : NULL;
	enum conductor_why why = !asked                ? CONDUCTOR_SILENT
				 : target->status == 0 ? CONDUCTOR_ENDED
						       : CONDUCTOR_DIED;
	char hint[CONDUCTOR_LEFT];

	if (target->running)
		return;
	if (target->foreground && target->status == 128 + SIGINT)
		conductor_interrupt(conductor, SIGINT); /* typed; not sent to us */
	if (conductor->stopping || conductor_note_background(conductor))
		return;
	if (killer != NULL)
		conductor_leave(conductor, number, why, "%s (SIG%s)%s",
				is_crash(target->status - 128) ? "crashed"
							       : "was killed",
				killer, before);
	else if (job->alone_ns > 0 && !asked)
		conductor_leave(conductor, number, why, "was not measured: %.*s",
				TRACE_WHY, trace->unmeasured_why);
	else if (asked && target->status == 0)
		conductor_leave(conductor, number, why, "finished");
	else
		conductor_leave(conductor, number, why, "ended with status %d%s%s",
				target->status, before,
				target->status == 0 ? conductor_end_hint(job, hint)
						    : "");
}

/* A counter of the driver's; 0 while there is no driver. */
static uint64_t conductor_end_counted(const struct trace *trace,
				      enum trace_counter counter)
{
	const struct trace_process *driver = trace_driver(trace);

	return driver != NULL ? driver->counters[counter] : 0;
}

/* Ends one of several programs that goes on without dsa: copies of what is not measured
 * are of no use to anybody. A loader of libdsa's, which is, would come soon. */
static void check_alone(struct conductor *conductor, unsigned number)
{
	const struct conductor_config *config = conductor->config;
	const struct job *job = &conductor->jobs[number];

	if (config->schedule.in_step && !config->observe &&
	    (job->trace->unmeasured == TRACE_NEVER ||
	     clock_since(job->alone_ns) > ALONE_S))
		conductor_leave(conductor, number, CONDUCTOR_SILENT,
				"was not measured: %.*s", TRACE_WHY,
				job->trace->unmeasured_why);
}

/* Ends a job that asked for no batch in time, or says once that it is waited for. */
static void conductor_end_silent(struct conductor *conductor, unsigned number)
{
	const struct conductor_config *config = conductor->config;
	struct job *job = &conductor->jobs[number];
	const char *verb = conductor_end_made(job) ? "trained with" : "asked for";
	char hint[CONDUCTOR_LEFT], text[2 * CONDUCTOR_LEFT];

	if (config->silent == NULL) {
		conductor_leave(conductor, number, CONDUCTOR_SILENT,
				"%s no batch in %.0f s (--timeout waits longer)%s",
				verb, config->timeout_s, conductor_end_hint(job, hint));
		return;
	}
	job->silent = true;
	snprintf(text, sizeof(text), "%s no batch in %.0f s%s", verb, config->timeout_s,
		 conductor_end_hint(job, hint));
	config->silent(config->context, text);
}

static void check_silence(struct conductor *conductor, unsigned number)
{
	const struct job *job = &conductor->jobs[number];

	if (job->trace->first_request_ns != 0)
		return;
	if (job->alone_ns > 0)
		check_alone(conductor, number);
	else if (!job->silent &&
		 clock_since(conductor->started) > conductor->config->timeout_s)
		conductor_end_silent(conductor, number);
}

/* Ends a program, of which there is one, with a loader that was not asked for. */
static void check_whose(struct conductor *conductor, const struct trace *trace)
{
	if (conductor->config->torch_alone && trace->loader_ready &&
	    trace->loader.kind == TRACE_LIBDSA)
		conductor_stop(conductor, CONDUCTOR_SILENT,
			       "the program loads its data with libdsa, and "
			       "--loader=torch measures that of a program in PyTorch "
			       "alone: leave it out");
}

static void check_stall(struct conductor *conductor, unsigned number)
{
	struct job *job = &conductor->jobs[number];
	double stall_s = conductor->config->stall_s;
	uint64_t now = barrier_life(job->trace);

	if (stall_s <= 0 || job->trace->first_request_ns == 0)
		return;
	if (now != job->progress || job->moved == 0) {
		job->progress = now;
		job->moved = clock_now();
	} else if (clock_since(job->moved) > stall_s) {
		conductor_leave(
			conductor, number, CONDUCTOR_HUNG,
			"hangs: it came no further in %g s (--timeout waits longer)",
			stall_s);
	}
}

void conductor_note_data_end(struct conductor *conductor)
{
	bool all = conductor->config->samples > 0;

	for (unsigned i = 0; i < conductor->count; i++) {
		const struct trace *trace = conductor->jobs[i].trace;

		if (conductor_has(conductor, i) && !conductor_is_loader(conductor, i))
			all &= trace->loader_ready &&
			       conductor_end_counted(trace, TRACE_delivered_samples) >=
				       trace_end(trace);
	}
	if (all)
		conductor_stop(conductor, CONDUCTOR_STEPS, "%s", "");
}

/* Adds the time in which dsa did not run, as when the machine sleeps, to all deadlines:
 * the programs may not have run either. */
static void forgive_sleep(struct conductor *conductor)
{
	uint64_t now = clock_now(), before = conductor->checked;

	conductor->checked = now;
	if (now - before < ASLEEP_NS)
		return;
	conductor->started += now - before;
	for (unsigned i = 0; i < conductor->count; i++)
		if (conductor->jobs[i].moved > 0)
			conductor->jobs[i].moved += now - before;
}

/* Says how many objects all jobs may ask for, once it is known that they ask servers. */
static void tell_bound(struct conductor *conductor, const struct trace *trace)
{
	const struct trace_loader *loader = &trace->loader;
	unsigned askers = conductor->loader != NULL ? 1 : conductor->count;
	uint64_t most;

	if (conductor->bounded || !trace->loader_ready)
		return;
	conductor->bounded = true;
	most = trace_most_gets(trace, loader->dataset_samples);
	if (conductor->config->bounded != NULL && loader->remote && most != UINT64_MAX)
		conductor->config->bounded(conductor->config->context, askers * most,
					   (double)askers * (double)most *
						   (double)loader->dataset_bytes /
						   (double)loader->dataset_samples);
}

void conductor_check(struct conductor *conductor)
{
	const struct conductor_config *config = conductor->config;
	bool steps = config->steps > 0;

	forgive_sleep(conductor);
	for (unsigned i = 0; i < conductor->count; i++) {
		const struct job *job = &conductor->jobs[i];
		const struct trace *trace = job->trace;

		if (!conductor_has(conductor, i))
			continue;
		tell_bound(conductor, trace);
		if (trace->loader_ready && trace->gets_spent)
			conductor_stop(conductor, CONDUCTOR_REQUESTS, "%s", "");
		if (conductor_is_loader(conductor, i))
			continue;
		check_whose(conductor, trace);
		check_silence(conductor, i);
		check_stall(conductor, i);
		steps &= conductor_end_counted(trace, TRACE_delivered_batches) >=
			 config->steps;
	}
	if (!config->observe &&
	    conductor_elapsed(conductor) > config->schedule.budget_s)
		conductor_spent(conductor);
	if (steps)
		conductor_stop(conductor, CONDUCTOR_STEPS, "%s", "");
}
