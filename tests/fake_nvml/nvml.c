/* A driver's library that says what a script says (script.h). Built in several kinds: as drivers are now; FAKE_R535:
 * with lists of 32-byte processes; FAKE_OLD: without any of the newer symbols; FAKE_BARE: with next to none. What is
 * written is checked against nvml.h's declarations alone. */
#include "src/sources/gpu/nvidia/nvml.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/fake_nvml/fake.h"

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
struct fake_script script;
struct nvml_device fake_handles[FAKE_GPUS][1 + FAKE_PARTS];

static void sleep_ms(double ms)
{
	struct timespec time = { (time_t)(ms / 1000), (long)(fmod(ms, 1000) * 1e6) };
	nanosleep(&time, NULL);
}

static double cpu_us(void)
{
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static void burn(double us)
{
	double until_us = cpu_us() + us;
	while (cpu_us() < until_us)
		;
}

unsigned fake_calls(const char *symbol, unsigned gpu)
{
	unsigned calls = 0;
	pthread_mutex_lock(&fake_lock);
	for (unsigned i = 0; i < script.rule_count; i++)
		calls += strcmp(script.rules[i].symbol, symbol) == 0 ? script.rules[i].calls[gpu] : 0;
	pthread_mutex_unlock(&fake_lock);
	return calls;
}

double fake_burnt_us(void)
{
	double us = 0;
	pthread_mutex_lock(&fake_lock);
	for (unsigned i = 0; i < script.rule_count; i++)
		for (unsigned gpu = 0; gpu < FAKE_GPUS; gpu++)
			us += script.rules[i].burn_us * script.rules[i].calls[gpu];
	pthread_mutex_unlock(&fake_lock);
	return us;
}

int fake_begin(const char *symbol, const struct nvml_device *device)
{
	int code = 0;
	double slow_ms = 0, burn_us = 0;
	bool hangs = false;
	pthread_mutex_lock(&fake_lock);
	fake_script_refresh(&script);
	for (unsigned i = 0; i < script.rule_count; i++) {
		struct fake_rule *rule = &script.rules[i];
		if (strncmp(symbol, rule->symbol, strlen(rule->symbol)) != 0 ||
			(rule->gpu >= 0 && (!device || device->gpu != (unsigned)rule->gpu)))
			continue;
		code = rule->code ? rule->code : code;
		slow_ms += rule->slow_ms;
		burn_us += rule->burn_us;
		rule->calls[device ? device->gpu : 0]++;
		hangs |= rule->hangs;
		if (rule->crashes)
			abort();
	}
	pthread_mutex_unlock(&fake_lock);
	while (hangs)
		pause();
	if (slow_ms > 0)
		sleep_ms(slow_ms);
	if (burn_us > 0)
		burn(burn_us);
	return code;
}

const struct fake_device *fake_of(const struct nvml_device *device)
{
	return &script.devices[device->gpu][device->part];
}

int fake_figure(const struct nvml_device *device, enum fake_figure which, double *out)
{
	pthread_mutex_lock(&fake_lock);
	int code = fake_value_now(&script, &fake_of(device)->figures[which], out);
	pthread_mutex_unlock(&fake_lock);
	return code;
}

int fake_give32(const struct nvml_device *device, enum fake_figure which, double scale, unsigned *out)
{
	double value;
	int code = fake_figure(device, which, &value);
	if (!code)
		*out = value < 0 ? NVML_ABSENT_32 : (unsigned)(value * scale);
	return code;
}

int fake_give64(const struct nvml_device *device, enum fake_figure which, double scale, unsigned long long *out)
{
	double value;
	int code = fake_figure(device, which, &value);
	if (!code)
		*out = value < 0 ? NVML_ABSENT_64 : (unsigned long long)(value * scale);
	return code;
}

/* -- start, names -- */

static int count_of(unsigned *out)
{
	*out = script.gpu_count;
	return 0;
}

static int handle_of(unsigned index, struct nvml_device **out)
{
	if (index >= script.gpu_count)
		return NVML_INVALID;
	fake_handles[index][0] = (struct nvml_device){ index, 0 };
	*out = &fake_handles[index][0];
	return fake_begin("nvmlDeviceGetHandle", *out);
}

#ifdef FAKE_OLD
EXPORT int nvmlInit(void)
{
	BEGIN(NULL);
	return 0;
}
EXPORT int nvmlDeviceGetCount(unsigned *out)
{
	BEGIN(NULL);
	return count_of(out);
}
EXPORT int nvmlDeviceGetHandleByIndex(unsigned index, struct nvml_device **out) { return handle_of(index, out); }
#else
EXPORT int nvmlInit_v2(void)
{
	BEGIN(NULL);
	return 0;
}
EXPORT int nvmlDeviceGetCount_v2(unsigned *out)
{
	BEGIN(NULL);
	return count_of(out);
}
EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvml_device **out) { return handle_of(index, out); }
#endif
#ifndef FAKE_BARE
EXPORT int nvmlShutdown(void)
{
	BEGIN(NULL);
	return 0;
}

EXPORT int nvmlSystemGetDriverVersion(char *out, unsigned size)
{
	BEGIN(NULL);
	snprintf(out, size, "%s", script.driver);
	return 0;
}

EXPORT int nvmlDeviceGetName(struct nvml_device *device, char *out, unsigned size)
{
	BEGIN(device);
	snprintf(out, size, "%s", fake_of(device)->name);
	return 0;
}

EXPORT int nvmlDeviceGetUUID(struct nvml_device *device, char *out, unsigned size)
{
	BEGIN(device);
	snprintf(out, size, "%s", fake_of(device)->uuid);
	return 0;
}

#ifdef FAKE_OLD
EXPORT int nvmlDeviceGetPciInfo(struct nvml_device *device, struct nvml_pci *out)
#else
EXPORT int nvmlDeviceGetPciInfo_v3(struct nvml_device *device, struct nvml_pci *out)
#endif
{
	BEGIN(device);
	out->domain = fake_of(device)->domain;
	out->bus = fake_of(device)->bus;
	out->device = fake_of(device)->device;
	snprintf(
		out->old_id, sizeof out->old_id, "%04X:%02X:%02X.0", out->domain & 0xffff, out->bus & 0xff, out->device & 0xff);
	return 0;
}

/* -- figures -- */

EXPORT int nvmlDeviceGetUtilizationRates(struct nvml_device *device, struct nvml_utilization *out)
{
	BEGIN(device);
	int code = fake_give32(device, FAKE_busy, 1, &out->gpu);
	return code ? code : fake_give32(device, FAKE_memory_busy, 1, &out->memory) * 0;
}

static int memory_of(const struct nvml_device *device, double *total, double *used, double *reserved)
{
	int code = fake_figure(device, FAKE_memory, total);
	if (code || (code = fake_figure(device, FAKE_used, used)))
		return code;
	if (fake_figure(device, FAKE_reserved, reserved))
		*reserved = 0;
	return 0;
}

EXPORT int nvmlDeviceGetMemoryInfo(struct nvml_device *device, struct nvml_memory *out)
{
	double total, used, reserved;
	BEGIN(device);
	int code = memory_of(device, &total, &used, &reserved);
	if (!code)
		*out =
			(struct nvml_memory){ (uint64_t)total, (uint64_t)(total - used - reserved), (uint64_t)(used + reserved) };
	return code;
}

#ifndef FAKE_OLD
EXPORT int nvmlDeviceGetMemoryInfo_v2(struct nvml_device *device, struct nvml_memory_v2 *out)
{
	double total, used, reserved;
	BEGIN(device);
	if (out->version != 0x02000028)
		return NVML_VERSION_MISMATCH;
	int code = memory_of(device, &total, &used, &reserved);
	if (!code)
		*out = (struct nvml_memory_v2){ out->version, (uint64_t)total, (uint64_t)reserved,
			(uint64_t)(total - used - reserved), (uint64_t)used };
	return code;
}

EXPORT int nvmlDeviceGetTemperatureV(struct nvml_device *device, struct nvml_temperature *out)
{
	unsigned celsius;
	BEGIN(device);
	if (out->version != 0x0100000c || out->sensor != 0)
		return NVML_VERSION_MISMATCH;
	int code = fake_give32(device, FAKE_temperature, 1, &celsius);
	if (!code)
		out->celsius = (int32_t)celsius;
	return code;
}
#endif

EXPORT int nvmlDeviceGetTemperature(struct nvml_device *device, unsigned sensor, unsigned *out)
{
	BEGIN(device);
	return sensor ? NVML_INVALID : fake_give32(device, FAKE_temperature, 1, out);
}

EXPORT int nvmlDeviceGetTemperatureThreshold(struct nvml_device *device, unsigned which, unsigned *out)
{
	BEGIN(device);
	return which == NVML_THRESHOLD_GPU_MAX ? fake_give32(device, FAKE_temperature_limit, 1, out) : NVML_NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetClockInfo(struct nvml_device *device, unsigned clock, unsigned *out)
{
	BEGIN(device);
	return clock > NVML_CLOCK_MEMORY
		? NVML_INVALID
		: fake_give32(device, clock == NVML_CLOCK_MEMORY ? FAKE_clock_memory : FAKE_clock, 1, out);
}

EXPORT int nvmlDeviceGetMaxClockInfo(struct nvml_device *device, unsigned clock, unsigned *out)
{
	BEGIN(device);
	return clock > NVML_CLOCK_MEMORY
		? NVML_INVALID
		: fake_give32(device, clock == NVML_CLOCK_MEMORY ? FAKE_clock_memory_max : FAKE_clock_max, 1, out);
}

#define ONE(symbol, type, give, which, scale) \
	EXPORT int symbol(struct nvml_device *device, type *out) \
	{ \
		BEGIN(device); \
		return give(device, FAKE_##which, scale, out); \
	}
ONE(nvmlDeviceGetPowerUsage, unsigned, fake_give32, power, 1000)
ONE(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, fake_give64, energy, 1000)
ONE(nvmlDeviceGetCurrPcieLinkGeneration, unsigned, fake_give32, generation, 1)
ONE(nvmlDeviceGetMaxPcieLinkGeneration, unsigned, fake_give32, generation_max, 1)
ONE(nvmlDeviceGetCurrPcieLinkWidth, unsigned, fake_give32, width, 1)
ONE(nvmlDeviceGetMaxPcieLinkWidth, unsigned, fake_give32, width_max, 1)
ONE(nvmlDeviceGetPcieReplayCounter, unsigned, fake_give32, replays, 1)
#ifdef FAKE_OLD
ONE(nvmlDeviceGetPowerManagementLimit, unsigned, fake_give32, power_limit, 1000)
ONE(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, fake_give64, reasons, 1)
#else
ONE(nvmlDeviceGetEnforcedPowerLimit, unsigned, fake_give32, power_limit, 1000)
ONE(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, fake_give64, reasons, 1)
#endif

EXPORT int nvmlDeviceGetTotalEccErrors(
	struct nvml_device *device, unsigned kind, unsigned counter, unsigned long long *out)
{
	BEGIN(device);
	return counter
		? NVML_INVALID
		: fake_give64(device, kind == NVML_ECC_CORRECTED ? FAKE_ecc_corrected : FAKE_ecc_uncorrected, 1, out);
}

#ifndef FAKE_OLD
EXPORT int nvmlDeviceGetFieldValues(struct nvml_device *device, int count, struct nvml_field *fields)
{
	static const struct {
		unsigned id, scope;
		enum fake_figure which;
		double scale;
	} table[] = {
		{ 83, 0, FAKE_energy, 1000 },
		{ 82, 0, FAKE_temperature_memory, 1 },
		{ 197, 0, FAKE_pcie_sent, 1 },
		{ 198, 0, FAKE_pcie_received, 1 },
		{ 94, 0, FAKE_replays, 1 },
		{ 138, UINT32_MAX, FAKE_nvlink_sent, 1 / 1024.0 },
		{ 139, UINT32_MAX, FAKE_nvlink_received, 1 / 1024.0 },
		{ 3, 0, FAKE_ecc_corrected, 1 },
		{ 4, 0, FAKE_ecc_uncorrected, 1 },
		{ 74, 0, FAKE_throttled_power, 1e9 },
		{ 271, 0, FAKE_throttled_brake, 1e9 },
		{ 269, 0, FAKE_throttled_heat_software, 1e9 },
		{ 270, 0, FAKE_throttled_heat, 1e9 },
		{ 75, 0, FAKE_throttled_thermal, 1e9 },
	};
	BEGIN(device);
	for (int i = 0; i < count; i++) {
		struct nvml_field *field = &fields[i];
		char name[32];
		snprintf(name, sizeof name, "field/%u", field->id);
		int refused = script.rule_count ? fake_begin(name, device) : 0;
		field->code = refused ? refused : NVML_NOT_SUPPORTED;
		for (size_t n = 0; n < sizeof table / sizeof *table; n++) {
			double value;
			if (refused || table[n].id != field->id || table[n].scope != field->scope)
				continue;
			field->code = fake_figure(device, table[n].which, &value);
			/* An H200's driver 580 counts PCIe's bytes in 32 bits. */
			bool is_pcie = (field->id == 197 || field->id == 198) && value <= UINT32_MAX;
			bool is_narrow = field->id == 82 || field->id == 94 || is_pcie;
			field->type = is_narrow ? NVML_VALUE_U32 : NVML_VALUE_U64;
			if (is_narrow)
				field->value.u32 = value < 0 ? NVML_ABSENT_32 : (uint32_t)(value * table[n].scale);
			else
				field->value.u64 = value < 0 ? NVML_ABSENT_64 : (uint64_t)(value * table[n].scale);
		}
	}
	return 0;
}
#endif

/* -- processes -- */

static int list_of(const struct nvml_device *device, char kind, unsigned *count, void *out, size_t stride)
{
	const struct fake_device *from = fake_of(device);
	unsigned room = *count, at = 0;
	pthread_mutex_lock(&fake_lock);
	for (unsigned i = 0; i < from->process_count; i++) {
		const struct fake_process *process = &from->processes[i];
		struct nvml_process row = { process->pid, process->memory < 0 ? NVML_ABSENT_64 : (uint64_t)process->memory,
			device->part ? from->instance : UINT32_MAX, UINT32_MAX, 0 };
		if (process->kind != kind)
			continue;
		if (at < room && out)
			memcpy((char *)out + at * stride, &row, stride);
		at++;
	}
	pthread_mutex_unlock(&fake_lock);
	*count = at;
	return at > room ? NVML_INSUFFICIENT_SIZE : 0;
}

#ifdef FAKE_OLD
#define LIST(symbol, kind) \
	EXPORT int symbol(struct nvml_device *device, unsigned *count, void *out) \
	{ \
		BEGIN(device); \
		return list_of(device, kind, count, out, 16); \
	}
#elif defined FAKE_R535
#define LIST(symbol, kind) \
	EXPORT int symbol##_v3(struct nvml_device *device, unsigned *count, void *out) \
	{ \
		BEGIN(device); \
		return list_of(device, kind, count, out, 32); \
	}
#else
#define LIST(symbol, kind) \
	EXPORT int symbol##_v3(struct nvml_device *device, unsigned *count, void *out) \
	{ \
		BEGIN(device); \
		return list_of(device, kind, count, out, 24); \
	}
EXPORT int nvmlDeviceGetRunningProcessDetailList(struct nvml_device *device, void *list)
{
	(void)device, (void)list;
	return NVML_NOT_SUPPORTED;
}
#endif
LIST(nvmlDeviceGetComputeRunningProcesses, 'c')
LIST(nvmlDeviceGetGraphicsRunningProcesses, 'g')
#ifndef FAKE_OLD
LIST(nvmlDeviceGetMPSComputeRunningProcesses, 'm')
EXPORT int nvmlDeviceGetConfComputeMemSizeInfo(struct nvml_device *device, void *out)
{
	(void)device, (void)out;
	return NVML_NOT_SUPPORTED;
}
#endif

static int use_of(
	const struct nvml_device *device, uint64_t last_us, unsigned room, unsigned *count, struct nvml_process_use *out)
{
	const struct fake_device *from = fake_of(device);
	struct timespec now;
	unsigned at = 0;
	clock_gettime(CLOCK_REALTIME, &now);
	uint64_t now_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
	pthread_mutex_lock(&fake_lock);
	for (unsigned i = 0; i < from->process_count + from->sample_count; i++) {
		bool is_process = i < from->process_count;
		const struct fake_process *process = is_process ? &from->processes[i] : NULL;
		const struct fake_sample *sample = is_process ? NULL : &from->samples[i - from->process_count];
		uint64_t time_us = is_process ? now_us : now_us - (uint64_t)(int64_t)(sample->age_s * 1e6);
		if ((is_process && process->use < 0) || time_us <= last_us)
			continue;
		if (at < room)
			out[at] = (struct nvml_process_use){ .time_us = time_us,
				.pid = is_process ? process->pid : sample->pid,
				.sm = is_process ? (uint32_t)process->use : sample->use };
		at++;
	}
	pthread_mutex_unlock(&fake_lock);
	*count = at;
	return at > room ? NVML_INSUFFICIENT_SIZE : at ? 0 : NVML_NOT_FOUND;
}

#if defined FAKE_OLD || defined FAKE_R535
EXPORT int nvmlDeviceGetProcessUtilization(
	struct nvml_device *device, struct nvml_process_sample *out, unsigned *count, unsigned long long last_us)
{
	struct nvml_process_use rows[FAKE_PROCESSES + FAKE_SAMPLES];
	unsigned got, room = *count;
	BEGIN(device);
	int code = use_of(device, last_us, FAKE_PROCESSES + FAKE_SAMPLES, &got, rows);
	*count = got;
	if (!out || code)
		return code ? code : NVML_INSUFFICIENT_SIZE;
	for (unsigned i = 0; i < got && i < room; i++)
		out[i] = (struct nvml_process_sample){ .pid = rows[i].pid, .time_us = rows[i].time_us, .sm = rows[i].sm };
	return got > room ? NVML_INSUFFICIENT_SIZE : 0;
}
#else
EXPORT int nvmlDeviceGetProcessesUtilizationInfo(struct nvml_device *device, struct nvml_processes_use *ask)
{
	BEGIN(device);
	return ask->version != 0x01000018 ? NVML_VERSION_MISMATCH
									  : use_of(device, ask->last_seen_us, ask->count, &ask->count, ask->rows);
}
#endif

/* -- events -- */

EXPORT int nvmlEventSetCreate(struct nvml_event_set **out)
{
	BEGIN(NULL);
	*out = calloc(1, sizeof **out);
	return 0;
}

EXPORT int nvmlDeviceRegisterEvents(struct nvml_device *device, unsigned long long types, struct nvml_event_set *set)
{
	(void)set;
	BEGIN(device);
	return types == 8 ? 0 : NVML_INVALID;
}

#ifdef FAKE_OLD
EXPORT int nvmlEventSetWait(struct nvml_event_set *set, struct nvml_event *out, unsigned timeout_ms)
#else
EXPORT int nvmlEventSetWait_v2(struct nvml_event_set *set, struct nvml_event *out, unsigned timeout_ms)
#endif
{
	BEGIN(NULL);
	pthread_mutex_lock(&fake_lock);
	for (unsigned i = 0; i < script.event_count; i++) {
		const struct fake_event *event = &script.events[i];
		if (event->number <= set->sent || event->gpu >= FAKE_GPUS)
			continue;
		set->sent = event->number;
		*out = (struct nvml_event){ &fake_handles[event->gpu][0], NVML_EVENT_XID, event->code, UINT32_MAX, UINT32_MAX };
		pthread_mutex_unlock(&fake_lock);
		return 0;
	}
	pthread_mutex_unlock(&fake_lock);
	sleep_ms(timeout_ms);
	return NVML_TIMEOUT;
}

EXPORT int nvmlEventSetFree(struct nvml_event_set *set)
{
	free(set);
	return 0;
}
#endif
