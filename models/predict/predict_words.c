/* predict_words.c - what a prediction assumes, in words. */
#include "models/predict/model_state.h"
#include "models/predict/recipes.h"
#include "models/predict/sharing.h"

#include <stdio.h>
#include <string.h>

static const char *cores_words(const struct model *model,
			       const struct profile_change *change)
{
	enum cores_basis basis = CORES_MEASURED;

	if (change->cores == 0)
		return NULL;
	cores_rate(&model->inputs.cores, change->cores, &basis);
	return basis == CORES_BOUNDS ? "not measured with more cores: from no gain at "
				       "all to a linear one; the stalls shown are the "
				       "best case"
	       : model->inputs.cores.assumed
		       ? "preparation alone was not measured: as if each core gave the "
			 "same"
	       : basis == CORES_FITTED ? "not measured with more cores: by the "
					 "scalability law that fits fewer"
				       : NULL;
}

static const char *basis_words(const struct model *model,
			       const struct profile_change *change,
			       const struct profile_prediction *out)
{
	const char *words = cores_words(model, change);
	bool real_gpu =
		!isnan(change->gpu_speed) && isnan(model->profile->emulated_per_s);

	if (words == NULL && real_gpu)
		words = isfinite(profile_kernel_part(model->profile))
				? "its kernels get faster, as far as they take a "
				  "step's time; launches and copies do not"
				: "all of a step's time outside the CPU gets faster";
	if (words == NULL && isnan(out->per_s.value) &&
	    sim_setup_storage_is_bounded(model, change))
		words = change->libdsa ? "what the storage gives to more reads at once "
					 "was not measured: only bounds are known"
				       : "what the storage gives to other numbers of "
					 "workers was not measured: only bounds are "
					 "known";
	if (words == NULL && isnan(out->per_s.value) &&
	    sim_setup_hits_are_bounded(model, change))
		words = "the cache on disk had nothing in this run: a hit takes from "
			"nothing at all to what a miss does";
	if (words == NULL && isnan(out->per_s.value))
		words = "a step with another batch was not measured: only bounds are "
			"known";
	return words;
}

/* Appends to a list of assumptions. */
static int predict_add_why(struct profile_prediction *out, const char *words)
{
	if (words == NULL || words[0] == '\0')
		return 0;
	return profile_text(&out->why, "%s%s%s", out->why == NULL ? "" : out->why,
			    out->why == NULL ? "" : "; ", words);
}

/* What is stored, and what nobody but the program can change. */
static void predict_recipe_words(const struct model *model,
				 const struct profile_change *change, size_t room,
				 char *words)
{
	const struct profile *profile = model->profile;
	double bytes = storage_sample_bytes(profile),
	       samples = profile_quotient(profile->dataset_samples, 1);
	struct recipe_effect effect;
	char all[48] = "";

	words[0] = '\0';
	recipes_effect(profile, change, &effect, NULL);
	if (isfinite(samples))
		snprintf(all, sizeof(all), ", all of them %.3g GB",
			 samples * bytes * effect.bytes / 1e9);
	if (change->decoded || change->resize > 0)
		snprintf(words, room,
			 "a sample takes %.0f KB of storage instead of %.0f%s%s",
			 bytes * effect.bytes / 1e3, bytes / 1e3, all,
			 change->resize > 0 ? "; crops see fewer pixels" : "");
	if (change->decoded || profile_word_known(&change->type))
		snprintf(words + strlen(words), room - strlen(words),
			 "%snot tried: the program must ask for it",
			 words[0] == '\0' ? "" : "; ");
	if (change->without != NULL)
		snprintf(words + strlen(words), room - strlen(words),
			 "%swhat follows is taken to last as long as it did; not "
			 "tried: the program must leave it out",
			 words[0] == '\0' ? "" : "; ");
}

/* What was not measured of it. */
static const char *predict_bucket_words(const struct model *model,
					const struct profile_change *change)
{
	if (!profile_change_has_bucket(change))
		return NULL;
	if (change->block_fetch > 0)
		return "every answer takes as long; the training process loads "
		       "one sample after another, and each fetch lists the bucket, "
		       "as DELI does";
	return model->inputs.storage.remote ? "every answer takes as long"
					    : "every answer takes as long, and a "
					      "request the CPU as much as a "
					      "read of the run did";
}

static const char *predict_disk_words(const struct model *model,
				      const struct profile_change *change)
{
	return model->inputs.on_disk && !isnan(change->cache_share)
		       ? "what is written to the cache on disk holds nobody up"
		       : NULL;
}

/* The training process made its batches itself, and had none handed over. */
static const char *predict_handover_words(const struct model *model,
					  const struct profile_change *change)
{
	if (!model->inputs.in_turn || model->profile->workers > 0 ||
	    change->workers == 0)
		return NULL;
	if (model->inputs.share_s > 0)
		return "to hand a batch over was measured within one process: between "
		       "two it may take twice as long, and up to 1 ms more";
	return "what it takes to hand batches over from another process was not "
	       "measured";
}

/* What libdsa's loader does otherwise. */
static void predict_libdsa_words(const struct model *model, size_t room, char *words)
{
	const struct profile_own_recipe *recipe = &model->profile->own_recipe;
	double own = model->inputs.prep_s, libdsa = recipe->cpu_s.value;

	snprintf(words, room,
		 "%.3g ms of CPU a sample instead of %.3g; batches are %s NCHW%s, with "
		 "crops and flips of its own; not tried: the program must ask for it",
		 1e3 * libdsa, 1e3 * own, recipe->type == NULL ? "" : recipe->type,
		 recipe->type != NULL && strcmp(recipe->type, "uint8") == 0
			 ? ""
			 : ", normalised");
}

static int predict_add_ranks(const struct profile *profile,
			     struct profile_prediction *out)
{
	char words[64];

	if (profile->world == UNKNOWN)
		return 0;
	snprintf(words, sizeof(words), "rates of one of %llu ranks, which change alike",
		 (unsigned long long)profile->world);
	return predict_add_why(out, words);
}

int predict_write_why(const struct model *model, const struct profile_change *change,
		      const struct simulation_outcome *real,
		      struct profile_prediction *out)
{
	char recipe[256];
	struct sim_setup setup;
	int result = 0;

	if (sharing_is_asked(model->profile, change)) {
		sim_setup_set(model, change, &ASPECT_PLAIN, &setup);
		result = sharing_note(model->profile, &setup, real, out);
	}
	if (change->libdsa)
		predict_libdsa_words(model, sizeof(recipe), recipe);
	else
		predict_recipe_words(model, change, sizeof(recipe), recipe);
	if (result == 0)
		result = predict_add_ranks(model->profile, out);
	if (result == 0)
		result = predict_add_why(out, recipe);
	if (result == 0)
		result = predict_add_why(out, predict_handover_words(model, change));
	if (result == 0)
		result = predict_add_why(out, predict_bucket_words(model, change));
	if (result == 0)
		result = predict_add_why(out, predict_disk_words(model, change));
	return result < 0 ? result
			  : predict_add_why(out, basis_words(model, change, out));
}
