/* json_label.c - walks through JSON as far as its label needs. */
#include "loader/source/shard/json_label.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { DEEPEST = 64, KEY_ROOM = 8 };

struct json_walk {
	const char *at, *end;
};

/* Text that grows in a room of its own; what does not fit is counted alone. */
struct json_text {
	char *bytes;
	size_t room, size;
};

static void json_blank(struct json_walk *walk)
{
	while (walk->at < walk->end && strchr(" \t\r\n", *walk->at) != NULL &&
	       *walk->at != '\0')
		walk->at++;
}

static bool json_take(struct json_walk *walk, char what)
{
	json_blank(walk);
	if (walk->at == walk->end || *walk->at != what)
		return false;
	walk->at++;
	return true;
}

static void json_add(struct json_text *text, unsigned byte)
{
	if (text->size + 1 < text->room)
		text->bytes[text->size] = (char)byte;
	text->size++;
}

static void json_add_point(struct json_text *text, uint32_t point)
{
	if (point < 0x80) {
		json_add(text, point);
		return;
	}
	if (point < 0x800) {
		json_add(text, 0xc0 | point >> 6);
	} else if (point < 0x10000) {
		json_add(text, 0xe0 | point >> 12);
		json_add(text, 0x80 | (point >> 6 & 0x3f));
	} else {
		json_add(text, 0xf0 | point >> 18);
		json_add(text, 0x80 | (point >> 12 & 0x3f));
		json_add(text, 0x80 | (point >> 6 & 0x3f));
	}
	json_add(text, 0x80 | (point & 0x3f));
}

static bool json_hex(struct json_walk *walk, uint32_t *value)
{
	static const char digits[] = "0123456789abcdef";

	*value = 0;
	for (int i = 0; i < 4; i++) {
		const char *digit;

		if (walk->at == walk->end || *walk->at == '\0')
			return false;
		digit = strchr(digits, *walk->at | 0x20);
		if (digit == NULL || *digit == '\0')
			return false;
		*value = *value << 4 | (uint32_t)(digit - digits);
		walk->at++;
	}
	return true;
}

/* After "\u". Half a pair is no character; a 0 would end the label. */
static bool json_unicode(struct json_walk *walk, struct json_text *text)
{
	uint32_t point, low;

	if (!json_hex(walk, &point) || point == 0)
		return false;
	if (point >= 0xd800 && point < 0xdc00) {
		if (walk->end - walk->at < 6 || *walk->at++ != '\\' ||
		    *walk->at++ != 'u' || !json_hex(walk, &low) || low < 0xdc00 ||
		    low > 0xdfff)
			return false;
		point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
	} else if (point >= 0xdc00 && point < 0xe000) {
		return false;
	}
	json_add_point(text, point);
	return true;
}

static bool json_escape(struct json_walk *walk, struct json_text *text)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;

	if (walk->at == walk->end || *walk->at == '\0')
		return false;
	if (*walk->at == 'u') {
		walk->at++;
		return json_unicode(walk, text);
	}
	found = strchr(from, *walk->at++);
	if (found == NULL)
		return false;
	json_add(text, (unsigned char)to[found - from]);
	return true;
}

static bool json_string(struct json_walk *walk, struct json_text *text)
{
	text->size = 0;
	if (!json_take(walk, '"'))
		return false;
	while (walk->at < walk->end) {
		unsigned char byte = (unsigned char)*walk->at++;

		if (byte == '"')
			return true;
		if (byte < ' ' || (byte == '\\' && !json_escape(walk, text)))
			return false;
		if (byte != '\\')
			json_add(text, byte);
	}
	return false;
}

/* A number, true, false or null, whose letters are not looked at closely. */
static bool json_word(struct json_walk *walk, struct json_text *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzE0123456789+-.";

	text->size = 0;
	json_blank(walk);
	while (walk->at < walk->end && *walk->at != '\0' &&
	       strchr(letters, *walk->at) != NULL)
		json_add(text, (unsigned char)*walk->at++);
	return text->size > 0;
}

/* What opens or goes on inside an array or object; the depth is counted, not recursed. */
static bool json_skip(struct json_walk *walk)
{
	char close[DEEPEST];
	int depth = 0;

	do {
		struct json_text nothing = {0};

		json_blank(walk);
		if (walk->at == walk->end)
			return false;
		if (*walk->at == '[' || *walk->at == '{') {
			if (depth == DEEPEST)
				return false;
			close[depth++] = *walk->at++ == '[' ? ']' : '}';
		} else if (depth > 0 && *walk->at == close[depth - 1]) {
			walk->at++;
			depth--;
		} else if (depth > 0 && (*walk->at == ',' || *walk->at == ':')) {
			walk->at++;
		} else if (*walk->at == '"' ? !json_string(walk, &nothing)
					    : !json_word(walk, &nothing)) {
			return false;
		}
	} while (depth > 0);
	return true;
}

/* How good a member is as label: 0 is best. */
static int json_rank(const struct json_text *key)
{
	static const char *const keys[] = {"label", "cls", "class"};

	for (int i = 0; i < 3; i++)
		if (key->size == strlen(keys[i]) &&
		    memcmp(key->bytes, keys[i], key->size) == 0)
			return i;
	return 3;
}

/* True if there is a number or string, and then in *label; anything else is skipped. */
static bool json_scalar(struct json_walk *walk, struct json_text *label, bool *found)
{
	json_blank(walk);
	*found = walk->at < walk->end && (*walk->at == '"' || *walk->at == '-' ||
					  (*walk->at >= '0' && *walk->at <= '9'));
	if (!*found)
		return json_skip(walk);
	return *walk->at == '"' ? json_string(walk, label) : json_word(walk, label);
}

static int json_object(struct json_walk *walk, struct json_text *label)
{
	char bytes[KEY_ROOM] = "";
	int best = 3;

	if (json_take(walk, '}'))
		return -ENOENT;
	do {
		struct json_text key = {.bytes = bytes, .room = sizeof(bytes)};
		bool found = false;
		int rank;

		if (!json_string(walk, &key) || !json_take(walk, ':'))
			return -EBADMSG;
		rank = json_rank(&key);
		if (rank < best ? !json_scalar(walk, label, &found) : !json_skip(walk))
			return -EBADMSG;
		if (found)
			best = rank;
	} while (json_take(walk, ','));
	if (!json_take(walk, '}'))
		return -EBADMSG;
	return best < 3 ? 0 : -ENOENT;
}

int json_label(const char *text, size_t size, char *label, size_t room)
{
	struct json_walk walk = {text, text + size};
	struct json_text into = {.bytes = label, .room = room};
	bool found = false;
	int result = 0;

	if (json_take(&walk, '{')) {
		result = json_object(&walk, &into);
	} else {
		if (!json_scalar(&walk, &into, &found))
			return -EBADMSG;
		if (!found)
			result = -ENOENT;
	}
	json_blank(&walk);
	if (walk.at != walk.end)
		return -EBADMSG;
	if (result < 0)
		return result;
	if (into.size + 1 > room)
		return -EMSGSIZE;
	label[into.size] = '\0';
	return 0;
}
