/*
 * variants.h - one table each of the variants that have a name: cache policies, fetch
 * engines, prep ops and types, sources.
 *
 * Options, messages, shell completion, the loader's tables and the models' all come
 * from these; tests/man.t compares the manual. A variant `name` of the loader is a
 * constant cache_NAME, fetch_NAME, prep_NAME or source_NAME in a file of its own.
 */
#ifndef DSA_VARIANTS_H
#define DSA_VARIANTS_H

/* clang-format off */
#define LOADER_CACHE_POLICIES(X) \
	X(none, NONE) \
	X(page, PAGE) \
	X(minio, MINIO) /* never evicts */ \
	X(lru, LRU) \
	X(fifo, FIFO)

/* Models predict those of the loader, and more. */
#define CACHE_POLICIES(X) \
	LOADER_CACHE_POLICIES(X) \
	X(random, RANDOM)   /* evicts any */ \
	X(nextuse, NEXTUSE) /* evicts, or does not keep, what is used last (Belady) */

/* true: one thread keeps all reads in flight; false: a thread for each read. */
#define FETCH_ENGINES(X) \
	X(pread, "pread", false) \
	X(pread_direct, "pread-direct", false) \
	X(uring, "uring", true) \
	X(uring_direct, "uring-direct", true) \
	X(net, "net", true)

/* The first that claims a data set opens it. */
#define SOURCES(X) \
	X(synthetic) \
	X(tokens) \
	X(bucket) \
	X(web) \
	X(tar) \
	X(tfrecord) \
	X(tree) \
	X(list)

/* Those that a user names, and what the shared loader does by itself. */
#define USER_PREP_OPS(X) \
	X(image) \
	X(raw) \
	X(tokens) \
	X(audio)
#define PREP_OPS(X) \
	USER_PREP_OPS(X) \
	X(decoded) \
	X(canvas)

/* What a value of a prepared picture is, and its bytes; then what a token is. In the order
 * of enum dsa_type. */
#define PREP_TYPES(X) \
	X(F32, "float32", 4) \
	X(F16, "float16", 2) \
	X(U8, "uint8", 1)
#define TOKEN_TYPES(X) \
	X(I32, "int32", 4) \
	X(I64, "int64", 8)
/* clang-format on */

/* CACHE_NONE, CACHE_PAGE ...: the place of a policy among CACHE_POLICIES. */
#define CACHE_ID(name, NAME) CACHE_##NAME,
enum cache_id { CACHE_POLICIES(CACHE_ID) CACHE_IDS };

/* As choice.h reads them: "none|page|minio". */
#define VARIANT_POLICY(name, NAME)             "|" #name
#define VARIANT_ENGINE(name, text, one_thread) "|" text
#define VARIANT_OP(name)                       "|" #name
#define VARIANT_TYPE(NAME, text, bytes)        "|" text

#define LOADER_CACHE_POLICY_NAMES (&LOADER_CACHE_POLICIES(VARIANT_POLICY)[1])
#define CACHE_POLICY_NAMES        (&CACHE_POLICIES(VARIANT_POLICY)[1])
#define FETCH_ENGINE_NAMES        "auto" FETCH_ENGINES(VARIANT_ENGINE)
#define PREP_OP_NAMES             (&USER_PREP_OPS(VARIANT_OP)[1])
#define PREP_TYPE_NAMES           (&PREP_TYPES(VARIANT_TYPE)[1])
#define ALL_TYPE_NAMES            (&PREP_TYPES(VARIANT_TYPE) TOKEN_TYPES(VARIANT_TYPE)[1])

#endif
