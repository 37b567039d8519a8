/* s3_settings.c - reads environment and files, and makes a bucket's URL of them. */
#include "loader/net/s3_settings.h"
#include "loader/base/error.h"
#include "loader/base/io.h"
#include "loader/base/name.h"
#include "loader/net/remote.h"
#include "loader/net/s3_profile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FILE = 1 << 20 };

struct settings_file {
	char *text; /* NULL: there is none */
	size_t size;
};

struct s3_sources {
	const char *name; /* of the profile */
	bool named;       /* by AWS_PROFILE */
	struct s3_profile profile;
	struct settings_file credentials, config;
};

static const char *settings_variable(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0' ? value : NULL;
}

/* The first that is set. */
static const char *settings_first(const char *a, const char *b, const char *c)
{
	return a != NULL ? a : b != NULL ? b : c;
}

static int settings_read_file(const char *path, struct settings_file *file,
			      struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	char shown[NAME_SHOWN];
	int result = 0;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : error_sys(err, errno, "cannot read '%s'",
					   name_escape(path, shown, sizeof(shown)));
	/* /dev/null is one without settings */
	if (fstat(fd, &status) < 0 ||
	    !(S_ISREG(status.st_mode) || S_ISCHR(status.st_mode)) ||
	    status.st_size > MOST_FILE) {
		result = error_set(err, EINVAL,
				   "'%s' is no file of AWS settings: it is no regular "
				   "file, or larger than 1 MiB",
				   name_escape(path, shown, sizeof(shown)));
		goto out;
	}
	file->size = (size_t)status.st_size;
	file->text = calloc(file->size + 1, 1);
	result = file->text != NULL ? io_read(fd, file->text, file->size) : -ENOMEM;
	if (result < 0)
		error_sys(err, -result, "cannot read '%s'",
			  name_escape(path, shown, sizeof(shown)));
out:
	close(fd);
	return result;
}

/* The file that a variable names, or the one in ~/.aws. */
static int settings_open_file(const char *variable, const char *usual,
			      struct settings_file *file, struct error *err)
{
	const char *named = settings_variable(variable);
	const char *home = settings_variable("HOME");
	char path[PATH_MAX];

	if (named == NULL) {
		if (home == NULL ||
		    snprintf(path, sizeof(path), "%s/.aws/%s", home, usual) >= PATH_MAX)
			return 0;
		named = path;
	}
	return settings_read_file(named, file, err);
}

static void settings_drop_file(struct settings_file *file)
{
	if (file->text != NULL)
		explicit_bzero(file->text, file->size);
	free(file->text);
}

static int settings_gather(struct s3_sources *sources, struct error *err)
{
	const char *asked = settings_variable("AWS_PROFILE");
	char shown[NAME_SHOWN];
	int result;

	sources->named = asked != NULL;
	sources->name = asked != NULL ? asked : "default";
	result = settings_open_file("AWS_SHARED_CREDENTIALS_FILE", "credentials",
				    &sources->credentials, err);
	if (result == 0)
		result = settings_open_file("AWS_CONFIG_FILE", "config",
					    &sources->config, err);
	if (result < 0)
		return result;
	if (sources->credentials.text != NULL)
		s3_profile_read(&sources->profile, sources->credentials.text,
				sources->name, false);
	if (sources->config.text != NULL)
		s3_profile_read(&sources->profile, sources->config.text, sources->name,
				true);
	if (sources->named && !sources->profile.found)
		return error_set(err, ENOENT,
				 "AWS_PROFILE is '%s', a profile that neither "
				 "AWS_SHARED_CREDENTIALS_FILE nor AWS_CONFIG_FILE has",
				 name_escape(asked, shown, sizeof(shown)));
	return 0;
}

/* Copies a value, NULL as NULL. False: no memory. */
static bool settings_copy(char **to, const char *value)
{
	*to = value != NULL ? strdup(value) : NULL;
	return (*to != NULL) == (value != NULL);
}

static int settings_take(struct net_remote *remote, const char *id, const char *secret,
			 const char *token, struct error *err)
{
	if (settings_copy(&remote->id, id) && settings_copy(&remote->secret, secret) &&
	    settings_copy(&remote->token, token))
		return 0;
	return error_sys(err, ENOMEM, "cannot read the credentials");
}

static int settings_half(const char *id, const char *where, struct error *err)
{
	return error_set(err, EINVAL,
			 "%s has %s: both are needed, or neither for a bucket that "
			 "anybody may read",
			 where,
			 id != NULL ? "a key ID without its secret"
				    : "a secret without its key ID");
}

/* Says so of credentials that there are, but not for dsa. */
static int settings_anonymous(struct net_remote *remote, struct error *err)
{
	static const char *const others[] = {"AWS_WEB_IDENTITY_TOKEN_FILE",
					     "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
					     "AWS_CONTAINER_CREDENTIALS_FULL_URI"};
	char text[160] = "none: anonymous";

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (settings_variable(others[i]) != NULL)
			snprintf(text, sizeof(text),
				 "none: anonymous, as dsa does not use %s: set "
				 "AWS_ACCESS_KEY_ID",
				 others[i]);
	remote->credentials = strdup(text);
	return remote->credentials != NULL
		       ? 0
		       : error_sys(err, ENOMEM, "cannot read the credentials");
}

static int settings_credentials(struct net_remote *remote,
				const struct s3_sources *sources, struct error *err)
{
	const char *id = settings_variable("AWS_ACCESS_KEY_ID");
	const char *secret = settings_variable("AWS_SECRET_ACCESS_KEY");
	const struct s3_profile *profile = &sources->profile;
	char shown[NAME_SHOWN], where[NAME_SHOWN + 32];

	if ((id == NULL) != (secret == NULL))
		return settings_half(id, "the environment", err);
	if (id != NULL) {
		remote->credentials = strdup("AWS_ACCESS_KEY_ID");
		return settings_take(remote, id, secret,
				     settings_variable("AWS_SESSION_TOKEN"), err);
	}
	name_escape(sources->name, shown, sizeof(shown));
	snprintf(where, sizeof(where), "the profile '%s'", shown);
	if ((profile->id == NULL) != (profile->secret == NULL))
		return settings_half(profile->id, where, err);
	if (profile->id != NULL) {
		remote->credentials = strdup(where);
		return settings_take(remote, profile->id, profile->secret,
				     profile->token, err);
	}
	if (profile->other != NULL)
		return error_set(err, ENOTSUP,
				 "%s gets its credentials by %s, which dsa does not "
				 "do: put them into AWS_ACCESS_KEY_ID, "
				 "AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN",
				 where, profile->other);
	return settings_anonymous(remote, err);
}

/* A host's name: letters, digits, '-' and '.'. */
static bool settings_plain(const char *text)
{
	return *text != '\0' && text[strspn(text, "abcdefghijklmnopqrstuvwxyz"
						  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
						  "0123456789-.")] == '\0';
}

static bool settings_ends(const char *host, const char *end)
{
	size_t length = strcspn(host, ":"), tail = strlen(end);

	return length >= tail && strncmp(host + length - tail, end, tail) == 0;
}

static bool settings_of_aws(const char *host)
{
	return settings_ends(host, ".amazonaws.com") ||
	       settings_ends(host, ".amazonaws.com.cn");
}

/* Can the bucket's name stand before the host's? */
static bool settings_hostlike(const char *bucket, bool tls)
{
	return bucket[strspn(bucket, "abcdefghijklmnopqrstuvwxyz0123456789-.")] ==
		       '\0' &&
	       strlen(bucket) >= 3 && strlen(bucket) <= 63 &&
	       !(tls && strchr(bucket, '.') != NULL);
}

static int settings_urls(struct net_remote *remote, const char *bucket,
			 const char *endpoint, bool path_style, struct error *err)
{
	const char *host = strstr(endpoint, "://") + 3;
	int length = (int)strlen(endpoint), made;

	while (length > 0 && endpoint[length - 1] == '/')
		length--;
	if (path_style || !settings_of_aws(host) ||
	    !settings_hostlike(bucket, strncmp(endpoint, "https", 5) == 0))
		made = asprintf(&remote->list, "%.*s/%s", length, endpoint, bucket);
	else
		made = asprintf(&remote->list, "%.*s%s.%.*s/", (int)(host - endpoint),
				endpoint, bucket, length - (int)(host - endpoint),
				host);
	if (made < 0)
		remote->list = NULL;
	if (made < 0 || asprintf(&remote->base, "%s%s", remote->list,
				 remote->list[made - 1] == '/' ? "" : "/") < 0) {
		remote->base = NULL;
		return error_sys(err, ENOMEM, "cannot open the bucket");
	}
	return 0;
}

static int settings_endpoint(struct net_remote *remote, const char *bucket,
			     const struct s3_profile *profile, struct error *err)
{
	const char *endpoint = settings_first(settings_variable("AWS_ENDPOINT_URL_S3"),
					      settings_variable("AWS_ENDPOINT_URL"),
					      profile->endpoint);
	char usual[160];

	if (endpoint == NULL) {
		snprintf(usual, sizeof(usual), "https://s3.%.100s.amazonaws.com%s",
			 remote->region,
			 strncmp(remote->region, "cn-", 3) == 0 ? ".cn" : "");
		endpoint = usual;
	}
	if ((strncmp(endpoint, "http://", 7) != 0 &&
	     strncmp(endpoint, "https://", 8) != 0) ||
	    strpbrk(endpoint, "@?# \t\r\n") != NULL)
		return error_set(err, EINVAL,
				 "the endpoint is no URL such as https://host or "
				 "http://host:9000, without user, password and query: "
				 "see AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL");
	return settings_urls(
		remote, bucket, endpoint,
		profile->style != NULL && strcmp(profile->style, "path") == 0, err);
}

static int settings_region(struct net_remote *remote, const struct s3_profile *profile,
			   struct error *err)
{
	const char *region = settings_first(settings_variable("AWS_REGION"),
					    settings_variable("AWS_DEFAULT_REGION"),
					    profile->region);

	if (region == NULL)
		region = "us-east-1";
	if (!settings_plain(region) || strlen(region) > 64)
		return error_set(err, EINVAL,
				 "the region is no name such as eu-west-1: see "
				 "AWS_REGION and AWS_DEFAULT_REGION");
	if (!settings_copy(&remote->region, region) ||
	    !settings_copy(&remote->ca_bundle,
			   settings_first(settings_variable("AWS_CA_BUNDLE"),
					  profile->ca_bundle, NULL)))
		return error_sys(err, ENOMEM, "cannot open the bucket");
	return 0;
}

int s3_settings_resolve(struct net_remote *remote, const char *bucket,
			struct error *err)
{
	struct s3_sources sources = {0};
	int result = settings_gather(&sources, err);

	if (result == 0)
		result = settings_credentials(remote, &sources, err);
	if (result == 0 && remote->credentials == NULL)
		result = error_sys(err, ENOMEM, "cannot read the credentials");
	if (result == 0)
		result = settings_region(remote, &sources.profile, err);
	if (result == 0)
		result = settings_endpoint(remote, bucket, &sources.profile, err);
	settings_drop_file(&sources.credentials);
	settings_drop_file(&sources.config);
	return result;
}
