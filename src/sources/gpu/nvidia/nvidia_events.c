#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/clock.h"
#include "src/sources/gpu/nvidia/nvidia_private.h"

/* The driver tells of errors (XID) to who waits for them: a thread of its own, which does nothing else. */
enum { WAIT_MS = 250, EVENTS_RETAINED = 32, FAULTS_MAX = 10, PAUSE_MS = 200, XID_FALLEN_OFF = 79 };

struct happening {
	struct nvml_device *handle;
	uint32_t code;
};

struct nvidia_events {
	pthread_t thread;
	pthread_mutex_t lock; /* of the two below */
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
	if (pthread_create(&events->thread, NULL, wait_for_events, events) == 0)
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
		/* What it holds is left to it. */
		pthread_detach(events->thread);
		return false;
	}
	events->release(events->set);
	pthread_mutex_destroy(&events->lock);
	free(events);
	return true;
}

/* -- in words -- */

static const char *xid_words(uint32_t code)
{
	static const struct {
		uint32_t code;
		const char *words;
	} table[] = {
		{ 13, "an exception in a kernel" },
		{ 31, "a kernel touched memory that is not its own" },
		{ 32, "a damaged command from a program" },
		{ 43, "a program's work was stopped" },
		{ 45, "a program's work was removed" },
		{ 48, "a memory error that cannot be corrected" },
		{ 61, "its inner controller stopped" },
		{ 62, "its inner controller halted" },
		{ 63, "a damaged row of memory is set aside" },
		{ 64, "a damaged row of memory cannot be set aside" },
		{ 69, "an exception in a kernel" },
		{ 74, "an NVLink error" },
		{ XID_FALLEN_OFF, "it has fallen off the bus" },
		{ 92, "many corrected memory errors" },
		{ 94, "a memory error that hit one program" },
		{ 95, "a memory error that may have hit any program" },
		{ 109, "a change of context did not end" },
		{ 119, "its own processor (GSP) does not answer" },
		{ 120, "its own processor (GSP) failed" },
		{ 140, "a memory error that cannot be corrected" },
		{ 154, "it must be reset or its machine restarted" },
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
