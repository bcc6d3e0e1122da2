/* nvml.h: the part of NVIDIA's management library that pmtop uses: pmtop's own declarations, loaded by dlopen, every
 * symbol optional.
 *
 * The facts (names, sizes, numbers) are those of NVIDIA's public nvml.h, API versions 10 to 13; the _Static_asserts
 * check them. A structure's version is its size with its number in the top byte. The driver's output is untrusted:
 * callers check each value before they use it. */
#ifndef PMTOP_SOURCES_GPU_NVIDIA_NVML_H
#define PMTOP_SOURCES_GPU_NVIDIA_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/status.h"

struct nvml_device;
struct nvml_sample;
struct nvml_event_set;

enum nvml_code {
	NVML_OK = 0,
	NVML_UNINITIALIZED = 1,
	NVML_INVALID = 2,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_TIMEOUT = 10,
	NVML_LIBRARY_NOT_FOUND = 12,
	NVML_FUNCTION_NOT_FOUND = 13,
	NVML_GPU_IS_LOST = 15,
	NVML_RESET_REQUIRED = 16,
	NVML_BLOCKED = 17,
	NVML_DRIVER_MISMATCH = 18,
	NVML_NO_DATA = 21,
	NVML_VERSION_MISMATCH = 25,
	NVML_UNKNOWN = 999,
};

enum { NVML_NAME_SIZE = 96 };     /* the maximum of all versions for a name or a uuid */
#define NVML_ABSENT_32 UINT32_MAX /* means "not available" */
#define NVML_ABSENT_64 UINT64_MAX
#define NVML_VERSION(type, number) ((uint32_t)(sizeof(type) | (uint32_t)(number) << 24))

struct nvml_utilization {
	uint32_t gpu, memory;
}; /* percent */

/* v1 and v2 of the call write less, but the three numbers have the same offsets in all versions. */
struct nvml_pci {
	char old_id[16];
	uint32_t domain, bus, device, device_id, subsystem_id;
	char id[32];
};
_Static_assert(sizeof(struct nvml_pci) == 68, "as the driver writes it");

/* used: including reserved memory */
struct nvml_memory {
	uint64_t total, free, used;
};
struct nvml_memory_v2 {
	uint32_t version;
	uint64_t total, reserved, free, used;
};
_Static_assert(NVML_VERSION(struct nvml_memory_v2, 2) == 0x02000028, "as the driver expects it");

struct nvml_temperature {
	uint32_t version, sensor;
	int32_t celsius;
};
_Static_assert(NVML_VERSION(struct nvml_temperature, 1) == 0x0100000c, "as the driver expects it");

enum nvml_clock { NVML_CLOCK_GRAPHICS, NVML_CLOCK_SM, NVML_CLOCK_MEMORY };
enum nvml_threshold { NVML_THRESHOLD_SLOWDOWN = 1, NVML_THRESHOLD_GPU_MAX = 3 };
enum nvml_ecc { NVML_ECC_CORRECTED, NVML_ECC_UNCORRECTED };
enum { NVML_SENSOR_GPU = 0, NVML_ECC_SINCE_LOADED = 0 };

/* Why clocks are lower than the maximum. */
enum nvml_reason {
	NVML_REASON_IDLE = 0x1,
	NVML_REASON_CLOCKS_SET = 0x2,
	NVML_REASON_POWER_CAP = 0x4,
	NVML_REASON_HARDWARE = 0x8,
	NVML_REASON_SYNC_BOOST = 0x10,
	NVML_REASON_HEAT_SOFTWARE = 0x20,
	NVML_REASON_HEAT = 0x40,
	NVML_REASON_POWER_BRAKE = 0x80,
};

enum nvml_value_type {
	NVML_VALUE_DOUBLE,
	NVML_VALUE_U32,
	NVML_VALUE_UNSIGNED_LONG,
	NVML_VALUE_U64,
	NVML_VALUE_I64,
	NVML_VALUE_I32,
	NVML_VALUE_U16
};
struct nvml_field {
	uint32_t id, scope;
	int64_t time_us, took_us;
	uint32_t type; /* enum nvml_value_type */
	int32_t code;  /* of this field: the value is valid only with NVML_OK */
	union {
		double number;
		uint32_t u32;
		uint64_t u64;
		int64_t i64;
		int32_t i32;
		uint16_t u16;
	} value;
};
_Static_assert(sizeof(struct nvml_field) == 40, "as the driver writes it");

enum nvml_field_id {
	NVML_FIELD_ECC_CORRECTED = 3,
	NVML_FIELD_ECC_UNCORRECTED = 4,
	NVML_FIELD_THROTTLED_POWER_NS = 74,
	NVML_FIELD_THROTTLED_THERMAL_NS = 75,
	NVML_FIELD_MEMORY_CELSIUS = 82,
	NVML_FIELD_ENERGY_MJ = 83,
	NVML_FIELD_PCIE_REPLAYS = 94,
	NVML_FIELD_NVLINK_SENT_KIB = 138,
	NVML_FIELD_NVLINK_RECEIVED_KIB = 139,
	NVML_FIELD_POWER_MW = 185,
	NVML_FIELD_PCIE_SENT = 197,
	NVML_FIELD_PCIE_RECEIVED = 198,
	NVML_FIELD_THROTTLED_HEAT_SOFTWARE_NS = 269,
	NVML_FIELD_THROTTLED_HEAT_NS = 270,
	NVML_FIELD_THROTTLED_POWER_BRAKE_NS = 271,
};
#define NVML_SCOPE_ALL_LINKS UINT32_MAX

/* Entries in lists of running processes have 16, 24 or 32 bytes, by version. That of the first call ends before
 * gpu_instance, that of v2 before protected. */
struct nvml_process {
	uint32_t pid;
	uint64_t memory;
	uint32_t gpu_instance, compute_instance;
	uint64_t protected_memory;
};
enum { NVML_PROCESS_SIZE_PLAIN = 16, NVML_PROCESS_SIZE = 24, NVML_PROCESS_SIZE_R535 = 32 };
_Static_assert(sizeof(struct nvml_process) == NVML_PROCESS_SIZE_R535 &&
		offsetof(struct nvml_process, gpu_instance) == NVML_PROCESS_SIZE_PLAIN,
	"strides");

/* percent */
struct nvml_process_sample {
	uint32_t pid;
	uint64_t time_us;
	uint32_t sm, memory, encoder, decoder;
};
_Static_assert(sizeof(struct nvml_process_sample) == 32, "as the driver writes it");
struct nvml_process_use {
	uint64_t time_us;
	uint32_t pid, sm, memory, encoder, decoder, jpeg, flow;
};
_Static_assert(sizeof(struct nvml_process_use) == 40, "as the driver writes it");
struct nvml_processes_use {
	uint32_t version, count;
	uint64_t last_seen_us;
	struct nvml_process_use *rows;
};
_Static_assert(
	sizeof(void *) != 8 || NVML_VERSION(struct nvml_processes_use, 1) == 0x01000018, "as the driver expects it");

struct nvml_attributes {
	uint32_t multiprocessors, copy_engines, decoders, encoders, jpegs, flows, gpu_slices, compute_slices;
	uint64_t memory_mib;
};

/* GPM: the hardware's counts between two samples. The driver may write all metrics of its own version, so the array
 * has room for all. */
enum nvml_gpm_metric {
	/* percent */
	NVML_GPM_SM_ACTIVE = 2,
	NVML_GPM_SM_OCCUPANCY = 3,
	NVML_GPM_TENSOR_ACTIVE = 5,
	NVML_GPM_DRAM_ACTIVE = 10,
	/* MiB/s */
	NVML_GPM_PCIE_SENT = 20,
	NVML_GPM_PCIE_RECEIVED = 21,
	NVML_GPM_NVLINK_RECEIVED = 60,
	NVML_GPM_NVLINK_SENT = 61,
	NVML_GPM_METRICS_MAX = 333,
};
struct nvml_gpm_value {
	uint32_t id;
	int32_t code;
	double value;
	const char *names[3];
};
struct nvml_gpm {
	uint32_t version, count;
	struct nvml_sample *from, *to;
	struct nvml_gpm_value values[NVML_GPM_METRICS_MAX];
};
_Static_assert(sizeof(void *) != 8 || sizeof(struct nvml_gpm) == 13344, "as the driver writes it");
struct nvml_gpm_support {
	uint32_t version, is_supported;
};
enum { NVML_GPM_VERSION = 1 };

struct nvml_event {
	struct nvml_device *device;
	uint64_t type, data;
	uint32_t gpu_instance, compute_instance;
};
#define NVML_EVENT_XID UINT64_C(8)

/* NVML_CALL(member, arguments, the newest symbol, fallbacks …): all return an enum nvml_code. */
#define NVML_CALLS(X) \
	X(init, (void), "nvmlInit_v2", "nvmlInit") \
	X(shutdown, (void), "nvmlShutdown") \
	X(driver_version, (char *, unsigned), "nvmlSystemGetDriverVersion") \
	X(device_count, (unsigned *), "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount") \
	X(device, (unsigned, struct nvml_device **), "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex") \
	X(name, (struct nvml_device *, char *, unsigned), "nvmlDeviceGetName") \
	X(uuid, (struct nvml_device *, char *, unsigned), "nvmlDeviceGetUUID") \
	X(pci, (struct nvml_device *, struct nvml_pci *), "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", \
		"nvmlDeviceGetPciInfo") \
	X(utilization, (struct nvml_device *, struct nvml_utilization *), "nvmlDeviceGetUtilizationRates") \
	X(memory_v2, (struct nvml_device *, struct nvml_memory_v2 *), "nvmlDeviceGetMemoryInfo_v2") \
	X(memory, (struct nvml_device *, struct nvml_memory *), "nvmlDeviceGetMemoryInfo") \
	X(clock, (struct nvml_device *, unsigned, unsigned *), "nvmlDeviceGetClockInfo") \
	X(clock_max, (struct nvml_device *, unsigned, unsigned *), "nvmlDeviceGetMaxClockInfo") \
	X(temperature_v1, (struct nvml_device *, struct nvml_temperature *), "nvmlDeviceGetTemperatureV") \
	X(temperature, (struct nvml_device *, unsigned, unsigned *), "nvmlDeviceGetTemperature") \
	X(threshold, (struct nvml_device *, unsigned, unsigned *), "nvmlDeviceGetTemperatureThreshold") \
	X(reasons, (struct nvml_device *, unsigned long long *), "nvmlDeviceGetCurrentClocksEventReasons", \
		"nvmlDeviceGetCurrentClocksThrottleReasons") \
	X(power, (struct nvml_device *, unsigned *), "nvmlDeviceGetPowerUsage") \
	X(power_limit, (struct nvml_device *, unsigned *), "nvmlDeviceGetEnforcedPowerLimit", \
		"nvmlDeviceGetPowerManagementLimit") \
	X(energy, (struct nvml_device *, unsigned long long *), "nvmlDeviceGetTotalEnergyConsumption") \
	X(fields, (struct nvml_device *, int, struct nvml_field *), "nvmlDeviceGetFieldValues") \
	X(generation, (struct nvml_device *, unsigned *), "nvmlDeviceGetCurrPcieLinkGeneration") \
	X(generation_max, (struct nvml_device *, unsigned *), "nvmlDeviceGetMaxPcieLinkGeneration") \
	X(width, (struct nvml_device *, unsigned *), "nvmlDeviceGetCurrPcieLinkWidth") \
	X(width_max, (struct nvml_device *, unsigned *), "nvmlDeviceGetMaxPcieLinkWidth") \
	X(replays, (struct nvml_device *, unsigned *), "nvmlDeviceGetPcieReplayCounter") \
	X(ecc_errors, (struct nvml_device *, unsigned, unsigned, unsigned long long *), "nvmlDeviceGetTotalEccErrors") \
	X(compute_processes, (struct nvml_device *, unsigned *, void *), "nvmlDeviceGetComputeRunningProcesses_v3", \
		"nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses") \
	X(graphics_processes, (struct nvml_device *, unsigned *, void *), "nvmlDeviceGetGraphicsRunningProcesses_v3", \
		"nvmlDeviceGetGraphicsRunningProcesses_v2", "nvmlDeviceGetGraphicsRunningProcesses") \
	X(mps_processes, (struct nvml_device *, unsigned *, void *), "nvmlDeviceGetMPSComputeRunningProcesses_v3", \
		"nvmlDeviceGetMPSComputeRunningProcesses_v2", "nvmlDeviceGetMPSComputeRunningProcesses") \
	X(process_details, (void), \
		"nvmlDeviceGetRunningProcessDetailList") /* only tested for, never called: see nvml_process_size */ \
	X(protected_memory, (void), "nvmlDeviceGetConfComputeMemSizeInfo") /* also only tested for */ \
	X(processes_use, (struct nvml_device *, struct nvml_processes_use *), "nvmlDeviceGetProcessesUtilizationInfo") \
	X(process_samples, (struct nvml_device *, struct nvml_process_sample *, unsigned *, unsigned long long), \
		"nvmlDeviceGetProcessUtilization") \
	X(mig_mode, (struct nvml_device *, unsigned *, unsigned *), "nvmlDeviceGetMigMode") \
	X(parts_max, (struct nvml_device *, unsigned *), "nvmlDeviceGetMaxMigDeviceCount") \
	X(part, (struct nvml_device *, unsigned, struct nvml_device **), "nvmlDeviceGetMigDeviceHandleByIndex") \
	X(gpu_instance, (struct nvml_device *, unsigned *), "nvmlDeviceGetGpuInstanceId") \
	X(attributes, (struct nvml_device *, struct nvml_attributes *), "nvmlDeviceGetAttributes_v2") \
	X(gpm_support, (struct nvml_device *, struct nvml_gpm_support *), "nvmlGpmQueryDeviceSupport") \
	X(gpm_allocate, (struct nvml_sample **), "nvmlGpmSampleAlloc") \
	X(gpm_free, (struct nvml_sample *), "nvmlGpmSampleFree") \
	X(gpm_sample, (struct nvml_device *, struct nvml_sample *), "nvmlGpmSampleGet") \
	X(gpm_sample_of_part, (struct nvml_device *, unsigned, struct nvml_sample *), "nvmlGpmMigSampleGet") \
	X(gpm_metrics, (struct nvml_gpm *), "nvmlGpmMetricsGet") \
	X(event_set, (struct nvml_event_set **), "nvmlEventSetCreate") \
	X(event_register, (struct nvml_device *, unsigned long long, struct nvml_event_set *), "nvmlDeviceRegisterEvents") \
	X(event_wait, (struct nvml_event_set *, struct nvml_event *, unsigned), "nvmlEventSetWait_v2", "nvmlEventSetWait") \
	X(event_free, (struct nvml_event_set *), "nvmlEventSetFree")

enum nvml_call {
#define NVML_CALL_ID(name, arguments, ...) NVML_CALL_##name,
	NVML_CALLS(NVML_CALL_ID)
#undef NVML_CALL_ID
		NVML_CALL_COUNT
};

enum { NVML_SYMBOL_ABSENT = 255 };

struct nvml {
	void *handle;
	/* index of the symbol that was found; NVML_SYMBOL_ABSENT: the member is NULL */
	uint8_t symbols[NVML_CALL_COUNT];
#define NVML_MEMBER(name, arguments, ...) int(*name) arguments;
	NVML_CALLS(NVML_MEMBER)
#undef NVML_MEMBER
};

/* Loads and initialises NVML. `path` NULL: libnvidia-ml.so.1, never the bare .so, which may be a toolkit's stub for
 * linking. `sys_root`: for the driver's version in messages. */
enum status nvml_open(struct nvml *nvml, const char *path, const char *sys_root, struct reason *why_not);
/* The library stays mapped, because its own threads may still run in it. */
void nvml_close(struct nvml *nvml);
/* The size of an entry in the lists that NVML_CALL_compute_processes and similar calls return. */
size_t nvml_process_size(const struct nvml *nvml, enum nvml_call call);
/* A displayable text for a code: "the GPU has fallen off the bus". Never NULL. */
const char *nvml_words(int code);
/* Whether the driver, GPU or library does not know a newer call: the older one is tried instead. */
bool nvml_is_unknown(int code);

#endif
