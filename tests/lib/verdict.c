#include "tests/lib/verdict.h"

#include <stdlib.h>
#include <string.h>

const char verdict_hostile[] =
	"a|b`c`<img src=x onerror=alert(1)>]]>&amp;&#0; @root #1 !2 www.evil.example "
	"https://evil.example/ [x](javascript:x) *b* _i_ ~s~\n::error::no\r\x1b[31m"
	"\xff\xed\xa0\x80\xe2\x80\xae%0A::set-output";

void verdict_add_cause(struct gate_verdict *verdict, const char *text)
{
	gate_lines_add(&verdict->causes, &verdict->cause_count, "%s", text);
}

static struct gate_finding *add(struct gate_verdict *verdict, const char *name,
				enum gate_status status)
{
	int found = gate_metric_find(name);
	const struct gate_metric *metric = &gate_metrics[found < 0 ? 0 : found];
	struct gate_finding *finding = gate_verdict_add(verdict);

	finding->name = strdup(name);
	finding->unit = strdup(metric->unit);
	finding->tier = metric->tier;
	finding->status = status;
	finding->more_is_worse = metric->more_is_worse;
	finding->points = metric->points;
	finding->limit = metric->limit;
	return finding;
}

static void add_timed(struct gate_verdict *verdict)
{
	struct gate_finding *finding = add(verdict, "fetch_stall", GATE_REGRESSED);

	finding->base = .121;
	finding->now = .303;
	finding->worse = (struct interval){.182, .151, .213};
	finding->limit = .05;
	finding->p = .0117;
	finding->floor = .012;
	finding->detectable = .021;
	strcpy(finding->why, "worse by more than 5 points for sure");
	finding = add(verdict, "samples_per_s", GATE_UNDECIDED);
	finding->base = 1912;
	finding->now = 1730;
	finding->worse = (struct interval){.105, .043, .172};
	finding->p = .0117;
	finding->floor = .13;
	finding->detectable = .061; /* beyond the limit of 10 % */
	strcpy(finding->why, "the interval holds the limit: more pairs would tell");
}

static void add_exact(struct gate_verdict *verdict)
{
	struct gate_finding *finding = add(verdict, "opens_per_sample", GATE_PASSED);

	finding->base = finding->now = 1;
	finding->worse = (struct interval){0, 0, 0};
	finding = add(verdict, "mean_read_bytes", GATE_REGRESSED);
	finding->base = 131072;
	finding->now = 4096;
	finding->worse = (struct interval){31, 31, 31};
	strcpy(finding->why, "counted: any change beyond the limit is real");
	finding = add(verdict, "decoded_pixels_per_sample", GATE_MISSING);
	finding->base = 150528.25;
	strcpy(finding->why, "the new side does not have it");
}

void verdict_make(struct gate_verdict *verdict)
{
	struct gate_finding *finding;

	*verdict = (struct gate_verdict){.outcome = GATE_REGRESSION,
					 .alpha = .05,
					 .repetitions = 8,
					 .base_repetitions = 8,
					 .most = 32,
					 .base_sessions = 1,
					 .paired = true};
	strcpy(verdict->why, "fetch_stall is 18.2 points worse, 5 are allowed");
	add_exact(verdict);
	add_timed(verdict);
	finding = add(verdict, "cpu_s_per_sample", GATE_INFORMS);
	finding->base = .00171;
	finding->now = .00173;
	finding->worse.value = .0117;
	verdict_add_cause(verdict,
			  "fetch stall +18.2 points: mean read fell from 128 KiB "
			  "to 4 KiB in shards/");
	verdict_add_cause(verdict, "kernel: Linux 6.1, was Linux 5.15");
}

void verdict_make_hostile(struct gate_verdict *verdict, size_t count)
{
	*verdict = (struct gate_verdict){.outcome = GATE_REGRESSION, .alpha = NAN};
	snprintf(verdict->why, sizeof(verdict->why), "%s", verdict_hostile);
	for (size_t i = 0; i < count; i++) {
		struct gate_finding *finding =
			add(verdict, verdict_hostile,
			    i % 3 == 0 ? GATE_REGRESSED : GATE_PASSED);

		finding->worse.value = (double)(i * 7919 % count);
		memset(finding->why, i % 2 == 0 ? '"' : '|', GATE_WHY - 1);
	}
	for (int i = 0; i < 40; i++) {
		verdict_add_cause(verdict, verdict_hostile);
		gate_lines_add(&verdict->mismatches, &verdict->mismatch_count, "%s",
			       verdict_hostile);
	}
}
