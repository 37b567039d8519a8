/* gpu_facts.c - reads /proc/driver/nvidia. */
#include "profiler/host/gpu_facts.h"
#include "loader/base/host/procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "/proc/driver/nvidia"

/* The first word that is a number with dots: "NVRM version: NVIDIA UNIX Open Kernel
 * Module for x86_64  580.65.06  Release Build". */
static void gpu_facts_driver(struct gpu_facts *gpus, const char *root)
{
	char text[256], *rest = text, *word;

	procfs_line(text, sizeof(text), root, FOLDER "/version");
	while ((word = strsep(&rest, " \t")) != NULL) {
		size_t digits = strspn(word, "0123456789.");

		if (isdigit((unsigned char)*word) && word[digits] == '\0' &&
		    strchr(word, '.') != NULL) {
			snprintf(gpus->driver, sizeof(gpus->driver), "%s", word);
			return;
		}
	}
}

static bool gpu_facts_has(const char *models, const char *model)
{
	size_t length = strlen(model);

	for (const char *at = models; (at = strstr(at, model)) != NULL; at += length)
		if ((at == models || at[-1] == ' ') &&
		    (at[length] == '\0' || at[length] == ','))
			return true;
	return false;
}

static void gpu_facts_add_model(struct gpu_facts *gpus, const char *model)
{
	size_t used = strlen(gpus->models);

	if (gpu_facts_has(gpus->models, model))
		return;
	snprintf(gpus->models + used, sizeof(gpus->models) - used, "%s%s",
		 used > 0 ? ", " : "", model);
}

/* "Model: \t\t NVIDIA H100 80GB HBM3" is the first line. */
static void gpu_facts_add(struct gpu_facts *gpus, const char *root, const char *bus)
{
	static const char key[] = "Model:";
	char text[1024], *line;

	if (procfs_read(text, sizeof(text), root, FOLDER "/gpus/%s/information", bus) <=
	    0)
		return;
	gpus->count++;
	line = strstr(text, key);
	if (line == NULL)
		return;
	line += strlen(key);
	line += strspn(line, " \t");
	line[strcspn(line, "\n")] = '\0';
	if (*line != '\0')
		gpu_facts_add_model(gpus, line);
}

static int gpu_facts_is_bus(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

void gpu_facts_read(struct gpu_facts *gpus, const char *root)
{
	char path[PATH_MAX];
	struct dirent **found = NULL;
	int count;

	*gpus = (struct gpu_facts){.count = 0};
	gpu_facts_driver(gpus, root);
	snprintf(path, sizeof(path), "%s" FOLDER "/gpus", root);
	count = scandir(path, &found, gpu_facts_is_bus, alphasort);
	for (int i = 0; i < count; i++) {
		gpu_facts_add(gpus, root, found[i]->d_name);
		free(found[i]);
	}
	free(found);
}
