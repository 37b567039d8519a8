#include "loader/base/error.h"
#include "loader/net/remote.h"
#include "loader/net/s3_settings.h"
#include "tests/lib/nomem.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const variables[] = {"AWS_ACCESS_KEY_ID",
					"AWS_SECRET_ACCESS_KEY",
					"AWS_SESSION_TOKEN",
					"AWS_PROFILE",
					"AWS_SHARED_CREDENTIALS_FILE",
					"AWS_CONFIG_FILE",
					"AWS_REGION",
					"AWS_DEFAULT_REGION",
					"AWS_ENDPOINT_URL_S3",
					"AWS_ENDPOINT_URL",
					"AWS_CA_BUNDLE"};

static int setup(void **state)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
	if (scratch_setup(state) != 0)
		return -1;
	setenv("HOME", scratch_path(), 1);
	return 0;
}

static struct net_remote *resolve(const char *bucket)
{
	struct net_remote *remote = calloc(1, sizeof(*remote));
	struct error err = {0};

	if (s3_settings_resolve(remote, bucket, &err) < 0)
		fail_msg("%s", err.message);
	return remote;
}

static void assert_urls(const char *bucket, const char *base, const char *list)
{
	struct net_remote *remote = resolve(bucket);

	assert_string_equal(remote->base, base);
	assert_string_equal(remote->list, list);
	remote_free(remote);
}

static void refuses(int code, const char *part)
{
	struct net_remote *remote = calloc(1, sizeof(*remote));
	struct error err = {0};

	assert_int_equal(s3_settings_resolve(remote, "bucket", &err), -code);
	assert_non_null(strstr(err.message, part));
	remote_free(remote);
}

TEST_WITH(without_anything_it_is_anonymous, setup, scratch_teardown)
{
	struct net_remote *remote = resolve("bucket");

	assert_null(remote->id);
	assert_string_equal(remote->region, "us-east-1");
	assert_string_equal(remote->credentials, "none: anonymous");
	assert_string_equal(remote->base, "https://bucket.s3.us-east-1.amazonaws.com/");
	remote_free(remote);
}

TEST_WITH(files_may_be_none, setup, scratch_teardown)
{
	struct net_remote *remote;

	setenv("AWS_CONFIG_FILE", "/dev/null", 1);
	setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null", 1);
	setenv("AWS_WEB_IDENTITY_TOKEN_FILE", "token", 1);
	remote = resolve("bucket");
	assert_null(remote->id);
	assert_non_null(strstr(remote->credentials, "AWS_WEB_IDENTITY_TOKEN_FILE"));
	remote_free(remote);
	setenv("AWS_ACCESS_KEY_ID", "one", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "two", 1);
	remote = resolve("bucket");
	assert_string_equal(remote->id, "one");
	remote_free(remote);
}

TEST_WITH(urls_follow_endpoint_and_style, setup, scratch_teardown)
{
	setenv("AWS_REGION", "cn-north-1", 1);
	assert_urls("b-1", "https://b-1.s3.cn-north-1.amazonaws.com.cn/",
		    "https://b-1.s3.cn-north-1.amazonaws.com.cn/");
	assert_urls("dotted.name",
		    "https://s3.cn-north-1.amazonaws.com.cn/dotted.name/",
		    "https://s3.cn-north-1.amazonaws.com.cn/dotted.name");
	assert_urls("Upper", "https://s3.cn-north-1.amazonaws.com.cn/Upper/",
		    "https://s3.cn-north-1.amazonaws.com.cn/Upper");
	setenv("AWS_ENDPOINT_URL", "http://host:9000//", 1);
	assert_urls("bucket", "http://host:9000/bucket/", "http://host:9000/bucket");
	setenv("AWS_ENDPOINT_URL_S3", "https://s3.eu-west-1.amazonaws.com", 1);
	assert_urls("bucket", "https://bucket.s3.eu-west-1.amazonaws.com/",
		    "https://bucket.s3.eu-west-1.amazonaws.com/");
	setenv("AWS_ENDPOINT_URL_S3", "", 1); /* as if it were not set */
	assert_urls("bucket", "http://host:9000/bucket/", "http://host:9000/bucket");
}

TEST_WITH(a_profile_has_what_the_environment_lacks, setup, scratch_teardown)
{
	struct net_remote *remote;

	scratch_text(".aws/credentials",
		     "[default]\naws_access_key_id = one\naws_secret_access_key = two\n"
		     "aws_session_token=three\n");
	scratch_text(".aws/config",
		     "[default]\nregion = eu-west-3\nca_bundle = /c\n"
		     "s3 =\n  addressing_style = path\nother =\n  region = no\n"
		     "[profile b]\nregion = no\n");
	remote = resolve("bucket");
	assert_string_equal(remote->id, "one");
	assert_string_equal(remote->secret, "two");
	assert_string_equal(remote->token, "three");
	assert_string_equal(remote->region, "eu-west-3");
	assert_string_equal(remote->ca_bundle, "/c");
	assert_string_equal(remote->base, "https://s3.eu-west-3.amazonaws.com/bucket/");
	remote_free(remote);
	setenv("AWS_ACCESS_KEY_ID", "four", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "five", 1);
	setenv("AWS_DEFAULT_REGION", "eu-west-4", 1);
	remote = resolve("bucket");
	assert_string_equal(remote->id, "four");
	assert_null(remote->token); /* it belongs to the other key */
	assert_string_equal(remote->region, "eu-west-4");
	remote_free(remote);
}

TEST_WITH(what_is_half_or_elsewhere_is_refused, setup, scratch_teardown)
{
	setenv("AWS_SECRET_ACCESS_KEY", "hidden", 1);
	refuses(EINVAL, "a secret without its key ID");
	unsetenv("AWS_SECRET_ACCESS_KEY");
	setenv("AWS_PROFILE", "absent", 1);
	refuses(ENOENT, "'absent'");
	scratch_text(".aws/config", "[profile absent]\nsso_session = x\n");
	refuses(ENOTSUP, "sso_session");
	unsetenv("AWS_PROFILE");
	setenv("AWS_REGION", "no region", 1);
	refuses(EINVAL, "the region");
	unsetenv("AWS_REGION");
	setenv("AWS_ENDPOINT_URL", "ftp://host", 1);
	refuses(EINVAL, "no URL");
	setenv("AWS_CONFIG_FILE", "/", 1);
	refuses(EINVAL, "no file of AWS settings");
}

TEST_WITH(memory_may_be_short, setup, scratch_teardown)
{
	setenv("AWS_ACCESS_KEY_ID", "a", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "b", 1);
	for (unsigned nth = 1; nth < 30; nth++) {
		struct net_remote *remote = calloc(1, sizeof(*remote));
		int result;

		nomem_at(nth);
		result = s3_settings_resolve(remote, "bucket", NULL);
		nomem_at(0);
		assert_true(result == 0 || result == -ENOMEM);
		remote_free(remote);
	}
}
