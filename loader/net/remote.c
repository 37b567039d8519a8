/* remote.c - opens and closes what data sets are read from. */
#include "loader/net/remote.h"
#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/base/name.h"
#include "loader/net.h"
#include "loader/net/s3_settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEADLINE_S 60.

static void remote_wipe(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}

void remote_free(struct net_remote *remote)
{
	if (remote == NULL)
		return;
	remote_wipe(remote->id);
	remote_wipe(remote->secret);
	remote_wipe(remote->token);
	free(remote->base);
	free(remote->list);
	free(remote->region);
	free(remote->ca_bundle);
	free(remote->credentials);
	free(remote);
}

void net_remote_close(struct net_remote *remote)
{
	remote_free(remote);
}

static struct net_remote *remote_new(struct error *err)
{
	struct net_remote *remote = calloc(1, sizeof(*remote));

	if (remote == NULL)
		error_sys(err, ENOMEM, "cannot open the data set");
	else
		remote->deadline_s = DEADLINE_S;
	return remote;
}

/* What S3 lets a bucket be called, and a little more, as other servers do. */
static bool remote_is_bucket(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length <= 255 && name[0] != '.' &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")] == '\0';
}

struct net_remote *net_remote_bucket(const char *bucket, struct error *err)
{
	struct net_remote *remote;
	char shown[NAME_SHOWN];

	if (!remote_is_bucket(bucket))
		return error_null(error_set(
			err, EINVAL,
			"'%s' is no name of a bucket: give s3://bucket/prefix",
			name_escape(bucket, shown, sizeof(shown))));
	remote = remote_new(err);
	if (remote == NULL)
		return NULL;
	remote->bucket = true;
	if (s3_settings_resolve(remote, bucket, err) == 0)
		return remote;
	remote_free(remote);
	return NULL;
}

/* The URL up to its last slash; path: where its path begins. What may not stand in a URL is
 * encoded, and what is encoded already stays so. malloc; NULL: no memory. */
static char *remote_folder(const char *url, const char *path, const char *slash)
{
	size_t start = (size_t)(path - url), room = 3 * strlen(url) + 1;
	char *folder = strndup(path, (size_t)(slash - path) + 1);
	char *base = malloc(room);

	if (folder == NULL || base == NULL) {
		free(folder);
		free(base);
		return NULL;
	}
	net_url_decode(folder, false);
	memcpy(base, url, start);
	net_url_encode(base, room, start, folder, 1);
	free(folder);
	return base;
}

struct net_remote *net_remote_web(const char *url, struct error *err)
{
	const char *host = strstr(url, "://");
	const char *slash = host != NULL ? strrchr(host + 3, '/') : NULL;
	const char *bundle = getenv("AWS_CA_BUNDLE");
	struct net_remote *remote;

	if (strpbrk(url, "@?#") != NULL)
		return error_null(
			error_set(err, EINVAL,
				  "the URL of a list is https://host/path/list.txt, "
				  "without user, "
				  "password and query: they would stand in results"));
	if (slash == NULL || slash == host + 3)
		return error_null(error_set(err, EINVAL,
					    "the URL of a list is such as "
					    "https://host/path/list.txt"));
	remote = remote_new(err);
	if (remote == NULL)
		return NULL;
	remote->base = remote_folder(url, strchr(host + 3, '/'), slash);
	remote->credentials = strdup("none: anonymous");
	if (bundle != NULL && *bundle != '\0')
		remote->ca_bundle = strdup(bundle);
	if (remote->base != NULL && remote->credentials != NULL)
		return remote;
	remote_free(remote);
	return error_null(error_sys(err, ENOMEM, "cannot open the data set"));
}

const char *net_remote_url(const struct net_remote *remote)
{
	return remote->base;
}

const char *net_remote_credentials(const struct net_remote *remote)
{
	return remote->credentials;
}

const char *net_remote_region(const struct net_remote *remote)
{
	return remote->region != NULL ? remote->region : "";
}

void net_remote_set_deadline(struct net_remote *remote, double seconds)
{
	if (seconds > 0)
		remote->deadline_s = seconds;
}

double net_remote_deadline_s(const struct net_remote *remote)
{
	return remote->deadline_s;
}

uint64_t net_remote_deadline(const struct net_remote *remote)
{
	return clock_now() + (uint64_t)(remote->deadline_s * 1e9);
}
