/*
 * client_prep.h - crop, resize and flip in the client when the server sends decoded
 * images. Private to loader/share/.
 *
 *	from --next()--> feeder --places--> workers        slots, in order
 *	                   |  a batch of canvases:         | ready | ready | being made |
 *	                   |  crop, resize, flip,               |
 *	                   '- given back at once                '--> the program's step
 *
 * Crop and flip are drawn from the program's own seed, epoch and the sample, as a
 * pipeline of its own would draw them.
 */
#ifndef DSA_SHARE_CLIENT_PREP_H
#define DSA_SHARE_CLIENT_PREP_H

struct batch_source;
struct batch_source_config;
struct error;

/* Samples as config's options want them, of the canvases that `from` delivers. It owns
 * `from` from now on, and closes it when it fails: then NULL and err. */
struct batch_source *client_prep_open(struct batch_source *from,
				      const struct batch_source_config *config,
				      struct error *err);

#endif
