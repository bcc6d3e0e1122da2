#include "src/sources/gpu/nvidia/nvidia_events.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/clock.h"
#include "src/base/thread.h"
#include "src/sources/gpu/nvidia/nvidia.h"
#include "src/sources/gpu/nvidia/nvidia_private.h"

/* The driver reports errors (XID) only to a waiting call, so a thread waits for them and does nothing else. */
enum { WAIT_MS = 250, EVENTS_RETAINED = 32, FAULTS_MAX = 10, PAUSE_MS = 200, XID_FALLEN_OFF = 79 };

struct happening {
	struct nvml_device *handle;
	uint32_t code;
};

struct nvidia_events {
	pthread_t thread;
	pthread_mutex_t lock; /* protects `count` and `retained` */
	size_t count;
	struct happening retained[EVENTS_RETAINED];
	_Atomic bool is_stopping;
	int (*wait)(struct nvml_event_set *, struct nvml_event *, unsigned);
	int (*release)(struct nvml_event_set *);
	struct nvml_event_set *set;
};

static void keep(struct nvidia_events *events, const struct nvml_event *event)
{
	if (event->type != NVML_EVENT_XID)
		return;
	pthread_mutex_lock(&events->lock);
	if (events->count < EVENTS_RETAINED)
		events->retained[events->count++] =
			(struct happening){ event->device, event->data <= UINT32_MAX ? (uint32_t)event->data : 0 };
	pthread_mutex_unlock(&events->lock);
}

static void *wait_for_events(void *argument)
{
	struct nvidia_events *events = argument;
	const struct timespec pause = { .tv_nsec = PAUSE_MS * NS_PER_MS };
	for (int faults = 0; !atomic_load(&events->is_stopping) && faults < FAULTS_MAX;) {
		struct nvml_event event = { 0 };
		int code = events->wait(events->set, &event, WAIT_MS);
		if (code == NVML_OK)
			keep(events, &event);
		if (code == NVML_OK || code == NVML_TIMEOUT) {
			faults = 0;
			continue;
		}
		faults++;
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static struct nvml_event_set *make_set(const struct nvidia *nvidia)
{
	const struct nvml *nvml = &nvidia->nvml;
	struct nvml_event_set *set = NULL;
	size_t registered = 0;
	if (!nvml->event_set || !nvml->event_register || !nvml->event_wait || !nvml->event_free ||
		nvml->event_set(&set) != NVML_OK)
		return NULL;
	for (size_t i = 0; i < nvidia->count; i++)
		registered += nvml->event_register(nvidia->devices[i]->handle, NVML_EVENT_XID, set) == NVML_OK;
	if (registered)
		return set;
	nvml->event_free(set);
	return NULL;
}

struct nvidia_events *nvidia_events_open(const struct nvidia *nvidia)
{
	struct nvml_event_set *set = make_set(nvidia);
	struct nvidia_events *events = set ? calloc(1, sizeof *events) : NULL;
	if (!events) {
		if (set)
			nvidia->nvml.event_free(set);
		return NULL;
	}
	events->set = set;
	events->wait = nvidia->nvml.event_wait;
	events->release = nvidia->nvml.event_free;
	pthread_mutex_init(&events->lock, NULL);
	if (thread_start(&events->thread, wait_for_events, events) == 0)
		return events;
	events->release(set);
	pthread_mutex_destroy(&events->lock);
	free(events);
	return NULL;
}

bool nvidia_events_close(struct nvidia_events *events)
{
	struct timespec until;
	if (!events)
		return true;
	atomic_store(&events->is_stopping, true);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 2;
	if (pthread_timedjoin_np(events->thread, NULL, &until) != 0) {
		/* The thread keeps the memory that it uses. */
		pthread_detach(events->thread);
		return false;
	}
	events->release(events->set);
	pthread_mutex_destroy(&events->lock);
	free(events);
	return true;
}

/* -- texts, after NVIDIA's catalogue of XIDs -- */

static const char *xid_words(uint32_t code)
{
	static const struct {
		uint32_t code;
		const char *words;
	} table[] = {
		{ 13, "graphics engine exception" },
		{ 31, "GPU memory page fault" },
		{ 32, "corrupted push buffer" },
		{ 43, "GPU stopped processing" },
		{ 45, "preemptive cleanup after earlier errors" },
		{ 48, "double-bit ECC error" },
		{ 61, "internal micro-controller breakpoint" },
		{ 62, "internal micro-controller halt" },
		{ 63, "memory row remapped" },
		{ 64, "memory row remapping failed" },
		{ 69, "graphics engine exception" },
		{ 74, "NVLink error" },
		{ XID_FALLEN_OFF, "it has fallen off the bus" },
		{ 92, "high rate of corrected ECC errors" },
		{ 94, "contained ECC error: one program affected" },
		{ 95, "uncontained ECC error: any program may be affected" },
		{ 109, "context switch timeout" },
		{ 119, "GSP does not respond" },
		{ 120, "GSP error" },
		{ 140, "unrecovered ECC error" },
		{ 154, "reset the GPU or reboot the machine" },
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].code == code)
			return table[i].words;
	return NULL;
}

static void emit_happening(
	struct nvidia *nvidia, const struct happening *happening, int64_t now_ns, struct sample_set *out)
{
	char text[NVIDIA_LOST_SIZE];
	struct nvidia_device *device = nvidia_find(nvidia, happening->handle);
	struct record *event = device ? sample_set_add(out, RECORD_GPU_EVENT, 0, now_ns) : NULL;
	if (!event)
		return;
	const char *words = xid_words(happening->code);
	snprintf(
		text, sizeof text, "%s%sXID %u%s", words ? words : "", words ? " (" : "", happening->code, words ? ")" : "");
	event->gpu_event.gpu = device->instance;
	event->gpu_event.code = happening->code;
	event->gpu_event.text = sample_set_text(out, text, strlen(text));
	if (happening->code == XID_FALLEN_OFF)
		nvidia_lose(nvidia, device, text, happening->code, now_ns, out);
}

void nvidia_events_take(struct nvidia *nvidia, int64_t now_ns, struct sample_set *out)
{
	struct happening taken[EVENTS_RETAINED];
	struct nvidia_events *events = nvidia->events;
	if (!events)
		return;
	pthread_mutex_lock(&events->lock);
	size_t count = events->count;
	memcpy(taken, events->retained, count * sizeof *taken);
	events->count = 0;
	pthread_mutex_unlock(&events->lock);
	for (size_t i = 0; i < count; i++)
		emit_happening(nvidia, &taken[i], now_ns, out);
}
