#include "src/sources/gpu/nvidia/nvidia_processes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/sources/gpu/nvidia/nvidia.h"
#include "src/sources/gpu/nvidia/nvidia_private.h"
#include "src/sources/gpu/nvidia/nvidia_use.h"

enum { LIST_COMPUTE, LIST_GRAPHICS, LIST_MPS };
enum { PROCESSES_FIRST = 64, PROCESSES_MAX = 8192, TRIES = 4, COMMAND_SIZE = 256 };

typedef int list_call(struct nvml_device *, unsigned *, void *);

/* -- what the driver lists -- */

/* Allocates `count` entries of the largest size, because a driver may write a larger version than expected. */
static bool make_room(struct nvidia *nvidia, size_t count)
{
	size_t bytes = count * sizeof(struct nvml_process);
	if (bytes <= nvidia->room_bytes)
		return true;
	void *room = realloc(nvidia->room, bytes);
	if (!room)
		return false;
	nvidia->room = room;
	nvidia->room_bytes = bytes;
	return true;
}

static int request_list(struct nvidia *nvidia, list_call *call, struct nvml_device *handle, unsigned *count)
{
	unsigned wanted = PROCESSES_FIRST;
	int code = NVML_INSUFFICIENT_SIZE;
	for (int i = 0; i < TRIES && code == NVML_INSUFFICIENT_SIZE && wanted <= PROCESSES_MAX && make_room(nvidia, wanted);
		 i++) {
		memset(nvidia->room, 0, nvidia->room_bytes);
		*count = wanted;
		code = call(handle, count, nvidia->room);
		/* There may be more by the next call. */
		wanted = *count > wanted ? *count + *count / 4 : wanted * 2;
	}
	if (code == NVML_OK && *count > nvidia->room_bytes / sizeof(struct nvml_process))
		*count = 0;
	return code;
}

static bool add_user(struct nvidia_list *list, const struct nvidia_user *user)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 16;
		struct nvidia_user *users = realloc(list->users, capacity * sizeof *users);
		if (!users)
			return false;
		list->users = users;
		list->capacity = capacity;
	}
	list->users[list->count++] = *user;
	return true;
}

/* A GPU in MIG mode also lists the processes of its parts, which are emitted with the parts. */
static void take_list(
	const struct nvidia *nvidia, struct nvidia_device *device, size_t which, size_t stride, unsigned count)
{
	struct nvidia_list *list = &device->lists[which];
	list->count = 0;
	for (unsigned i = 0; i < count; i++) {
		struct nvml_process process = { .gpu_instance = NVML_ABSENT_32 };
		memcpy(&process, (const char *)nvidia->room + i * stride, stride);
		struct nvidia_user user = { process.pid, which == LIST_GRAPHICS ? GPU_PROCESS_GRAPHICS : GPU_PROCESS_COMPUTE,
			(double)process.memory };
		/* All ones means "not available"; more than the total memory is invalid. */
		if (process.memory == NVML_ABSENT_64 || user.memory_bytes > device->memory_total_bytes ||
			user.memory_bytes >= 0x1p50)
			user.memory_bytes = (double)NAN;
		if (process.pid && !add_user(list, &user))
			return;
	}
}

static int read_list(struct nvidia *nvidia, struct nvidia_device *device, size_t which)
{
	static const enum nvml_call calls[NVIDIA_LISTS] = { NVML_CALL_compute_processes, NVML_CALL_graphics_processes,
		NVML_CALL_mps_processes };
	list_call *const functions[NVIDIA_LISTS] = { nvidia->nvml.compute_processes, nvidia->nvml.graphics_processes,
		nvidia->nvml.mps_processes };
	unsigned count = 0;
	if (!functions[which])
		return NVML_FUNCTION_NOT_FOUND;
	int code = request_list(nvidia, functions[which], device->handle, &count);
	if (nvidia_check(nvidia, device, code))
		take_list(nvidia, device, which, nvml_process_size(&nvidia->nvml, calls[which]), count);
	else
		device->lists[which].count = 0;
	return code;
}

void nvidia_read_graphics(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	(void)now_ns, (void)out;
	read_list(nvidia, device, LIST_GRAPHICS);
}

/* -- what is emitted -- */

struct rows {
	struct gpu_process_row *rows;
	size_t count, max;
	unsigned hidden;
};

static struct gpu_process_row *find_row(struct rows *rows, int32_t pid)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].pid == pid)
			return &rows->rows[i];
	if (rows->count == rows->max)
		return NULL;
	rows->rows[rows->count] =
		(struct gpu_process_row){ .pid = pid, .command = "", .memory_bytes = (double)NAN, .busy_ratio = (double)NAN };
	return &rows->rows[rows->count++];
}

static double more(double a, double b) { return isnan(a) ? b : isnan(b) ? a : a > b ? a : b; }

static double sum(double a, double b) { return isnan(a) ? b : isnan(b) ? a : a + b; }

/* A process in two lists has its memory in both, so the larger one is used. Hidden processes share one row with pid
 * 0. */
static void take_user(struct nvidia *nvidia, struct nvidia_device *device, const struct nvidia_user *user,
	int64_t now_ns, struct rows *rows, struct sample_set *out)
{
	char command[COMMAND_SIZE];
	int32_t pid = 0;
	double busy_ratio = nvidia_use_of(device, user->driver_pid);
	enum pid_status status = pids_find(&nvidia->pids, user->driver_pid, now_ns, &pid);
	struct gpu_process_row *row = status == PID_GONE ? NULL : find_row(rows, pid);
	if (!row)
		return;
	bool is_new = row->kind == 0;
	row->kind |= user->kind;
	if (status == PID_HIDDEN) {
		rows->hidden++;
		row->memory_bytes = sum(row->memory_bytes, user->memory_bytes);
		row->busy_ratio = sum(row->busy_ratio, busy_ratio);
		return;
	}
	row->memory_bytes = more(row->memory_bytes, user->memory_bytes);
	row->busy_ratio = busy_ratio;
	if (isnan(row->memory_bytes))
		nvidia_note_missing(device, NVIDIA_WANTED_PROCESS_MEMORY, NVML_NOT_SUPPORTED);
	if (!is_new)
		return;
	pids_command(&nvidia->pids, pid, now_ns, command, sizeof command);
	row->command = sample_set_text(out, command, strlen(command));
}

static void emit_processes(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	size_t users = 0;
	for (size_t i = 0; i < NVIDIA_LISTS; i++)
		users += device->lists[i].count;
	struct rows rows = { .max = users, .rows = users ? sample_set_allocate(out, users * sizeof *rows.rows) : NULL };
	if (users && !rows.rows)
		return;
	for (size_t i = 0; i < NVIDIA_LISTS; i++)
		for (size_t n = 0; n < device->lists[i].count; n++)
			take_user(nvidia, device, &device->lists[i].users[n], now_ns, &rows, out);
	device->hidden = rows.hidden;
	struct record *record = sample_set_add(out, RECORD_GPU_PROCESSES, 0, now_ns);
	if (!record)
		return;
	record->gpu_processes.gpu = device->instance;
	record->gpu_processes.rows = rows.rows;
	record->gpu_processes.count = rows.count;
}

void nvidia_read_users(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	int code = device->has_parts ? NVML_OK : device->list_code;
	device->hidden = 0;
	nvidia_note_missing(device, NVIDIA_WANTED_PROCESS_MEMORY, NVML_OK);
	if (!device->has_parts && (code == NVML_OK || device->lists[LIST_GRAPHICS].count))
		emit_processes(nvidia, device, now_ns, out);
	nvidia_note_missing(
		device, NVIDIA_WANTED_PROCESSES, code == NVML_OK && device->hidden ? NVIDIA_MISSING_HIDDEN : code);
}

void nvidia_read_processes(struct nvidia *nvidia, struct nvidia_device *device, int64_t now_ns, struct sample_set *out)
{
	(void)now_ns, (void)out;
	for (size_t i = 0; i < NVIDIA_LISTS && device->has_parts; i++)
		device->lists[i].count = 0;
	if (device->has_parts)
		return;
	/* The first reading includes the graphics list; later it has its own period, because the call may take
	 * milliseconds. */
	if (device->next_ns[NVIDIA_GROUP_graphics] == 0 && !device->whole)
		read_list(nvidia, device, LIST_GRAPHICS);
	device->list_code = read_list(nvidia, device, LIST_COMPUTE);
	if (!device->has_failed)
		read_list(nvidia, device, LIST_MPS);
}
