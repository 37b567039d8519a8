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

/* Of recordings the ending is "wav", "flac" or "ogg". 0 or -ENOMEM. */
int record_archive_add(struct archive *archive, const struct shard_sample *sample);

#endif
