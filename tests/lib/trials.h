/* trials.h - how often a test repeats what differs by chance alone. */
#ifndef DSA_TESTS_TRIALS_H
#define DSA_TESTS_TRIALS_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TRIALS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TRIALS_SANITIZED 1
#endif
#endif

/* A tenth of them under sanitizers, which find what any of them does; what is counted over
 * them has to hold for so few, too. A constant. */
#ifdef TRIALS_SANITIZED
#define TRIALS_OF(count) ((count) / 10)
#else
#define TRIALS_OF(count) (count)
#endif

#endif
