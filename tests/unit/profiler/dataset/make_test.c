#include "loader/base/error.h"
#include "profiler/dataset/make.h"
#include "tests/lib/nomem.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct folder {
	char top[32], path[64]; /* path does not exist yet */
};

/* Runs a shell command with $1 and $2; true if it succeeds. */
static bool shell(const char *script, const char *one, const char *two)
{
	char command[512];

	snprintf(command, sizeof(command), "set -- %s %s; %s", one, two, script);
	return system(command) == 0; /* NOLINT(cert-env33-c): a test's own words */
}

static int set_up(void **state)
{
	struct folder *folder = calloc(1, sizeof(*folder));

	strcpy(folder->top, "/tmp/dsa-make.XXXXXX");
	*state = folder;
	if (mkdtemp(folder->top) == NULL)
		return -1;
	snprintf(folder->path, sizeof(folder->path), "%s/set", folder->top);
	return 0;
}

static int tear_down(void **state)
{
	struct folder *folder = *state;
	bool removed = shell("rm -rf $1", folder->top, "");

	free(folder);
	return removed ? 0 : -1;
}

static struct make_config config_of(const struct folder *folder, unsigned threads)
{
	return (struct make_config){.dir = folder->path,
				    .count = 24,
				    .seed = 3,
				    .size_mean = 8e3,
				    .quality = 91,
				    .classes = 10,
				    .threads = threads};
}

static void make_it(const struct make_config *config, uint64_t *bytes)
{
	struct make_result result;
	struct error err = {0};

	assert_int_equal(make_run(config, &result, &err), 0);
	*bytes = result.bytes;
}

TEST_WITH(any_number_of_threads_makes_the_same_bytes, set_up, tear_down)
{
	const struct folder *folder = *state;
	struct make_config one = config_of(folder, 1), many = config_of(folder, 5);
	char other[80];
	uint64_t bytes[2];

	snprintf(other, sizeof(other), "%s-2", folder->path);
	many.dir = other;
	make_it(&one, &bytes[0]);
	make_it(&many, &bytes[1]);
	assert_int_equal(bytes[0], bytes[1]);
	assert_true(shell("diff -r $1 $2", folder->path, other));
	assert_true(shell("test $(find $1 -type f | wc -l) = 24", folder->path, ""));
	assert_true(shell("test $(ls $1 | wc -l) = 10", folder->path, ""));
}

TEST_WITH(another_seed_makes_other_pictures, set_up, tear_down)
{
	const struct folder *folder = *state;
	struct make_config config = config_of(folder, 1);
	char other[80];
	uint64_t bytes;

	make_it(&config, &bytes);
	snprintf(other, sizeof(other), "%s-2", folder->path);
	config.dir = other;
	config.seed++;
	make_it(&config, &bytes);
	assert_false(shell("cmp -s $1/bricks/000000.jpg $2/bricks/000000.jpg",
			   folder->path, other));
}

TEST_WITH(a_list_names_every_picture_and_its_class, set_up, tear_down)
{
	const struct folder *folder = *state;
	struct make_config config = config_of(folder, 2);
	uint64_t bytes;

	config.format = MAKE_LIST;
	make_it(&config, &bytes);
	assert_true(shell("test $(wc -l <$1/list.txt) = 24", folder->path, ""));
	assert_true(shell("grep -qx 'images/000012.jpg crosses' $1/list.txt",
			  folder->path, ""));
	assert_true(shell("cd $1 && cut -d' ' -f1 list.txt | xargs ls >/dev/null",
			  folder->path, ""));
}

/* In the order of a list, whatever makes them, and as tar reads them. */
TEST_WITH(shards_hold_what_a_list_names, set_up, tear_down)
{
	const struct folder *folder = *state;
	struct make_config config = config_of(folder, 1);
	char list[64];
	uint64_t bytes, more;

	snprintf(list, sizeof(list), "%s/list", folder->top);
	config.dir = list;
	config.format = MAKE_LIST;
	make_it(&config, &bytes);
	config = config_of(folder, 3);
	config.format = MAKE_TAR;
	config.shard_size = 50e3;
	make_it(&config, &more);
	assert_int_equal(bytes, more);
	assert_true(shell("cd $1 && test \"$(echo *)\" = \"$(printf 'shard-00000%d.tar "
			  "' 0 1 2 3 | sed 's/ $//')\"",
			  folder->path, ""));
	assert_true(shell("cd $1 && for t in *; do tar xf $t && rm $t || exit; done && "
			  "for p in *.jpg; do cmp $p $2/images/$p || exit; "
			  "grep -qx \"images/$p $(cat ${p%.jpg}.txt)\" $2/list.txt || "
			  "exit; done && test $(ls | wc -l) = 48",
			  folder->path, list));
}

/* A file that was made. */
struct made {
	unsigned char bytes[1 << 17];
	size_t size;
};

static void read_made(const struct folder *folder, const char *name, struct made *made)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	file = fopen(path, "rb");
	assert_non_null(file);
	made->size = fread(made->bytes, 1, sizeof(made->bytes), file);
	fclose(file);
	assert_in_range(made->size, 100, sizeof(made->bytes) - 1);
}

/* How much of a frequency there is in a recording. */
static double loudness(const struct made *made, double hz)
{
	double x = 0, y = 0;

	for (size_t at = 44; at < made->size; at += 2) {
		double value = (int16_t)(made->bytes[at] | made->bytes[at + 1] << 8);
		double turn = 2 * M_PI * hz * (double)(at - 44) / 2 / 16000;

		x += value * cos(turn);
		y += value * sin(turn);
	}
	return hypot(x, y);
}

TEST_WITH(recordings_are_tones_that_tell_their_class, set_up, tear_down)
{
	static const char *const names[] = {
		"tone-0110hz/000000.wav", "tone-0113hz/000001.wav",
		"tone-0117hz/000002.wav", "tone-0120hz/000003.wav"};
	struct make_config config = config_of(*state, 2);
	uint64_t bytes;

	config.format = MAKE_AUDIO;
	config.classes = 4;
	config.size_mean = 32e3;
	make_it(&config, &bytes);
	assert_in_range(bytes, 24 * 28e3, 24 * 36e3);
	for (int i = 0; i < 4; i++) {
		struct made made;
		int loudest = 0;
		double most = 0;

		read_made(*state, names[i], &made);
		assert_memory_equal(made.bytes, "RIFF", 4);
		assert_int_equal(made.bytes[40] | made.bytes[41] << 8 |
					 made.bytes[42] << 16,
				 made.size - 44);
		for (int j = 0; j < 4; j++) {
			double there = loudness(&made, 110 * exp2(j / 24.));

			if (there > most)
				loudest = j;
			most = fmax(most, there);
		}
		assert_int_equal(loudest, i);
	}
}

/* The most frequent one of a file. */
static uint32_t commonest(const struct made *made, size_t width, uint32_t vocabulary)
{
	unsigned *counts = calloc(vocabulary, sizeof(*counts));
	uint32_t most = 0;

	assert_non_null(counts);
	for (size_t at = 0; at < made->size; at += width) {
		uint32_t token = 0;

		memcpy(&token, made->bytes + at, width);
		assert_in_range(token, 0, vocabulary - 1);
		if (++counts[token] > counts[most])
			most = token;
	}
	free(counts);
	return most;
}

TEST_WITH(tokens_have_a_class_and_a_width, set_up, tear_down)
{
	struct make_config config = config_of(*state, 2);
	char other[80];
	struct made made;
	uint64_t bytes;

	config.format = MAKE_TOKENS;
	config.classes = 2;
	config.token_bits = 16;
	make_it(&config, &bytes);
	read_made(*state, "topic-00/000000.u16", &made);
	assert_int_equal(made.size % 2, 0);
	assert_int_equal(commonest(&made, 2, 50257), 0);
	read_made(*state, "topic-01/000001.u16", &made);
	assert_int_equal(commonest(&made, 2, 50257), 50257 / 2);
	snprintf(other, sizeof(other), "%s/more", config.dir);
	config.dir = other;
	config.token_bits = 32;
	make_it(&config, &bytes);
	read_made(*state, "more/topic-01/000001.u32", &made);
	assert_int_equal(made.size % 4, 0);
	assert_int_equal(commonest(&made, 4, 128256), 128256 / 2);
}

TEST_WITH(what_is_there_is_never_touched, set_up, tear_down)
{
	const struct folder *folder = *state;
	struct make_config config = config_of(folder, 1);
	struct make_result result;
	struct error err = {0};

	assert_true(shell("mkdir $1 && echo mine >$1/notes", folder->path, ""));
	assert_int_equal(make_run(&config, &result, &err), -ENOTEMPTY);
	assert_non_null(strstr(err.message, "is not empty"));
	assert_true(shell("test $(ls $1) = notes", folder->path, ""));
}

TEST_WITH(an_empty_folder_is_used_and_kept, set_up, tear_down)
{
	const struct folder *folder = *state;
	struct make_config config = config_of(folder, 1);
	uint64_t bytes;

	assert_int_equal(mkdir(folder->path, 0777), 0);
	make_it(&config, &bytes);
	assert_true(shell("test $(find $1 -type f | wc -l) = 24", folder->path, ""));
}

static void stop_after_five(void *arg, size_t made)
{
	if (made == 5)
		atomic_store((atomic_bool *)arg, true);
}

TEST_WITH(stopped_it_leaves_nothing, set_up, tear_down)
{
	const struct folder *folder = *state;
	struct make_config config = config_of(folder, 2);
	struct make_result result;
	struct error err = {0};
	atomic_bool stop = false;

	config.stop = &stop;
	config.progress = stop_after_five;
	config.arg = &stop;
	assert_int_equal(make_run(&config, &result, &err), -ECANCELED);
	assert_int_equal(access(folder->path, F_OK), -1);
}

TEST_WITH(shards_that_are_stopped_leave_nothing, set_up, tear_down)
{
	const struct folder *folder = *state;
	struct make_config config = config_of(folder, 2);
	struct make_result result;
	struct error err = {0};
	atomic_bool stop = false;

	config.format = MAKE_TAR;
	config.shard_size = 20e3;
	config.stop = &stop;
	config.progress = stop_after_five;
	config.arg = &stop;
	assert_int_equal(make_run(&config, &result, &err), -ECANCELED);
	assert_int_equal(access(folder->path, F_OK), -1);
}

/* A limit of the file size does what a full disk does: write() fails. */
TEST_WITH(a_failed_write_is_named_and_leaves_nothing, set_up, tear_down)
{
	const struct folder *folder = *state;
	struct make_config config = config_of(folder, 2);
	struct rlimit before, limit;
	struct make_result result;
	struct error err = {0};

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = 9000;
	setrlimit(RLIMIT_FSIZE, &limit);
	assert_int_equal(make_run(&config, &result, &err), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_non_null(strstr(err.message, "set/"));
	assert_non_null(strstr(err.message, ".jpg: File too large"));
	assert_int_equal(access(folder->path, F_OK), -1);
}

TEST_WITH(an_impossible_folder_is_named_in_one_line, set_up, tear_down)
{
	const struct folder *folder = *state;
	struct make_config config = config_of(folder, 1);
	struct make_result result;
	struct error err = {0};
	char path[96];

	snprintf(path, sizeof(path), "%s/no/such\n\"place\"", folder->top);
	config.dir = path;
	assert_int_equal(make_run(&config, &result, &err), -ENOENT);
	assert_non_null(strstr(err.message, "/no/such\\n\\\"place\\\": No such file"));
}

static void assert_memory_is_missed(const struct folder *folder,
				    enum make_format format)
{
	struct make_config config = config_of(folder, 1);
	struct make_result result;
	struct error err = {0};
	unsigned failures = 0;

	config.count = 1;
	config.format = format;
	for (;; failures++) {
		nomem_at(failures + 1);
		if (make_run(&config, &result, &err) == 0)
			break;
		assert_int_equal(err.code, ENOMEM);
		assert_int_equal(access(folder->path, F_OK), -1);
	}
	nomem_at(0);
	assert_in_range(failures, 2, 100);
	assert_true(shell("rm -r $1", folder->path, ""));
}

TEST_WITH(make_says_so_when_memory_runs_out, set_up, tear_down)
{
	assert_memory_is_missed(*state, MAKE_LIST);
	assert_memory_is_missed(*state, MAKE_TAR);
	assert_memory_is_missed(*state, MAKE_AUDIO);
	assert_memory_is_missed(*state, MAKE_TOKENS);
}
