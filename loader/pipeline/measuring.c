/* measuring.c - what dsa's turns read from: staged bytes, and files that are unread. */
#include "loader/base/blob.h"
#include "loader/pipeline/pipeline_state.h"
#include "loader/sampler.h"

#include <stdlib.h>

/* Epochs in which unread files are asked for lie where no training gets to. */
#define UNREAD_EPOCH (UINT64_C(1) << 48)

void staged_forget(struct pipeline *p)
{
	struct staged *staged = &p->measuring.staged;

	for (uint32_t i = 0; i < staged->count; i++)
		blob_put(staged->blobs[i]);
	free(staged->blobs);
	free(staged->samples);
	*staged = (struct staged){0};
}

uint32_t unread_sample(struct pipeline *p)
{
	struct measuring *measuring = &p->measuring;
	uint32_t length = sampler_length(measuring->unread);
	uint64_t at = measuring->asked++;

	return sampler_sample(measuring->unread, UNREAD_EPOCH + at / length,
			      (uint32_t)(at % length));
}
