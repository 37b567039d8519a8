/* page_fuzz.c - a page of a bucket's listing: refused, or keys that make a sound index. */
#include "loader/net/curl/page.h"
#include "loader/source/objects.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int page_fuzz_object(void *context, const char *key, size_t length,
			    uint64_t size, const char *etag)
{
	return keys_add(context, key, length, size, etag);
}

static bool page_fuzz_is_sample(const void *context, const char *name)
{
	(void)context;
	return file_kind_has(file_kind_of("image"), name);
}

static void check(const struct keys *keys)
{
	struct index index = {0}, again;
	struct error err = {0};

	if (objects_of_keys(keys, file_kind_of("image"), &index, &err) < 0) {
		if (err.message[0] == '\0')
			abort();
		return;
	}
	if (index_finish(&index, NULL) < 0 ||
	    !index_adopt(&again, index.head, index_size(&index)) ||
	    !index_has_etags(&again))
		abort();
	for (uint32_t i = 0; i < index.head->samples; i++) {
		char buffer[PATH_MAX];

		if (strlen(index_path(&index, i, buffer)) >= NET_KEY)
			abort();
	}
	index_free(&index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct keys keys = {
		.prefix = "", .most = 1000, .is_sample = page_fuzz_is_sample};
	struct net_page page = {.context = &keys, .object = page_fuzz_object};
	struct error err = {0};
	int result = page_read((const char *)data, size, &page, &err);

	if (result == 0)
		check(&keys);
	else if (err.message[0] == '\0' && keys.error.message[0] == '\0')
		abort();
	keys_fini(&keys);
	return 0;
}
