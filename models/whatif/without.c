/* without.c - finds a part by its name, or says which there are. */
#include "models/whatif/without.h"
#include "loader/base/error.h"
#include "loader/base/text/near.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LISTED = 140 }; /* bytes of names; an error's line has no room for more */

/* The name that was meant; NULL: none is near. */
static const char *without_nearest(const struct profile *profile, const char *name)
{
	const char *best = NULL;
	unsigned least = NEAR_FAR;

	for (size_t i = 0; i < profile->part_count; i++) {
		const struct profile_part *part = &profile->parts[i];
		unsigned slips = profile_part_of(profile, part->name) == part
					 ? near_slips(name, part->name)
					 : NEAR_FAR;

		if (slips < least) {
			least = slips;
			best = part->name;
		}
	}
	return best;
}

/* "decode, RandomResizedCrop, ...": the costliest. */
static const char *without_list(const struct profile *profile, char to[LISTED])
{
	size_t used = 0;

	to[0] = '\0';
	for (size_t i = 0; i < profile->part_count; i++) {
		const struct profile_part *part = &profile->parts[i];

		if (part->name == NULL || profile_part_of(profile, part->name) != part)
			continue;
		if (used + strlen(part->name) + sizeof(", , ...") > LISTED) {
			snprintf(to + used, LISTED - used, ", ...");
			break;
		}
		used += (size_t)snprintf(to + used, LISTED - used, "%s%s",
					 used == 0 ? "" : ", ", part->name);
	}
	return to;
}

static int without_refuse(const char *name, const struct profile *profile,
			  struct error *err)
{
	const char *meant = without_nearest(profile, name);
	char list[LISTED];

	if (profile->part_count == 0)
		return error_set(err, EINVAL,
				 "the run did not measure parts of preparation: only a "
				 "program with a loader of its own has them");
	return error_set(err, EINVAL,
			 "no part of preparation is called '%s'%s%s; there are %s",
			 name, meant == NULL ? "" : "; did you mean ",
			 meant == NULL ? "" : meant, without_list(profile, list));
}

int without_set(struct profile_change *change, const char *name,
		const struct profile *profile, struct error *err)
{
	if (profile_part_of(profile, name) == NULL)
		return without_refuse(name, profile, err);
	if (profile_text(&change->without, "%s", name) < 0)
		return error_sys(err, ENOMEM, "reading the changes");
	return 0;
}
