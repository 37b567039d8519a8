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

void prep_output(const struct prep_config *config, char text[PREP_OUTPUT])
{
	char shape[PREP_OUTPUT], norm[PREP_OUTPUT - 33];

	if (strcmp(config->op, "decoded") == 0) {
		snprintf(text, PREP_OUTPUT, "decoded pictures");
		return;
	}
	snprintf(shape, sizeof(shape), "%s%s %s %u", config->evaluate ? "centred " : "",
		 prep_type_names[config->type],
		 config->layout == PREP_NHWC ? "NHWC" : "NCHW", config->size);
	if (strcmp(config->op, "image") == 0 || strcmp(config->op, "canvas") == 0)
		output_normalisation(config, norm, sizeof(norm));
	else
		snprintf(norm, sizeof(norm), " %.16s", config->op);
	snprintf(text, PREP_OUTPUT, "%.32s%s", shape, norm);
}
