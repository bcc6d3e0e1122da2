/* fake.h: what the files of the fake driver share. */
#ifndef PMTOP_TESTS_FAKE_NVML_FAKE_H
#define PMTOP_TESTS_FAKE_NVML_FAKE_H

#include <pthread.h>

#include "src/sources/gpu/nvidia/nvml.h"
#include "tests/fake_nvml/script.h"

struct nvml_device {
	unsigned gpu, part;
};
struct nvml_sample {
	double taken_s;
};
struct nvml_event_set {
	unsigned sent;
};

#define EXPORT __attribute__((visibility("default")))
/* A call begins: what the script has for its symbol happens. */
#define BEGIN(handle) \
	do { \
		int begun = fake_begin(__func__, handle); \
		if (begun) \
			return begun; \
	} while (0)

extern pthread_mutex_t fake_lock; /* of the script while it is read */
extern struct fake_script script;
extern struct nvml_device fake_handles[FAKE_GPUS][1 + FAKE_PARTS];

int fake_begin(const char *symbol, const struct nvml_device *device);
/* For the test that loaded it: how often a GPU was asked for what a line of the script is about, and what all those
 * with `burn` took, since it was read. */
EXPORT unsigned fake_calls(const char *symbol, unsigned gpu);
EXPORT double fake_burnt_us(void);
const struct fake_device *fake_of(const struct nvml_device *device);
int fake_figure(const struct nvml_device *device, enum fake_figure which, double *out);
int fake_give32(const struct nvml_device *device, enum fake_figure which, double scale, unsigned *out);
int fake_give64(const struct nvml_device *device, enum fake_figure which, double scale, unsigned long long *out);

#endif
