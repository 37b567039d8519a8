/* gpu_facts.h - which GPUs the machine has, as NVIDIA's kernel driver tells: no
 * library is needed for it. */
#ifndef DSA_GPU_FACTS_H
#define DSA_GPU_FACTS_H

struct gpu_facts {
	char driver[32];  /* its version, "580.65.06"; "": it is not loaded */
	char models[160]; /* "NVIDIA H100 80GB HBM3"; of several kinds each once */
	unsigned count;
};

/* `root` stands in front of /proc: "" but in tests. */
void gpu_facts_read(struct gpu_facts *gpus, const char *root);

#endif
