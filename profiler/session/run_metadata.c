/* run_metadata.c - run metadata as JSON in a session, and back. */
#include "profiler/session/run_metadata.h"
#include "loader/base/error.h"
#include "loader/base/name.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Texts and numbers of the profile that travel; unknown ones stay behind. */
#define TEXTS(X)                                                                       \
	X(version)                                                                     \
	X(started)                                                                     \
	X(repeat) X(loader) X(asked) X(loader_choice) X(epoch_ends) X(directory)
#define REALS(X) X(budget_s) X(precision)

/* JSON can't keep bytes that are no UTF-8; what stands for them says that they were. */
static json_t *run_metadata_word(const char *word)
{
	size_t size = 0, lost = strlen(PROFILE_LOST);
	char *copy = malloc(lost * strlen(word) + 1);
	uint32_t point;
	json_t *text;

	if (copy == NULL)
		return NULL;
	while (*word != '\0') {
		size_t length = name_character(word, &point);
		size_t kept = length > 0 ? length : lost;

		memcpy(copy + size, length > 0 ? word : PROFILE_LOST, kept);
		size += kept;
		word += length > 0 ? length : 1;
	}
	copy[size] = '\0';
	text = json_string(copy);
	free(copy);
	return text;
}

static json_t *command_json(char *const *command)
{
	json_t *words = json_array();

	for (char *const *word = command; word != NULL && *word != NULL; word++)
		if (json_array_append_new(words, run_metadata_word(*word)) < 0)
			json_array_append_new(words, json_string(PROFILE_LOST));
	return words;
}

static json_t *environment_json(const struct profile *profile)
{
	json_t *facts = json_object();

	for (size_t i = 0; i < profile->fact_count; i++)
		json_object_set_new(facts, profile->environment[i].key,
				    json_string(profile->environment[i].value));
	return facts;
}

static json_t *about_json(const struct profile *profile)
{
	const char *protocol = profile_word(profile_protocols, &profile->protocol);
	json_t *about = json_object();

	if (protocol != NULL)
		json_object_set_new(about, "protocol", json_string(protocol));
#define TEXT(name)                                                                     \
	if (profile->name != NULL)                                                     \
		json_object_set_new(about, #name, json_string(profile->name));
#define REAL(name)                                                                     \
	if (!isnan(profile->name))                                                     \
		json_object_set_new(about, #name, json_real(profile->name));
	TEXTS(TEXT)
	REALS(REAL)
#undef TEXT
#undef REAL
	if (profile->cores != UNKNOWN)
		json_object_set_new(about, "cores",
				    json_integer((json_int_t)profile->cores));
	json_object_set_new(about, "command", command_json(profile->command));
	json_object_set_new(about, "environment", environment_json(profile));
	return about;
}

int run_metadata_write(const struct profile *profile, char *text, size_t size)
{
	static const char *const spare[] = {"environment", "command", "loader", NULL};
	json_t *about = about_json(profile);
	int result = -ENOMEM;

	for (size_t i = 0; about != NULL; i++) {
		size_t length = json_dumpb(about, text, size, JSON_COMPACT);

		if (length > 0 && length < size) {
			text[length] = '\0';
			result = 0;
			break;
		}
		if (length == 0 || spare[i] == NULL)
			break;
		json_object_del(about, spare[i]);
	}
	json_decref(about);
	return result;
}

static int read_command(const json_t *words, struct profile *profile)
{
	size_t count = json_array_size(words);

	if (count == 0)
		return 0;
	profile->command = calloc(count + 1, sizeof(*profile->command));
	if (profile->command == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const char *word = json_string_value(json_array_get(words, i));

		profile->command[i] = strdup(word == NULL ? "?" : word);
		if (profile->command[i] == NULL)
			return -ENOMEM;
	}
	return 0;
}

static int read_environment(json_t *facts, struct profile *profile)
{
	const char *key;
	json_t *value;

	json_object_foreach(facts, key, value)
	{
		const char *text = json_string_value(value);

		if (profile_set_fact(profile, key, text == NULL ? "?" : text) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int run_metadata_fill(const json_t *about, struct profile *profile)
{
	const char *protocol = json_string_value(json_object_get(about, "protocol"));
	const json_t *cores = json_object_get(about, "cores");
	int result = 0;

	if (protocol != NULL)
		result = profile_word_set(&profile->protocol, profile_protocols,
					  protocol);
#define TEXT(name)                                                                     \
	if (result == 0)                                                               \
		result = profile_copy_text(                                            \
			&profile->name,                                                \
			json_string_value(json_object_get(about, #name)));
#define REAL(name)                                                                     \
	if (json_is_number(json_object_get(about, #name)))                             \
		profile->name = json_number_value(json_object_get(about, #name));
	TEXTS(TEXT)
	REALS(REAL)
#undef TEXT
#undef REAL
	if (json_is_integer(cores) && json_integer_value(cores) > 0)
		profile->cores = (uint64_t)json_integer_value(cores);
	if (result == 0)
		result = read_command(json_object_get(about, "command"), profile);
	if (result == 0)
		result = read_environment(json_object_get(about, "environment"),
					  profile);
	return result;
}

int run_metadata_read(const char *text, struct profile *profile, struct error *err)
{
	json_error_t where;
	json_t *about = json_loads(text, 0, &where);
	int result;

	if (!json_is_object(about)) {
		json_decref(about);
		return error_set(err, EBADMSG, "what the session says of its run: %s",
				 where.text);
	}
	result = run_metadata_fill(about, profile);
	json_decref(about);
	if (result < 0)
		error_sys(err, -result, "reading what the session says of its run");
	return result;
}
