#include "loader/base/clock.h"
#include "loader/base/error.h"
#include "loader/net.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

/* The test server, and a net that asks it. */
struct asked {
	pid_t pid;
	struct net *net;
	struct net_remote *remote;
};

static void server_path(char path[PATH_MAX])
{
	ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 64);

	assert_true(length > 0);
	path[length] = '\0';
	strcpy(strrchr(path, '/'), "/../tests/tool/s3_server");
}

static void asked_open_with(struct asked *asked, const char *setting, const char *more)
{
	const struct net_config config = {
		.most = 4, .seed = 1, .rest_s = .001, .slow_s = 10};
	char path[PATH_MAX], url[64], port[16] = "";
	struct error err = {0};
	int out[2];

	server_path(path);
	scratch_text("data/a/object", "0123456789");
	assert_int_equal(pipe(out), 0);
	asked->pid = fork();
	if (asked->pid == 0) {
		dup2(out[1], STDOUT_FILENO);
		close(out[0]);
		execl(path, path, setting, more, "data", (char *)NULL);
		_exit(1);
	}
	close(out[1]);
	assert_true(read(out[0], port, sizeof(port) - 1) > 0);
	close(out[0]);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", atoi(port));
	setenv("AWS_ENDPOINT_URL_S3", url, 1);
	asked->remote = net_remote_bucket("bucket", &err);
	asked->net = net_open(&config, &err);
	if (asked->remote == NULL || asked->net == NULL)
		fail_msg("%s", err.message);
}

static void asked_open(struct asked *asked, const char *setting)
{
	asked_open_with(asked, setting, "--times=0");
}

static void asked_close(struct asked *asked)
{
	net_close(asked->net);
	net_remote_close(asked->remote);
	kill(asked->pid, SIGTERM);
	waitpid(asked->pid, NULL, 0);
}

static unsigned char body[64];

static struct net_get object(const struct asked *asked, size_t room)
{
	return (struct net_get){
		.remote = asked->remote,
		.path = "a/object",
		.body = body,
		.room = room,
		.exact = true,
		.deadline = clock_now() + 20000 * MS,
	};
}

TEST_WITH(an_object_whole_and_in_parts, scratch_setup, scratch_teardown)
{
	struct asked asked;
	struct net_get get;
	struct error err = {0};
	char etag[NET_ETAG];

	asked_open(&asked, "--seed=1");
	get = object(&asked, 10);
	assert_int_equal(net_call(asked.net, &get, &err), 0);
	assert_memory_equal(body, "0123456789", 10);
	strcpy(etag, get.found_etag);
	get = object(&asked, 4);
	get.part = true;
	get.from = 3;
	get.etag = etag;
	assert_int_equal(net_call(asked.net, &get, &err), 0);
	assert_memory_equal(body, "3456", 4);
	get = object(&asked, 0);
	get.head = true;
	assert_int_equal(net_call(asked.net, &get, &err), 0);
	assert_int_equal(get.length, 10);
	asked_close(&asked);
}

TEST_WITH(another_object_is_told, scratch_setup, scratch_teardown)
{
	struct asked asked;
	struct net_get get;
	struct error err = {0};

	asked_open(&asked, "--seed=1");
	get = object(&asked, 9); /* longer than was listed */
	assert_int_equal(net_call(asked.net, &get, &err), -ESTALE);
	get = object(&asked, 11);
	assert_int_equal(net_call(asked.net, &get, &err), -ESTALE);
	get = object(&asked, 10);
	get.etag = "\"another\"";
	assert_int_equal(net_call(asked.net, &get, &err), -ESTALE);
	get = object(&asked, 10);
	get.etag = "W/\"weak\""; /* not sent, but compared */
	assert_int_equal(net_call(asked.net, &get, &err), -ESTALE);
	get = object(&asked, 10);
	get.path = "a/none";
	assert_int_equal(net_call(asked.net, &get, &err), -ENOENT);
	get = object(&asked, 10);
	get.part = true;
	get.from = 100;
	assert_int_equal(net_call(asked.net, &get, &err), -ESTALE);
	asked_close(&asked);
}

TEST_WITH(one_that_comes_in_pieces_stays_within_its_room, scratch_setup,
	  scratch_teardown)
{
	static unsigned char large[4 << 20];
	struct asked asked;
	struct net_get get;
	struct error err = {0};

	scratch_file("data/a/large", 3 << 20);
	asked_open(&asked, "--seed=1");
	get = object(&asked, sizeof(large) / 2);
	get.path = "a/large";
	get.body = large;
	assert_int_equal(net_call(asked.net, &get, &err), -ESTALE);
	assert_true(get.got <= get.room);
	asked_close(&asked);
}

/* What a part of an object comes to at such a server. */
static int part_of(const char *path, const char *faults, const char *times,
		   struct net_get *get)
{
	struct asked asked;
	struct error err = {0};
	int result;

	asked_open_with(&asked, faults, times);
	*get = object(&asked, 4);
	get->path = path;
	get->part = true;
	get->from = 3;
	result = net_call(asked.net, get, &err);
	asked_close(&asked);
	return result;
}

TEST_WITH(another_part_is_none, scratch_setup, scratch_teardown)
{
	struct net_get get;

	assert_int_equal(part_of("a/object", "--faults=shift:100%", "--times=1", &get),
			 0);
	assert_int_equal(get.retries, 1);
	assert_memory_equal(body, "3456", 4);
	assert_int_equal(get.length, 10);
	assert_int_equal(part_of("a/object", "--faults=shift:100%", "--times=0", &get),
			 -EBADMSG);
	assert_int_equal(get.retries, 3);
	assert_string_equal(get.error.message,
			    "the server gives bytes 2-5, not from 3 on");
}

TEST_WITH(a_large_body_hides_no_status, scratch_setup, scratch_teardown)
{
	struct net_get get;

	scratch_file("data/a/large", 3 << 20);
	assert_int_equal(part_of("a/large", "--faults=bulky:100%", "--times=1", &get),
			 0);
	assert_int_equal(get.retries, 1);
	assert_int_equal(part_of("a/large", "--faults=whole:100%", "--times=0", &get),
			 -EBADMSG);
	assert_non_null(strstr(get.error.message, "gives no parts of objects (200)"));
}

TEST_WITH(a_bucket_elsewhere_is_told_what_to_set, scratch_setup, scratch_teardown)
{
	struct net_get get;

	assert_int_equal(part_of("a/object", "--faults=moved:100%", "--times=0", &get),
			 -EKEYREJECTED);
	assert_string_equal(
		get.error.message,
		"it is in another region than 'us-east-1', and the server "
		"does not say in which: set AWS_REGION to it, and "
		"AWS_ENDPOINT_URL_S3 where the bucket has an endpoint of its "
		"own");
}

TEST_WITH(the_deadline_ends_it, scratch_setup, scratch_teardown)
{
	struct asked asked;
	struct net_get get;
	struct error err = {0};

	asked_open_with(&asked, "--faults=internal:50%,late:50%", "--late=60s");
	get = object(&asked, 10);
	get.deadline = clock_now() + 3000 * MS;
	assert_int_equal(net_call(asked.net, &get, &err), -ETIMEDOUT);
	assert_true(get.retries > 0);
	assert_non_null(strstr(err.message, "500")); /* and not the try cut short */
	asked_close(&asked);
}

TEST(what_is_stopped_ends)
{
	const atomic_bool stop = true;
	struct asked asked;
	struct net_get get;
	struct error err = {0};

	asked_open(&asked, "--latency=60s");
	get = object(&asked, 10);
	get.stop = &stop;
	assert_int_equal(net_call(asked.net, &get, &err), -ECANCELED);
	assert_string_equal(err.message, "it was stopped");
	get.path = "a"; /* its place is free again */
	assert_int_equal(net_call(asked.net, &get, &err), -ECANCELED);
	asked_close(&asked);
}

static void done_cancelled(struct net_get *get, int result)
{
	*(int *)get->context = result;
}

TEST_WITH(closing_cancels, scratch_setup, scratch_teardown)
{
	struct asked asked;
	struct net_get get;
	int result = 0;

	asked_open(&asked, "--latency=20s");
	get = object(&asked, 10);
	get.done = done_cancelled;
	get.context = &result;
	net_start(asked.net, &get);
	net_wait(asked.net, 10 * MS);
	assert_int_equal(result, 0);
	asked_close(&asked);
	assert_int_equal(result, -ECANCELED);
}

TEST(names_are_encoded)
{
	char text[32] = "x";

	assert_int_equal(net_url_encode(text, sizeof(text), 1, "a b/~", 1), 8);
	assert_string_equal(text, "xa%20b/~");
	assert_int_equal(net_url_decode(text, true), 6);
	assert_string_equal(text, "xa b/~");
	strcpy(text, "a+b%2b%2");
	net_url_decode(text, false);
	assert_string_equal(text, "a+b+%2");
	assert_true(net_url_encode(text, 8, 0, "1234567+", 0) >= 8);
	assert_true(net_url_encode(text, 8, 0, "123456++", 0) >= 8);
}

TEST(parts_of_dots_are_found)
{
	static const char *const with[] = {"http://h/./a", "http://h/a/../b",
					   "http://h/a/..", "http://h/a/.?b"};
	static const char *const without[] = {"http://h/a", "http://h/.a/b..",
					      "http://h/...", "http://h/..a/",
					      "http://h/?a/./b"};

	for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++)
		assert_true(net_url_has_dots(with[i]));
	for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
		assert_false(net_url_has_dots(without[i]));
}

static struct asked ending;

/* Signs, and so needs the TLS library. */
static int signed_call(void)
{
	struct net_get get = object(&ending, 10);

	return net_call(ending.net, &get, NULL);
}

static void call_last(void)
{
	int result = signed_call();

	kill(ending.pid, SIGTERM);
	if (result != -ECANCELED)
		_exit(1);
}

/*
 * Runs first: what exit() does is done in reverse order, and call_last() must find what the
 * libraries of the network have left when they were taken down.
 */
TEST(a_folder_of_the_web_is_as_it_is_typed_or_encoded)
{
	static const char *const urls[] = {"http://h:1/my dir/\xc3\xa4/list.txt",
					   "http://h:1/my%20dir/%C3%a4/list.txt"};

	for (unsigned i = 0; i < 2; i++) {
		struct error err = {0};
		struct net_remote *remote = net_remote_web(urls[i], &err);

		assert_non_null(remote);
		assert_string_equal(net_remote_url(remote),
				    "http://h:1/my%20dir/%C3%A4/");
		net_remote_close(remote);
	}
}

/* It forks: before there are threads. */
TEST_FIRST(a_program_may_end_while_its_loader_asks_on, scratch_setup, scratch_teardown)
{
	pid_t child;
	int status;

	setenv("AWS_ACCESS_KEY_ID", "id", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
	child = fork();
	if (child == 0) {
		atexit(call_last);
		asked_open_with(&ending, "--key=id", "--secret=secret");
		exit(signed_call() == 0 ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	unsetenv("AWS_ACCESS_KEY_ID");
	unsetenv("AWS_SECRET_ACCESS_KEY");
}
