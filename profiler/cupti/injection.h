/*
 * injection.h - what the CUDA driver calls as a program begins to use a device.
 *
 * CUDA_INJECTION64_PATH names the library for it. The program's output, exit status and
 * memory stay as they are: whatever fails is said in the session, and the program goes
 * on. A forked child never calls CUPTI, which would wait there for ever.
 */
#ifndef DSA_INJECTION_H
#define DSA_INJECTION_H

__attribute__((visibility("default"))) int InitializeInjection(void);

#endif
