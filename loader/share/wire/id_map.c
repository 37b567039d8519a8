/*
 * id_map.c - packs the sample numbers of one data set into a memfd and reads them
 * back.
 */
#include "loader/share/wire/id_map.h"
#include "loader/base/error.h"
#include "loader/base/io.h"
#include "loader/source.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

static const struct id_map_entry none = {UINT32_MAX, UINT32_MAX};

static struct id_map_entry id_map_number_of(const struct source *all, unsigned part,
					    uint32_t sample)
{
	uint32_t own = source_in_part(all, part, sample);

	if (own == UINT32_MAX)
		return none;
	return (struct id_map_entry){own, source_label(source_part(all, part), own)};
}

static int id_map_fill(int fd, const struct source *all, unsigned part)
{
	uint32_t count = source_count(all);
	size_t bytes = count * sizeof(struct id_map_entry);
	struct id_map_entry *map;
	int result;

	result = io_allocate(fd, bytes);
	if (result < 0)
		return result;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	for (uint32_t i = 0; i < count; i++)
		map[i] = id_map_number_of(all, part, i);
	munmap(map, bytes);
	return fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) < 0 ? -errno : 0;
}

int id_map_write(const struct source *all, unsigned part, struct error *err)
{
	int fd = memfd_create("dsa numbers", MFD_CLOEXEC | MFD_ALLOW_SEALING), result;

	if (fd < 0)
		return error_sys(err, errno, "cannot keep the numbers of a data set");
	result = id_map_fill(fd, all, part);
	if (result == 0)
		return fd;
	close(fd);
	return error_sys(err, -result, "cannot keep the numbers of a data set");
}

int id_map_read(int fd, struct id_map *map, struct error *err)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat about;
	void *mapped;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &about) < 0 ||
	    about.st_size <= 0 ||
	    about.st_size % (off_t)sizeof(struct id_map_entry) != 0)
		return error_set(err, EPROTO,
				 "the shared loader has no numbers of this data set");
	mapped = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return error_sys(err, errno, "cannot map the numbers of a data set");
	map->of = mapped;
	map->count = (size_t)about.st_size / sizeof(struct id_map_entry);
	return 0;
}

void id_map_fini(struct id_map *map)
{
	if (map->of != NULL)
		munmap((void *)(uintptr_t)map->of, map->count * sizeof(*map->of));
	*map = (struct id_map){0};
}

struct id_map_entry id_map_find(const struct id_map *map, uint32_t sample)
{
	return sample < map->count ? map->of[sample] : none;
}
