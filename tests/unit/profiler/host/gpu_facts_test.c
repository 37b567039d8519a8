#include "profiler/host/gpu_facts.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "tests/lib/tree.h"

#include <stddef.h>
#include <stdio.h>

#define FOLDER "/proc/driver/nvidia"

static struct gpu_facts read_gpus(void)
{
	struct gpu_facts gpus;

	gpu_facts_read(&gpus, scratch_path());
	return gpus;
}

TEST_WITH(a_machine_without_gpus_has_none, scratch_setup, scratch_teardown)
{
	struct gpu_facts gpus = read_gpus();

	assert_string_equal(gpus.driver, "");
	assert_string_equal(gpus.models, "");
	assert_int_equal(gpus.count, 0);
}

TEST_WITH(every_driver_says_its_version, scratch_setup, scratch_teardown)
{
	static const struct {
		const char *text, *driver;
	} rows[] = {
		{"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug "
		 "19 "
		 "01:15:15 UTC 2023\n",
		 "535.104.05"},
		{"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  "
		 "Release Build  (dvs@host)  Sun Jul 27\n",
		 "580.65.06"},
		{"NVRM version: something else\n", ""},
		{"", ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tree_put(scratch_path(), FOLDER "/version", rows[i].text);
		assert_string_equal(read_gpus().driver, rows[i].driver);
	}
}

TEST_WITH(gpus_are_counted_and_each_kind_is_named_once, scratch_setup, scratch_teardown)
{
	struct gpu_facts gpus;

	tree_put(scratch_path(), FOLDER "/gpus/0000:41:00.0/information",
		 "Model: \t\t Slow GPU\nIRQ:   \t\t 2\n");
	tree_put(scratch_path(), FOLDER "/gpus/0000:01:00.0/information",
		 "Model: \t\t Fast GPU\nIRQ:   \t\t 1\n");
	tree_put(scratch_path(), FOLDER "/gpus/0000:02:00.0/information",
		 "Model: \t\t Fast GPU\nIRQ:   \t\t 3\n");
	tree_put(scratch_path(), FOLDER "/gpus/0000:61:00.0/power", "none\n");
	tree_put(scratch_path(), FOLDER "/gpus/0000:81:00.0/information",
		 "Model: \t\t Slow GPU 2\n");
	tree_put(scratch_path(), FOLDER "/gpus/0000:82:00.0/information",
		 "Model: \t\t Slow\n");
	gpus = read_gpus();
	assert_int_equal(gpus.count, 5);
	assert_string_equal(gpus.models, "Fast GPU, Slow GPU, Slow GPU 2, Slow");
}

TEST_WITH(a_long_list_is_cut, scratch_setup, scratch_teardown)
{
	struct gpu_facts gpus;
	char path[100], text[100];

	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), FOLDER "/gpus/0000:%02d:00.0/information",
			 i);
		snprintf(text, sizeof(text), "Model: \t\t A GPU of kind %02d\n", i);
		tree_put(scratch_path(), path, text);
	}
	gpus = read_gpus();
	assert_int_equal(gpus.count, 20);
	assert_memory_equal(gpus.models, "A GPU of kind 00, A GPU", 23);
}
