/* kernel.c - picks the inner loops that this CPU runs fastest. */
#include "loader/prep/kernel.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

#define INLINE static inline __attribute__((always_inline))

/* clang unrolls short loops of constant length by itself. */
#ifdef __clang__
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 5")
#endif

#define KERNEL(lanes, usable_here)                                                     \
	static const struct kernel kernel_##lanes = {                                  \
		.name = #lanes " lanes",                                               \
		.rows = (lanes) / 4,                                                   \
		.usable = (usable_here),                                               \
		.interleave = interleave_##lanes,                                      \
		.horizontal = horizontal_##lanes,                                      \
		.vertical = vertical_##lanes,                                          \
		.to_bytes = to_bytes_##lanes,                                          \
		.to_halves = to_halves_##lanes,                                        \
	}

static bool kernel_always(void)
{
	return true;
}

#define LANES 4
#define TARGET
#define NAME(x) x##_4
#include "loader/prep/simd.h"
KERNEL(4, kernel_always);

#ifdef __x86_64__
/* __builtin_cpu_supports() of clang 14 does not know F16C. */
static bool has_f16c(void)
{
	unsigned a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && has_f16c();
}

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}

#define LANES   8
#define TARGET  __attribute__((target("avx2,f16c")))
#define NAME(x) x##_8
#include "loader/prep/simd.h"
KERNEL(8, has_avx2);

#define LANES   16
#define TARGET  __attribute__((target("avx512f,avx512dq")))
#define NAME(x) x##_16
#include "loader/prep/simd.h"
KERNEL(16, has_avx512);
#endif

const struct kernel *const kernels[] = {
#ifdef __x86_64__
	&kernel_16,
	&kernel_8,
#endif
	&kernel_4,
	NULL,
};

void kernel_fence(void)
{
#ifdef __x86_64__
	_mm_sfence();
#endif
}

const struct kernel *kernel_best(void)
{
	const struct kernel *const *kernel = kernels;

	while (kernel[1] != NULL && !(*kernel)->usable())
		kernel++;
	return *kernel;
}
