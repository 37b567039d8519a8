/*
 * s3_settings.h - how a bucket is asked for, as AWS's tools would.
 *
 *	credentials	AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, with
 *			AWS_SESSION_TOKEN if it is set; else the profile AWS_PROFILE, or
 *			"default", of AWS_SHARED_CREDENTIALS_FILE (~/.aws/credentials) and
 *			AWS_CONFIG_FILE (~/.aws/config); else none: anonymous
 *	region		AWS_REGION, AWS_DEFAULT_REGION, the profile's, us-east-1
 *	endpoint	AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's endpoint_url,
 *			that of the region
 *	style		https://HOST/BUCKET/KEY where the endpoint is not AWS's own, where
 *			the profile's addressing_style is path, and where the bucket's name
 *			can't be one of a host; else https://BUCKET.HOST/KEY
 *	certificates	AWS_CA_BUNDLE, the profile's ca_bundle, the system's
 *
 * A variable that is empty counts as not set.
 */
#ifndef DSA_NET_S3_SETTINGS_H
#define DSA_NET_S3_SETTINGS_H

struct error;
struct net_remote;

/* Fills *remote, zeroed, for the bucket. 0 or -errno; remote_free() frees it either way.
 */
int s3_settings_resolve(struct net_remote *remote, const char *bucket,
			struct error *err);

#endif
