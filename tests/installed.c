/* A program outside the tree: it finds only what "make install" put in place. */
#include <dsa/loader.h>
#include <stdio.h>

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
		samples += batch.count;
		dsa_release(loader, &batch);
	}
	dsa_close(loader);
	return samples == 64 ? 0 : 1;
}
