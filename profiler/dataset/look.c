/* look.c - reads the header of a sample, or decodes all of it. */
#include "profiler/dataset/look.h"
#include "loader/base/error.h"
#include "loader/prep.h"
#include "loader/source.h"
#include "profiler/dataset/sample_file.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 32768 }; /* bytes that hold the header of almost every picture */

struct looker {
	enum sample_kind kind;
	struct jpeg *jpeg; /* of pictures, as what follows */
	struct prep *prep;
	struct prep_worker *worker;
	uint8_t *out; /* prepared, then ignored */
	struct sample_bytes whole;
	uint8_t head[HEAD];
};

/*
 * Crops of all of the area and of any shape: the only one that fits is the whole
 * picture, so that every row of it is decoded.
 */
static struct prep *open_prep(void)
{
	struct prep_config config = prep_defaults;

	config.type = PREP_U8;
	config.size = 8;
	config.flip = 0;
	config.scale[0] = config.scale[1] = 1;
	config.ratio[0] = 1e-5;
	config.ratio[1] = 1e5;
	return prep_open(&config, NULL);
}

struct looker *looker_new(enum sample_kind kind)
{
	struct looker *looker = calloc(1, sizeof(*looker));

	if (looker == NULL)
		return NULL;
	looker->kind = kind;
	if (kind != SAMPLE_IMAGE)
		return looker;
	looker->jpeg = jpeg_new();
	looker->prep = open_prep();
	if (looker->prep != NULL) {
		looker->worker = prep_worker_new(looker->prep);
		looker->out = malloc(prep_sample_bytes(looker->prep));
	}
	if (looker->jpeg == NULL || looker->worker == NULL || looker->out == NULL) {
		looker_free(looker);
		return NULL;
	}
	return looker;
}

void looker_free(struct looker *looker)
{
	if (looker == NULL)
		return;
	prep_worker_free(looker->worker);
	prep_close(looker->prep);
	jpeg_free(looker->jpeg);
	free(looker->out);
	sample_bytes_fini(&looker->whole);
	free(looker);
}

/* By how it begins. */
static bool look_is_jpeg(const unsigned char *bytes, size_t size)
{
	return size >= 2 && bytes[0] == 0xff && bytes[1] == 0xd8;
}

static int look_read_header(struct looker *looker, const struct sample_file *file,
			    struct jpeg_info *header, struct error *err)
{
	size_t head = file->size < HEAD ? (size_t)file->size : HEAD;
	int result = sample_file_read(file, 0, looker->head, head);

	if (result != 0)
		return error_sys(err, -result, "cannot be read");
	result = jpeg_open(looker->jpeg, looker->head, head, header, err);
	if (result == -EBADMSG && jpeg_ended(looker->jpeg) && head < file->size) {
		result = sample_file_load(file, &looker->whole, err);
		if (result != 0)
			return result;
		result = jpeg_open(looker->jpeg, looker->whole.bytes,
				   looker->whole.size, header, err);
	}
	if (result == -EFBIG)
		return 0; /* decoding refuses it */
	if (result == -EBADMSG && jpeg_ended(looker->jpeg))
		error_set(err, EBADMSG, "ends within its header");
	else if (result == -EBADMSG && !look_is_jpeg(looker->head, head))
		error_set(err, EBADMSG, "not a JPEG");
	return result;
}

static bool has_end(const struct sample_file *file)
{
	uint8_t end[2];

	return file->size >= 2 && sample_file_read(file, file->size - 2, end, 2) == 0 &&
	       end[0] == 0xff && end[1] == 0xd9;
}

/* Files without an end marker may be whole all the same: decoding proves it. */
static int check_pixels(struct looker *looker, const struct sample_file *file,
			bool full, struct error *err)
{
	int result;

	if (!full && has_end(file))
		return 0;
	result = sample_file_load(file, &looker->whole, err);
	if (result != 0)
		return result;
	return prep_run(looker->worker, looker->whole.bytes, looker->whole.size, 0,
			looker->out, err);
}

static int looker_run_audio(struct looker *looker, const struct sample_file *file,
			    bool full, struct look *look, struct error *err)
{
	struct sample_bytes *whole = &looker->whole;
	struct audio_info info;
	int result = sample_file_load(file, whole, err);

	if (result == 0) {
		const struct prep_recording recording = {whole->bytes, whole->size,
							 full};

		result = prep_recording(&recording, &info, err);
	}
	if (result == 0)
		look->audio = info;
	return result;
}

int looker_run(struct looker *looker, const struct source *source, uint32_t sample,
	       bool full, struct look *look, struct error *err)
{
	struct jpeg_info header;
	struct sample_file file;
	int result = sample_file_open(source, sample, &looker->whole, &file, err);

	if (result == 0) {
		look->size = file.size;
		if (looker->kind == SAMPLE_AUDIO) {
			result = looker_run_audio(looker, &file, full, look, err);
			goto out;
		}
		result = look_read_header(looker, &file, &header, err);
	}
	if (result == 0) {
		look->header = header;
		result = check_pixels(looker, &file, full, err);
	}
out:
	sample_file_close(&file);
	return result;
}

static uint32_t look_largest(const struct sample_bytes *bytes, size_t width)
{
	uint32_t largest = 0;

	for (size_t at = 0; at < bytes->size; at += width) {
		uint32_t token = 0;

		memcpy(&token, bytes->bytes + at, width);
		token = le32toh(token);
		if (token > largest)
			largest = token;
	}
	return largest;
}

int looker_run_tokens(struct looker *looker, struct look_windows *windows,
		      struct look *look, struct error *err)
{
	uint32_t to = windows->to, window = windows->length + 1;
	char first[PATH_MAX], path[PATH_MAX];
	struct source_place place, next;
	size_t width;
	int result;

	source_place(windows->source, windows->from, first, &place);
	look->size = place.size;
	width = place.size / window;
	for (windows->to = windows->from + 1; windows->to < to; windows->to++) {
		source_place(windows->source, windows->to, path, &next);
		if (next.offset != place.offset + place.size - width)
			break; /* the first of another file is at 0 */
		place.size += windows->length * (uint32_t)width;
	}
	result = sample_load_place(&place, &looker->whole, err);
	if (result == 0)
		look->largest = look_largest(&looker->whole, width);
	return result;
}
