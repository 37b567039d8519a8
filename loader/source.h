/*
 * source.h - where samples are: sample number -> where its bytes lie, size, label.
 *
 * The index is made once, when the source is opened, and never changes after that, so
 * every function but open and close may be called from any thread. Samples are numbered
 * 0..count-1 in an order that does not depend on the file system: those of a directory
 * by path, bytewise, those of a list as the list has them.
 *
 *	directory	one folder per class; label = rank of the folder's name. Samples
 *			are *.jpg, *.jpeg, *.jpe and *.jfif in it, at any depth; links
 *			are followed, names that begin with a dot are not. Everything
 *			else is ignored and counted.
 *			With prep "audio" they are *.wav, *.flac, *.ogg, *.oga and *.opus.
 *	list file	lines "path label"; a relative path starts at the list's folder.
 *			The label is what follows the last blank: all of them numbers
 *			from 0, or words, then label = rank of the word. Empty lines and
 *			lines that begin with # are skipped.
 *	tokens		with prep "tokens": a file *.bin, *.u16 or *.u32, a directory or list
 *			of these, or the same in a bucket, or a list on a web server. They hold
 *			tokens of 16 bits, *.u32 of 32, low byte first. A sample is a window
 *			of length + 1 tokens, and begins with the last token of the one
 *			before it in its file: so each token is predicted once, and what is
 *			left at a file's end never. Labels are those of the files; of a
 *			single one 0.
 *	tar		one archive, a folder of *.tar with neither folders nor samples
 *			in it, or "name-{000..127}.tar"; ustar, pax and GNU, not
 *			compressed. Samples are members key.jpg, with prep "audio" key.wav
 *			and the others above, with key.cls, key.json or key.txt beside
 *			them, in the order of shards and members: the key ends at the
 *			first dot of the last part of a name. Labels are as in a list; of
 *			JSON it is a number or string, or the member label, cls or class.
 *			If no sample has one, classes are the folders in the shards below
 *			those that all names have. What lies beside samples, and links,
 *			are ignored and counted.
 *	tfrecord	one file *.tfrecord (also .tfrecords, .tfrec), or counted as in
 *			"train-00000-of-00128", a folder of these with neither folders nor
 *			pictures in it, or "train-{00000..00127}-of-00128"; not compressed.
 *			Samples are the records, tf.train.Examples, that have a picture
 *			or recording in the feature image_feature; label_feature has the
 *			label, a number or text, as in a list. Unless they are named, the
 *			first record decides: the picture is image/encoded, image,
 *			image_raw, image_bytes, encoded, jpg or jpeg, the recording
 *			audio/encoded, audio, audio_raw, audio_bytes, encoded, wav or
 *			flac, the label image/class/label, label, class, cls, target or
 *			image/class/text, the first that is there. Without a label all
 *			are of one class, ".", and no other may have one. Checksums of
 *			lengths are compared when records are indexed, and those of
 *			records each time one is read.
 *	s3://B/PREFIX	a bucket as a directory: classes are the first folders below the
 *			prefix; without one, the whole bucket. It is listed once, and the
 *			listing kept with the ETags of its objects.
 *			Its tar or TFRecord shards are those that a pattern or a name
 *			gives, or what is below a prefix, as above.
 *	http[s]://...	a list file on a web server; its paths start at its folder there.
 *			One whose lines are names of shards, without labels, is a list
 *			of these.
 *	synthetic[:N]	N samples (default 10000) over a few pictures made in memory
 *
 * Buckets and web servers are asked as loader/net.h says. One of their listings holds until
 * somebody wants another (relist), or an object turns out not to be the one that was listed.
 *
 * A sample that cannot be reached when it is indexed stays in, with size 0: reading it
 * reports why. `./synthetic` is a file or folder of that name.
 */
#ifndef DSA_SOURCE_H
#define DSA_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct net_remote;
struct source;

struct source_config {
	unsigned threads;      /* that read directories; 0: 16, or as many as cores */
	const char *index_dir; /* where index caches are kept; NULL: $XDG_CACHE_HOME/dsa
				* or ~/.cache/dsa; "": keep none */
	uint64_t seed;         /* synthetic: of its pictures */
	const char
		*prep;   /* what becomes of samples (prep_config.op), which decides what
			   * files are samples; NULL: "image" */
	unsigned length; /* tokens: of a window, at least 1 */
	unsigned
		token_bits; /* tokens: 16, 32, or 0: 16, of files not called *.u16, *.u32
			      */
	/* tfrecord: names of features; NULL or "": as the first record has them */
	const char *image_feature, *label_feature;
	bool relist;       /* of a bucket or web server: uses no listing that is kept */
	double deadline_s; /* of a request to one, with all its tries; 0: net.h's */
};

/*
 * Where the bytes of a sample are: a whole file or object of a server, a part of one (a
 * member of a shard), or memory. Exactly one of path, object and memory is not NULL.
 */
struct source_place {
	int dir;                         /* open directory that path is relative to */
	const char *path;                /* of the file: any bytes but '/' runs and 0 */
	const struct net_remote *remote; /* the server that has the */
	const char *object;              /* of this name, below the remote */
	const char *etag;   /* that the object had when it was listed; "": not known */
	const void *memory; /* the sample itself, valid until source_close() */
	uint64_t offset;    /* of the sample in the file or object; 0: a whole one */
	uint32_t size;      /* bytes; of a whole file a hint, as found when indexed */
	bool part;          /* of a file or object: offset and size are exact */
};

/* Bytes of a place. */
struct source_part {
	size_t skip, size;
};

struct source_facts {
	uint32_t count; /* of samples, at least 1 */
	uint32_t classes;
	uint64_t bytes;       /* of all samples together */
	uint64_t ignored;     /* files that are no samples */
	bool remote;          /* some samples are objects of servers: */
	uint64_t requests;    /* that this opening made, */
	double listing_age_s; /* of a listing that was kept; 0: this listed them */
	const char *features; /* of records: "image/encoded, label", the picture and the
			       * label, if there is one; valid as the source is. NULL: no
			       * records */
	uint64_t digest; /* XXH3-64 over (relative path, 0, size, label) of every sample
			   * in order; of a synthetic one, over its count and pictures */
};

struct source *source_open(const char *dataset, const struct source_config *config,
			   struct error *err);
void source_close(struct source *source);

/*
 * A data set's name with one spelling for all that mean the same: "s3://b/" of "s3://b",
 * the scheme, host and port of a URL as clients understand them, the real path of what is
 * there. Opens nothing.
 */
void source_spelling(const char *dataset, char *name, size_t size);

const char *source_kind(const struct source *source); /* "tree", "list" ... */
uint32_t source_count(const struct source *source);   /* at least 1 */
const struct source_facts *source_facts(const struct source *source);
uint32_t source_size(const struct source *source, uint32_t sample); /* bytes */
uint32_t source_label(const struct source *source, uint32_t sample);

/*
 * Fills *place; the path is written into buffer (PATH_MAX bytes) or points into the
 * source, and is valid while both live.
 */
void source_place(const struct source *source, uint32_t sample, char *buffer,
		  struct source_place *place);

/*
 * Writes the name of a sample as messages print it, escaped by name_escape(), into
 * buffer; returns buffer. Of a file that is its path, relative to the data set.
 */
const char *source_name(const struct source *source, uint32_t sample, char *buffer,
			size_t size);

/* True if places hold more than their samples: then source_unseal() finds them. */
bool source_sealed(const struct source *source);

/*
 * Finds a sample in the part->size bytes that were read from its place, and checks them:
 * 0 and *part; or -EBADMSG, and *why, a constant, says what is wrong. Any thread.
 */
int source_unseal(const struct source *source, uint32_t sample, const void *bytes,
		  struct source_part *part, const char **why);

/* A sample is not the object that was listed: the next opening lists anew. True the first
 * time. Any thread. */
bool source_outdated(const struct source *source, uint32_t sample);

/*
 * Several data sets as one: what lies in more than one of them (the same inode, or
 * the same object, at the same offset) is one sample. Its samples are those of the first
 * part, in its order, then those of the second that are new, and so on; labels are those
 * of the first part that has the sample, and classes those of the first part. Takes the
 * parts (1..64), also when it fails.
 */
struct source *source_union(struct source *const *parts, unsigned count,
			    struct error *err);

/* Of a union: its part; and of each sample which parts have it, a bit each. */
const struct source *source_part(const struct source *source, unsigned part);
const uint64_t *source_parts(const struct source *source);

/* The sample's number in a part; UINT32_MAX: it is not in there. */
uint32_t source_in_part(const struct source *source, unsigned part, uint32_t sample);

/* Name of the class, as the folder is called or the label is written; NULL: no such. */
const char *source_class(const struct source *source, uint32_t label);

#endif
