/* sim_setup.c - turns the inputs of a run and a change into a load. */
#include "models/predict/sim_setup.h"
#include "models/predict/model_state.h"
#include "models/predict/recipes.h"
#include "models/predict/sharing.h"

#include <math.h>
#include <string.h>

enum {
	SPARE_SLOTS = 2,     /* of the ring beyond --prefetch (loader/local/local.c) */
	TORCH_PREFETCH = 2,  /* of a worker, unless the program says so */
	LIBDSA_PREFETCH = 4, /* of its loader, and reads in flight (loader/loader.h) */
	LIBDSA_DEPTH = 16,
};

/* What the queues between a trainer and its workers take it besides, for a batch: twice that
 * was seen on two cores of a virtual machine. */
#define QUEUES_S .5e-3

static double factor_of(const struct model *model, const struct aspect *aspect,
			enum input input)
{
	return model->drift[input] * (aspect->input == (int)input ? aspect->factor : 1);
}

unsigned sim_setup_cores(const struct model *model, const struct profile_change *change)
{
	return change->cores > 0 ? change->cores : (unsigned)model->profile->cores;
}

/* ---- from inputs and a change to a load ---- */

static void sim_setup_set_cores(const struct model *model,
				const struct profile_change *change,
				const struct aspect *aspect, struct sim_setup *setup)
{
	double factor = factor_of(model, aspect, INPUT_CORES);

	cores_speeds(&model->inputs.cores, sim_setup_cores(model, change), aspect->side,
		     setup->speed, SPEEDS);
	for (size_t m = 2; m < SPEEDS; m++)
		setup->speed[m] /= factor;
	setup->load.speed = setup->speed;
	setup->load.speeds = SPEEDS;
	setup->load.workers = profile_change_workers(model->profile, change);
}

/* What of the time of a sample outside the CPU becomes of it, on such an accelerator: where
 * kernels were seen these alone are faster, launches and copies are not. */
static double sim_setup_accelerated(const struct model *model, double faster)
{
	const struct inputs *inputs = &model->inputs;
	double outside = inputs->compute_s - inputs->fixed_s;
	double kernels = profile_kernel_part(model->profile) * inputs->compute_s;

	if (isnan(kernels) || kernels > outside)
		kernels = outside;
	return outside - kernels + kernels / faster;
}

/* Time of a step by the clock on an accelerator `faster` than the run's; in proportion
 * to the batch where it is the emulated one's. `side` picks what other batches could
 * do elsewhere. */
static double step_s(const struct model *model, const struct aspect *aspect, double n,
		     double faster)
{
	const struct inputs *inputs = &model->inputs;
	double from = (double)model->profile->batch;
	double fixed = inputs->fixed_s * from;
	double clock = sim_setup_accelerated(model, faster) * n;

	if (isnan(model->profile->emulated_per_s) && n != from) {
		/* All of it fixed, or all of it by the sample: nothing in between is
		 * known. */
		double least = fmin(n, from), most = fmax(n, from);

		clock *= (aspect->side < 0 ? most : aspect->side > 0 ? least : n) / n;
	}
	return (clock + fixed) * factor_of(model, aspect, INPUT_COMPUTE);
}

static void set_compute(const struct model *model, const struct profile_change *change,
			const struct aspect *aspect, struct simulation_load *load)
{
	const struct inputs *inputs = &model->inputs;
	double faster = isnan(change->gpu_speed) ? 1 : change->gpu_speed;

	load->compute_s = step_s(model, aspect, load->batch, faster);
	load->compute_cpu_s = inputs->compute_cpu_s * load->batch *
			      factor_of(model, aspect, INPUT_COMPUTE);
	load->compute_threads = inputs->compute_threads;
	load->compute_spins = inputs->spins;
}

/* Bytes of a number that is copied as it is delivered, over the run's. */
static double sim_setup_width(const struct profile *profile,
			      const struct profile_change *change)
{
	static const unsigned bytes[] = {
#define SIM_SETUP_BYTES(id, name, size) size,
		PREP_TYPES(SIM_SETUP_BYTES)
#undef SIM_SETUP_BYTES
	};
	size_t types = sizeof(bytes) / sizeof(bytes[0]);
	const char *output = profile->output, *transfer = profile->transfer;

	if (change->type.id < 0 || transfer == NULL || strcmp(transfer, "output") != 0)
		return 1;
	for (size_t i = 0; output != NULL && i < types; i++)
		if (strncmp(output, profile_types[i], strlen(profile_types[i])) == 0)
			return (double)bytes[change->type.id] / bytes[i];
	return 1;
}

static void set_copy(const struct model *model, const struct profile_change *change,
		     const struct aspect *aspect, struct simulation_load *load)
{
	load->copy_s = model->inputs.copy_s * load->batch *
		       sim_setup_width(model->profile, change) *
		       factor_of(model, aspect, INPUT_COPY);
}

/* libdsa's prep of the same samples, with the CPU work of its reads. */
static double sim_setup_libdsa(const struct model *model)
{
	const struct inputs *inputs = &model->inputs;

	return model->profile->own_recipe.cpu_s.value *
	       cores_speed(&inputs->cores, inputs->cores.have) / inputs->prep_s;
}

/* Batches of it come from other processes, as those of the run did not. */
static bool sim_setup_passes(const struct model *model,
			     const struct profile_change *change)
{
	return model->inputs.share_s > 0 && !change->libdsa &&
	       profile_change_workers(model->profile, change) > 0;
}

/* What a worker takes to pickle a batch of so many. */
static double sim_setup_share(const struct model *model,
			      const struct profile_change *change,
			      const struct aspect *aspect, double batch)
{
	if (!sim_setup_passes(model, change))
		return 0;
	return model->inputs.share_s * batch / (double)model->profile->batch *
	       factor_of(model, aspect, INPUT_SHARE);
}

double sim_setup_takes_over(const struct model *model,
			    const struct profile_change *change,
			    const struct aspect *aspect, double batch)
{
	double before =
		       model->inputs.handover_s * batch / (double)model->profile->batch,
	       longer = sim_setup_share(model, change, aspect, batch) -
			sim_setup_share(model, change, &ASPECT_PLAIN, batch);

	if (!sim_setup_passes(model, change))
		return before;
	return before + fmax(0, longer) +
	       (model->inputs.unpickle_s + QUEUES_S) *
		       factor_of(model, aspect, INPUT_SHARE);
}

static void set_prep(const struct model *model, const struct profile_change *change,
		     const struct aspect *aspect, struct simulation_load *load)
{
	load->draws = model->inputs.draws;
	load->draw_count = model->inputs.draw_count;
	load->delay_s = model->inputs.delay_s;
	if (change->libdsa) {
		load->prep_scale = model->inputs.prep_scale * sim_setup_libdsa(model) *
				   factor_of(model, aspect, INPUT_RECIPE);
		return;
	}
	load->prep_scale =
		model->inputs.prep_scale * factor_of(model, aspect, INPUT_PREP);
	load->wait_scale =
		model->inputs.wait_scale * factor_of(model, aspect, INPUT_PREP);
}

/* Of what was emulated, and is to be, the later word; none lets the storage itself. */
static double sim_setup_emulated(double then, double now, double none)
{
	if (isnan(then))
		return now > 0 ? now : none;
	return then > 0 ? then : none;
}

/* What the storage itself gives with that many reads in flight, in bytes/s; INFINITY:
 * no more is known of it than that it is slowed. */
static double native_bandwidth(const struct storage *storage, unsigned depth)
{
	double rate = storage->native ? storage_rate(storage, depth, INFINITY, 0) : NAN;

	if (storage->remote) /* it is in what a read takes: server_scale() */
		return INFINITY;
	return isnan(rate) ? INFINITY : rate * storage->mean_bytes;
}

/* Loaders that ask the same storage. */
static unsigned sim_setup_loaders(const struct model *model,
				  const struct profile_change *change)
{
	return sharing_is_shared(model->profile, change)
		       ? 1
		       : sharing_jobs(model->profile, change);
}

/* What an answer takes among as many requests as there are, over what it took alone, for
 * transfers share a way rather than take turns on it. The thread has it before and after. */
static double server_scale(const struct inputs *inputs, unsigned depth)
{
	double rate = storage_rate(&inputs->storage, depth, INFINITY, 0), alone_s = 0;

	for (size_t i = 0; i < inputs->draw_count; i++)
		alone_s += inputs->draws[i].fetch_s / (double)inputs->draw_count;
	return rate > 0 && alone_s > 0 ? (depth / rate + inputs->fetch_cpu_s) / alone_s
				       : 1;
}

/* A bucket in the place of the run's storage, emulated or not: what it takes is given. */
static void sim_setup_set_bucket(const struct profile_change *change,
				 struct simulation_load *load)
{
	load->answer_s = change->bucket_latency_s;
	load->answer_rate = isnan(change->bucket_per_s) ? 0 : change->bucket_per_s;
	load->bandwidth =
		change->storage_bandwidth > 0 ? change->storage_bandwidth : INFINITY;
	load->fetch_threads = 1; /* loader/fetch/net.c */
	load->fetch_scale = load->latency_s = 0;
	load->throttled = false;
}

static void set_fetch(const struct model *model, const struct profile_change *change,
		      const struct aspect *aspect, struct simulation_load *load)
{
	const struct profile *profile = model->profile;
	const struct inputs *inputs = &model->inputs;
	double factor = factor_of(model, aspect, INPUT_STORAGE);
	double bandwidth = sim_setup_emulated(change->storage_bandwidth,
					      profile->storage_bandwidth, INFINITY);

	if (inputs_from_memory(profile))
		bandwidth = INFINITY;
	load->depth = change->fetch_depth > 0 ? change->fetch_depth
					      : (unsigned)profile->fetch_depth;
	load->fetch_threads = inputs->fetch_threads == 1 ? 1 : load->depth;
	load->fetch_cpu_s = inputs->fetch_cpu_s * factor_of(model, aspect, INPUT_FETCH);
	load->fetch_scale = inputs->storage.native ? factor : 0;
	if (inputs->storage.native && inputs->storage.remote)
		load->fetch_scale *= server_scale(
			inputs, load->depth * sim_setup_loaders(model, change));
	load->latency_s =
		inputs->latencies * sim_setup_emulated(change->storage_latency_s,
						       profile->storage_latency_s, 0);
	load->throttled = load->latency_s > 0 || isfinite(bandwidth);
	bandwidth = fmin(bandwidth,
			 native_bandwidth(&inputs->storage, load->depth) / factor);
	load->bandwidth = bandwidth;
	if (profile_change_has_bucket(change))
		sim_setup_set_bucket(change, load);
}

/* Who read at once, each for himself. */
static unsigned sim_setup_readers(const struct model *model,
				  const struct profile_change *change)
{
	unsigned each = change->libdsa ? LIBDSA_DEPTH
				       : profile_change_workers(model->profile, change);

	return (each > 0 ? each : 1) * sim_setup_loaders(model, change);
}

/*
 * What a storage gives to other than the run's number of workers lies between two
 * bounds: a read takes as long as it did, or all of them together get as much. Here that in
 * bytes/s, where they are more and the slower end is asked for; else INFINITY.
 */
static double sim_setup_seen_bandwidth(const struct model *model,
				       const struct profile_change *change,
				       const struct aspect *aspect)
{
	const struct storage *storage = &model->inputs.storage;
	double then = fmax(1, (double)model->profile->workers);
	unsigned now = sim_setup_readers(model, change);

	if (aspect->side >= 0 || now <= then ||
	    !sim_setup_storage_is_bounded(model, change))
		return INFINITY;
	return then * storage->mean_bytes / storage->latency_s /
	       factor_of(model, aspect, INPUT_STORAGE);
}

static void set_storage_of_readers(const struct model *model,
				   const struct profile_change *change,
				   const struct aspect *aspect,
				   struct simulation_load *load)
{
	double then = fmax(1, (double)model->profile->workers);
	unsigned now = sim_setup_readers(model, change);

	load->bandwidth =
		fmin(load->bandwidth, sim_setup_seen_bandwidth(model, change, aspect));
	if (aspect->side > 0 && now < then &&
	    sim_setup_storage_is_bounded(model, change))
		load->fetch_scale *= now / then;
}

/* Workers that make whole batches, or none: the trainer, or a thread that reads ahead of it. */
static void set_turns(const struct model *model, const struct profile_change *change,
		      const struct aspect *aspect, struct simulation_load *load)
{
	uint64_t prefetch = model->profile->prefetch;

	load->makers = load->workers > 0 || model->profile->reads_ahead
			       ? MAKERS_TURNS
			       : MAKERS_TRAINER;
	set_storage_of_readers(model, change, aspect, load);
	load->workers += load->workers == 0;
	load->depth = load->fetch_threads = load->workers;
	load->ahead =
		load->workers * (uint32_t)(prefetch > 0 ? prefetch : TORCH_PREFETCH);
	if (load->makers == MAKERS_TRAINER)
		load->ahead = 1;
}

/* libdsa's loader in the place of such workers. */
static void sim_setup_set_libdsa(const struct model *model,
				 const struct profile_change *change,
				 const struct aspect *aspect,
				 struct simulation_load *load)
{
	unsigned cores = sim_setup_cores(model, change);

	load->workers = cores < LIMIT_WORKERS ? cores : LIMIT_WORKERS;
	load->depth = load->fetch_threads = LIBDSA_DEPTH;
	load->ahead = LIBDSA_PREFETCH + SPARE_SLOTS;
	set_storage_of_readers(model, change, aspect, load);
}

/* Less or more is stored of each sample: transfers and reads take in proportion, and the
 * same memory holds another share of them. */
static void sim_setup_set_recipe(const struct model *model,
				 const struct profile_change *change,
				 const struct aspect *aspect, struct sim_setup *setup)
{
	const struct storage *storage = &model->inputs.storage;
	struct simulation_load *load = &setup->load;
	double transfer = storage->mean_bytes / storage->bandwidth;
	struct recipe_effect effect;

	if (!recipes_asked(change))
		return;
	recipes_effect(model->profile, change, &effect, NULL);
	setup->stored = effect.bytes;
	load->prep_scale *= effect.prep * factor_of(model, aspect, INPUT_RECIPE);
	load->wait_scale *= effect.prep * factor_of(model, aspect, INPUT_RECIPE);
	load->fetch_cpu_s *= effect.fetch;
	load->bandwidth /= effect.bytes;
	load->joint_bandwidth /= effect.bytes;
	if (transfer > 0)
		load->fetch_scale *= (storage->latency_s + transfer * effect.bytes) /
				     (storage->latency_s + transfer);
	if (isnan(change->cache_share))
		load->share = fmin(1, load->share / effect.bytes);
}

bool sim_setup_hits_are_bounded(const struct model *model,
				const struct profile_change *change)
{
	double share =
		isnan(change->cache_share) ? model->inputs.share : change->cache_share;

	return model->inputs.on_disk && isnan(model->inputs.hit_s) && share > 0;
}

/* What a hit takes of a disk that had none: nothing at all, or as much as a miss. */
static double sim_setup_hit_s(const struct model *model,
			      const struct profile_change *change,
			      const struct aspect *aspect,
			      const struct simulation_load *load)
{
	double miss_s = load->answer_s + load->latency_s;

	if (!sim_setup_hits_are_bounded(model, change))
		return model->inputs.on_disk && load->share > 0 ? model->inputs.hit_s
								: 0;
	for (size_t i = 0; i < load->draw_count; i++)
		miss_s += load->fetch_scale * load->draws[i].fetch_s /
			  (double)load->draw_count;
	return aspect->side < 0 ? miss_s : 0;
}

static void sim_setup_set_cache(const struct model *model,
				const struct profile_change *change,
				const struct aspect *aspect,
				struct simulation_load *load)
{
	bool sized = !isnan(change->cache_share);

	load->policy = model->inputs.policy;
	load->share = model->inputs.share;
	if (change->cache_policy.id >= 0)
		load->policy = (enum cache_id)change->cache_policy.id;
	else if (sized && !model->inputs.in_turn &&
		 (model->inputs.policy == CACHE_NONE ||
		  model->inputs.policy == CACHE_PAGE))
		load->policy = CACHE_MINIO;
	if (sized)
		load->share = change->cache_share;
	else if (load->policy == CACHE_PAGE && model->inputs.policy != CACHE_PAGE)
		load->share = 1; /* as large as memory lets it be */
	if (profile_change_has_bucket(change) && load->policy == CACHE_PAGE)
		load->policy = CACHE_NONE; /* the kernel keeps no objects */
	if (load->policy == CACHE_NONE)
		load->share = 0;
	load->hit_s = sim_setup_hit_s(model, change, aspect, load);
}

/*
 * A storage that is emulated is emulated in each process, so that each job has one to
 * itself; the one below is the same for all of them, as is a bucket.
 */
static void set_storage(const struct model *model, const struct profile_change *change,
			const struct aspect *aspect, struct simulation_load *load)
{
	double all = load->bandwidth;

	if (!profile_change_has_bucket(change))
		all = fmin(native_bandwidth(&model->inputs.storage,
					    load->jobs * load->depth) /
				   factor_of(model, aspect, INPUT_STORAGE),
			   sim_setup_seen_bandwidth(model, change, aspect));
	load->joint_bandwidth = isfinite(all) ? all : 0;
}

static void sim_setup_set_jobs(const struct model *model,
			       const struct profile_change *change,
			       const struct aspect *aspect, struct sim_setup *setup)
{
	struct simulation_load *load = &setup->load;
	double faster = isnan(change->gpu_speed) ? 1 : change->gpu_speed;

	load->jobs = sharing_jobs(model->profile, change);
	load->shared = sharing_is_shared(model->profile, change);
	load->window = SHARING_WINDOW;
	if (load->shared) /* loader/share/server/share_stream.c */
		load->ahead = (uint32_t)fmax(
			1, fmin((double)model->profile->prefetch, SHARING_WINDOW));
	if (load->jobs > 1 && !load->shared)
		set_storage(model, change, aspect, load);
	for (unsigned i = 0; i < load->jobs; i++)
		setup->job_compute_s[i] = step_s(model, aspect, load->batch,
						 faster * sharing_speed(change, i));
	load->job_compute_s = setup->job_compute_s;
}

void sim_setup_delay(struct sim_setup *setup, double seconds)
{
	for (unsigned i = 0; i < setup->load.jobs; i++)
		setup->job_compute_s[i] += seconds;
	setup->load.compute_s += seconds;
}

void sim_setup_hand_over(struct sim_setup *setup, double seconds)
{
	sim_setup_delay(setup, seconds);
	setup->load.compute_cpu_s += seconds * setup->load.compute_threads;
}

bool sim_setup_storage_is_bounded(const struct model *model,
				  const struct profile_change *change)
{
	const struct inputs *inputs = &model->inputs;
	double then = fmax(1, (double)model->profile->workers);

	return !profile_change_has_bucket(change) && inputs->in_turn &&
	       inputs->fetched && inputs->storage.native &&
	       inputs->storage.latency_s > 0 &&
	       sim_setup_readers(model, change) != then;
}

/* Of each sample its part, whatever is left out of preparing it, and after its padding. */
static void sim_setup_set_share(const struct model *model,
				const struct profile_change *change,
				const struct aspect *aspect,
				struct simulation_load *load)
{
	double share_s =
		sim_setup_share(model, change, aspect, load->batch) / load->batch;

	load->prep_scale += model->inputs.prep_scale * share_s / model->inputs.prep_s;
	if (load->delay_s > 0)
		load->delay_s += share_s;
}

void sim_setup_set(const struct model *model, const struct profile_change *change,
		   const struct aspect *aspect, struct sim_setup *setup)
{
	const struct profile *profile = model->profile;
	struct simulation_load *load = &setup->load;

	memset(load, 0, sizeof(*load));
	setup->stored = 1;
	load->dataset = (uint32_t)fmin((double)profile->dataset_samples, UINT32_MAX);
	load->batch = change->batch > 0 ? change->batch : (uint32_t)profile->batch;
	load->ahead = (uint32_t)profile->prefetch + SPARE_SLOTS;
	load->seed = profile->seed;
	if (profile->shuffle_run != UNKNOWN)
		load->blocks =
			(struct permutation_blocks){(uint32_t)profile->shuffle_run,
						    (uint32_t)profile->shuffle_window};
	sim_setup_set_cores(model, change, aspect, setup);
	set_compute(model, change, aspect, load);
	set_copy(model, change, aspect, load);
	set_prep(model, change, aspect, load);
	set_fetch(model, change, aspect, load);
	if (change->libdsa)
		sim_setup_set_libdsa(model, change, aspect, load);
	else if (model->inputs.in_turn)
		set_turns(model, change, aspect, load);
	sim_setup_set_cache(model, change, aspect, load);
	sim_setup_set_jobs(model, change, aspect, setup);
	sim_setup_set_recipe(model, change, aspect, setup);
	sim_setup_set_share(model, change, aspect, load);
}
