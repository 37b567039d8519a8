/* hook_told.c - writes into the page what the hook tells beside windows. */
#include "profiler/hook/hook.h"
#include "profiler/hook/hook_describe.h"
#include "profiler/io/dsa_io.h"

#include <errno.h>
#include <string.h>

static void hook_told_text(char *to, size_t size, const char *from)
{
	io_copy_text(to, size, from == NULL ? "" : from);
}

void dsa_hook_recipe(const struct hook_recipe *from)
{
	struct io_page *page = dsa_io_page();
	struct io_recipe *to = page == NULL ? NULL : &page->recipe;

	if (to == NULL || atomic_load(&to->told) != 0)
		return;
	hook_told_text(to->folder, sizeof(to->folder), from->folder);
	hook_told_text(to->lacks, sizeof(to->lacks), from->lacks);
	hook_told_text(to->code, sizeof(to->code), from->code);
	to->size = from->size;
	to->evaluate = from->evaluate;
	to->bytes = from->bytes;
	atomic_store_explicit(&to->told, 1, memory_order_release);
}

int dsa_hook_picture(const char *path, uint32_t size, const void *pixels)
{
	struct io_page *page = dsa_io_page();
	struct io_pictures *to = page == NULL ? NULL : &page->pictures;
	uint64_t bytes = 3 * (uint64_t)size * size;
	size_t length = strlen(path);
	uint32_t count;

	if (to == NULL || page->recipe.told == 0 || page->recipe.size != size ||
	    length >= IO_PATH)
		return -EINVAL;
	count = atomic_load(&to->count);
	if (count >= IO_PICTURES || bytes > IO_PIXELS / (count + 1))
		return -ENOSPC;
	memcpy(to->paths[count], path, length + 1);
	memcpy(to->pixels + count * bytes, pixels, bytes);
	atomic_store_explicit(&to->count, count + 1, memory_order_release);
	return 0;
}

void dsa_hook_ran(void)
{
	struct io_page *page = dsa_io_page();

	if (page != NULL)
		atomic_store(&page->hooked, 1);
}

int dsa_hook_rank(uint32_t rank, uint32_t world)
{
	struct io_page *page = dsa_io_page();
	uint32_t none = 0;

	if (page == NULL)
		return 0;
	if (atomic_compare_exchange_strong(&page->rank, &none, rank + 1))
		atomic_store(&page->world, world);
	return page->rank == rank + 1;
}

void dsa_hook_epoch_end(uint64_t ns)
{
	struct io_page *page = dsa_io_page();

	if (page == NULL)
		return;
	atomic_fetch_add(&page->epoch_ends, 1);
	atomic_fetch_add(&page->epoch_end_ns, ns);
}
