/*
 * ini.h - lines of a settings file.
 *
 *	# a comment, as is a line that begins with ;
 *	name = value
 *	[section]
 *	name = value with spaces
 */
#ifndef DSA_INI_H
#define DSA_INI_H

struct error;

/* Where a reader is. Begin with {.at = text}: ends with 0, and will be cut up. */
struct ini {
	char *at;
	const char *section; /* "" before the first */
	unsigned line;       /* number of the last line read, from 1 */
};

/*
 * The next setting: 1 with *name and *value, which point into the text; 0 at its end;
 * -EBADMSG when a line is none of the above, said without the file's name.
 */
int ini_next(struct ini *ini, const char **name, const char **value, struct error *err);

#endif
