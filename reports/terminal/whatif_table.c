/* whatif_table.c - predictions as a ranking and as a table. */
#include "reports/terminal/whatif_table.h"
#include "loader/base/io.h"
#include "reports/common/escape.h"
#include "reports/common/form_style.h"
#include "reports/common/format.h"
#include "reports/common/whatif_words.h"
#include "reports/terminal/box.h"
#include "reports/terminal/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 34 }; /* columns of a change, where all of them are shorter */

/* The columns that the longest change needs. */
static int whatif_table_name_width(const struct profile *profile)
{
	char words[WHATIF_WORDS];
	size_t width = strlen("change");

	for (size_t i = 0; i < profile->prediction_count; i++) {
		const struct profile_change *change = &profile->predictions[i].change;
		size_t length = strlen(whatif_change_words(words, change));

		width = length > width ? length : width;
	}
	return width < NAME ? (int)width : NAME;
}

enum { UNDER = BOX_INDENT + 3 }; /* where the lines under a head begin */

/* "1  8 cores   1.57x  (1.52 .. 1.61)", on two lines where it must be. */
static void whatif_table_head(struct box *box, const char *mark,
			      const struct profile *profile,
			      const struct profile_prediction *prediction, int width)
{
	bool per_job = whatif_is_per_job(profile, &prediction->change);
	char words[WHATIF_WORDS], speed[WHATIF_SPEED];
	size_t column = UNDER + (size_t)width;

	if (strlen(whatif_change_words(words, &prediction->change)) > (size_t)width)
		column = UNDER + strlen(words);
	column += 2 + strlen(whatif_speedup(speed, &prediction->speedup)) +
		  (per_job ? strlen(" per job") : 0);
	fprintf(box->out, "%*s%-2s %s%-*s%s", BOX_INDENT, "", mark,
		box_ink(box, BOX_BOLD), column > box->columns ? 0 : width, words,
		box_ink(box, BOX_PLAIN));
	if (column > box->columns)
		fprintf(box->out, "\n%*s", UNDER, "");
	else
		fputs("  ", box->out);
	fprintf(box->out, "%s%s\n", speed, per_job ? " per job" : "");
}

/* "compute 60.0% | prep stall 30.0% | fetch stall 10.0%", where all are known. */
static bool whatif_table_shares(FILE *out, const struct interval *stalls)
{
	char text[FORMAT_SIZE];
	long tenths[STAGES];

	for (int i = 0; i < STAGES; i++)
		if (!isfinite(stalls[i].value) && !stage_table[i].optional)
			return false;
	format_stalls(stalls, tenths);
	for (int i = 0; i < STAGES; i++)
		if (isfinite(stalls[i].value))
			fprintf(out, "%s%s %s", i == 0 ? "" : " | ",
				stage_table[i].label, format_tenth(text, tenths[i]));
	return true;
}

/* What a prediction leaves, as one line; "" where nothing is known. */
static void write_rest(FILE *out, const struct profile *profile,
		       const struct profile_prediction *prediction)
{
	const char *limit = profile_word(profile_limits, &prediction->limit);
	char rate[FORMAT_SIZE], cost[FORMAT_SIZE];
	const char *between = "";

	if (whatif_table_shares(out, prediction->stalls))
		between = "; ";
	if (isfinite(prediction->per_job.value)) {
		fprintf(out, "%s%s samples/s a job", between,
			format_rate(rate, prediction->per_job.value));
		between = "; ";
	}
	if (limit != NULL) {
		fprintf(out, "%sthen limited by %s", between, limit);
		between = "; ";
	}
	if (isfinite(prediction->cost.value))
		fprintf(out, "%s%s %s per million samples", between,
			format_cost(cost, whatif_cost(profile, prediction->cost.value)),
			whatif_currency(profile));
}

static void whatif_table_rest(struct box *box, const struct profile *profile,
			      const struct profile_prediction *prediction)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out != NULL)
		write_rest(out, profile, prediction);
	if (out == NULL || io_text(out, &text) == NULL)
		box->failed = true;
	else if (size > 0)
		box_paragraph(box, text, UNDER);
	free(text);
}

/* A command is not broken into lines, so that it can be copied. */
static void whatif_table_command(struct box *box, const char *text)
{
	fprintf(box->out, "%*s%sverify:%s ", UNDER, "", box_ink(box, BOX_DIM),
		box_ink(box, BOX_PLAIN));
	escape_plain(box->out, text);
	putc('\n', box->out);
}

static void whatif_table_advised(struct box *box, const struct profile *profile,
				 const struct profile_prediction *prediction, int width)
{
	char rank[FORMAT_SIZE];

	whatif_table_head(box, format_count(rank, prediction->rank), profile,
			  prediction, width);
	if (prediction->advice != NULL)
		box_paragraph(box, prediction->advice, UNDER);
	whatif_table_rest(box, profile, prediction);
	if (prediction->command != NULL)
		whatif_table_command(box, prediction->command);
	putc('\n', box->out);
}

static size_t count_advised(const struct profile *profile)
{
	size_t count = 0;

	for (size_t i = 0; i < profile->prediction_count; i++)
		count += profile->predictions[i].rank != UNKNOWN;
	return count;
}

/* Why nothing can be predicted, if so. */
static bool whatif_table_refuse(struct box *box, const struct profile *profile)
{
	if (profile->model.why == NULL)
		return false;
	box_line(box, "what-if", "%s", profile->model.why);
	return true;
}

/* Where it is not known how far off the windows are that predictions rest on. */
static void whatif_table_busy(struct box *box, const struct profile *profile)
{
	if (profile->busy.kept && !profile_has_answer(profile))
		box_sentence(box, "busy", format_string(format_busy, profile));
}

/* What changes are to be held against. */
static void cost_now(struct box *box, const struct profile *profile)
{
	char cost[FORMAT_SIZE];

	if (isfinite(profile->cost.value))
		box_line(box, "costs", "are of a million samples; as the run was %s %s",
			 format_cost(cost, whatif_cost(profile, profile->cost.value)),
			 whatif_currency(profile));
}

/* What the columns of it are to be held against. */
static void whatif_table_epoch(struct box *box, const struct profile *profile)
{
	char *text = format_string(whatif_traffic, profile);

	if (text != NULL && *text != '\0')
		box_line(box, "an epoch", "as the run was asks servers for %s", text);
	box->failed |= text == NULL;
	free(text);
}

static void write_advice(struct box *box, const struct profile *profile)
{
	size_t ranked = count_advised(profile);
	int width = whatif_table_name_width(profile);

	putc('\n', box->out);
	whatif_table_busy(box, profile);
	if (whatif_table_refuse(box, profile))
		return;
	for (size_t i = 0; i < profile->prediction_count; i++)
		if (profile->predictions[i].rank != UNKNOWN)
			whatif_table_advised(box, profile, &profile->predictions[i],
					     width);
	box_paragraph(box,
		      ranked == 0 ? "No change that dsa knows would help measurably."
				  : "No other change that dsa knows would help "
				    "measurably.",
		      BOX_INDENT);
	if (ranked < profile->prediction_count)
		box_paragraph(box, "Looked at, and not advised:", BOX_INDENT);
	for (size_t i = 0; i < profile->prediction_count; i++) {
		const struct profile_prediction *prediction = &profile->predictions[i];

		if (prediction->rank != UNKNOWN)
			continue;
		whatif_table_head(box, "-", profile, prediction, width);
		if (prediction->why != NULL)
			box_paragraph(box, prediction->why, UNDER);
	}
	if (box->style->next != NULL)
		putc('\n', box->out);
	box_command(box, "next", box->style->next);
}

/* ---- the table ---- */

static void whatif_table_stalls(struct table *table, const struct profile *profile,
				const struct interval *stalls)
{
	char text[FORMAT_SIZE];
	long tenths[STAGES];

	format_stalls(stalls, tenths);
	for (int i = 0; i < STAGES; i++)
		if (profile_has_stage(profile, i))
			table_cell(table, isfinite(stalls[i].value)
						  ? format_tenth(text, tenths[i])
						  : NULL);
}

/* What several jobs take up. */
static void whatif_table_needs(struct table *table,
			       const struct profile_prediction *prediction)
{
	double memory = prediction->memory_bytes, reads = prediction->read_bytes_per_s;
	char text[FORMAT_SIZE], rate[FORMAT_SIZE + 4];

	table_cell(table, isfinite(memory) ? format_bytes(text, memory) : NULL);
	snprintf(rate, sizeof(rate), "%s/s", format_bytes(text, reads));
	table_cell(table, isfinite(reads) ? rate : NULL);
	table_cell(table, isfinite(prediction->prep_cores)
				  ? format_rate(text, prediction->prep_cores)
				  : NULL);
}

/* What an epoch asks of servers. */
static void whatif_table_traffic(struct table *table,
				 const struct profile_traffic *traffic)
{
	char text[FORMAT_SIZE];
	bool known = isfinite(traffic->reads);

	table_cell(table,
		   known ? format_count(text, (uint64_t)round(traffic->reads)) : NULL);
	table_cell(table, known ? format_bytes(text, traffic->out_bytes) : NULL);
}

static void table_row(struct table *table, const struct profile *profile,
		      const struct profile_prediction *prediction,
		      struct whatif_columns columns)
{
	char words[WHATIF_WORDS], text[FORMAT_SIZE];
	double job = prediction->per_job.value,
	       cost = whatif_cost(profile, prediction->cost.value);

	table_cell(table, whatif_change_words(words, &prediction->change));
	table_estimate(table, &prediction->per_s, "");
	if (columns.jobs)
		table_cell(table, isfinite(job) ? format_rate(text, job) : NULL);
	table_estimate(table, &prediction->speedup, "x");
	whatif_table_stalls(table, profile, prediction->stalls);
	if (columns.costs)
		table_cell(table, isfinite(cost) ? format_cost(text, cost) : NULL);
	if (columns.traffic)
		whatif_table_traffic(table, &prediction->traffic);
	if (columns.jobs)
		whatif_table_needs(table, prediction);
	table_cell(table, profile_word(profile_limits, &prediction->limit));
}

/* "change|samples/s#|95%#|...": the heads that table_row() has cells for. */
static void whatif_table_heads(FILE *out, const struct profile *profile,
			       struct whatif_columns columns)
{
	fprintf(out, "change|samples/s#|95%%#%s|speed-up#|95%%#",
		columns.jobs ? "|a job#" : "");
	for (int i = 0; i < STAGES; i++)
		if (profile_has_stage(profile, i))
			fprintf(out, "|%s#", stage_table[i].key);
	if (columns.costs)
		fprintf(out, "|%s/1M#", whatif_currency(profile));
	if (columns.traffic)
		fputs("|GETs#|out#", out);
	fprintf(out, "%s|limit", columns.jobs ? "|memory#|reads#|prep cores#" : "");
}

/* True when something is known of the rate. */
static bool whatif_table_is_known(const struct profile_prediction *prediction)
{
	return isfinite(prediction->per_s.value) || isfinite(prediction->per_s.low);
}

/* True where an earlier prediction assumes the same. */
static bool whatif_table_was_said(const struct profile *profile, size_t index)
{
	const char *why = profile->predictions[index].why;

	for (size_t i = 0; i < index; i++)
		if (profile->predictions[i].why != NULL &&
		    whatif_table_is_known(&profile->predictions[i]) &&
		    strcmp(profile->predictions[i].why, why) == 0)
			return true;
	return false;
}

/* Prints what predictions assume, each assumption once. */
static void whatif_table_assumptions(struct box *box, const struct profile *profile)
{
	const char *label = "assumed";

	for (size_t i = 0; i < profile->prediction_count; i++) {
		const struct profile_prediction *prediction = &profile->predictions[i];

		if (prediction->why == NULL || !whatif_table_is_known(prediction) ||
		    whatif_table_was_said(profile, i))
			continue;
		box_line(box, label, "%s", prediction->why);
		label = "";
	}
}

/* The next from there on that is not known for that reason, NULL: any; or their end. */
static size_t whatif_table_next_unknown(const struct profile *profile, size_t from,
					const char *why)
{
	for (; from < profile->prediction_count; from++) {
		const struct profile_prediction *prediction =
			&profile->predictions[from];

		if (!whatif_table_is_known(prediction) && prediction->why != NULL &&
		    (why == NULL || strcmp(prediction->why, why) == 0))
			break;
	}
	return from;
}

/* "no cache and 9 others: why"; of two, both. */
static void whatif_table_unknown_alike(struct box *box, const char *label,
				       const struct profile *profile, size_t first)
{
	const struct profile_prediction *all = profile->predictions;
	const char *why = all[first].why;
	size_t second = whatif_table_next_unknown(profile, first + 1, why), more = 0;
	char words[WHATIF_WORDS], others[WHATIF_WORDS];

	whatif_change_words(words, &all[first].change);
	if (second == profile->prediction_count) {
		box_line(box, label, "%s: %s", words, why);
		return;
	}
	for (size_t i = second; i < profile->prediction_count; more++)
		i = whatif_table_next_unknown(profile, i + 1, why);
	if (more == 1)
		box_line(box, label, "%s, %s: %s", words,
			 whatif_change_words(others, &all[second].change), why);
	else
		box_line(box, label, "%s and %zu others: %s", words, more, why);
}

/* Lists changes that could not be predicted, and why, each reason once. */
static void whatif_table_unknown(struct box *box, const struct profile *profile)
{
	const char *label = "not known";
	size_t count = profile->prediction_count;

	for (size_t i = whatif_table_next_unknown(profile, 0, NULL); i < count;
	     i = whatif_table_next_unknown(profile, i + 1, NULL)) {
		if (whatif_table_next_unknown(profile, 0, profile->predictions[i].why) <
		    i)
			continue;
		whatif_table_unknown_alike(box, label, profile, i);
		label = "";
	}
}

static void whatif_table_predictions(struct box *box, const struct profile *profile)
{
	const struct whatif_columns columns = whatif_columns(profile);
	char heads[256];
	struct table table;
	FILE *out = fmemopen(heads, sizeof(heads), "w");

	if (out == NULL) {
		box->failed = true;
		return;
	}
	whatif_table_heads(out, profile, columns);
	fclose(out);
	table_begin(&table, box, heads);
	for (size_t i = 0; i < profile->prediction_count; i++)
		table_row(&table, profile, &profile->predictions[i], columns);
	table_end(&table);
}

static void write_table(struct box *box, const struct profile *profile)
{
	putc('\n', box->out);
	whatif_table_busy(box, profile);
	if (whatif_table_refuse(box, profile) || profile->prediction_count == 0)
		return;
	whatif_table_predictions(box, profile);
	putc('\n', box->out);
	cost_now(box, profile);
	box_sentence(box, "model", format_string(whatif_check, profile));
	whatif_table_epoch(box, profile);
	whatif_table_assumptions(box, profile);
	whatif_table_unknown(box, profile);
}

typedef void write_part(struct box *box, const struct profile *profile);

static int whatif_table_print(const struct profile *profile,
			      const struct form_style *style, FILE *out,
			      write_part *part)
{
	struct box box;

	if (box_open(&box, style) < 0)
		return -ENOMEM;
	part(&box, profile);
	putc('\n', box.out);
	return box_close(&box, out, NULL);
}

int whatif_print_advice(const struct profile *profile, const struct form_style *style,
			FILE *out)
{
	return whatif_table_print(profile, style, out, write_advice);
}

int whatif_print(const struct profile *profile, const struct form_style *style,
		 FILE *out)
{
	return whatif_table_print(profile, style, out, write_table);
}

void whatif_ranking(struct box *box, const struct profile *profile, uint64_t most)
{
	size_t ranked = count_advised(profile);
	int width = whatif_table_name_width(profile);
	char rank[FORMAT_SIZE];

	if (!whatif_was_asked(profile) || whatif_table_refuse(box, profile) ||
	    !profile_has_answer(profile))
		return;
	if (ranked > 0 && format_proof_judge(profile) == FORMAT_SPLIT_UNKNOWN)
		box_paragraph(box, "if the first of the two measurements is right:",
			      BOX_INDENT);
	for (size_t i = 0; i < profile->prediction_count; i++)
		if (profile->predictions[i].rank <= most)
			whatif_table_head(
				box, format_count(rank, profile->predictions[i].rank),
				profile, &profile->predictions[i], width);
	if (ranked == 0)
		box_paragraph(box, "no change that dsa knows would help measurably",
			      BOX_INDENT);
	else if (ranked <= most)
		box_paragraph(box, "no other change would help measurably", BOX_INDENT);
	else
		box_paragraph(box, "dsa whatif lists more", BOX_INDENT);
	putc('\n', box->out);
}
