/* verified_table.c - predictions and what was measured, for a terminal. */
#include "models/whatif/calibration.h"
#include "reports/common/format.h"
#include "reports/common/whatif_words.h"
#include "reports/terminal/box.h"
#include "reports/terminal/whatif_table.h"

#include <errno.h>
#include <string.h>

static int verified_table_name_width(const struct profile *profile, size_t from)
{
	char words[WHATIF_WORDS];
	size_t width = strlen("change");

	for (size_t i = from; i < profile->verification_count; i++) {
		size_t length = strlen(
			whatif_change_words(words, &profile->verifications[i].change));

		width = length > width ? length : width;
	}
	return (int)width;
}

/* Hits of the cache, predicted and measured. */
static void verified_table_hits(struct box *box,
				const struct profile_verification *verification,
				int gap)
{
	char predicted[FORMAT_SIZE], measured[FORMAT_SIZE];

	fprintf(box->out, "%*s%6s  %6s", gap, "",
		format_percent(predicted, verification->hit_ratio_predicted),
		format_percent(measured, verification->hit_ratio));
}

static void verified_table_row(struct box *box,
			       const struct profile_verification *verification,
			       int width)
{
	static const char *const answers[] = {"-", "no", "yes"};
	const char *answer = answers[verification->covered + 1];
	char words[WHATIF_WORDS], error[FORMAT_SIZE] = "-";

	if (isfinite(verification->error))
		snprintf(error, sizeof(error), "%+.1f%%", 100 * verification->error);
	fprintf(box->out, "%*s%-*s", BOX_INDENT, "", width,
		whatif_change_words(words, &verification->change));
	box_estimate(box, &verification->predicted, "");
	box_estimate(box, &verification->measured, "");
	fprintf(box->out, "%8s  %s", error, answer);
	if (isfinite(verification->hit_ratio) &&
	    isfinite(verification->hit_ratio_predicted))
		verified_table_hits(box, verification,
				    (int)(strlen("inside  ") - strlen(answer)));
	putc('\n', box->out);
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

static void write_verifications(struct box *box, const struct profile *profile,
				size_t from)
{
	int width = verified_table_name_width(profile, from);

	fprintf(box->out, "\n%*s%s%-*s%24s%24s%8s  inside  cache hits%s\n", BOX_INDENT,
		"", box_ink(box, BOX_DIM), width, "change", "predicted        95%",
		"measured        95%", "error", box_ink(box, BOX_PLAIN));
	for (size_t i = from; i < profile->verification_count; i++)
		verified_table_row(box, &profile->verifications[i], width);
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
