/* verified_table.c - predictions and what was measured, for a terminal. */
#include "models/whatif/calibration.h"
#include "reports/common/format.h"
#include "reports/common/whatif_words.h"
#include "reports/terminal/box.h"
#include "reports/terminal/table.h"
#include "reports/terminal/whatif_table.h"

#include <errno.h>

static void verified_table_row(struct table *table,
			       const struct profile_verification *verification)
{
	bool hits = isfinite(verification->hit_ratio) &&
		    isfinite(verification->hit_ratio_predicted);
	char words[WHATIF_WORDS], text[FORMAT_SIZE];

	table_cell(table, whatif_change_words(words, &verification->change));
	table_estimate(table, &verification->predicted, "");
	table_estimate(table, &verification->measured, "");
	snprintf(text, sizeof(text), "%+.1f%%", 100 * verification->error);
	table_cell(table, isfinite(verification->error) ? text : NULL);
	table_cell(table, whatif_inside(verification));
	table_cell(table, hits ? format_percent(text, verification->hit_ratio_predicted)
			       : NULL);
	table_cell(table, hits ? format_percent(text, verification->hit_ratio) : NULL);
}

/* Their errors; and how often the best advice was right, where that is known. */
static void verified_table_summary(struct box *box, const struct profile *profile)
{
	struct calibration score;
	char mean[FORMAT_SIZE], most[FORMAT_SIZE], inside[FORMAT_SIZE];

	if (calibration_measure(profile, &score) < 0) {
		box->failed = true;
		return;
	}
	if (score.count == 0)
		return;
	box_line(box, "of all",
		 "%zu predicted and measured: mean error %s, 95%% of "
		 "them within %s, %s inside their intervals",
		 score.count, format_percent(mean, score.mean),
		 format_percent(most, score.p95),
		 format_percent(inside, score.covered));
	if (score.workloads > 0)
		box_line(box, "",
			 "the step predicted best measured best, or no worse "
			 "than that, in %zu of %zu settings",
			 score.first_within, score.workloads);
	putc('\n', box->out);
}

/* The unchanged run, then and now: the machine may be faster or slower. */
static void verified_table_control(struct box *box, const struct profile *profile,
				   size_t from)
{
	double drift = profile->verifications[from].drift;
	double then = profile->job_count > 1 ? profile->together.value
					     : profile->rates[TRACE_REAL].value;
	char before[FORMAT_SIZE], now[FORMAT_SIZE];

	if (isfinite(drift) && isfinite(then))
		box_line(box, "unchanged",
			 "%s samples/s in the result, %s now, which predictions "
			 "are for",
			 format_rate(before, then), format_rate(now, then * drift));
}

static void write_verifications(struct box *box, const struct profile *profile,
				size_t from)
{
	struct table table;

	putc('\n', box->out);
	verified_table_control(box, profile, from);
	table_begin(&table, box,
		    "change|predicted#|95%#|measured#|95%#|error#|inside|"
		    "hits predicted#|measured#");
	for (size_t i = from; i < profile->verification_count; i++)
		verified_table_row(&table, &profile->verifications[i]);
	table_end(&table);
	putc('\n', box->out);
	verified_table_summary(box, profile);
}

int whatif_print_verifications(const struct profile *profile, size_t from,
			       const struct form_style *style, FILE *out)
{
	struct box box;

	if (from >= profile->verification_count)
		return 0;
	if (box_open(&box, style) < 0)
		return -ENOMEM;
	write_verifications(&box, profile, from);
	return box_close(&box, out, NULL);
}
