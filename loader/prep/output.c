/* output.c - what a prepared sample is, in words that two programs can compare. */
#include "loader/prep.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static bool is_default(const struct prep_config *config)
{
	for (int i = 0; i < 3; i++)
		if (config->mean[i] != prep_defaults.mean[i] ||
		    config->std[i] != prep_defaults.std[i])
			return false;
	return true;
}

static void output_normalisation(const struct prep_config *config, char *text,
				 size_t room)
{
	const float *mean = config->mean, *std = config->std;
	float six[6];
	int length;

	if (config->type == PREP_U8)
		length = snprintf(text, room, "%s", "");
	else if (is_default(config))
		length = snprintf(text, room, " ImageNet");
	else
		length = snprintf(text, room, " (x-%.9g,%.9g,%.9g)/%.9g,%.9g,%.9g",
				  (double)mean[0], (double)mean[1], (double)mean[2],
				  (double)std[0], (double)std[1], (double)std[2]);
	if ((size_t)length < room)
		return;
	memcpy(six, mean, sizeof(config->mean));
	memcpy(six + 3, std, sizeof(config->std));
	snprintf(text, room, " mean, std #%016llx",
		 (unsigned long long)XXH3_64bits(six, sizeof(six)));
}

void prep_words(const struct prep_config *config, char *text, size_t room)
{
	const char *type = prep_type_names[config->type];
	int length;

	if (strcmp(config->op, "audio") == 0) {
		snprintf(text, room, "%s %s %gs %uHz", type,
			 config->features == PREP_LOGMEL ? "logmel" : "waveform",
			 config->seconds, config->rate);
		return;
	}
	if (strcmp(config->op, "tokens") != 0) {
		snprintf(text, room, "%s %s %u", type,
			 config->layout == PREP_NHWC ? "NHWC" : "NCHW", config->size);
		return;
	}
	length = snprintf(text, room, "%s tokens %u", type, config->length);
	if (config->token_bits != 0 && (size_t)length < room)
		snprintf(text + length, room - (size_t)length, " of %u bits",
			 config->token_bits);
}

void prep_output(const struct prep_config *config, char text[PREP_OUTPUT])
{
	const bool tokens = strcmp(config->op, "tokens") == 0;
	char words[PREP_OUTPUT], shape[PREP_OUTPUT], norm[PREP_OUTPUT - 33];

	if (strcmp(config->op, "decoded") == 0) {
		snprintf(text, PREP_OUTPUT, "decoded pictures");
		return;
	}
	prep_words(config, words, sizeof(words));
	snprintf(shape, sizeof(shape), "%s%.48s",
		 config->evaluate && !tokens ? "centred " : "", words);
	if (tokens || strcmp(config->op, "audio") == 0)
		norm[0] = '\0';
	else if (strcmp(config->op, "image") == 0 || strcmp(config->op, "canvas") == 0)
		output_normalisation(config, norm, sizeof(norm));
	else
		snprintf(norm, sizeof(norm), " %.16s", config->op);
	snprintf(text, PREP_OUTPUT, "%.32s%s", shape, norm);
}
