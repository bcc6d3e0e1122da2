#include "src/session/runs/gpu_users.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/sources/choices.h"
#include "src/sources/source.h"
#include "src/sources/target/target.h"

#define READ_NS (20 * NS_PER_MS)

enum { LABELS_MAX = 2, DEVICES_MAX = sizeof((struct gpu_users *)0)->devices / sizeof(struct gpu_device) };

/* -- records -- */

static size_t device_of(const struct gpu_users *users, int32_t instance)
{
	size_t at = 0;
	while (at < users->device_count && users->devices[at].instance != instance)
		at++;
	return at;
}

/* Labels: "0"; a MIG instance "0.3"; a GPU of another vendor than the first "AMD 0". */
static void take_device(struct gpu_users *users, const struct gpu_row *row)
{
	size_t at = device_of(users, row->instance),
		   parent = row->parent >= 0 ? device_of(users, row->parent) : DEVICES_MAX;
	if (at == DEVICES_MAX)
		return;
	struct gpu_device *device = &users->devices[at];
	char whole[sizeof device->label];
	if (at == users->device_count) {
		users->device_count++;
		device->instance = row->instance;
	}
	if (!users->vendor[0])
		snprintf(users->vendor, sizeof users->vendor, "%.15s", row->vendor);
	if (row->parent >= 0 && parent < users->device_count) {
		memcpy(whole, users->devices[parent].label, sizeof whole);
		snprintf(device->label, sizeof device->label, "%.8s.%u", whole, row->index % 1000);
	} else if (strncmp(users->vendor, row->vendor, sizeof users->vendor - 1) != 0) {
		snprintf(device->label, sizeof device->label, "%.8s %u", row->vendor, row->index % 1000);
	} else {
		snprintf(device->label, sizeof device->label, "%u", row->index);
	}
}

static void take_processes(struct gpu_users *users, const struct record *record)
{
	size_t device = device_of(users, record->gpu_processes.gpu), retained = 0;
	if (device >= users->device_count)
		return;
	for (size_t i = 0; i < users->count; i++)
		if (users->users[i].use.device != device)
			users->users[retained++] = users->users[i];
	users->count = retained;
	users->devices[device].is_listed = true;
	for (size_t i = 0; i < record->gpu_processes.count && users->count < GPU_USERS_MAX; i++) {
		const struct gpu_process_row *row = &record->gpu_processes.rows[i];
		users->users[users->count++] = (struct gpu_user){ row->pid, { (unsigned)device, row->memory_bytes } };
	}
}

void gpu_users_take(struct gpu_users *users, const struct sample_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct record *record = &set->records[i];
		if (record->kind == RECORD_GPU)
			take_device(users, record->gpu);
		else if (record->kind == RECORD_GPU_PROCESSES)
			take_processes(users, record);
		else if (record->kind == RECORD_MISSING && strcmp(record->missing.figure, "GPU processes") == 0)
			users->is_hidden = record->missing.text != NULL;
	}
}

size_t gpu_use_add(struct gpu_use *uses, size_t count, const struct gpu_use *more)
{
	for (size_t i = 0; i < count; i++) {
		if (uses[i].device != more->device)
			continue;
		if (isnan(uses[i].memory_bytes))
			uses[i].memory_bytes = more->memory_bytes;
		else if (!isnan(more->memory_bytes))
			uses[i].memory_bytes += more->memory_bytes;
		return count;
	}
	if (count < GPU_USES_MAX)
		uses[count++] = *more;
	return count;
}

const char *gpu_use_words(
	const struct gpu_users *users, const struct gpu_use *uses, size_t count, char out[GPU_WORDS_SIZE])
{
	char text[NUMBER_SIZE];
	double bytes = NAN;
	size_t used = 0;
	out[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		const char *label = uses[i].device < users->device_count ? users->devices[uses[i].device].label : "?";
		if (!isnan(uses[i].memory_bytes))
			bytes = (isnan(bytes) ? 0 : bytes) + uses[i].memory_bytes;
		if (count <= LABELS_MAX)
			used += (size_t)snprintf(out + used, GPU_WORDS_SIZE - used, "%s%s", used ? ", " : "", label);
	}
	if (count > LABELS_MAX)
		used = (size_t)snprintf(out, GPU_WORDS_SIZE, "%zu GPUs", count);
	if (count && !isnan(bytes))
		snprintf(out + used, GPU_WORDS_SIZE - used, ": %s", format_bytes(text, bytes));
	return out;
}

/* -- the child process -- */

struct gpu_users *gpu_users_open(const struct options *options, const struct settings *settings)
{
	struct reason why_not;
	struct gpu_users *users = calloc(1, sizeof *users);
	if (!users)
		return NULL;
	users->target = calloc(1, sizeof *users->target);
	users->choices = calloc(1, sizeof *users->choices);
	if (!users->target || !users->choices) {
		gpu_users_close(users);
		return NULL;
	}
	users->choices->no_nvml = !settings->nvml;
	users->choices->nvml_path = getenv("PMTOP_NVML");
	users->choices->program = "/proc/self/exe";
	users->choices->config = options->config;
	/* Any target will do: the source reports all processes on the GPUs. */
	users->target->pid = getpid();
	users->target->choices = users->choices;
	if (gpu_source.open(users->target, &users->child, &why_not) != STATUS_OK)
		users->child = NULL;
	return users;
}

static bool has_all(const struct gpu_users *users)
{
	for (size_t i = 0; i < users->device_count; i++)
		if (!users->devices[i].is_listed)
			return users->is_hidden;
	return users->device_count > 0;
}

void gpu_users_read(struct gpu_users *users, double wait_s)
{
	int64_t until_ns = clock_monotonic_ns() + llround(wait_s * 1e9);
	while (users && users->child) {
		sample_set_clear(&users->set);
		enum status status = gpu_source.read(users->child, clock_monotonic_ns(), &users->set);
		gpu_users_take(users, &users->set);
		if (status != STATUS_OK && status != STATUS_AGAIN) {
			gpu_source.close(users->child);
			users->child = NULL;
		}
		if (has_all(users) || clock_monotonic_ns() >= until_ns)
			return;
		nanosleep(&(struct timespec){ .tv_nsec = READ_NS }, NULL);
	}
}

void gpu_users_close(struct gpu_users *users)
{
	if (!users)
		return;
	if (users->child)
		gpu_source.close(users->child);
	sample_set_release(&users->set);
	free(users->target);
	free(users->choices);
	free(users);
}
