/* file_kind.c - the table of endings. */
#include "loader/source/index/file_kind.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const struct file_kind file_kinds[] = {
	{"image", "pictures", ".jpg or .jpeg", {".jpg", ".jpeg", ".jpe", ".jfif"}, 0},
	{"audio",
	 "recordings",
	 ".wav, .flac or .ogg",
	 {".wav", ".flac", ".ogg", ".oga", ".opus"},
	 2},
	{"tokens", "tokens", ".bin, .u16 or .u32", {".bin", ".u16", ".u32"}, 1},
};

const struct file_kind *file_kind_of(const char *prep)
{
	for (size_t i = 1; i < sizeof(file_kinds) / sizeof(file_kinds[0]); i++)
		if (prep != NULL && strcmp(prep, file_kinds[i].prep) == 0)
			return &file_kinds[i];
	return &file_kinds[0];
}

bool file_kind_has(const struct file_kind *kind, const char *name)
{
	const char *ending = strrchr(name, '.');

	for (size_t i = 0; ending != NULL && i < FILE_ENDINGS; i++)
		if (kind->endings[i] != NULL &&
		    strcasecmp(ending, kind->endings[i]) == 0)
			return true;
	return false;
}
