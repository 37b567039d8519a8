/* gate_fit.c - lists what differs in the machine and in the data set. */
#include "models/gate/gate_fit.h"
#include "loader/base/number.h"
#include "models/gate/gate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NUMBER = 32 };

/* The kernel keeps some for itself, and more or less of it from version to version. */
#define SAME_MEMORY .02

/* What an environment must agree in, and what its absence means. */
static const struct {
	const char *key, *absent;
	bool vital; /* where neither side knows it they may be different machines */
} facts[] = {
	{"cpu", "unknown", true},        {"cpu_threads_allowed", "unknown", false},
	{"cpu_quota", "none", false},    {"memory", "unknown", false},
	{"memory_limit", "none", false}, {"dataset_storage", "unknown", false},
	{"gpu", "none", false},          {"gpu_count", "none", false},
};

/* "23.47 GiB": its number, and what comes after it. */
static const char *gate_fit_split(const char *text, double *number)
{
	size_t length = strcspn(text, " ");
	char digits[NUMBER];

	if (length >= sizeof(digits))
		return NULL;
	memcpy(digits, text, length);
	digits[length] = '\0';
	return number_real(digits, number) ? text + length : NULL;
}

static bool same_amount(const char *a, const char *b)
{
	double left, right;
	const char *left_unit = gate_fit_split(a, &left),
		   *right_unit = gate_fit_split(b, &right);

	return left_unit != NULL && right_unit != NULL &&
	       strcmp(left_unit, right_unit) == 0 &&
	       fabs(left - right) <= SAME_MEMORY * fmax(left, right);
}

static bool same_fact(const char *key, const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return strcmp(a, b) == 0 || (strcmp(key, "memory") == 0 && same_amount(a, b));
}

static int gate_fit_add_line(struct gate_fit *fit, const char *what, const char *now,
			     const char *was)
{
	return gate_lines_add(&fit->lines, &fit->count, "%s: %s, was %s", what, now,
			      was);
}

static int check_machine(const struct profile *base, const struct profile *now,
			 bool together, struct gate_fit *fit)
{
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		const char *was = profile_fact_of(base, facts[i].key);
		const char *is = profile_fact_of(now, facts[i].key);
		bool unknown = was == NULL && is == NULL;

		if (same_fact(facts[i].key, was, is) &&
		    (!unknown || together || !facts[i].vital))
			continue;
		fit->other_machine = true;
		was = was == NULL ? facts[i].absent : was;
		is = is == NULL ? facts[i].absent : is;
		if (gate_fit_add_line(fit, facts[i].key, is, was) < 0)
			return -ENOMEM;
	}
	return 0;
}

static const char *count_text(uint64_t count, char text[NUMBER])
{
	if (count == UNKNOWN)
		return "unknown";
	snprintf(text, NUMBER, "%" PRIu64, count);
	return text;
}

static int check_count(const char *what, uint64_t was, uint64_t is,
		       struct gate_fit *fit)
{
	char old[NUMBER], new[NUMBER];

	if (was == is)
		return 0;
	fit->other_data = true;
	return gate_fit_add_line(fit, what, count_text(is, new), count_text(was, old));
}

/* First what tells most. */
static int check_data(const struct profile *base, const struct profile *now,
		      struct gate_fit *fit)
{
	const char *was = base->digest == NULL ? "unknown" : base->digest;
	const char *is = now->digest == NULL ? "unknown" : now->digest;

	if (check_count(GATE_FIT_DATA "samples", base->dataset_samples,
			now->dataset_samples, fit) < 0)
		return -ENOMEM;
	if (strcmp(was, is) != 0) {
		fit->other_data = true;
		if (gate_fit_add_line(fit, GATE_FIT_DATA "digest", is, was) < 0)
			return -ENOMEM;
	}
	/* Another loader's are estimated from what is read, which is judged itself. */
	if (profile_loader(base) != LOADER_DSA && profile_loader(now) != LOADER_DSA)
		return 0;
	return check_count(GATE_FIT_DATA "bytes", base->dataset_bytes,
			   now->dataset_bytes, fit);
}

int gate_fit_check(const struct profile *base, const struct profile *now, bool together,
		   struct gate_fit *fit)
{
	*fit = (struct gate_fit){0};
	if (check_data(base, now, fit) < 0)
		return -ENOMEM;
	return check_machine(base, now, together, fit);
}

void gate_fit_free(struct gate_fit *fit)
{
	profile_free_texts(fit->lines);
	*fit = (struct gate_fit){0};
}
