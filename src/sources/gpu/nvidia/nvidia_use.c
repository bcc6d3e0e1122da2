#include "src/sources/gpu/nvidia/nvidia_use.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/sources/gpu/nvidia/nvidia.h"
#include "src/sources/gpu/nvidia/nvidia_private.h"

/* The driver buffers samples for some time; the first reading uses only the newest part. */
enum { SAMPLES_FIRST = 64, SAMPLES_MAX = 4096, TRIES = 3 };
#define FIRST_READ_US 2000000
/* Timestamps are wall-clock time and may be slightly ahead. One far ahead would hide all later ones. */
#define AHEAD_MAX_US 5000000

struct refresh {
	uint64_t newest_us, from_us, until_us;
};

static void take(struct nvidia_device *device, uint32_t driver_pid, double ratio)
{
	size_t at = 0;
	while (at < device->use_count && device->uses[at].driver_pid != driver_pid)
		at++;
	if (at == NVIDIA_USES_MAX)
		return;
	if (at == device->use_count)
		device->uses[device->use_count++] = (struct nvidia_use){ .driver_pid = driver_pid };
	device->uses[at].sum += ratio;
	device->uses[at].count++;
}

static bool is_sound(const struct refresh *refresh, uint32_t driver_pid, uint64_t time_us, uint32_t percent)
{
	return driver_pid && percent <= 100 && time_us > refresh->from_us && time_us <= refresh->until_us;
}

/* Two scans: the newest timestamp decides which samples of the first reading are new enough. */
static void take_all(struct nvidia_device *device, const struct nvml_process_use *rows, size_t count)
{
	struct refresh refresh = { 0, device->use_newest_us, (uint64_t)(clock_realtime_ns() / 1000) + AHEAD_MAX_US };
	for (size_t i = 0; i < count; i++)
		if (is_sound(&refresh, rows[i].pid, rows[i].time_us, rows[i].sm) && rows[i].time_us > refresh.newest_us)
			refresh.newest_us = rows[i].time_us;
	if (!device->use_newest_us && refresh.newest_us > FIRST_READ_US)
		refresh.from_us = refresh.newest_us - FIRST_READ_US;
	for (size_t i = 0; i < count; i++)
		if (is_sound(&refresh, rows[i].pid, rows[i].time_us, rows[i].sm))
			take(device, rows[i].pid, rows[i].sm / 100.0);
	if (refresh.newest_us)
		device->use_newest_us = refresh.newest_us;
}

static bool has_entry(const struct nvidia_device *device, uint32_t driver_pid)
{
	return !isnan(nvidia_use_of(device, driver_pid));
}

static void take_idle(struct nvidia_device *device)
{
	for (size_t i = 0; i < NVIDIA_LISTS; i++)
		for (size_t n = 0; n < device->lists[i].count; n++)
			if (!has_entry(device, device->lists[i].users[n].driver_pid))
				take(device, device->lists[i].users[n].driver_pid, 0);
}

/* -- the driver's samples: a call takes milliseconds, so the buffer size that was enough is stored -- */

static void *make_room(struct nvidia *nvidia, size_t bytes)
{
	if (bytes <= nvidia->use_room_bytes)
		return nvidia->use_room;
	void *room = realloc(nvidia->use_room, bytes);
	if (!room)
		return NULL;
	nvidia->use_room = room;
	nvidia->use_room_bytes = bytes;
	return room;
}

static int read_newer(
	struct nvidia *nvidia, struct nvidia_device *device, const struct nvml_process_use **rows, size_t *count)
{
	struct nvml_processes_use request = { .version = NVML_VERSION(struct nvml_processes_use, 1),
		.last_seen_us = device->use_newest_us };
	uint32_t wanted = device->use_rows ? device->use_rows : SAMPLES_FIRST;
	int code = NVML_INSUFFICIENT_SIZE;
	for (int i = 0; i < TRIES && code == NVML_INSUFFICIENT_SIZE && wanted <= SAMPLES_MAX &&
		 (request.rows = make_room(nvidia, wanted * sizeof *request.rows));
		 i++) {
		request.count = device->use_rows = wanted;
		code = nvidia->nvml.processes_use(device->handle, &request);
		*count = code == NVML_OK && request.count <= wanted ? request.count : 0;
		wanted = request.count > wanted ? request.count + request.count / 4 : wanted * 4;
	}
	*rows = request.rows;
	return code;
}

/* A call without a buffer returns the size that it needs. */
static int read_size(struct nvidia *nvidia, struct nvidia_device *device)
{
	unsigned count = 0;
	int code = nvidia->nvml.process_samples(device->handle, NULL, &count, device->use_newest_us);
	device->use_rows = count && count <= SAMPLES_MAX - SAMPLES_MAX / 5 ? count + count / 4 : SAMPLES_MAX;
	return code == NVML_INSUFFICIENT_SIZE ? NVML_OK : code;
}

static int read_older(
	struct nvidia *nvidia, struct nvidia_device *device, const struct nvml_process_use **rows, size_t *count)
{
	int code = NVML_INSUFFICIENT_SIZE;
	for (int i = 0; i < TRIES && code == NVML_INSUFFICIENT_SIZE; i++) {
		code = device->use_rows && i == 0 ? NVML_OK : read_size(nvidia, device);
		unsigned got = device->use_rows;
		struct nvml_process_use *uses =
			code == NVML_OK ? make_room(nvidia, got * (sizeof *uses + sizeof(struct nvml_process_sample))) : NULL;
		if (!uses)
			return code;
		struct nvml_process_sample *samples = (struct nvml_process_sample *)(void *)(uses + got);
		code = nvidia->nvml.process_samples(device->handle, samples, &got, device->use_newest_us);
		*count = code == NVML_OK && got <= device->use_rows ? got : 0;
		for (size_t n = 0; n < *count; n++)
			uses[n] =
				(struct nvml_process_use){ .pid = samples[n].pid, .time_us = samples[n].time_us, .sm = samples[n].sm };
		*rows = uses;
	}
	return code;
}

static int request(
	struct nvidia *nvidia, struct nvidia_device *device, const struct nvml_process_use **rows, size_t *count)
{
	int code = NVML_FUNCTION_NOT_FOUND;
	if (nvidia->nvml.processes_use && !device->is_use_older)
		code = read_newer(nvidia, device, rows, count);
	if (!nvml_is_unknown(code) || !nvidia->nvml.process_samples)
		return code;
	device->use_rows = device->is_use_older ? device->use_rows : 0;
	device->is_use_older = true;
	return read_older(nvidia, device, rows, count);
}

void nvidia_read_use(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	const struct nvml_process_use *rows = NULL;
	size_t count = 0;
	(void)now_ns, (void)out;
	device->has_use = false;
	device->use_count = 0;
	if (device->has_parts || (!device->uses && !(device->uses = calloc(NVIDIA_USES_MAX, sizeof *device->uses))))
		return;
	int code = request(nvidia, device, &rows, &count);
	if (nvidia_check(nvidia, device, code))
		take_all(device, rows, count);
	/* NOT_FOUND means that no process ran anything. */
	device->has_use = code == NVML_OK || code == NVML_NOT_FOUND;
	if (device->has_use)
		take_idle(device);
}

double nvidia_use_of(const struct nvidia_device *device, uint32_t driver_pid)
{
	for (size_t i = 0; i < device->use_count; i++)
		if (device->uses[i].driver_pid == driver_pid)
			return device->uses[i].sum / device->uses[i].count;
	return (double)NAN;
}
