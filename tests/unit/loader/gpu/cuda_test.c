/* cuda_test.c - the driver's calls and constants as we declare them, against <cuda.h> where
 * that is installed. */
#include <stddef.h>

#if __has_include(<cuda.h>)
#include <cuda.h>
#endif

#include "loader/gpu/cuda.h"
#include "tests/lib/test.h"

#ifdef CUDA_VERSION
#define SAME_VALUE(name, value)                                                        \
	_Static_assert((int)(name) == (value), #name " has another value in "          \
						     "<cuda.h>");
CUDA_CONSTANTS(SAME_VALUE)

/* An enum and the unsigned number behind it are compatible. */
#define SAME_CALL(name, arguments)                                                     \
	_Static_assert(__builtin_types_compatible_p(__typeof__(&(name)),               \
						    cuda_result(*) arguments),         \
		       #name " has another prototype in <cuda.h>");
CUDA_CALLS(SAME_CALL)
CUDA_SHARE_CALLS(SAME_CALL)

#define SAME_STRUCT(ours, theirs)                                                      \
	_Static_assert(sizeof(struct ours) == sizeof(theirs),                          \
		       #theirs " has another size in <cuda.h>")
#define SAME_MEMBER(ours, member, theirs, its)                                         \
	_Static_assert(offsetof(struct ours, member) == offsetof(theirs, its),         \
		       #theirs "." #its " lies elsewhere in <cuda.h>")
SAME_STRUCT(cuda_uuid, CUuuid);
SAME_STRUCT(cuda_kind, CUmemAllocationProp);
SAME_STRUCT(cuda_access, CUmemAccessDesc);
SAME_MEMBER(cuda_kind, type, CUmemAllocationProp, type);
SAME_MEMBER(cuda_kind, handles, CUmemAllocationProp, requestedHandleTypes);
SAME_MEMBER(cuda_kind, place.type, CUmemAllocationProp, location.type);
SAME_MEMBER(cuda_kind, place.id, CUmemAllocationProp, location.id);
SAME_MEMBER(cuda_access, place.id, CUmemAccessDesc, location.id);
SAME_MEMBER(cuda_access, flags, CUmemAccessDesc, flags);
#endif

TEST(declarations_are_those_of_the_header)
{
#ifndef CUDA_VERSION
	skip();
#endif
}
