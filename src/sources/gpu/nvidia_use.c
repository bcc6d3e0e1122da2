#include <stdlib.h>

#include "src/base/clock.h"
#include "src/sources/gpu/nvidia_private.h"

/* The driver keeps samples for some time; of what it had before the first look only the newest part is wanted. */
enum { SAMPLES_MOST = 4096, TRIES = 3 };
#define FIRST_LOOK_US 2000000
/* Stamps are of the date; a driver's may go a little ahead. One from far ahead would hide all that come after it. */
#define AHEAD_MOST_US 5000000

struct look { uint64_t newest_us, from_us, until_us; };

static void take(struct nvidia_use uses[NVIDIA_USES_MOST], size_t *count, uint32_t told, uint32_t percent)
{
	size_t at = 0;
	while (at < *count && uses[at].told != told)
		at++;
	if (at == NVIDIA_USES_MOST)
		return;
	if (at == *count)
		uses[(*count)++] = (struct nvidia_use){ .told = told };
	uses[at].sum += percent / 100.0;
	uses[at].count++;
}

static bool is_sound(const struct look *look, uint32_t told, uint64_t time_us, uint32_t percent)
{
	return told && percent <= 100 && time_us > look->from_us && time_us <= look->until_us;
}

/* In two passes: the newest stamp says which of the first look's are new enough. */
static void take_all(struct nvidia_device *device, const struct nvml_process_use *rows, size_t row_count, struct nvidia_use uses[NVIDIA_USES_MOST], size_t *count)
{
	struct look look = { 0, device->use_seen_us, (uint64_t)(clock_realtime_ns() / 1000) + AHEAD_MOST_US };
	for (size_t i = 0; i < row_count; i++)
		if (is_sound(&look, rows[i].pid, rows[i].time_us, rows[i].sm) && rows[i].time_us > look.newest_us)
			look.newest_us = rows[i].time_us;
	if (!device->use_seen_us && look.newest_us > FIRST_LOOK_US)
		look.from_us = look.newest_us - FIRST_LOOK_US;
	for (size_t i = 0; i < row_count; i++)
		if (is_sound(&look, rows[i].pid, rows[i].time_us, rows[i].sm))
			take(uses, count, rows[i].pid, rows[i].sm);
	if (look.newest_us)
		device->use_seen_us = look.newest_us;
}

static int ask_newer(struct nvidia *nvidia, struct nvidia_device *device, struct nvml_process_use **rows, size_t *row_count)
{
	struct nvml_processes_use ask = { .version = NVML_VERSION(struct nvml_processes_use, 1), .last_seen_us = device->use_seen_us };
	uint32_t wanted = 64;
	int code = NVML_INSUFFICIENT_SIZE;
	for (int i = 0; i < TRIES && code == NVML_INSUFFICIENT_SIZE && wanted <= SAMPLES_MOST; i++) {
		struct nvml_process_use *grown = realloc(*rows, wanted * sizeof *grown);
		if (!grown)
			break;
		*rows = ask.rows = grown;
		ask.count = wanted;
		code = nvidia->nvml.processes_use(device->handle, &ask);
		*row_count = code == NVML_OK && ask.count <= wanted ? ask.count : 0;
		wanted = ask.count > wanted ? ask.count + ask.count / 4 : wanted * 4;
	}
	return code;
}

static int ask_older(struct nvidia *nvidia, struct nvidia_device *device, struct nvml_process_use **rows, size_t *row_count)
{
	unsigned count = 0;
	int code = nvidia->nvml.process_samples(device->handle, NULL, &count, device->use_seen_us);
	if (code != NVML_OK && code != NVML_INSUFFICIENT_SIZE)
		return code;
	unsigned room = count && count <= SAMPLES_MOST ? count : SAMPLES_MOST;
	struct nvml_process_sample *samples = calloc(room, sizeof *samples);
	struct nvml_process_use *grown = realloc(*rows, room * sizeof *grown);
	*rows = grown ? grown : *rows;
	count = room;
	code = samples && grown ? nvidia->nvml.process_samples(device->handle, samples, &count, device->use_seen_us) : NVML_INSUFFICIENT_SIZE;
	*row_count = code == NVML_OK && count <= room ? count : 0;
	for (size_t i = 0; i < *row_count; i++)
		grown[i] = (struct nvml_process_use){ .pid = samples[i].pid, .time_us = samples[i].time_us, .sm = samples[i].sm };
	free(samples);
	return code;
}

bool nvidia_read_use(struct nvidia *nvidia, struct nvidia_device *device, struct nvidia_use uses[NVIDIA_USES_MOST], size_t *count)
{
	struct nvml_process_use *rows = NULL;
	size_t row_count = 0;
	int code = NVML_FUNCTION_NOT_FOUND;
	*count = 0;
	if (nvidia->nvml.processes_use)
		code = ask_newer(nvidia, device, &rows, &row_count);
	if (nvml_is_unknown(code) && nvidia->nvml.process_samples)
		code = ask_older(nvidia, device, &rows, &row_count);
	if (nvidia_hears(nvidia, device, code))
		take_all(device, rows, row_count, uses, count);
	free(rows);
	/* None ran anything: not even their absence is an error. */
	return code == NVML_OK || code == NVML_NOT_FOUND;
}
