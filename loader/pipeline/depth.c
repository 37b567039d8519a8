/* depth.c - decides on the number of requests in flight. */
#include "loader/pipeline/depth.h"

#include <math.h>

enum {
	ROUNDS = 2,         /* answers that a quick span needs, a request in flight */
	TAKES = 4,          /* batches that a calm one needs */
	HOLD = 16,          /* spans until more are tried again, */
	LONGEST_HOLD = 256, /* at the most */
	FORGET = 8,         /* calm spans after which one fewer is tried */
};

#define QUICK_NS UINT64_C(20000000)
#define CALM_NS  UINT64_C(500000000)

#define BUSY   .8   /* of those in flight are so on average: all of them */
#define WAITED .02  /* of a span is no waiting */
#define GAINED 1.15 /* times the rate, of twice as many: it follows */
#define SPARE  1.15 /* times what is needed, as latencies vary */

unsigned depth_needed(double latency_s, double per_s)
{
	return (unsigned)ceil(fmin(latency_s * per_s, 1e6));
}

void depth_init(struct depth *depth, unsigned begin, unsigned most)
{
	*depth = (struct depth){
		.now = begin < most ? begin : most, .most = most, .held = HOLD};
}

void depth_watch(struct depth *depth, uint64_t now_ns)
{
	depth->quick = depth->calm = (struct depth_span){.begin_ns = now_ns};
	depth->skip = depth->now; /* they begin together */
	depth->wait_ns = 0;
	depth->before_rate = 0;
}

static bool depth_set(struct depth *depth, uint64_t now_ns, unsigned to)
{
	if (to == depth->now)
		return false;
	depth->skip = depth->now;
	depth->now = to;
	depth->quick = depth->calm = (struct depth_span){.begin_ns = now_ns};
	return true;
}

/* All that may be in flight were, on average. */
static bool depth_busy(const struct depth *depth, const struct depth_span *span,
		       uint64_t now_ns)
{
	return (double)span->latency_ns >=
	       BUSY * depth->now * (double)(now_ns - span->begin_ns);
}

/* Somebody waited for a batch in this span. */
static bool depth_waited(const struct depth *depth, const struct depth_span *span,
			 uint64_t now_ns)
{
	uint64_t since = depth->wait_ns, waited = span->waited_ns;

	if (depth->silent)
		return depth_busy(depth, span, now_ns);
	if (since > 0)
		waited += now_ns - (since > span->begin_ns ? since : span->begin_ns);
	return (double)waited > WAITED * (double)(now_ns - span->begin_ns);
}

/* Twice as many were tried: back, if they did not bring more. */
static bool depth_judge(struct depth *depth, uint64_t now_ns, double rate)
{
	bool follows = rate >= GAINED * depth->before_rate;

	depth->before_rate = 0;
	if (follows) {
		depth->held = HOLD;
		return false;
	}
	depth->hold = depth->held;
	depth->held = depth->held < LONGEST_HOLD ? 2 * depth->held : LONGEST_HOLD;
	return depth_set(depth, now_ns, depth->before);
}

static bool depth_double(struct depth *depth, uint64_t now_ns, double rate)
{
	if (depth->now == depth->most)
		return false;
	if (depth->fell)
		depth->least = depth->now + 1;
	depth->fell = false;
	depth->before = depth->now;
	depth->before_rate = rate;
	return depth_set(depth, now_ns,
			 depth->now < depth->most / 2 ? 2 * depth->now : depth->most);
}

bool depth_answer(struct depth *depth, uint64_t now_ns, uint64_t latency_ns)
{
	struct depth_span span;
	double rate;

	if (depth->skip > 0) {
		if (--depth->skip == 0)
			depth->quick = depth->calm =
				(struct depth_span){.begin_ns = now_ns};
		return false;
	}
	depth->quick.answers++;
	depth->quick.latency_ns += latency_ns;
	depth->calm.answers++;
	depth->calm.latency_ns += latency_ns;
	span = depth->quick;
	if (span.answers < (uint64_t)ROUNDS * depth->now ||
	    now_ns - span.begin_ns < QUICK_NS)
		return false;
	depth->quick = (struct depth_span){.begin_ns = now_ns};
	rate = (double)span.answers * 1e9 / (double)(now_ns - span.begin_ns);
	if (depth->before_rate > 0 && depth_judge(depth, now_ns, rate))
		return true;
	if (depth->hold > 0) {
		depth->hold--;
		return false;
	}
	if (!depth_busy(depth, &span, now_ns) || !depth_waited(depth, &span, now_ns))
		return false;
	return depth_double(depth, now_ns, rate);
}

void depth_wait(struct depth *depth, uint64_t now_ns)
{
	if (depth->wait_ns == 0)
		depth->wait_ns = now_ns;
}

static void depth_end_wait(struct depth *depth, uint64_t now_ns)
{
	struct depth_span *const spans[] = {&depth->quick, &depth->calm};
	uint64_t since = depth->wait_ns;

	depth->wait_ns = 0;
	for (int i = 0; since > 0 && i < 2; i++)
		spans[i]->waited_ns +=
			now_ns -
			(since > spans[i]->begin_ns ? since : spans[i]->begin_ns);
}

/* Nobody waited: fewer are enough. */
static bool depth_fall(struct depth *depth, uint64_t now_ns,
		       const struct depth_span *span)
{
	double seconds = (double)(now_ns - span->begin_ns) * 1e-9;
	double latency_s = (double)span->latency_ns * 1e-9 / (double)span->answers;
	unsigned to = depth_needed(latency_s, SPARE * (double)span->taken / seconds);

	to = to > depth->least ? to : depth->least;
	to = to > 0 ? to : 1;
	if (to >= depth->now)
		return false;
	depth->fell = true;
	return depth_set(depth, now_ns, to + (depth->now - to) / 2);
}

bool depth_take(struct depth *depth, uint64_t now_ns, uint32_t requests)
{
	struct depth_span span;

	depth_end_wait(depth, now_ns);
	depth->calm.takes++;
	depth->calm.taken += requests;
	span = depth->calm;
	if (depth->skip > 0 || depth->before_rate > 0 || span.takes < TAKES ||
	    span.answers == 0 || now_ns - span.begin_ns < CALM_NS)
		return false;
	depth->calm = (struct depth_span){.begin_ns = now_ns};
	if (depth_waited(depth, &span, now_ns))
		return false;
	if (depth->least > 0 && ++depth->calms % FORGET == 0)
		depth->least--;
	return depth_fall(depth, now_ns, &span);
}
