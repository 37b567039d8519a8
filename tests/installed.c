/* A program outside the tree: it finds only what "make install" put in place. */
#include <dsa/loader.h>
#include <stdio.h>

#ifndef DSA_1 /* the version without devices */
static int next_on_device(struct dsa_loader *loader)
{
	struct dsa_device_batch batch;
	int result = dsa_next_device(loader, NULL, &batch);

	if (result > 0 && dsa_wait_device(loader, &batch, NULL) == 0)
		dsa_release_device(loader, &batch, NULL);
	return result;
}
#endif

int main(void)
{
	struct dsa_config config = {
		.dataset = "synthetic:64", .batch = 16, .epochs = 1};
	struct dsa_loader *loader;
	struct dsa_batch batch;
	char why[DSA_WHY];
	unsigned samples = 0;

	if (dsa_open(&config, &loader, why) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	while (dsa_next(loader, &batch) > 0) {
#ifndef DSA_1
		if (batch.type != DSA_FLOAT32 || batch.dims != 4 ||
		    batch.shape[0] != batch.count || batch.shape[1] != 3)
			return 1;
#endif
		samples += batch.count;
		dsa_release(loader, &batch);
	}
#ifndef DSA_1
	if (next_on_device(loader) >= 0)
		return 1;
#endif
	dsa_close(loader);
	return samples == 64 ? 0 : 1;
}
