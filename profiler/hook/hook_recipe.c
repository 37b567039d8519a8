/* hook_recipe.c - writes into the page how the program's loader prepares pictures. */
#include "profiler/hook/hook.h"
#include "profiler/io/dsa_io.h"

#include <string.h>

static void hook_recipe_copy(char *to, size_t size, const char *from)
{
	size_t length = from == NULL ? 0 : strnlen(from, size - 1);

	if (length > 0)
		memcpy(to, from, length);
	to[length] = '\0';
}

void dsa_hook_recipe(const struct hook_recipe *from)
{
	struct io_page *page = dsa_io_page();
	struct io_recipe *to = page == NULL ? NULL : &page->recipe;

	if (to == NULL || atomic_load(&to->told) != 0)
		return;
	hook_recipe_copy(to->folder, sizeof(to->folder), from->folder);
	hook_recipe_copy(to->lacks, sizeof(to->lacks), from->lacks);
	hook_recipe_copy(to->code, sizeof(to->code), from->code);
	to->size = from->size;
	to->evaluate = from->evaluate;
	to->bytes = from->bytes;
	atomic_store_explicit(&to->told, 1, memory_order_release);
}
