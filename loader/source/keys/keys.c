/* keys.c - sorts out which keys are samples, and of which class. */
#include "loader/source/keys/keys.h"
#include "loader/base/bytes/array.h"
#include "loader/base/name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where the text lies then; SIZE_MAX: no memory. */
static size_t keys_keep(struct keys *keys, const char *text, size_t length)
{
	size_t at = keys->used;
	char *larger = array_grow(keys->text, &keys->text_room, at + length + 1, 1);

	if (larger == NULL)
		return SIZE_MAX;
	keys->text = larger;
	memcpy(keys->text + at, text, length);
	keys->text[at + length] = '\0';
	keys->used += length + 1;
	return at;
}

/* Is a part of the path left out, as a tree leaves it out? */
static bool keys_hidden(const char *name)
{
	while (name != NULL) {
		size_t length = strcspn(name, "/");

		if (name[0] == '.' ||
		    (length == 10 && strncmp(name, "lost+found", 10) == 0))
			return true;
		name = name[length] == '/' ? name + length + 1 : NULL;
	}
	return false;
}

/* The class of a name with a folder: the one of the key before, or a new one. */
static int keys_class(struct keys *keys, const char *name, size_t length,
		      uint32_t *class)
{
	size_t at, *classes;

	if (keys->class_count > 0) {
		const char *last = keys->text + keys->classes[keys->class_count - 1];

		if (strlen(last) == length && memcmp(last, name, length) == 0)
			goto found;
	}
	classes = keys->class_count < KEYS_NO_CLASS - 1
			  ? array_grow(keys->classes, &keys->class_room,
				       keys->class_count + 1, sizeof(*classes))
			  : NULL;
	if (classes == NULL)
		return -ENOMEM;
	keys->classes = classes;
	at = keys_keep(keys, name, length);
	if (at == SIZE_MAX)
		return -ENOMEM;
	keys->classes[keys->class_count++] = at;
found:
	*class = (uint32_t)(keys->class_count - 1);
	return 0;
}

static int keys_add_sample(struct keys *keys, const char *name, uint32_t class,
			   uint64_t size, const char *etag)
{
	struct keys_sample sample = {.size = size, .class = class};
	struct keys_sample *samples = array_grow(keys->samples, &keys->room,
						 keys->count + 1, sizeof(*samples));

	if (samples == NULL)
		return -ENOMEM;
	keys->samples = samples;
	sample.name = keys_keep(keys, name, strlen(name));
	sample.etag = keys_keep(keys, etag, strlen(etag));
	if (sample.name == SIZE_MAX || sample.etag == SIZE_MAX)
		return -ENOMEM;
	keys->samples[keys->count++] = sample;
	keys->plain += class == KEYS_NO_CLASS;
	return 0;
}

/* A name below the prefix. */
static int keys_take(struct keys *keys, const char *name, uint64_t size,
		     const char *etag)
{
	const char *slash = strchr(name, '/');
	const char *leaf = strrchr(name, '/');
	uint32_t class = KEYS_NO_CLASS;
	int result = 0;

	leaf = leaf != NULL ? leaf + 1 : name;
	if (*name == '\0') /* the prefix itself, as a folder */
		return 0;
	if (keys_hidden(name)) {
		keys->ignored++;
		return 0;
	}
	if (slash != NULL)
		result = keys_class(keys, name, (size_t)(slash - name), &class);
	if (result < 0 || *leaf == '\0') /* a folder */
		return result;
	if (keys->is_sample(keys->context, leaf))
		return keys_add_sample(keys, name, class, size, etag);
	keys->ignored++;
	return 0;
}

/* An index has no more room for names. */
static int keys_bound(struct keys *keys)
{
	if (keys->seen >= keys->most)
		return error_set(&keys->error, EFBIG,
				 "the listing has more than %llu keys: name a longer "
				 "prefix, or put the samples into shards",
				 (unsigned long long)keys->most);
	if (keys->used > UINT32_MAX)
		return error_set(&keys->error, EFBIG,
				 "the listing's names are longer than 4 GiB: name a "
				 "longer prefix, or put the samples into shards");
	return 0;
}

int keys_add(struct keys *keys, const char *key, size_t length, uint64_t size,
	     const char *etag)
{
	size_t prefix = strlen(keys->prefix);
	int result = keys_bound(keys);

	if (result < 0)
		return result;
	if (length >= sizeof(keys->last) || strlen(key) != length) {
		keys->seen++;
		keys->ignored++; /* it can't be asked for */
		return 0;
	}
	if (strncmp(key, keys->prefix, prefix) != 0 ||
	    (keys->last[0] != '\0' && strcmp(key, keys->last) <= 0)) {
		char shown[NAME_SHOWN];

		return error_set(&keys->error, EBADMSG,
				 "the listing is none of S3's: '%s' is out of order",
				 name_escape(key, shown, sizeof(shown)));
	}
	memcpy(keys->last, key, length + 1);
	keys->seen++;
	result = keys_take(keys, key + prefix, size, etag);
	return result < 0 ? error_sys(&keys->error, -result, "cannot list it") : 0;
}

void keys_fini(struct keys *keys)
{
	free(keys->samples);
	free(keys->classes);
	free(keys->text);
}
