/*
 * gpu_records.c - whether CUPTI's records are what a GPU did, by the host's clock.
 *
 *	gpu_records FILE
 *
 * Copies, launches a kernel and waits for it, again and again; each kernel's record has to lie
 * between the host's call and its return. FILE gets CUPTI's buffers one behind the other as it
 * handed them over, 256 KiB at the most, but for names of kernels: pointers, which are zeroed.
 * Prints what gpu_calls_tell() does.
 */
#include "loader/base/trace.h"
#include "profiler/cupti/cupti_record.h"
#include "tests/lib/gpu_work.h"

#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LAUNCHES = 200, MOST = 1024, BUFFER = 64 << 10, KEPT = 256 << 10 };
enum { NAME = 104, NAME_BYTES = 8 }; /* in a kernel's record */

static const char *const clock_goal = "200 us";

static struct {
	pthread_mutex_t
		lock; /* of all below: CUPTI hands over from a thread of its own */
	struct cupti_api api;
	struct cupti_work kernels[MOST];
	size_t kernel_count, copies, others;
	uint8_t kept[KEPT];
	size_t kept_bytes;
} records = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* ---- what CUPTI calls ---- */

static void records_event(void *data, int domain, uint32_t id, const void *about)
{
	(void)data, (void)domain, (void)id, (void)about;
}

static void records_request(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = aligned_alloc(8, BUFFER);
	*size = *buffer != NULL ? BUFFER : 0;
	*most = 0;
}

static void records_add(uint8_t *record)
{
	struct cupti_work work;
	uint32_t kind;

	memcpy(&kind, record, sizeof(kind));
	if (cupti_record_read(record, &work) != CUPTI_READ)
		records.others++;
	else if (work.work == TRACE_KERNEL && records.kernel_count < MOST)
		records.kernels[records.kernel_count++] = work;
	else
		records.copies += work.work == TRACE_COPY_IN;
	if (kind == CUPTI_KERNEL)
		memset(record + NAME, 0, NAME_BYTES);
}

static void records_complete(void *context, uint32_t stream, uint8_t *buffer,
			     size_t size, size_t valid)
{
	uint8_t *record = NULL;

	(void)context, (void)stream, (void)size;
	pthread_mutex_lock(&records.lock);
	while (valid > 0 &&
	       records.api.cuptiActivityGetNextRecord(buffer, valid, &record) == 0)
		records_add(record);
	if (records.kept_bytes + valid <= KEPT) {
		memcpy(records.kept + records.kept_bytes, buffer, valid);
		records.kept_bytes += valid;
	}
	pthread_mutex_unlock(&records.lock);
	free(buffer);
}

/* The call that fails, or NULL. */
static const char *records_begin(void)
{
	const struct cupti_api *api = &records.api;
	void *subscriber;

	if (api->cuptiSubscribe(&subscriber, records_event, NULL) != 0)
		return "cuptiSubscribe";
	if (api->cuptiActivityRegisterTimestampCallback(now_ns) != 0)
		return "cuptiActivityRegisterTimestampCallback";
	if (api->cuptiActivityRegisterCallbacks(records_request, records_complete) != 0)
		return "cuptiActivityRegisterCallbacks";
	if (api->cuptiActivityEnable(CUPTI_KERNEL) != 0 ||
	    api->cuptiActivityEnable(CUPTI_MEMCPY) != 0 ||
	    api->cuptiActivityEnable(CUPTI_MEMSET) != 0)
		return "cuptiActivityEnable";
	return NULL;
}

/* ---- work, and what is found ---- */

/* From a call to the return of the one that waits. */
struct launch {
	uint64_t start_ns, end_ns;
};

static bool launch_all(struct gpu_calls *gpu, struct launch launches[LAUNCHES])
{
	static char batch[1 << 20];
	struct gpu_work work;
	cuda_address there;

	if (!gpu_work_open(gpu, &work) ||
	    !GPU_WENT(gpu, cuMemAlloc_v2, &there, sizeof(batch)))
		return false;
	work.rounds = 1 << 18; /* about a millisecond */
	for (int i = 0; i < LAUNCHES; i++) {
		if (!GPU_WENT(gpu, cuMemcpyHtoDAsync_v2, there, batch, sizeof(batch),
			      NULL) ||
		    !GPU_WENT(gpu, cuStreamSynchronize, NULL))
			return false;
		launches[i].start_ns = now_ns();
		if (!gpu_work_launch(&work, NULL, there, sizeof(batch)) ||
		    !GPU_WENT(gpu, cuStreamSynchronize, NULL))
			return false;
		launches[i].end_ns = now_ns();
	}
	return true;
}

static int kernel_order(const void *a, const void *b)
{
	const struct cupti_work *one = a, *other = b;

	return (one->start_ns > other->start_ns) - (one->start_ns < other->start_ns);
}

/* us that a record lies outside of its launch at the most. */
static double records_outside(const struct launch *launches)
{
	double most = 0;

	qsort(records.kernels, LAUNCHES, sizeof(records.kernels[0]), kernel_order);
	for (int i = 0; i < LAUNCHES; i++) {
		double before = (double)launches[i].start_ns -
				(double)records.kernels[i].start_ns;
		double after =
			(double)records.kernels[i].end_ns - (double)launches[i].end_ns;

		most = before > most ? before : most;
		most = after > most ? after : most;
	}
	return most / 1e3;
}

static void records_tell(const struct launch *launches)
{
	bool all = records.kernel_count == LAUNCHES && records.copies >= LAUNCHES &&
		   records.others == 0;
	char figure[96], goal[64];
	double outside;

	snprintf(figure, sizeof(figure), "%zu kernels, %zu copies, %zu others",
		 records.kernel_count, records.copies, records.others);
	snprintf(goal, sizeof(goal), "%d of each at least, no other", LAUNCHES);
	gpu_calls_tell(all ? "ok" : "FAILED", "CUPTI's records", figure, goal, "");
	if (records.kernel_count != LAUNCHES)
		return;
	outside = records_outside(launches);
	snprintf(figure, sizeof(figure), "%.1f us", outside);
	gpu_calls_tell(outside <= 200 ? "ok" : "FAILED",
		       "kernels outside the host's calls", figure, clock_goal, "");
}

static void keep(const char *path)
{
	FILE *file = fopen(path, "w");

	if (file == NULL ||
	    fwrite(records.kept, 1, records.kept_bytes, file) != records.kept_bytes ||
	    fclose(file) != 0)
		err(2, "%s", path);
}

int main(int argc, char **argv)
{
	static struct launch launches[LAUNCHES];
	struct gpu_calls gpu = {0};
	char found[TRACE_WHY];
	const char *failed;
	unsigned place = 0;

	if (argc != 2)
		errx(2, "usage: gpu_records FILE");
	if (!gpu_calls_open(&gpu) ||
	    !cupti_api_open(&records.api, &place, found, sizeof(found))) {
		gpu_calls_tell("n/a", "CUPTI's records", "", "",
			       gpu.why[0] != '\0' ? gpu.why : found);
		return 0;
	}
	gpu_calls_tell("ok", "CUPTI", found, "", "");
	failed = records_begin();
	if (failed != NULL || !launch_all(&gpu, launches)) {
		gpu_calls_tell("FAILED", "CUPTI's records", "", "",
			       failed != NULL ? failed : gpu.why);
		return 0;
	}
	records.api.cuptiActivityFlushAll(CUPTI_FORCED);
	pthread_mutex_lock(&records.lock);
	records_tell(launches);
	keep(argv[1]);
	pthread_mutex_unlock(&records.lock);
	return 0;
}
