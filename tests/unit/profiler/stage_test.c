/* stage_test.c - an optional stage: shown where it was measured, absent elsewhere. */
#include "models/compare/causes.h"
#include "models/gate/gate_side.h"
#include "profiler/analysis/shares.h"
#include "profiler/profile.h"
#include "reports/common/form_style.h"
#include "reports/json/json.h"
#include "reports/terminal/terminal.h"
#include "tests/lib/close_to.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 8, SAMPLES = 100 };

/* A block's windows: the time of a sample in each of them; 0: none of that stage. */
static size_t add_block(struct window *windows, size_t count, int block,
			const double times[STAGES])
{
	for (int i = 0; i < STAGES; i++)
		if (times[i] > 0)
			windows[count++] =
				(struct window){.kind = stage_table[i].kind,
						.block = block,
						.certified = true,
						.steps = SAMPLES / 10.,
						.samples = SAMPLES,
						.seconds = SAMPLES * times[i]};
	return count;
}

static const double four[STAGES] = {[STAGE_COMPUTE] = .010,
				    [STAGE_COPY] = .012,
				    [STAGE_PREP] = .015,
				    [STAGE_FETCH] = .020};
static const double three[STAGES] = {
	[STAGE_COMPUTE] = .010, [STAGE_PREP] = .015, [STAGE_FETCH] = .020};

static double sum_of(const struct interval stalls[STAGES])
{
	double sum = 0;

	for (int i = 0; i < STAGES; i++)
		sum += isnan(stalls[i].value) ? 0 : stalls[i].value;
	return sum;
}

TEST(shares_of_four_sum_to_one)
{
	struct window windows[BLOCKS * STAGES];
	struct shares shares;
	size_t count = 0;

	for (int block = 0; block < BLOCKS; block++)
		count = add_block(windows, count, block, block == 3 ? three : four);
	assert_int_equal(shares_measure(windows, count, &shares), 0);
	assert_int_equal(shares.blocks, BLOCKS - 1);
	close_to(shares.stalls[STAGE_COMPUTE].value, .5, 1e-9);
	close_to(shares.stalls[STAGE_COPY].value, .1, 1e-9);
	close_to(shares.stalls[STAGE_PREP].value, .15, 1e-9);
	close_to(shares.stalls[STAGE_FETCH].value, .25, 1e-9);
	close_to(sum_of(shares.stalls), 1, 1e-9);
	close_to(shares.rates[STAGE_COPY].value, 1 / .012, 1e-6);
	assert_true(shares_half(&shares) < .01);
}

TEST(without_its_windows_it_is_absent)
{
	struct window windows[BLOCKS * STAGES];
	struct shares shares;
	size_t count = 0;

	for (int block = 0; block < BLOCKS; block++)
		count = add_block(windows, count, block, three);
	assert_int_equal(shares_measure(windows, count, &shares), 0);
	assert_int_equal(shares.blocks, BLOCKS);
	assert_true(isnan(shares.stalls[STAGE_COPY].value));
	assert_true(isnan(shares.rates[STAGE_COPY].value));
	close_to(shares.stalls[STAGE_PREP].value, .25, 1e-9);
	close_to(sum_of(shares.stalls), 1, 1e-9);
	assert_true(shares_half(&shares) < .01);
}

/* The kept run; `with` a copy stall of a tenth. */
static void load(struct profile *profile, bool with)
{
	assert_int_equal(json_result_load("tests/data/run-whatif.json", profile, NULL),
			 0);
	if (!with)
		return;
	profile->stalls[STAGE_COMPUTE].value -= .1;
	profile->stalls[STAGE_COPY] = (struct interval){.1, .09, .11};
	profile->rates[TRACE_COPIED] = (struct interval){3000, 2990, 3010};
}

static char *shown(form_write *form, bool with)
{
	const struct form_style style = {.colour = true};
	struct profile profile;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	load(&profile, with);
	assert_int_equal(form(&profile, &style, out, NULL), 0);
	fclose(out);
	profile_free(&profile);
	return text;
}

static int write_result(const struct profile *profile, const struct form_style *style,
			FILE *out, struct error *err)
{
	(void)style;
	return json_result_write(profile, out, err);
}

/* All of `words` stand in what the form shows of a result with the stage; neither these
 * nor the stage's name in one without. */
static void has_only_with_it(form_write *form, const char *const *words)
{
	char *with = shown(form, true), *without = shown(form, false);

	for (; *words != NULL; words++) {
		if (strstr(with, *words) == NULL)
			fail_msg("no %s", *words);
		if (strstr(without, *words) != NULL)
			fail_msg("%s, which was not measured", *words);
	}
	free(with);
	free(without);
}

TEST(every_form_shows_it_where_it_was_measured)
{
	static const char *const json[] = {"\"copy\": {", "\"copied_per_s\"", NULL};
	static const char *const text[] = {"copy stall ", "▓", "\x1b[35m", NULL};
	static const char *const html[] = {"Copy stall",
					   "<li class=\"copy\">",
					   "waiting for copies to the device",
					   "Copied: batches ready",
					   "Copy</th>",
					   "Compute, copy stall, prep stall and fetch",
					   NULL};

	has_only_with_it(write_result, json);
	has_only_with_it(terminal_write, text);
	has_only_with_it(html_write, html);
}

TEST(what_is_written_is_read_again)
{
	char *text = shown(write_result, true), *again = NULL;
	struct profile profile;
	size_t size;
	FILE *out = open_memstream(&again, &size);

	assert_int_equal(json_result_read(text, strlen(text), &profile, NULL), 0);
	close_to(profile.stalls[STAGE_COPY].value, .1, 1e-9);
	close_to(sum_of(profile.stalls), 1, 1e-2);
	assert_int_equal(json_result_write(&profile, out, NULL), 0);
	fclose(out);
	assert_string_equal(again, text);
	profile_free(&profile);
	free(text);
	free(again);
}

TEST(compare_explains_it)
{
	struct profile base, now;
	struct causes causes;
	bool told = false;

	load(&base, true);
	load(&now, true);
	now.stalls[STAGE_COPY] = (struct interval){.2, .19, .21};
	causes_find(&base, &now, &causes);
	for (unsigned i = 0; i < causes.count; i++)
		told |= strstr(causes.text[i], "copy stall +10.0 points") != NULL;
	assert_true(told);
	profile_free(&base);
	profile_free(&now);
}

TEST(the_gate_has_its_metric)
{
	int metric = gate_metric_find("copy_stall");
	double values[GATE_METRICS];
	struct profile profile;

	load(&profile, true);
	gate_metric_timed(&profile, values);
	assert_true(metric >= 0 && metric == gate_metric_stall(STAGE_COPY));
	close_to(values[metric], .1, 1e-9);
	assert_true(isinf(gate_metrics[metric].limit)); /* until it is asked for */
	close_to(values[gate_metric_find("data_stall")], 1 - profile.stalls[0].value,
		 1e-9);
	for (int i = 0; i < GATE_METRICS; i++)
		assert_non_null(gate_metrics[i].name);
	profile_free(&profile);
}
