/* nvidia.c - the checks of NVIDIA's GPUs: driver, CUPTI, and whether its door is
 * free. */
#include "loader/base/host/own_folder.h"
#include "profiler/cupti/cupti_api.h"
#include "profiler/doctor/check.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OLDEST_CUDA = 11080, SHOWN = 100 };

/* It is asked for its version, and not initialised. */
static void gpu_ask_library(struct check_driver *driver)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *found;
	int (*version)(int *version);

	driver->library = library != NULL;
	if (library == NULL)
		return;
	found = dlsym(library, "cuDriverGetVersion");
	memcpy(&version, &found, sizeof(version));
	if (found == NULL || version(&driver->cuda) != 0)
		driver->cuda = 0;
	dlclose(library);
}

/* Windows' driver serves Linux within it by /dev/dxg, and nothing of it is in /proc. */
static bool gpu_find(struct check_driver *driver)
{
	bool known;

	*driver = (struct check_driver){.cuda = 0};
	gpu_facts_read(&driver->gpus, "");
	known = driver->gpus.driver[0] != '\0';
	driver->hidden = !known && access("/dev/nvidiactl", F_OK) == 0;
	driver->loaded = known || driver->hidden || access("/dev/dxg", F_OK) == 0;
	gpu_ask_library(driver);
	return driver->loaded && driver->library && driver->cuda >= OLDEST_CUDA;
}

/* "580.65.06", or what there is in its place. */
static const char *gpu_driver_name(const struct check_driver *driver)
{
	return driver->gpus.driver[0] != '\0' ? driver->gpus.driver
	       : driver->hidden               ? "of /dev/nvidiactl"
					      : "of Windows";
}

/* Of a driver that is loaded, with its library. */
static void gpu_report(struct doctor_line *line, const struct check_driver *driver)
{
	const struct gpu_facts *gpus = &driver->gpus;
	bool known = gpus->driver[0] != '\0';
	int major = driver->cuda / 1000, minor = driver->cuda % 1000 / 10;

	if (driver->cuda < OLDEST_CUDA)
		check_report(line, DOCTOR_LIMITED,
			     "install a driver for CUDA 11.8 or later: 520 or newer",
			     "driver %s has CUDA %d.%d: too old to be watched",
			     gpu_driver_name(driver), major, minor);
	else if (known)
		check_report(line, DOCTOR_OK, NULL, "%u x %.*s, driver %s, CUDA %d.%d",
			     gpus->count, SHOWN, gpus->models, gpus->driver, major,
			     minor);
	else
		check_report(line, DOCTOR_OK, NULL, "by the driver %s, CUDA %d.%d%s",
			     gpu_driver_name(driver), major, minor,
			     driver->hidden ? "; /proc/driver/nvidia is hidden here"
					    : "");
}

void check_gpu_driver(struct doctor_line *line, const struct check_driver *driver)
{
	const struct gpu_facts *gpus = &driver->gpus;

	if (!driver->loaded)
		check_report(line, DOCTOR_OK, NULL, "none");
	else if (!driver->library)
		check_report(line, DOCTOR_LIMITED,
			     "install the driver's libcuda1, or docker run --gpus all",
			     "driver %s is loaded, but there is no libcuda.so.1",
			     gpu_driver_name(driver));
	else if (gpus->driver[0] != '\0' && gpus->count == 0)
		check_report(line, DOCTOR_LIMITED,
			     "see what nvidia-smi says; or docker run --gpus all",
			     "driver %s is loaded, but it has no GPU here",
			     gpus->driver);
	else
		gpu_report(line, driver);
}

void check_gpu(struct doctor_line *line)
{
	struct check_driver driver;

	(void)gpu_find(&driver);
	check_gpu_driver(line, &driver);
}

bool check_cupti_fits(const char *path, int cuda)
{
	const char *number = strstr(path, "libcupti.so.");
	int first = number == NULL ? 0 : atoi(number + strlen("libcupti.so."));

	return first <= cuda / 1000 || first >= 2000; /* the year of its release */
}

/* One that the driver can serve; false: there is none. */
static bool gpu_find_cupti(struct cupti_api *api, int cuda, char *found, size_t room)
{
	unsigned place = 0;
	char newer[CHECK_LINE] = "";

	while (cupti_api_open(api, &place, found, room)) {
		if (check_cupti_fits(found, cuda))
			return true;
		snprintf(newer, sizeof(newer), "%s is newer than the driver", found);
	}
	if (newer[0] != '\0')
		snprintf(found, room, "%s", newer);
	return false;
}

void check_gpu_cupti(struct doctor_line *line)
{
	struct check_driver driver;
	struct cupti_api api;
	char found[SHOWN + 60];
	uint32_t version = 0;

	if (!gpu_find(&driver))
		return;
	if (!gpu_find_cupti(&api, driver.cuda, found, sizeof(found)))
		check_report(line, DOCTOR_LIMITED,
			     "install libcupti of the toolkit, or name one in "
			     "DSA_CUPTI",
			     "%s; a program that brings its own, as PyTorch does, is "
			     "watched all the same",
			     found);
	else if (api.cuptiGetVersion(&version) == 0)
		check_report(line, DOCTOR_OK, NULL, "%s, version %u", found, version);
	else
		check_report(line, DOCTOR_LIMITED, "name another one in DSA_CUPTI",
			     "%s does not tell its version", found);
}

void check_gpu_injection(struct doctor_line *line)
{
	const char *set = getenv("CUDA_INJECTION64_PATH");
	struct check_driver driver;
	char path[PATH_MAX];

	if (!gpu_find(&driver))
		return;
	if (set != NULL && *set != '\0')
		check_report(line, DOCTOR_LIMITED, "unset CUDA_INJECTION64_PATH",
			     "CUDA_INJECTION64_PATH is set: %.*s gets the GPU", SHOWN,
			     set);
	else if (!own_folder_find("libdsa-cupti.so", path))
		check_report(line, DOCTOR_LIMITED,
			     "install dsa as a whole: make install, or its wheel",
			     "libdsa-cupti.so lies neither beside dsa nor in "
			     "../lib/dsa");
	else
		check_report(line, DOCTOR_OK, NULL, "free");
}
