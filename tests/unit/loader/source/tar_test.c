#include "loader/base/error.h"
#include "loader/source.h"
#include "tests/lib/nomem.h"
#include "tests/lib/scratch.h"
#include "tests/lib/source_opened.h"
#include "tests/lib/tar_bytes.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tar_bytes tar;
static struct source_config config = {.threads = 4, .index_dir = ""};

static int tar_setup(void **state)
{
	tar.size = 0;
	return scratch_setup(state);
}

/* "name class bytes|" of every sample, as its place has them. */
static const char *listing(const char *dataset)
{
	static char text[4096];
	struct source *source = source_opened(dataset, &config);
	size_t used = 0;

	assert_string_equal(source_kind(source), "tar");
	for (uint32_t i = 0; i < source_count(source); i++) {
		char path[PATH_MAX], name[PATH_MAX], bytes[64];
		struct source_place place;
		int fd;

		source_place(source, i, path, &place);
		assert_true(place.part);
		assert_in_range(place.size, 1, sizeof(bytes));
		fd = openat(place.dir, place.path, O_RDONLY);
		assert_int_equal(pread(fd, bytes, place.size, (off_t)place.offset),
				 place.size);
		close(fd);
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s %s %.*s|",
					 source_name(source, i, name, sizeof(name)),
					 source_class(source, source_label(source, i)),
					 (int)place.size, bytes);
		assert_true(used < sizeof(text));
	}
	source_close(source);
	return text;
}

/* What the archive is refused for, behind "the shard 'x.tar': ". */
static void assert_broken(int code, const char *message)
{
	char whole[512];

	tar_bytes_write(&tar, "x.tar");
	snprintf(whole, sizeof(whole), "the shard 'x.tar': %s", message);
	source_refused("x.tar", &config, code, whole);
	tar.size = 0;
}

static void pair(const char *key, const char *picture, const char *label)
{
	char name[128];

	snprintf(name, sizeof(name), "%s.jpg", key);
	tar_bytes_text(&tar, '0', name, picture);
	snprintf(name, sizeof(name), "%s.cls", key);
	tar_bytes_text(&tar, '0', name, label);
}

TEST_WITH(a_key_joins_picture_and_label, tar_setup, scratch_teardown)
{
	pair("b/2", "two", "dog\n");
	tar_bytes_text(&tar, '0', "a.b.seg.png", "mask");
	tar_bytes_text(&tar, '0', "1.txt", " cat ");
	tar_bytes_text(&tar, '\0', "1.JPEG", "one");
	tar_bytes_text(&tar, '0', "3.json", "{\"caption\": \"x\", \"label\": \"cat\"}");
	tar_bytes_text(&tar, '7', "3.jpe", "three");
	tar_bytes_text(&tar, '0', "readme.txt", "not of a sample");
	tar_bytes_write(&tar, "x.tar");
	assert_string_equal(listing("x.tar"),
			    "x.tar/b/2.jpg dog two|x.tar/1.JPEG cat one|"
			    "x.tar/3.jpe cat three|");
}

TEST_WITH(the_best_label_is_taken, tar_setup, scratch_teardown)
{
	tar_bytes_text(&tar, '0', "1.txt", "a caption");
	tar_bytes_text(&tar, '0', "1.json", "{\"class\": 5}");
	tar_bytes_text(&tar, '0', "1.jpg", "one");
	tar_bytes_text(&tar, '0', "1.cls", "7");
	tar_bytes_text(&tar, '0', "2.json", "{\"caption\": \"no label\"}");
	tar_bytes_text(&tar, '0', "2.jpg", "two");
	tar_bytes_text(&tar, '0', "2.txt", "3");
	tar_bytes_write(&tar, "x.tar");
	assert_string_equal(listing("x.tar"), "x.tar/1.jpg 7 one|x.tar/2.jpg 3 two|");
}

TEST_WITH(without_labels_folders_are_classes, tar_setup, scratch_teardown)
{
	tar_bytes_text(&tar, '5', "data/", "");
	tar_bytes_text(&tar, '0', "data/train/dog/1.jpg", "one");
	tar_bytes_text(&tar, '0', "data/train/cat/in/2.jpg", "two");
	tar_bytes_text(&tar, '0', "data/train/3.jpg", "three");
	tar_bytes_write(&tar, "x.tar");
	assert_string_equal(listing("x.tar"), "x.tar/data/train/dog/1.jpg dog one|"
					      "x.tar/data/train/cat/in/2.jpg cat two|"
					      "x.tar/data/train/3.jpg . three|");
}

TEST_WITH(a_folder_and_a_pattern_are_many_shards, tar_setup, scratch_teardown)
{
	mkdir("s", 0755);
	scratch_text("s/README", "");
	for (int i = 10; i >= 9; i--) {
		char path[32];

		snprintf(path, sizeof(path), "s/a-%03d.tar", i);
		tar.size = 0;
		pair("k", i == 9 ? "nine" : "ten", i == 9 ? "0" : "1");
		tar_bytes_write(&tar, path);
	}
	assert_string_equal(listing("s"),
			    "a-009.tar/k.jpg 0 nine|a-010.tar/k.jpg 1 ten|");
	assert_string_equal(listing("s/a-{009..010}.tar"),
			    "a-009.tar/k.jpg 0 nine|a-010.tar/k.jpg 1 ten|");
	source_refused("s/a-{009..011}.tar", &config, ENOENT,
		       "the shard 's/a-011.tar': cannot be opened: No such file or "
		       "directory");
	source_refused("s/a-{9..8}.tar", &config, EINVAL,
		       "'s/a-{9..8}.tar' counts down: between the braces are the first "
		       "and the last number, of at most 1048576 shards");
}

TEST_WITH(a_folder_with_pictures_is_none_of_shards, tar_setup, scratch_teardown)
{
	struct source *source;

	scratch_file("t/a/1.jpg", 1);
	scratch_file("t/backup.tar", 1);
	source = source_open("t", &config, NULL);
	assert_non_null(source);
	assert_string_equal(source_kind(source), "tree");
	source_close(source);
}

/* Adds members whose names don't fit a header: one by GNU's if told so, then the same one
 * by pax, and one with a prefix. */
static void long_names(const char *name, bool gnu)
{
	char record[256];
	unsigned char *header;

	tar.size = 0;
	if (gnu) {
		tar_bytes_add(&tar, 'L', "././@LongLink", name, strlen(name) + 1);
		tar_bytes_text(&tar, '0', name, "gnu");
	}
	snprintf(record, sizeof(record), "%zu path=%s\n", strlen(name) + 10, name);
	assert_int_equal(strlen(record), strlen(name) + 10);
	tar_bytes_text(&tar, 'g', "global", "13 comment=x\n");
	tar_bytes_text(&tar, 'x', "pax", record);
	tar_bytes_text(&tar, '0', "short", "pax");
	header = tar_bytes_text(&tar, '0', "2.jpg", "ustar");
	memcpy(header + 345, "pre/fix", 7);
	tar_bytes_sum(header);
	tar_bytes_write(&tar, "x.tar");
}

TEST_WITH(long_names_are_read, tar_setup, scratch_teardown)
{
	char name[200], expected[1024];

	memset(name, 'n', sizeof(name));
	strcpy(name + 120, "/1.jpg");
	long_names(name, true);
	/* the first two have one key, and that is one picture too many */
	snprintf(expected, sizeof(expected),
		 "the shard 'x.tar': '...%s' is a second sample with the same key",
		 name + strlen(name) - 116);
	source_refused("x.tar", &config, EINVAL, expected);
	long_names(name, false);
	snprintf(expected, sizeof(expected),
		 "x.tar/%s %.120s pax|x.tar/pre/fix/2.jpg pre ustar|", name, name);
	assert_string_equal(listing("x.tar"), expected);
}

/* The size in a pax header is that of the member, and so is one in base 256. */
TEST_WITH(sizes_are_read_wherever_they_stand, tar_setup, scratch_teardown)
{
	unsigned char *header;

	tar_bytes_text(&tar, 'x', "pax", "9 size=3\n");
	header = tar_bytes_text(&tar, '0', "1.jpg", "one");
	memset(header + 124, '0', 11);
	tar_bytes_sum(header);
	header = tar_bytes_text(&tar, '0', "2.jpg", "two");
	memset(header + 124, 0, 12);
	header[124] = 0x80;
	header[135] = 3;
	tar_bytes_sum(header);
	tar_bytes_write(&tar, "x.tar");
	assert_string_equal(listing("x.tar"), "x.tar/1.jpg . one|x.tar/2.jpg . two|");
}

/* Names and links lead nowhere, as nothing is opened by them. */
TEST_WITH(hostile_names_are_only_names, tar_setup, scratch_teardown)
{
	tar_bytes_text(&tar, '2', "1.jpg", "");
	tar_bytes_text(&tar, '1', "2.jpg", "");
	tar_bytes_text(&tar, '0', "/etc/3.jpg", "three");
	tar_bytes_text(&tar, '0', "../../4.jpg", "four");
	tar_bytes_write(&tar, "x.tar");
	assert_string_equal(listing("x.tar"),
			    "x.tar//etc/3.jpg etc three|x.tar/../../4.jpg .. four|");
}

TEST_WITH(what_is_no_tar_is_refused, tar_setup, scratch_teardown)
{
	unsigned char *header;

	pair("1", "one", "0");
	tar.bytes[1024] ^= 1;
	assert_broken(EBADMSG,
		      "at byte 1024: no tar header is there, or its checksum is "
		      "wrong");
	header = tar_bytes_text(&tar, '0', "1.jpg", "one");
	memset(header + 124, 0xff, 12); /* 2^63 and more */
	tar_bytes_sum(header);
	assert_broken(EBADMSG, "at byte 0: a member's size is no number below 2^62");
	tar_bytes_text(&tar, 'x', "pax", "28 size=9223372036854775808\n");
	assert_broken(EBADMSG, "at byte 512: a member's size is no number below 2^62");
	tar_bytes_text(&tar, 'x', "pax", "18446744073709551616 a=b\n");
	assert_broken(EBADMSG, "at byte 512: its pax header is broken");
	header = tar_bytes_text(&tar, '0', "1.jpg", "one");
	memcpy(header + 124, "77777777777", 12);
	tar_bytes_sum(header);
	assert_broken(ENODATA,
		      "at byte 0: a member ends behind the archive, which is cut "
		      "short");
	tar_bytes_text(&tar, 'S', "1.jpg", "one");
	assert_broken(ENOTSUP,
		      "at byte 0: a sparse file, which can't be read in one piece");
	tar_bytes_text(&tar, 'x', "pax", "22 GNU.sparse.major=1\n");
	assert_broken(ENOTSUP,
		      "at byte 512: a sparse file, which can't be read in one piece");
	tar_bytes_text(&tar, 'g', "pax", "9 size=3\n");
	assert_broken(ENOTSUP,
		      "at byte 512: a pax header gives all members one name or size");
	tar_bytes_add(&tar, 'L', "long", "a\0b.jpg", 7);
	tar_bytes_text(&tar, '0', "1", "one");
	tar_bytes_add(&tar, 'x', "pax", "16 path=a\0b.jpg\n", 16);
	assert_broken(EBADMSG, "at byte 2560: a name has a 0 byte in it");
}

TEST_WITH(labels_must_fit_together, tar_setup, scratch_teardown)
{
	pair("1", "one", "0");
	tar_bytes_text(&tar, '0', "2.jpg", "two");
	assert_broken(ENODATA, "'2.jpg' has no label beside it, as others have (.cls, "
			       ".json or .txt)");
	pair("1", "one", "0");
	pair("2", "two", "dog");
	assert_broken(EINVAL, "'2.jpg' has a word among labels that are numbers");
	pair("1", "one", " \n");
	assert_broken(EINVAL, "'1.cls' is empty or has a 0 byte in it");
	tar_bytes_text(&tar, '0', "1.json", "{\"label\": 3");
	assert_broken(EINVAL, "'1.json' is no JSON");
	pair("1", "one", "0");
	tar_bytes_text(&tar, '0', "1.jpeg", "again");
	assert_broken(EINVAL, "'1.jpeg' is a second sample with the same key");
	tar_bytes_text(&tar, '0', "1.png", "one");
	tar_bytes_write(&tar, "x.tar");
	source_refused("x.tar", &config, ENODATA,
		       "no samples in 'x.tar' (1 others): it needs members such as "
		       "7.jpg, or of recordings 7.wav, with 7.cls, 7.json or 7.txt");
}

/* The same archive has other samples then, also of an index that is kept. */
TEST_WITH(recordings_are_what_audio_asks_for, tar_setup, scratch_teardown)
{
	pair("1", "picture", "0");
	tar_bytes_text(&tar, '0', "2.wav", "sound");
	tar_bytes_text(&tar, '0', "2.cls", "3");
	tar_bytes_text(&tar, '0', "3.jpg", "cover");
	tar_bytes_text(&tar, '0', "3.FLAC", "song");
	tar_bytes_text(&tar, '0', "3.cls", "4");
	tar_bytes_write(&tar, "x.tar");
	config.prep = "audio";
	config.index_dir = "kept";
	for (int i = 0; i < 2; i++)
		assert_string_equal(listing("x.tar"),
				    "x.tar/2.wav 3 sound|x.tar/3.FLAC 4 song|");
	config.prep = NULL;
	assert_string_equal(listing("x.tar"),
			    "x.tar/1.jpg 0 picture|x.tar/3.jpg 4 cover|");
	config.index_dir = "";
}

TEST_WITH(a_compressed_archive_is_refused, tar_setup, scratch_teardown)
{
	scratch_text("x.tar.gz", "\x1f\x8b");
	source_refused("x.tar.gz", &config, ENOTSUP,
		       "'x.tar.gz' is compressed, so samples can't be read from the "
		       "middle of it: dsa dataset convert --format tar unpacks it");
	scratch_text("s/1.tgz", "\x1f\x8b");
	source_refused("s", &config, ENOTSUP,
		       "'s' is compressed, so samples can't be read from the middle of "
		       "it: dsa dataset convert --format tar unpacks it");
}

/* An index that is kept fits until a shard or their number changes. */
TEST_WITH(the_index_of_shards_is_kept, tar_setup, scratch_teardown)
{
	const struct source_config keeping = {.threads = 1, .index_dir = "kept"};
	struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct source *source;

	pair("1", "one", "0");
	scratch_file("s/x", 1);
	tar_bytes_write(&tar, "s/a.tar");
	for (int i = 0; i < 2; i++) {
		source = source_open("s", &keeping, NULL);
		assert_int_equal(source_count(source), 1);
		source_close(source);
	}
	pair("2", "two", "0");
	tar_bytes_write(&tar, "s/a.tar");
	utimensat(AT_FDCWD, "s/a.tar", old, 0);
	source = source_open("s", &keeping, NULL);
	assert_int_equal(source_count(source), 2);
	source_close(source);
}

TEST_WITH(no_memory_is_said, tar_setup, scratch_teardown)
{
	const struct source_config one = {.threads = 1, .index_dir = ""};
	struct source *source = NULL;
	unsigned failures = 0;

	pair("1", "one", "dog");
	tar_bytes_write(&tar, "x.tar");
	while (source == NULL) {
		struct error err = {0};

		nomem_at(failures + 1);
		source = source_open("x.tar", &one, &err);
		nomem_at(0);
		assert_int_equal(err.code, source == NULL ? ENOMEM : 0);
		failures += source == NULL;
	}
	source_close(source);
	assert_in_range(failures, 8, 20);
}
