/*
 * cupti_api.h - what is used of CUPTI: found when the program runs, declared here.
 *
 * Names, numbers and offsets are those of CUPTI 11.8 to 13, which agree in them.
 * Functions return 0, or a number of enum cupti_result.
 */
#ifndef DSA_CUPTI_API_H
#define DSA_CUPTI_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cupti_result {
	CUPTI_END = 12,     /* no more records in the buffer */
	CUPTI_NO_KIND = 21, /* a record of a kind that the library does not know */
	CUPTI_HELD = 39     /* another tool has subscribed */
};

/* Kinds of records. */
enum cupti_kind {
	CUPTI_MEMCPY = 1,
	CUPTI_MEMSET = 2,
	CUPTI_KERNEL = 10,  /* the kind that lets kernels run side by side */
	CUPTI_MEMCPY2 = 22, /* between devices */
	CUPTI_GRAPH = 51    /* a launch of a graph, all its nodes together */
};

enum {
	CUPTI_FORCED = 1, /* flush: records that are not complete, too */
	CUPTI_ZEROED = 5, /* attribute: buffers come zeroed; 1 byte */
	CUPTI_NAME = 64   /* room for the name of who holds CUPTI */
};

struct cupti_subscriber {
	size_t size; /* of this */
	const char *name;
	char *holder; /* filled with CUPTI_HELD */
	size_t room;
};

typedef void cupti_event(void *data, int domain, uint32_t id, const void *about);
typedef void cupti_request(uint8_t **buffer, size_t *size, size_t *records);
typedef void cupti_complete(void *context, uint32_t stream, uint8_t *buffer,
			    size_t size, size_t valid);
typedef uint64_t cupti_clock(void);

#define CUPTI_NEEDED(X)                                                                \
	X(cuptiGetVersion, (uint32_t * version))                                       \
	X(cuptiSubscribe, (void **subscriber, cupti_event *event, void *data))         \
	X(cuptiActivityRegisterCallbacks,                                              \
	  (cupti_request * request, cupti_complete * complete))                        \
	X(cuptiActivityRegisterTimestampCallback, (cupti_clock * clock))               \
	X(cuptiActivityEnable, (int kind))                                             \
	X(cuptiActivityFlushAll, (uint32_t flags))                                     \
	X(cuptiActivityGetNextRecord,                                                  \
	  (uint8_t * buffer, size_t valid, uint8_t * *record))                         \
	X(cuptiActivityGetNumDroppedRecords,                                           \
	  (void *context, uint32_t stream, size_t *dropped))

/* NULL where the library has none. */
#define CUPTI_WANTED(X)                                                                \
	X(cuptiSubscribe_v2, (void **subscriber, cupti_event *event, void *data,       \
			      struct cupti_subscriber *about))                         \
	X(cuptiUnsubscribe, (void *subscriber))                                        \
	X(cuptiActivityFlushPeriod, (uint32_t ms))                                     \
	X(cuptiGetResultString, (int result, const char **text))                       \
	X(cuptiActivitySetAttribute, (int attribute, size_t *size, void *value))

struct cupti_api {
#define CUPTI_MEMBER(name, arguments) int(*name) arguments;
	CUPTI_NEEDED(CUPTI_MEMBER)
	CUPTI_WANTED(CUPTI_MEMBER)
#undef CUPTI_MEMBER
};

/*
 * Opens the copy that is in the process already; else the one that DSA_CUPTI names;
 * else one on the linker's path, or of a toolkit where these lie. True, and where it
 * was found; false, and why none can be used. It stays open. *place is 0 at first; with
 * what it is then, the search goes on behind the one that was found.
 */
bool cupti_api_open(struct cupti_api *api, unsigned *place, char *text, size_t room);

#endif
