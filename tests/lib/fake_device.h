/*
 * fake_device.h - the device behind the fake driver (fake_cuda.h says what it is like): its
 * memory, its streams, and a thread each that does their work.
 *
 * fake.lock guards everything but what is atomic. Functions that begin with fake_stream_ or
 * fake_range_ want it held.
 */
#ifndef DSA_TESTS_FAKE_DEVICE_H
#define DSA_TESTS_FAKE_DEVICE_H

#include "loader/gpu/cuda.h"
#include "tests/lib/converted.h"
#include "tests/tool/cuda/fake_cuda.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { DEVICES = 8, RANGES = 256, DEPTH = 16, NAME = 64, FUNCTIONS = 16 };

struct CUctx_st {
	int device;
	unsigned references;
	double engine_ns[3]; /* when that of kernels, copies in and out will be free */
};

struct CUevent_st {
	bool timed;
	uint64_t recorded, completed; /* times */
	uint64_t time_ns;             /* of the last that completed */
	struct CUevent_st *other;     /* the next of fake.events */
};

struct CUfunc_st {
	char name[NAME];
};

struct CUmod_st {
	struct CUfunc_st functions[FUNCTIONS];
};

enum op_kind {
	OP_KERNEL,
	OP_COPY_IN,
	OP_COPY_OUT,
	OP_SET,
	OP_COPY_WITHIN,
	OP_RECORD,
	OP_WAIT,
	OP_CALL
};

struct op {
	struct op *next;
	enum op_kind kind;
	uint64_t asked_ns;
	uint32_t correlation;
	void *to;
	const void *from;
	uint64_t bytes, sum; /* sum: of what is copied, when it was asked for */
	bool pinned;
	int value;
	struct CUevent_st *event;
	uint64_t time; /* of the event */
	void (*call)(void *);
	void *context;
	const struct CUfunc_st *function;
	struct converted how;
	uint32_t count;
	uint64_t work;
};

struct CUstream_st {
	struct CUctx_st *context;
	uint32_t number;
	pthread_t thread;
	struct op *first, **last;  /* still to be done, the one at work too */
	bool closing;              /* destroyed */
	uint64_t end_ns;           /* of what was done */
	struct CUstream_st *other; /* the next of fake.all */
};

struct range {
	uintptr_t start;
	size_t bytes;
};

struct fake_device {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* an operation ended, or came */
	pthread_mutex_t watch_lock;
	fake_cuda_done *watch;
	_Atomic pid_t pid; /* that called cuInit */
	bool injected;

	int devices, version;
	double rate, unit, call, memory;
	bool no_register, no_ptx, read_only, mirror_writable;
	_Atomic long fail;

	struct CUctx_st contexts[DEVICES];
	double taken[DEVICES];
	struct CUstream_st *plain[DEVICES]; /* the stream without a handle */
	struct CUstream_st *all;            /* that there ever were: none is freed */
	uint32_t streams, correlation;
	long copies;
	unsigned invalidated; /* captures */
	_Atomic cuda_result sticky;
	struct CUevent_st *events; /* that there ever were */
	struct range pinned[RANGES], allocated[RANGES];
	int owner[RANGES]; /* device of what is allocated */
};

extern struct fake_device fake;

/* Ends the process: the program broke a rule. */
void fake_broken(const char *what, const char *of);

/* A number of FAKE_CUDA; all of them, into `fake`. */
double fake_setting(const char *name, double otherwise);
void fake_settings(void);

/* Whether bytes are the same. */
uint64_t fake_sum(const void *data, uint64_t bytes);

/* The range that these bytes are in; a new one; the one that starts there. */
struct range *fake_range_of(struct range *ranges, const void *start, size_t bytes);
struct range *fake_range_add(struct range *ranges, const void *start, size_t bytes);
struct range *fake_range_at(struct range *ranges, const void *start);

/* A copy from it is still to be done. */
bool fake_busy(const struct range *range);

struct CUstream_st *fake_stream_new(struct CUctx_st *context);
void fake_stream_add(struct CUstream_st *stream, const struct op *what);
void fake_stream_wait(const struct CUstream_st *stream);

#endif
