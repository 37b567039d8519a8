/* loader_environment_test.c - DSA_LOADER, DSA_SESSION and DSA_SHARE, right and wrong. SLEEPS
 * where a shared loader is not there. */
#include "tests/lib/delivered.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(the_environment_overrides_the_program)
{
	struct dsa_config config = images_config("/nonexistent");
	struct dsa_config same = images_config(images_good);
	char text[256];
	struct delivered one, other;

	same.batch = 11;
	same.seed = 77;
	same.epochs = 1;
	same.in_order = 1;
	one = delivered_of(&same);
	snprintf(text, sizeof(text),
		 "dataset=%s,batch=11,,seed=77,epochs=1,in_order=1,cache=minio,"
		 "cache_size=35%%",
		 images_good);
	setenv("DSA_LOADER", text, 1);
	other = delivered_of(&config);
	unsetenv("DSA_LOADER");
	delivered_same(&one, 0, &other);
	for (unsigned i = 0; i < IMAGES_COUNT; i++)
		assert_int_equal(other.row[i].sample, i);
	assert_true(other.stats.resident_bytes > 0);
}

TEST(a_wrong_environment_is_named)
{
	static const struct {
		const char *text, *named;
	} wrong[] = {
		{"bach=3", "bach"},          {"batch", "batch"},
		{"batch=0", "batch"},        {"batch=99999999999999999999", "batch"},
		{"workers=-1", "workers"},   {"cache=magic", "magic"},
		{"cache_size=120%", "120%"}, {"prep_delay=fast", "prep_delay"},
		{"rank=2,world=2", "rank"},  {"dataset=%zz", "dataset"},
		{"type=int4", "type"},       {"fetch=pigeon", "pigeon"},
		{"shuffle=rows", "shuffle"}, {"shuffle=1", "shuffle"},
		{"read_gap=2G", "read_gap"}, {"read_gap=near", "read_gap"},
	};
	struct dsa_config config = images_config(images_good);

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct dsa_loader *loader = NULL;
		char why[DSA_WHY] = "";
		int result;

		setenv("DSA_LOADER", wrong[i].text, 1);
		result = dsa_open(&config, &loader, why);
		unsetenv("DSA_LOADER");
		assert_int_equal(result, -EINVAL);
		assert_non_null(strstr(why, wrong[i].named));
	}
}

TEST(a_session_that_is_gone_harms_nobody)
{
	struct dsa_config config = images_config(images_good);
	struct delivered alone = delivered_of(&config), log;
	struct dsa_loader *loader = NULL;
	char path[64], why[DSA_WHY] = "";

	snprintf(path, sizeof(path), "%s/session", images_home);
	setenv("DSA_SESSION", path, 1);
	log = delivered_of(&config);
	delivered_same(&alone, 0, &log);

	/* What is no session is a mistake that somebody wants to hear of. */
	tree_put(images_home, "/session", "something else");
	assert_int_equal(dsa_open(&config, &loader, why), -EINVAL);
	assert_non_null(strstr(why, "DSA_SESSION"));
	assert_non_null(strstr(why, path));
	unsetenv("DSA_SESSION");
}

TEST(a_program_may_say_itself_whether_it_shares)
{
	struct dsa_config config = images_config(images_good);
	struct delivered own = delivered_of(&config), log;
	struct dsa_loader *loader = NULL;
	char why[DSA_WHY] = "";

	config.share = "/nowhere/config";
	assert_int_equal(dsa_open(&config, &loader, why), -ENOENT);
	assert_non_null(strstr(why, config.share));
	setenv("DSA_SHARE", "/nowhere/environment", 1);
	assert_int_equal(dsa_open(&config, &loader, why), -ENOENT);
	assert_non_null(strstr(why, config.share));
	config.share = "";
	log = delivered_of(&config);
	delivered_same(&own, 0, &log);
	unsetenv("DSA_SHARE");
}

TEST_GROUP(images_setup, images_teardown);
