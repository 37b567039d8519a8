/*
 * sim_setup.h - what is to be simulated: the inputs of a run, a change, and which input
 * is taken lower or higher than it was measured. Private to models/.
 */
#ifndef DSA_SIM_SETUP_H
#define DSA_SIM_SETUP_H

#include "models/predict/inputs.h"
#include "models/simulation/simulation.h"

struct model;
struct profile_change;

/* The inputs as they are, or one of them off by a factor; and which end holds where
 * only bounds are known: -1 the slower, 1 the faster, 0 between. */
struct aspect {
	int input; /* -1: none */
	double factor;
	int side;
};

#define ASPECT_PLAIN ((struct aspect){-1, 1, 0})

/* A load, and the tables that it points to: it can't be copied. */
struct sim_setup {
	struct simulation_load load;
	double speed[SPEEDS];
	double job_compute_s[SIMULATION_JOBS];
	double stored; /* bytes of a sample, over the run's */
};

void sim_setup_set(const struct model *model, const struct profile_change *change,
		   const struct aspect *aspect, struct sim_setup *setup);

/* Every step of every job takes so much longer. */
void sim_setup_delay(struct sim_setup *setup, double seconds);

/* Every step of every job begins by taking a batch over, for so long: the consumer's
 * own work. */
void sim_setup_hand_over(struct sim_setup *setup, double seconds);

/* True where it is not known what the storage gives to so many as read after a change. */
bool sim_setup_storage_is_bounded(const struct model *model,
				  const struct profile_change *change);

/* True where hits are read of a disk, and it is not known what that takes. */
bool sim_setup_hits_are_bounded(const struct model *model,
				const struct profile_change *change);

/* Seconds that a batch of so many samples, which lies ready, takes the trainer. With workers that
 * the run did not have it unpickles them; of what these write for longer than was measured it
 * takes as much, for it may be the new pages, which it reads. */
double sim_setup_takes_over(const struct model *model,
			    const struct profile_change *change,
			    const struct aspect *aspect, double batch);

/* Cores after a change. */
unsigned sim_setup_cores(const struct model *model,
			 const struct profile_change *change);

#endif
