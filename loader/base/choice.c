/* choice.c - finds a word among choices, and lists them for a message. */
#include "loader/base/choice.h"

#include <stdio.h>
#include <string.h>

int choice_find(const char *choices, const char *word)
{
	size_t length = strlen(word);
	int at = 0;

	for (; choices != NULL; choices = strchr(choices, '|'), at++) {
		choices += *choices == '|';
		if (strcspn(choices, "|") == length &&
		    memcmp(choices, word, length) == 0)
			return at;
	}
	return -1;
}

const char *choice_list(const char *choices, const char *last, char text[CHOICE_TEXT])
{
	const char *join = "";

	for (text[0] = '\0'; choices != NULL; choices = strchr(choices, '|')) {
		size_t used = strlen(text);

		choices += *choices == '|';
		snprintf(text + used, CHOICE_TEXT - used, "%s%.*s", join,
			 (int)strcspn(choices, "|"), choices);
		join = strchr(choices, '|') == strrchr(choices, '|') ? last : ", ";
	}
	return text;
}
