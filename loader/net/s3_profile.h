/* s3_profile.h - one profile out of the files that AWS's tools keep in ~/.aws. */
#ifndef DSA_NET_S3_PROFILE_H
#define DSA_NET_S3_PROFILE_H

#include <stdbool.h>

/* Values point into the texts that they were read from; NULL: not there. */
struct s3_profile {
	bool found; /* its section is in a file */
	const char *id, *secret, *token;
	const char *region, *endpoint, *style, *ca_bundle;
	const char *other; /* a way to credentials that is not gone here: "role_arn" */
};

/*
 * Adds what a file says of the profile; what is set already stays. The text is changed.
 * In the file of settings (config) its section is [profile NAME], [default] for that one;
 * in that of credentials [NAME]. Lines that are none are passed over.
 */
void s3_profile_read(struct s3_profile *profile, char *text, const char *name,
		     bool config);

#endif
