#include "loader/share/wire/numbers.h"
#include "loader/base/allocate.h"
#include "loader/base/error.h"
#include "loader/source.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

static const struct number none = {UINT32_MAX, UINT32_MAX};

static struct number number_of(const struct source *all, unsigned part, uint32_t sample)
{
	uint32_t own = source_in_part(all, part, sample);

	if (own == UINT32_MAX)
		return none;
	return (struct number){own, source_label(source_part(all, part), own)};
}

static int numbers_fill(int fd, const struct source *all, unsigned part)
{
	uint32_t count = source_count(all);
	size_t bytes = count * sizeof(struct number);
	struct number *numbers;
	int result;

	result = allocate_file(fd, bytes);
	if (result < 0)
		return result;
	numbers = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (numbers == MAP_FAILED)
		return -errno;
	for (uint32_t i = 0; i < count; i++)
		numbers[i] = number_of(all, part, i);
	munmap(numbers, bytes);
	return fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) < 0 ? -errno : 0;
}

int numbers_write(const struct source *all, unsigned part, struct error *err)
{
	int fd = memfd_create("dsa numbers", MFD_CLOEXEC | MFD_ALLOW_SEALING), result;

	if (fd < 0)
		return error_sys(err, errno, "cannot keep the numbers of a data set");
	result = numbers_fill(fd, all, part);
	if (result == 0)
		return fd;
	close(fd);
	return error_sys(err, -result, "cannot keep the numbers of a data set");
}

int numbers_read(int fd, struct numbers *numbers, struct error *err)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat about;
	void *mapped;

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &about) < 0 ||
	    about.st_size <= 0 || about.st_size % (off_t)sizeof(struct number) != 0)
		return error_set(err, EPROTO,
				 "the shared loader has no numbers of this data set");
	mapped = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		return error_sys(err, errno, "cannot map the numbers of a data set");
	numbers->of = mapped;
	numbers->count = (size_t)about.st_size / sizeof(struct number);
	return 0;
}

void numbers_fini(struct numbers *numbers)
{
	if (numbers->of != NULL)
		munmap((void *)(uintptr_t)numbers->of,
		       numbers->count * sizeof(*numbers->of));
	*numbers = (struct numbers){0};
}

struct number numbers_own(const struct numbers *numbers, uint32_t sample)
{
	return sample < numbers->count ? numbers->of[sample] : none;
}
