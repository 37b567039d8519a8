/* written_names.c - a table of marks, and lists of paths. */
#include "profiler/io/kept/written_names.h"
#include "loader/base/random.h"
#include "profiler/io/base/data_path.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

enum { PROBES = 64 };

uint64_t written_hash(const char *path)
{
	uint64_t hash = 0;

	for (; *path != '\0'; path++)
		hash = random_mix(hash + (unsigned char)*path);
	return hash / WRITTEN_STATES * WRITTEN_STATES;
}

_Atomic uint64_t *written_mark(struct io_page *page, uint64_t hash,
			       enum written_state state, bool *first)
{
	for (unsigned i = 0; i < PROBES; i++) {
		_Atomic uint64_t *mark =
			&page->marks[(hash / WRITTEN_STATES + i) % IO_MARKS];
		uint64_t had = 0;

		*first = atomic_compare_exchange_strong(mark, &had, hash | state);
		if (*first || had / WRITTEN_STATES == hash / WRITTEN_STATES)
			return mark;
	}
	return NULL;
}

void written_name(struct io_page *page, const char *path)
{
	uint64_t number = atomic_fetch_add(&page->written_count, 1);
	size_t length = strlen(path);
	struct io_written *written = &page->written[number % IO_WRITTEN];

	if (number >= IO_WRITTEN || length >= IO_PATH) {
		atomic_fetch_add(&page->dropped_written, 1);
		return;
	}
	memcpy(written->path, path, length + 1);
	atomic_store(&written->number, number + 1);
}

bool written_note(struct io_page *page, int fd, enum written_state state)
{
	char path[PATH_MAX];
	struct stat status;
	bool first, room;

	if (page->keeping == 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return false;
	if (data_path_of(fd, path, sizeof(path)) < 0) {
		atomic_fetch_add(&page->dropped_written, 1);
		return false;
	}
	if (!data_path(path))
		return false;
	room = written_mark(page, written_hash(path),
			    status.st_size > 0 ? state : WRITTEN_OWN, &first) != NULL;
	if (!room || first)
		written_name(page, path);
	return room && first;
}

void written_lose(struct io_page *page, const char *path)
{
	uint64_t number = atomic_fetch_add(&page->lost_count, 1);
	struct io_written *lost = &page->lost[number % IO_LOST];

	if (number >= IO_LOST)
		return;
	io_copy_text(lost->path, sizeof(lost->path), path);
	atomic_store(&lost->number, number + 1);
}
