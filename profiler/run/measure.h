/*
 * measure.h - a whole run: sessions, launches of the program, analysis.
 *
 * The sessions lie in the run's folder until run_folder_forget(); of a run whose dsa died
 * they are still there, and run_folder_recover() makes a result of them. Those of jobs
 * other than 0 lie in folders job-1, job-2 ... in it.
 */
#ifndef DSA_MEASURE_H
#define DSA_MEASURE_H

#include "profiler/analysis/rate.h"
#include "profiler/injection_path.h"
#include "profiler/preload.h"
#include "profiler/profile.h"
#include "profiler/run/conductor/conductor.h"
#include "profiler/run/run_folder.h"

/* How a program is started, or several at once: all that has to be known to start them once
 * more. */
struct startup {
	char *const *command; /* argv; the program is searched in PATH */
	/* Programs at once, in step. Each gets its number in place of {job} in its
	 * words, and as DSA_JOB; 0: one program, without a number. */
	unsigned jobs;
	/* The jobs share one loader; the program is started once more before, to find
	 * out what it loads. */
	bool share;
	const char *device;           /* that the shared loader copies to; NULL: none */
	char *const *const *commands; /* one for each job; NULL: all run `command` */
	const char *loader;           /* DSA_LOADER for the program */
	char *const *loaders;         /* one for each job; NULL: `loader` for all */
	const char *asked;            /* DSA_ASKED: of it what dsa was given; or NULL */
	enum preload_choice choice;   /* whose loader is measured */
	/* Of a program with a loader of its own: its loops end when enough is measured, not
	 * the program; and files are not kept that it overwrites while data is repeated. */
	bool ends_data, overwrites;
	unsigned own_epochs;                    /* 1: its epochs end as by themselves */
	const struct injection_path *injection; /* NULL: devices are not watched */
	unsigned cores;                         /* for the program; 0: all */
	bool output_aside; /* its standard output goes to standard error */
};

struct measure_config {
	struct startup startup;
	const char *folder;             /* of the run; exists */
	const char *dataset;            /* as asked for; NULL: the program's own */
	const char *repeat;             /* command line that measures this again */
	enum measure_protocol protocol; /* not those of a gate */
	double budget_s, precision;
	double timeout_s, grace_s;
	uint64_t seed, steps;
	/* Objects that all launches and jobs together may ask servers for, retries and
	 * listings apart; TRACE_ONE_EPOCH: as many as the data set has samples; 0: any
	 * number. */
	uint64_t most_gets;
	/* The first launch does ask servers: for so many at most, of these bytes; or NULL. */
	void (*bounded)(void *context, uint64_t gets, double bytes);
	void (*repeats)(
		void *context); /* from now on data is, in each launch; or NULL */
	void (*progress)(void *context, const struct conductor_progress *now);
	/* A program goes on without dsa; NULL, or of several at once: it is ended. */
	void (*unmeasured)(void *context, const char *why);
	/* A program asked for no batch in timeout_s, and is waited for; NULL: it is ended. */
	void (*silent)(void *context, const char *what);
	/* A program's command left this process, which is waited for; or NULL. */
	void (*background)(void *context, pid_t process);
	/* The program is started once more, with epochs of their own length; or NULL. */
	void (*overran)(void *context, const char *why);
	/* NULL, or keeps the result of a job other than 0 in a folder of its own. */
	run_folder_keep *keep;
	void *context;
};

/*
 * Measures; where the program dies, or trains no more, beyond the end of its epoch, once more
 * with startup.own_epochs. 0 with the result in *profile, which profile_init() made; it may be
 * incomplete (analyse_complete()), and then its status says why. -errno when there is
 * no result: the program can't be started, or asked for no batch; where it ended by itself
 * profile->target_status says how. Of several jobs it is
 * the result of job 0, with all of them in profile->jobs.
 */
int measure(const struct measure_config *config, struct profile *profile,
	    struct error *err);

/*
 * Measures real windows alone, after the cache came to its steady state: whole epochs
 * with the real cache where the budget holds enough of them, else windows as measure()
 * has them. Ends at config.precision (relative half-width of the rate) or with the
 * budget. `protocol` is ignored. 0, or -errno when nothing was measured; -EINTR when
 * dsa received a signal.
 */
int measure_rate(const struct measure_config *config, struct measure_rate *rate,
		 struct error *err);

#endif
