/* jpeg_header_fuzz.c - the head of a JPEG may hold anything: it is refused or makes
 * sense. */
#include "profiler/dataset/jpeg_header.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *bytes = malloc(size); /* of this size exactly, so that overruns show */
	struct jpeg_header header;
	int result;

	if (bytes == NULL)
		return 0;
	if (size > 0)
		memcpy(bytes, data, size);
	result = jpeg_header_read(bytes, size, &header);
	if (result != 0 && result != -EAGAIN && result != -EBADMSG)
		abort();
	if (result == 0 &&
	    (header.width == 0 || header.height == 0 || header.components == 0 ||
	     header.sampling >= JPEG_SAMPLINGS))
		abort();
	free(bytes);
	return 0;
}
