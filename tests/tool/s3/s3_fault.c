/* s3_fault.c - draws faults and delays. */
#include "tests/tool/s3/s3_fault.h"
#include "loader/base/clock.h"
#include "loader/base/number.h"
#include "loader/base/random.h"
#include "tests/tool/s3/s3_bucket.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const fault_names[] = {"-",
#define S3_FAULT_TEXT(name, text) text,
					  S3_FAULTS(S3_FAULT_TEXT)};

const char *s3_fault_name(enum s3_fault fault)
{
	return fault_names[fault];
}

static bool fault_parse_one(char *text, struct s3_faults *faults)
{
	char *name = strsep(&text, ":");

	for (int i = S3_NO_FAULT + 1; i < S3_FAULT_KINDS; i++)
		if (strcmp(name, fault_names[i]) == 0)
			return text != NULL && number_percent(text, &faults->share[i]);
	return false;
}

bool s3_faults_parse(const char *text, struct s3_faults *faults)
{
	char copy[512], *rest = copy, *one;

	snprintf(copy, sizeof(copy), "%s", text);
	while ((one = strsep(&rest, ",")) != NULL)
		if (!fault_parse_one(one, faults))
			return false;
	return true;
}

static enum s3_fault fault_of(const struct s3_faults *faults, double draw)
{
	for (int i = S3_NO_FAULT + 1; i < S3_FAULT_KINDS; i++) {
		draw -= faults->share[i];
		if (draw < 0)
			return (enum s3_fault)i;
	}
	return S3_NO_FAULT;
}

/* Whether this request is one too many. A second's worth may come at once. */
static bool fault_over_rate(struct s3_faults *faults)
{
	double past = clock_since(faults->since) * faults->rate;

	if (faults->rate <= 0)
		return false;
	faults->since = clock_now();
	faults->spent = faults->spent > past ? faults->spent - past : 0;
	if (faults->spent + 1 > fmax(faults->rate, 1))
		return true;
	faults->spent++;
	return false;
}

struct s3_drawn s3_fault_draw(struct s3_faults *faults, const char *key, unsigned tries)
{
	struct random random = {random_seed(faults->seed, s3_hash(key), tries)};
	double draw = random_unit(&random);
	bool wanted = (faults->times == 0 || tries < faults->times) &&
		      (faults->only == NULL ||
		       strncmp(key, faults->only, strlen(faults->only)) == 0);
	struct s3_drawn drawn = {.where = random_unit(&random)};

	drawn.wait_s =
		faults->latency_s - faults->jitter_s * log1p(-random_unit(&random));
	drawn.fault = wanted ? fault_of(faults, draw) : S3_NO_FAULT;
	if (drawn.fault == S3_FAULT_LATE)
		drawn.wait_s += faults->late_s;
	if (fault_over_rate(faults))
		drawn.fault = S3_FAULT_TOOMANY;
	return drawn;
}
