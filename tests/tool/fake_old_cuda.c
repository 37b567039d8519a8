/* fake_old_cuda.c - a driver that lacks most calls, built as libcuda.so.1 of its own
 * folder. */
unsigned cuInit(unsigned flags);

__attribute__((visibility("default"))) unsigned cuInit(unsigned flags)
{
	return flags;
}
