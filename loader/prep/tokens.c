/*
 * tokens.c - a window of tokens, widened to the type that a program computes with.
 *
 * Tokens are stored in 16 or 32 bits, low byte first; the size of a window says which.
 */
#include "loader/base/error.h"
#include "loader/base/limits.h"
#include "loader/prep/op.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct tokens {
	size_t count; /* of a window */
	enum prep_type type;
};

static struct prep_shape tokens_shape(const struct prep_config *config)
{
	return (struct prep_shape){config->type, 1, {config->length + 1}};
}

static int tokens_check(const struct prep_config *config, struct error *err)
{
	if (config->length < 1 || config->length > LIMIT_LENGTH)
		return error_set(
			err, EINVAL,
			"length is " LIMIT_RANGE(LIMIT_LENGTH) " tokens, not %u",
			config->length);
	if (config->type != PREP_I32 && config->type != PREP_I64)
		return error_set(err, EINVAL, "tokens are int64 or int32, not %s",
				 prep_type_names[config->type]);
	if (config->token_bits != 0 && config->token_bits != 16 &&
	    config->token_bits != 32)
		return error_set(err, EINVAL, "token_bits is 16 or 32, not %u",
				 config->token_bits);
	return 0;
}

static void *tokens_new(const struct prep_config *config)
{
	struct tokens *tokens = malloc(sizeof(*tokens));

	if (tokens != NULL)
		*tokens = (struct tokens){config->length + 1ul, config->type};
	return tokens;
}

/* Windows begin at any byte: a token is read by memcpy(). */
static uint32_t tokens_get_16(const unsigned char *bytes, size_t at)
{
	uint16_t token;

	memcpy(&token, bytes + at * sizeof(token), sizeof(token));
	return le16toh(token);
}

static uint32_t tokens_get_32(const unsigned char *bytes, size_t at)
{
	uint32_t token;

	memcpy(&token, bytes + at * sizeof(token), sizeof(token));
	return le32toh(token);
}

#define TOKENS_WIDEN(name, to_type, get)                                               \
	static void name(const unsigned char *bytes, size_t count, void *out)          \
	{                                                                              \
		__typeof__(to_type) *to = out;                                         \
                                                                                       \
		for (size_t i = 0; i < count; i++)                                     \
			to[i] = (to_type)get(bytes, i);                                \
	}
TOKENS_WIDEN(tokens_16_to_32, uint32_t, tokens_get_16)
TOKENS_WIDEN(tokens_16_to_64, int64_t, tokens_get_16)
TOKENS_WIDEN(tokens_32_to_32, uint32_t, tokens_get_32)
TOKENS_WIDEN(tokens_32_to_64, int64_t, tokens_get_32)

/* An int32 has room for the lower half of what 32 bits can be. */
static int tokens_check_range(const unsigned char *bytes, size_t count,
			      struct error *err)
{
	uint32_t all = 0;

	for (size_t i = 0; i < count; i++)
		all |= tokens_get_32(bytes, i);
	return all <= INT32_MAX
		       ? 0
		       : error_set(err, EBADMSG,
				   "a token above 2147483647 is no int32: are they of "
				   "16 bits? else ask for int64");
}

static int tokens_run(void *state, const struct prep_sample *sample, void *out,
		      struct error *err)
{
	const struct tokens *tokens = state;
	const size_t count = tokens->count;
	const bool wide = sample->size == count * 4;

	if (!wide && sample->size != count * 2)
		return error_set(err, EBADMSG,
				 "%zu bytes are no window of %zu tokens of 16 or 32 "
				 "bits",
				 sample->size, count);
	if (tokens->type == PREP_I64) {
		(wide ? tokens_32_to_64 : tokens_16_to_64)(sample->bytes, count, out);
		return 0;
	}
	if (wide && tokens_check_range(sample->bytes, count, err) < 0)
		return -EBADMSG;
	(wide ? tokens_32_to_32 : tokens_16_to_32)(sample->bytes, count, out);
	return 0;
}

const struct prep_op prep_tokens = {
	.name = "tokens",
	.shape = tokens_shape,
	.check = tokens_check,
	.state_new = tokens_new,
	.state_free = free,
	.run = tokens_run,
};
