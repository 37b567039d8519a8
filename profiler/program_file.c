/* program_file.c - looks along PATH, at a script's first line, at an ELF file's head. */
#include "profiler/program_file.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool program_file_executable(const char *path)
{
	struct stat found;

	return stat(path, &found) == 0 && S_ISREG(found.st_mode) &&
	       access(path, X_OK) == 0;
}

bool program_file_find(const char *name, char *path, size_t size)
{
	const char *at = getenv("PATH");

	if (strchr(name, '/') != NULL) {
		snprintf(path, size, "%s", name);
		return program_file_executable(path);
	}
	while (at != NULL && *at != '\0') {
		size_t length = strcspn(at, ":");

		if (snprintf(path, size, "%.*s/%s", (int)length, at, name) <
			    (int)size &&
		    program_file_executable(path))
			return true;
		at += length + (at[length] == ':');
	}
	return false;
}

/* The next word of a line; NULL: there is none. */
static char *program_file_word(char **rest)
{
	char *word;

	do
		word = strsep(rest, " \t");
	while (word != NULL && *word == '\0');
	return word;
}

/* Of the line behind its "#!". */
static void program_file_words(char *line, char *words, size_t room)
{
	char *word = program_file_word(&line);

	if (word != NULL && strcmp(word, "/usr/bin/env") == 0)
		do
			word = program_file_word(&line);
		while (word != NULL && (*word == '-' || strchr(word, '=') != NULL));
	words[0] = '\0';
	for (size_t used = 0; word != NULL && used < room;
	     word = program_file_word(&line))
		used += (size_t)snprintf(words + used, room - used, "%s%s",
					 used > 0 ? " " : "", word);
}

bool program_file_script(const char *path, char *words, size_t room)
{
	char text[512];
	FILE *file = fopen(path, "re");
	bool script = file != NULL && fgets(text, sizeof(text), file) != NULL &&
		      text[0] == '#' && text[1] == '!';

	if (file != NULL)
		fclose(file);
	if (!script)
		return false;
	text[strcspn(text, "\n")] = '\0';
	program_file_words(text + 2, words, room);
	return true;
}

/* The part of an ELF file that names its loader. */
static bool program_file_part(FILE *file, Elf64_Phdr *part)
{
	Elf64_Ehdr head;

	if (fread(&head, sizeof(head), 1, file) != 1 ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(*part))
		return false;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		if (fseek(file, (long)(head.e_phoff + i * sizeof(*part)), SEEK_SET) <
			    0 ||
		    fread(part, sizeof(*part), 1, file) != 1)
			return false;
		if (part->p_type == PT_INTERP)
			return true;
	}
	return false;
}

bool program_file_loader(const char *path, char *loader, size_t room)
{
	FILE *file = fopen(path, "re");
	Elf64_Phdr part;
	bool found = file != NULL && program_file_part(file, &part) &&
		     part.p_filesz >= 2 && part.p_filesz <= room &&
		     fseek(file, (long)part.p_offset, SEEK_SET) == 0 &&
		     fread(loader, part.p_filesz, 1, file) == 1;

	if (file != NULL)
		fclose(file);
	if (found)
		loader[part.p_filesz - 1] = '\0';
	return found;
}
