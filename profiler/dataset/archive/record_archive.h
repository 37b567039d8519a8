/*
 * record_archive.h - a TFRecord file in memory: each record a tf.train.Example. Of a picture
 * with the features that TensorFlow's own programs write for ImageNet:
 *
 *	image/class/label	the label's number	of a recording	label
 *	image/class/text	the class as it is called		class
 *	image/encoded		the file				audio/encoded
 *	image/format		"jpeg"					audio/format: "wav"
 */
#ifndef DSA_RECORD_ARCHIVE_H
#define DSA_RECORD_ARCHIVE_H

#include "profiler/dataset/archive/archive.h"

struct record_sample {
	const void *bytes;
	size_t size;
	uint32_t label;
	const char *class;
	const char *ending; /* "jpg"; of recordings "wav", "flac" or "ogg" */
};

/* 0 or -ENOMEM. */
int record_archive_add(struct archive *archive, const struct record_sample *sample);

#endif
