/* gate_shares.c - holds the stalls of each session against what a share can be. */
#include "models/gate/gate_shares.h"
#include "loader/base/error.h"
#include "models/gate/gate_statistics.h"

#include <errno.h>

/* Windows of different kinds are not quite alike: what differs by less is no failure. None
 * of the 448 sessions of tests/data/gate is beyond. */
#define SHARE_TOLERANCE .05
#define SHARE_ALPHA     .05

static struct gate_shift gate_shares_of(const struct gate_session *session, int metric)
{
	double values[GATE_PAIRS_MOST];
	struct gate_shift shift;
	size_t count = 0;

	for (size_t i = 0; i < session->count && count < GATE_PAIRS_MOST; i++)
		if (isfinite(session->values[i][metric]))
			values[count++] = session->values[i][metric];
	gate_statistics_paired(values, count, SHARE_ALPHA, &shift);
	return shift;
}

static bool is_impossible(const struct gate_shift *share)
{
	return share->high < -SHARE_TOLERANCE || share->low > 1 + SHARE_TOLERANCE;
}

static int gate_shares_session(const struct gate_session *session, struct error *err)
{
	for (int i = STAGE_COMPUTE; i < STAGES; i++) {
		int metric = gate_metric_stall(i);
		struct gate_shift share = gate_shares_of(session, metric);

		if (is_impossible(&share))
			return error_set(
				err, ERANGE,
				"no baseline: in the session of %s %s is %.3g%% "
				"(%.3g%% to %.3g%%), which no share of a step can be; "
				"the machine was busy: measure it again",
				session->when, gate_metrics[metric].name,
				100 * share.value, 100 * share.low, 100 * share.high);
	}
	return 0;
}

int gate_shares_check(const struct gate_side *side, struct error *err)
{
	int result = 0;

	for (size_t i = 0; result == 0 && i < side->session_count; i++)
		result = gate_shares_session(&side->sessions[i], err);
	return result;
}
