/* trials.h - how often a test repeats what differs by chance alone. */
#ifndef DSA_TESTS_TRIALS_H
#define DSA_TESTS_TRIALS_H

/* A tenth of them under sanitizers (TRIALS_FEW), which find what any of them does; what is
 * counted over them has to hold for so few, too. A constant. */
#ifdef TRIALS_FEW
#define TRIALS_OF(count) ((count) / 10)
#else
#define TRIALS_OF(count) (count)
#endif

#endif
