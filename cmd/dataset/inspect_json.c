/* inspect_json.c - what a data set holds, as JSON. */
#include "cmd/common/cmd.h"
#include "cmd/dataset/inspect_print.h"
#include "loader/audio.h"
#include "loader/base/name.h"
#include "loader/prep.h"
#include "loader/source.h"
#include "profiler/dataset/inspect.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

static json_t *law_json(const struct inspect_law *law)
{
	static const char *const keys[INSPECT_QUANTILES] = {"min", "p5",  "p25", "p50",
							    "p75", "p95", "max"};
	json_t *json = json_pack("{s:f}", "mean", law->mean);

	for (unsigned i = 0; i < INSPECT_QUANTILES; i++)
		json_object_set_new(json, keys[i],
				    json_integer((json_int_t)law->quantile[i]));
	return json;
}

static json_t *classes_json(const struct inspect *result)
{
	json_t *json = json_object();

	for (uint32_t i = 0; i < result->classes; i++) {
		char name[NAME_SHOWN];

		json_object_set_new(json,
				    name_escape(source_class(result->source, i), name,
						sizeof(name)),
				    json_integer(result->per_class[i]));
	}
	return json;
}

static json_t *sampling_json(const struct inspect *result)
{
	json_t *json = json_object();

	for (unsigned i = 0; i < INSPECT_SAMPLINGS; i++)
		json_object_set_new(json, inspect_sampling_names[i],
				    json_integer(result->sampling[i]));
	return json;
}

static json_t *broken_json(const struct inspect *result)
{
	json_t *json = json_array();

	for (uint32_t i = 0; i < result->broken; i++) {
		char name[1024];

		source_name(result->source, result->first[i].sample, name,
			    sizeof(name));
		json_array_append_new(json, json_pack("{s:s, s:s}", "path", name, "why",
						      result->first[i].why));
	}
	return json;
}

static json_t *tallies_json(const struct inspect_tallies *tallies, bool formats)
{
	json_t *json = json_object();

	for (uint32_t i = 0; i < tallies->count; i++) {
		const struct inspect_tally *tally = &tallies->list[i];
		char name[AUDIO_FORMAT];

		snprintf(name, sizeof(name), "%" PRIu64, tally->value);
		if (formats)
			prep_recording_format((unsigned)tally->value, name);
		json_object_set_new(json, name, json_integer(tally->count));
	}
	return json;
}

static void inspect_json_images(const struct inspect *result, json_t *json)
{
	json_t *more = json_pack(
		"{s:I, s:o, s:o, s:I, s:I, s:I, s:I}", "images",
		(json_int_t)result->count, "size_bytes", law_json(&result->size),
		"sampling", sampling_json(result), "gray", (json_int_t)result->gray,
		"cmyk", (json_int_t)result->cmyk, "progressive",
		(json_int_t)result->progressive, "restart_markers",
		(json_int_t)result->restarts);

	json_object_update(json, more);
	json_decref(more);
	if (result->readable > 0) {
		json_object_set_new(json, "width_pixels", law_json(&result->width));
		json_object_set_new(json, "height_pixels", law_json(&result->height));
	}
}

static void inspect_json_audio(const struct inspect *result, json_t *json)
{
	const struct inspect_audio *audio = &result->audio;
	json_t *more = json_pack("{s:I, s:o, s:o, s:o, s:o}", "recordings",
				 (json_int_t)result->count, "size_bytes",
				 law_json(&result->size), "rate_hz",
				 tallies_json(&audio->rates, false), "channels",
				 tallies_json(&audio->channels, false), "format",
				 tallies_json(&audio->formats, true));

	json_object_update(json, more);
	json_decref(more);
	if (result->readable > 0) {
		json_object_set_new(json, "seconds", json_real(audio->seconds));
		json_object_set_new(json, "length_ms", law_json(&audio->length_ms));
	}
}

static void inspect_json_tokens(const struct inspect *result, json_t *json)
{
	const struct inspect_tokens *tokens = &result->tokens;
	json_t *more = json_pack(
		"{s:I, s:I, s:I, s:I}", "windows", (json_int_t)result->count, "files",
		(json_int_t)tokens->files, "tokens", (json_int_t)tokens->tokens,
		"largest_token", (json_int_t)tokens->largest);

	json_object_update(json, more);
	json_decref(more);
	if (tokens->bits != 0)
		json_object_set_new(json, "token_bits", json_integer(tokens->bits));
}

void dataset_inspect_print_json(const char *dataset, const struct inspect *result)
{
	static void (*const kinds[])(const struct inspect *result, json_t *json) = {
		inspect_json_images, inspect_json_audio, inspect_json_tokens};
	const struct source_facts *facts = source_facts(result->source);
	char name[1024];
	json_t *json = json_pack("{s:s, s:I, s:I, s:o, s:o}", "path",
				 name_escape(dataset, name, sizeof(name)), "ignored",
				 (json_int_t)facts->ignored, "bytes",
				 (json_int_t)result->bytes, "classes",
				 classes_json(result), "broken", broken_json(result));

	kinds[result->kind](result, json);
	if (facts->features != NULL)
		json_object_set_new(
			json, "features",
			json_string(name_escape(facts->features, name, sizeof(name))));
	cmd_print_json(json, 9);
}
