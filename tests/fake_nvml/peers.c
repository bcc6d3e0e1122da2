/* peers.c: what nvtop and nvitop ask of the driver and pmtop does not, so that tests/bench can compare them on a
 * machine without a GPU. */
#include "tests/fake_nvml/fake.h"

#if !defined(FAKE_OLD) && !defined(FAKE_R535)

EXPORT int nvmlInitWithFlags(unsigned flags)
{
	(void)flags;
	BEGIN(NULL);
	return NVML_OK;
}

EXPORT const char *nvmlErrorString(int code) { return code ? "an error of the stand-in" : "success"; }

static int not_supported(const char *symbol, const struct nvml_device *device)
{
	int code = fake_begin(symbol, device);
	return code ? code : NVML_NOT_SUPPORTED;
}

/* The first version of the lists, which nvtop wants to find even where it calls a newer one. */
static int no_processes(const char *symbol, const struct nvml_device *device, unsigned *count)
{
	*count = 0;
	return fake_begin(symbol, device);
}

EXPORT int nvmlDeviceGetGraphicsRunningProcesses(struct nvml_device *device, unsigned *count, void *processes)
{
	(void)processes;
	return no_processes(__func__, device, count);
}

EXPORT int nvmlDeviceGetComputeRunningProcesses(struct nvml_device *device, unsigned *count, void *processes)
{
	(void)processes;
	return no_processes(__func__, device, count);
}

EXPORT int nvmlDeviceGetFanSpeed(struct nvml_device *device, unsigned *out)
{
	(void)out;
	return not_supported(__func__, device);
}

static int idle_engine(const char *symbol, const struct nvml_device *device, unsigned *percent, unsigned *period_us)
{
	*percent = 0;
	*period_us = 1000000;
	return fake_begin(symbol, device);
}

EXPORT int nvmlDeviceGetEncoderUtilization(struct nvml_device *device, unsigned *percent, unsigned *period_us)
{
	return idle_engine(__func__, device, percent, period_us);
}

EXPORT int nvmlDeviceGetDecoderUtilization(struct nvml_device *device, unsigned *percent, unsigned *period_us)
{
	return idle_engine(__func__, device, percent, period_us);
}

EXPORT int nvmlDeviceGetPcieThroughput(struct nvml_device *device, unsigned counter, unsigned *kb_per_s)
{
	BEGIN(device);
	*kb_per_s = counter ? 310000 : 2400000;
	return NVML_OK;
}

/* As where the driver does not say it: pmtop falls back to this call, and must not take these processes for idle. */
EXPORT int nvmlDeviceGetProcessUtilization(
	struct nvml_device *device, void *samples, unsigned *count, unsigned long long since)
{
	(void)samples, (void)count, (void)since;
	return not_supported(__func__, device);
}

#endif
