#include "profiler/conductor.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/trace.h"
#include "profiler/counters.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define POLL_NS UINT64_C(30000000)
#define START_NS                                                                       \
	UINT64_C(2000000) /* until the loader is open, whose first step waits
				    * for no window */
#define KILL_S 5.         /* after SIGTERM */

struct conductor {
	const struct conductor_config *config;
	struct trace *trace;
	struct target target;
	struct schedule *schedule;
	struct conductor_end *end;
	uint64_t started;
	bool stopping;
	uint64_t terminate, kill; /* when to send these; 0: sent, or not yet */
};

static double seconds_since(uint64_t then)
{
	uint64_t now = clock_now();

	return now > then ? (double)(now - then) * 1e-9 : 0;
}

static double elapsed(const struct conductor *conductor)
{
	uint64_t first = conductor->trace->first_request_ns;

	return first == 0 ? 0 : seconds_since(first);
}

static uint64_t in(double seconds)
{
	return clock_now() + (uint64_t)(seconds * 1e9);
}

/* Ends the data, and later, should the program not leave, the program. */
__attribute__((format(printf, 3, 4))) static void
stop(struct conductor *conductor, enum conductor_why why, const char *text, ...)
{
	va_list args;

	if (conductor->stopping)
		return;
	conductor->stopping = true;
	conductor->end->why = why;
	va_start(args, text);
	vsnprintf(conductor->end->text, sizeof(conductor->end->text), text, args);
	va_end(args);
	conductor->trace->stop = 1;
	conductor->terminate =
		in(why == CONDUCTOR_SILENT ? 0 : conductor->config->grace_s);
}

static void escalate(struct conductor *conductor)
{
	uint64_t now = clock_now();

	if (conductor->terminate != 0 && now >= conductor->terminate) {
		conductor->terminate = 0;
		conductor->kill = in(KILL_S);
		conductor->end->forced = true;
		target_signal(&conductor->target, SIGTERM);
		target_signal(&conductor->target, SIGCONT); /* it may be stopped */
	}
	if (conductor->kill != 0 && now >= conductor->kill) {
		conductor->kill = in(KILL_S);
		target_signal(&conductor->target, SIGKILL);
	}
}

static void append(struct trace *trace, const struct trace_window *ask)
{
	unsigned count = trace->window_count;

	trace->windows[count] = *ask;
	atomic_store_explicit(&trace->window_count, count + 1, memory_order_release);
}

/* Asks for windows while the schedule has some; stops when it says so. */
static void extend(struct conductor *conductor)
{
	struct trace_window ask;
	enum schedule_step step = SCHEDULE_WAIT;

	while (!conductor->config->observe &&
	       conductor->trace->window_count < TRACE_WINDOWS) {
		step = schedule_next(conductor->schedule, conductor->trace,
				     elapsed(conductor), &ask);
		if (step != SCHEDULE_ASK)
			break;
		append(conductor->trace, &ask);
	}
	if (step == SCHEDULE_DONE)
		stop(conductor, CONDUCTOR_PRECISE, "%s", "");
	if (step == SCHEDULE_OUT)
		stop(conductor, CONDUCTOR_BUDGET, "%s", "");
	if (step == SCHEDULE_VOID)
		stop(conductor, CONDUCTOR_VOID, "%s",
		     schedule_why(conductor->schedule));
}

static void check_limits(struct conductor *conductor)
{
	const struct conductor_config *config = conductor->config;
	const struct trace *trace = conductor->trace;
	unsigned driver = trace->driver;

	if (trace->first_request_ns == 0) {
		if (seconds_since(conductor->started) > config->timeout_s)
			stop(conductor, CONDUCTOR_SILENT,
			     "the program asked for no batch in %.0f s; does it use "
			     "libdsa? (--timeout waits longer)",
			     config->timeout_s);
		return;
	}
	if (!config->observe && elapsed(conductor) > config->schedule.budget_s)
		stop(conductor, CONDUCTOR_BUDGET, "%s", "");
	if (config->steps > 0 && driver > 0 && driver <= TRACE_PROCESSES &&
	    trace->processes[driver - 1].counters[TRACE_delivered_batches] >=
		    config->steps)
		stop(conductor, CONDUCTOR_STEPS, "%s", "");
}

/* Sleeps until the next poll, or a signal; passes on what is the target's as well. */
static void wait_a_little(struct conductor *conductor, const sigset_t *signals)
{
	bool open = conductor->trace->loader_ready;
	struct timespec timeout = {0, open ? POLL_NS : START_NS};
	int number = sigtimedwait(signals, NULL, &timeout);

	if (number <= 0 || number == SIGCHLD || number == SIGTTOU)
		return;
	target_signal(&conductor->target, number);
	stop(conductor, CONDUCTOR_INTERRUPTED, "%s", strsignal(number));
}

static void tell(const struct conductor *conductor)
{
	struct conductor_news news = {
		.elapsed_s = elapsed(conductor),
		.budget_s = conductor->config->schedule.budget_s,
		.shares = schedule_shares(conductor->schedule),
		.windows = conductor->trace->window_now,
	};

	if (conductor->config->tell != NULL && conductor->trace->first_request_ns != 0)
		conductor->config->tell(conductor->config->context, &news);
}

static void lead(struct conductor *conductor, const sigset_t *signals)
{
	struct counters *counters = conductor->config->counters;

	while (conductor->target.running) {
		wait_a_little(conductor, signals);
		if (counters != NULL)
			counters_poll(counters, conductor->trace);
		if (!conductor->stopping) {
			check_limits(conductor);
			extend(conductor);
			tell(conductor);
		}
		escalate(conductor);
		target_poll(&conductor->target);
	}
}

/* The program ended before it was told to. */
static void note_early_end(struct conductor *conductor)
{
	struct conductor_end *end = conductor->end;
	int status = end->target_status;

	if (conductor->stopping)
		return;
	end->why = status == 0 ? CONDUCTOR_ENDED : CONDUCTOR_DIED;
	if (conductor->trace->first_request_ns == 0)
		end->why = CONDUCTOR_SILENT;
	if (status > 128)
		snprintf(end->text, sizeof(end->text), "the program was ended by %s",
			 strsignal(status - 128));
	else
		snprintf(end->text, sizeof(end->text),
			 "the program ended with status %d%s", status,
			 end->why == CONDUCTOR_SILENT ? " before it asked for a batch"
						      : "");
}

/* What we wait for instead of being interrupted by it; the target is not to inherit it. */
static void block_signals(sigset_t *signals, sigset_t *target)
{
	static const int numbers[] = {SIGINT,  SIGTERM, SIGHUP,
				      SIGQUIT, SIGCHLD, SIGTTOU};

	sigprocmask(SIG_BLOCK, NULL, target);
	sigemptyset(signals);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		sigaddset(signals, numbers[i]);
		sigdelset(target, numbers[i]);
	}
	sigprocmask(SIG_BLOCK, signals, NULL);
}

static void observe_all(struct trace *trace)
{
	const struct trace_window all = {
		.kind = TRACE_REAL, .block = UINT32_MAX, .length_ns = UINT64_MAX};

	trace->observe = 1;
	append(trace, &all);
}

int conduct(const struct conductor_config *config, struct target_config *target,
	    struct trace *trace, struct conductor_end *end, struct error *err)
{
	struct conductor conductor = {
		.config = config, .trace = trace, .end = end, .started = clock_now()};
	sigset_t signals, mask;
	int result;

	*end = (struct conductor_end){.target_status = -1};
	conductor.schedule = schedule_new(&config->schedule);
	if (conductor.schedule == NULL)
		return error_sys(err, ENOMEM, "planning the windows");
	block_signals(&signals, &mask);
	target->mask = &mask;
	if (config->observe)
		observe_all(trace);
	else
		extend(&conductor);
	result = target_start(&conductor.target, target, err);
	if (result == 0) {
		lead(&conductor, &signals);
		end->target_status = conductor.target.status;
		note_early_end(&conductor);
		target_clear(&conductor.target);
	}
	schedule_free(conductor.schedule);
	return result;
}
