/*
 * s3_profile.c - reads "[section]" and "key = value"; lines that begin with a blank belong
 * to the key without a value above them:
 *
 *	[profile a]
 *	region = eu-west-1
 *	s3 =
 *	  addressing_style = path
 */
#include "loader/net/s3_profile.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *key;
	bool below_s3;
	size_t at;
} keys[] = {
	{"aws_access_key_id", false, offsetof(struct s3_profile, id)},
	{"aws_secret_access_key", false, offsetof(struct s3_profile, secret)},
	{"aws_session_token", false, offsetof(struct s3_profile, token)},
	{"region", false, offsetof(struct s3_profile, region)},
	{"endpoint_url", false, offsetof(struct s3_profile, endpoint)},
	{"ca_bundle", false, offsetof(struct s3_profile, ca_bundle)},
	{"addressing_style", true, offsetof(struct s3_profile, style)},
};

static const char *const others[] = {"role_arn", "credential_process", "sso_session",
				     "sso_account_id", "web_identity_token_file"};

static const char blanks[] = " \t\r";

/* Without the blanks around it, in place. */
static char *profile_trim(char *text)
{
	char *end;

	text += strspn(text, blanks);
	end = text + strlen(text);
	while (end > text && strchr(blanks, end[-1]) != NULL)
		*--end = '\0';
	return text;
}

/* The name in "[profile a]" or "[a]"; NULL: not of this kind of file. */
static const char *profile_section(char *line, bool config)
{
	char *end = strchr(line, ']');
	char *name;

	if (end == NULL)
		return NULL;
	*end = '\0';
	name = profile_trim(line + 1);
	if (!config || strcmp(name, "default") == 0)
		return name;
	if (strncmp(name, "profile", 7) != 0 || strchr(blanks, name[7]) == NULL ||
	    name[7] == '\0')
		return NULL;
	return profile_trim(name + 7);
}

static void profile_take(struct s3_profile *profile, const char *key, const char *value,
			 bool below_s3)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char **to = (const char **)((char *)profile + keys[i].at);

		if (keys[i].below_s3 == below_s3 && strcmp(key, keys[i].key) == 0 &&
		    *to == NULL && *value != '\0')
			*to = value;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!below_s3 && strcmp(key, others[i]) == 0)
			profile->other = others[i];
}

void s3_profile_read(struct s3_profile *profile, char *text, const char *name,
		     bool config)
{
	bool ours = false, in_s3 = false;
	char *line;

	while ((line = strsep(&text, "\n")) != NULL) {
		bool below = *line == ' ' || *line == '\t';
		char *start = profile_trim(line);
		char *value = strchr(start, '=');

		if (*start == '#' || *start == ';' || *start == '\0')
			continue;
		if (*start == '[') {
			const char *section = profile_section(start, config);

			ours = section != NULL && strcmp(section, name) == 0;
			profile->found |= ours;
			in_s3 = false;
			continue;
		}
		if (!ours || value == NULL)
			continue;
		*value++ = '\0';
		start = profile_trim(start);
		value = profile_trim(value);
		if (!below)
			in_s3 = strcmp(start, "s3") == 0 && *value == '\0';
		if (!below || in_s3)
			profile_take(profile, start, value, below);
	}
}
