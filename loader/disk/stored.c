/* stored.c - names and heads of stored objects. */
#include "loader/disk/stored.h"
#include "loader/base/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define STORED_MAGIC UINT64_C(0x3165686361437344) /* "DsCache1" */

/* As it lies in the file: in the order of bytes of the machine, which the magic tells. */
struct stored_head {
	uint64_t magic;
	uint64_t id[2];
	uint64_t version;
	uint64_t length;
	uint64_t check; /* XXH3-64 of the bytes */
	uint64_t zero;
	uint64_t head_check; /* of all before it */
};

_Static_assert(sizeof(struct stored_head) == STORED_HEAD, "the head has no holes");

void stored_path(const struct stored_key *key, char path[STORED_NAME])
{
	snprintf(path, STORED_NAME, "%02x/%016" PRIx64 "%016" PRIx64 "-%08" PRIx32,
		 (unsigned)(key->id[0] >> 56), key->id[0], key->id[1], key->size);
}

/* So many hex digits, lower case. False: there are others. */
static bool stored_digits(const char **text, int count, uint64_t *value)
{
	*value = 0;
	for (int i = 0; i < count; i++) {
		char c = *(*text)++;

		if (c >= '0' && c <= '9')
			*value = *value << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			*value = *value << 4 | (uint64_t)(c - 'a' + 10);
		else
			return false;
	}
	return true;
}

bool stored_read_name(const char *name, struct stored_key *key)
{
	uint64_t size;

	if (!stored_digits(&name, 16, &key->id[0]) ||
	    !stored_digits(&name, 16, &key->id[1]) || *name++ != '-' ||
	    !stored_digits(&name, 8, &size) || *name != '\0')
		return false;
	key->size = (uint32_t)size;
	return size > 0 && size <= LIMIT_SAMPLE;
}

static uint64_t stored_head_check(const struct stored_head *head)
{
	return XXH3_64bits(head, offsetof(struct stored_head, head_check));
}

void stored_make_head(const struct stored_key *key, const void *bytes, uint32_t length,
		      unsigned char to[STORED_HEAD])
{
	struct stored_head head = {
		.magic = STORED_MAGIC,
		.id = {key->id[0], key->id[1]},
		.version = key->version,
		.length = length,
		.check = XXH3_64bits(bytes, length),
	};

	head.head_check = stored_head_check(&head);
	memcpy(to, &head, sizeof(head));
}

int stored_check(const struct stored_key *key, const unsigned char *file, size_t size)
{
	struct stored_head head;

	if (size <= STORED_HEAD || size > (size_t)STORED_HEAD + key->size)
		return -EBADMSG;
	memcpy(&head, file, sizeof(head));
	if (head.magic != STORED_MAGIC || head.head_check != stored_head_check(&head) ||
	    head.id[0] != key->id[0] || head.id[1] != key->id[1] ||
	    head.length != size - STORED_HEAD)
		return -EBADMSG;
	if (head.check != XXH3_64bits(file + STORED_HEAD, head.length))
		return -EBADMSG;
	return head.version == key->version ? 0 : -ESTALE;
}
