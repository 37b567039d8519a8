/*
 * record_archive.h - a TFRecord file in memory: each record a tf.train.Example of a
 * picture, with the features that TensorFlow's own programs write for ImageNet.
 *
 *	image/class/label	the label's number
 *	image/class/text	the class as it is called
 *	image/encoded		the file
 *	image/format		"jpeg"
 */
#ifndef DSA_RECORD_ARCHIVE_H
#define DSA_RECORD_ARCHIVE_H

#include "profiler/dataset/archive/archive.h"

/* Adds a picture: 0 or -ENOMEM. */
int record_archive_add(struct archive *archive, const void *bytes, size_t size,
		       uint32_t label, const char *class);

#endif
