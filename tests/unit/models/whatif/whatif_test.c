#include "profiler/profile_prediction.h"
#include "reports/common/whatif_words.h"
#include "reports/form.h"
#include "reports/json/json.h"
#include "reports/terminal/whatif_table.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static struct profile kept;
static struct profile_change none;

static int load(void **state)
{
	(void)state;
	none = PROFILE_NO_CHANGE;
	return json_result_load("tests/data/run-whatif.json", &kept, NULL);
}

static int unload(void **state)
{
	(void)state;
	profile_free(&kept);
	return 0;
}

static void is_called(const struct profile_change *change, const char *want)
{
	char words[WHATIF_WORDS];

	assert_string_equal(whatif_change_words(words, change), want);
}

TEST(every_member_of_a_change_is_told)
{
	struct profile_change change = none;

	is_called(&change, "as it was");
	change.cores = 2;
	change.workers = 1;
	is_called(&change, "2 cores, 1 worker");
	change = none;
	change.cache_policy.id = CACHE_MINIO;
	is_called(&change, "minio cache");
	change.cache_share = .5;
	is_called(&change, "minio cache 50%");
	change.cache_policy.id = -1;
	is_called(&change, "cache 50%");
	change.cache_share = 0;
	is_called(&change, "no cache");
	change = none;
	change.cache_policy.id = CACHE_NONE;
	is_called(&change, "no cache");
	change = none;
	change.gpu_speed = 2;
	change.batch = 128;
	is_called(&change, "accelerator 2x, batch 128");
	change = none;
	change.storage_bandwidth = 200e6;
	change.storage_latency_s = .005;
	is_called(&change, "storage 200 MB/s, storage latency 5 ms");
	change.storage_bandwidth = change.storage_latency_s = 0;
	is_called(&change, "no storage limit, no storage latency");
	change = none;
	change.storage_latency_s = .005;
	change.fetch_depth = 1;
	is_called(&change, "storage latency 5 ms, 1 read in flight");
	change.storage_latency_s = NAN;
	change.fetch_depth = 32;
	is_called(&change, "32 reads in flight");
	change = none;
	change.jobs = 4;
	is_called(&change, "4 jobs");
	change.share = true;
	is_called(&change, "share the loader x4");
	change = none;
	change.resize = 256;
	change.decoded = true;
	is_called(&change, "resize 256, stored decoded");
	change = none;
	change.type.id = 2;
	is_called(&change, "uint8 batches");
	change = none;
	change.share = true;
	change.jobs = 2;
	change.job_speed[0] = 1;
	change.job_speed[1] = .5;
	is_called(&change, "jobs 1x+0.5x, one loader");
	for (int i = 0; i < PROFILE_SPEEDS; i++)
		change.job_speed[i] = 1.2345e300;
	change.share = false;
	is_called(&change, "jobs 1.23e+300x+1.23e+300x+1.23e+300x+1.23e+300x+"
			   "1.23e+300x+1.23e+300x+1.23e+300x+1.23e+300x+1.23e+300x+"
			   "1.23e+300x+1.23e+300x+1.23e+300x+1.23e+300x+1.23e+300x+"
			   "1.23e+300x+1.23e+300x");
}

/* Whatever a file holds, nothing of it acts in a terminal, in HTML or in gnuplot. */
TEST(a_strange_policy_is_not_repeated)
{
	struct profile_change change = none;
	char strange[] = "{/Symbol=40 a}<b>\x1b[31m", endless[400];

	change.cache_policy.other = strange;
	is_called(&change, "unknown cache");
	memset(endless, 'a', sizeof(endless) - 1);
	endless[sizeof(endless) - 1] = '\0';
	change.cache_policy.other = endless;
	is_called(&change, "unknown cache");
	change.cache_share = -1e300;
	change.gpu_speed = change.storage_bandwidth = 1e300;
	change.storage_latency_s = 1e290;
	change.cores = change.workers = change.batch = UINT_MAX;
	is_called(&change,
		  "4294967295 cores, 4294967295 workers, unknown cache -1e+302%, "
		  "accelerator 1e+300x, batch 4294967295, storage 1e+285 PB/s, storage "
		  "latency 1e+290 s");
}

TEST(gains_show_how_sure_they_are)
{
	static const struct {
		struct interval speedup;
		const char *words;
	} cases[] = {
		{{1.57, 1.52, 1.61}, "1.57x  (1.52 .. 1.61)"},
		{{NAN, 1, 1.9}, "1.0x .. 1.9x (bounds)"},
		{{12, NAN, NAN}, "12.0x"},
		{{NAN, NAN, NAN}, "n/a"},
		{{NAN, 1, NAN}, "n/a"},
	};
	char words[WHATIF_SPEED];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(whatif_speedup(words, &cases[i].speedup),
				    cases[i].words);
}

typedef int print(const struct profile *profile, const struct form_style *style,
		  FILE *out);

static int all_verifications(const struct profile *profile,
			     const struct form_style *style, FILE *out)
{
	return whatif_print_verifications(profile, 0, style, out);
}

/* To be freed. */
static char *printed(print *what, const struct profile *profile)
{
	struct form_style style = {.ascii = true,
				   .next = "dsa whatif 'my out' --verify"};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(what(profile, &style, out), 0);
	fclose(out);
	return text;
}

static void has(const char *text, const char *what)
{
	if (strstr(text, what) == NULL)
		fail_msg("no '%s' in:\n%s", what, text);
}

TEST(advice_comes_first_then_what_is_not_advised)
{
	char *text = printed(whatif_print_advice, &kept);
	const char *else_nothing =
		strstr(text, "No other change that dsa knows would help");

	assert_non_null(else_nothing);
	assert_true(strstr(text, "2  cache 85%") < else_nothing);
	assert_true(strstr(text, "-  accelerator 2x") > else_nothing);
	has(text, "verify: dsa whatif out --cores 8 --cache 85% --verify\n");
	has(text, "\n\n  next       dsa whatif 'my out' --verify\n");
	has(text, "1.0x .. 2.0x (bounds)\n");
	free(text);
}

/* Of jobs all is told of one beside all; a gain is each one's while they are as many. */
TEST(jobs_have_their_own_column)
{
	struct profile_prediction *prediction;
	struct profile profile;
	char *text;

	profile_init(&profile);
	assert_non_null(profile_add_job(&profile));
	assert_non_null(profile_add_job(&profile));
	prediction = profile_add_prediction(&profile);
	prediction->change.jobs = 2;
	prediction->change.share = true;
	prediction->per_s = (struct interval){2468, 2400, 2500};
	prediction->per_job = (struct interval){1234, 1200, 1250};
	prediction->speedup = (struct interval){2, 1.9, 2.1};
	prediction->memory_bytes = 356e6;
	profile_text(&prediction->why, "one loader");
	profile_text(&profile_add_prediction(&profile)->why, "two loaders");
	profile.predictions[1].per_s.value = 1;
	profile.predictions[1].change.jobs = 3;
	profile_text(&profile_add_prediction(&profile)->why, "one loader");
	profile.predictions[2].per_s.value = 1;
	profile.predictions[2].change.jobs = 3;
	prediction = &profile.predictions[0];
	text = printed(whatif_print, &profile);
	has(text, "a job");
	has(text, " 1234 ");
	has(text, "memory  ");
	has(text, "  356 MB  ");
	has(text, "assumed    one loader\n");
	assert_null(strstr(strstr(text, "one loader") + 1, "one loader"));
	free(text);
	prediction->rank = 1;
	text = printed(whatif_print_advice, &profile);
	has(text, "(1.90 .. 2.10) per job");
	has(text, "1234 samples/s a job");
	free(text);
	prediction->change.jobs = 4;
	text = printed(whatif_print_advice, &profile);
	assert_null(strstr(text, "per job"));
	free(text);
	profile_free(&profile);
}

TEST(what_is_not_ranked_is_a_table)
{
	struct profile profile;
	char *text;

	profile_init(&profile);
	profile_add_prediction(&profile)->per_s = (struct interval){1912, 1890, 1935};
	text = printed(whatif_print, &profile);
	has(text, "as it was       1912  1890 .. 1935         -    -");
	free(text);
	text = printed(whatif_print_advice, &profile);
	has(text, "No change that dsa knows would help measurably.");
	free(text);
	profile_free(&profile);
}

TEST(what_can_not_be_told_says_why)
{
	struct profile profile;
	struct profile_prediction *prediction;
	char *text;

	profile_init(&profile);
	prediction = profile_add_prediction(&profile);
	prediction->per_s.value = 100;
	profile_text(&prediction->why, "the same storage");
	prediction = profile_add_prediction(&profile);
	prediction->change.storage_bandwidth = 0;
	profile_text(&prediction->why, "storage was seen only slowed");
	text = printed(whatif_print, &profile);
	has(text, "assumed    the same storage\n");
	has(text, "not known  no storage limit: storage was seen only slowed\n");
	free(text);
	profile_free(&profile);
}

/* Of a range that can't be told, as of a cache, each value has the same reason. */
TEST(what_can_not_be_told_for_one_reason_is_one_line)
{
	struct profile profile;
	char *text;

	profile_init(&profile);
	for (uint64_t i = 1; i <= 5; i++) {
		struct profile_prediction *prediction =
			profile_add_prediction(&profile);

		prediction->change.cores = i;
		profile_text(&prediction->why, i == 2  ? "too few"
					       : i > 3 ? "cold"
						       : "hot");
	}
	text = printed(whatif_print, &profile);
	has(text, "not known  1 core, 3 cores: hot\n"
		  "             2 cores: too few\n"
		  "             4 cores, 5 cores: cold\n");
	free(text);
	profile_text(&profile.predictions[1].why, "cold");
	text = printed(whatif_print, &profile);
	has(text, "  2 cores and 2 others: cold\n");
	free(text);
	profile_free(&profile);
}

TEST(a_model_that_may_not_predict_says_why)
{
	struct profile profile = kept;
	char why[] = "no predictions: real windows are 9% slower than their stages "
		     "explain";
	print *const all[] = {whatif_print, whatif_print_advice};

	profile.model.why = why;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char *text = printed(all[i], &profile);

		has(text, "no predictions: real windows are 9% slower");
		assert_null(strstr(text, "cores"));
		free(text);
	}
}

TEST(predicted_stands_beside_measured)
{
	char *text = printed(all_verifications, &kept);

	has(text, "  2 cores                     1039  1015 .. 1063      1052  "
		  "1040 .. 1064  -1.2%  yes              35.0%     35.0%\n");
	has(text, "  lru cache                   1346  1332 .. 1359      1383  "
		  "1374 .. 1392  -2.7%  no                8.1%      8.4%\n");
	has(text, "of all     5 predicted and measured: mean error 1.1%, 95% of them "
		  "within 2.7%,\n             80.0% inside their intervals\n");
	has(text, "  storage latency 50 ms          -             -       412    "
		  "400 .. 424      -  -                    -         -\n");
	free(text);
}

TEST(short_memory_is_an_error)
{
	struct form_style style = {0};
	FILE *out = fopen("/dev/null", "w");
	int result = -ENOMEM;
	unsigned nth = 0;

	while (result != 0) {
		nomem_at(++nth);
		result = whatif_print(&kept, &style, out);
		nomem_at(0);
		assert_true(result == 0 || result == -ENOMEM);
	}
	fclose(out);
}

TEST_GROUP(load, unload);
