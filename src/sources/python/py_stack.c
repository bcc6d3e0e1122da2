#include "src/sources/python/py_stack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"
#include "src/sources/python/py_gil.h"
#include "src/sources/python/py_threads.h"
#include "src/sources/python/py_walk.h"
#include "src/sources/python/remote.h"

enum status py_open(
	pid_t pid, int process_fd, const struct py_process *relative, struct py_process **out, struct reason *why_not)
{
	struct py_process *process = malloc(sizeof *process);
	if (!process)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	process->pid = pid;
	process->process_fd = process_fd;
	enum status status = STATUS_OK;
	if (relative && py_locate_is_same(pid, &relative->location))
		process->location = relative->location;
	else
		status = py_locate(pid, process_fd, &process->location, why_not);
	if (status == STATUS_OK)
		*out = process;
	else
		free(process);
	return status;
}

void py_close(struct py_process *process) { free(process); }

const struct py_layout *py_version(const struct py_process *process) { return &process->location.layout; }

void py_stacks_release(struct py_stacks *stacks)
{
	free(stacks->threads);
	free(stacks->frames);
	*stacks = (struct py_stacks){ 0 };
}

/* -- texts -- */

static bool grow(void **list, size_t *room, size_t count, size_t each)
{
	if (count < *room)
		return true;
	size_t more = *room ? 2 * *room : 16;
	void *longer = realloc(*list, more * each);
	if (!longer)
		return false;
	*list = longer;
	*room = more;
	return true;
}

/* False: this frame could not be read, so the stack was inconsistent. */
static bool add_frame(const struct py_process *process, const struct py_raw_frame *raw, struct py_stacks *out)
{
	struct py_code code;
	int line;
	/* A frame that is being removed has no code object. */
	if (raw->is_of_c || !raw->code)
		return true;
	if (!grow((void **)&out->frames, &out->frame_room, out->frame_count, sizeof *out->frames))
		return false;
	bool is_good = py_code_read(process->pid, &process->location, raw->code, &code) &&
		py_code_line(&code, &process->location.layout, raw->ip, &line);
	if (is_good) {
		struct py_frame *frame = &out->frames[out->frame_count++];
		frame->line = line;
		snprintf(frame->function, sizeof frame->function, "%s", code.function);
		snprintf(frame->file, sizeof frame->file, "%s", code.file);
	}
	py_code_release(&code);
	return is_good;
}

/* An unreadable frame drops all newer frames. */
static void add_frames(
	const struct py_process *process, const struct py_walk *walk, struct py_thread *thread, struct py_stacks *out)
{
	thread->is_cut = walk->is_cut;
	thread->first = out->frame_count;
	for (size_t i = 0; i < walk->count; i++) {
		if (add_frame(process, &walk->frames[i], out))
			continue;
		out->frame_count = thread->first;
		thread->is_whole = false;
	}
	thread->count = out->frame_count - thread->first;
}

struct rooms {
	struct py_walker *walker;
	struct py_walk walk;
};

static bool add_thread(
	const struct py_process *process, uint64_t address, uint64_t holder, struct rooms *rooms, struct py_stacks *out)
{
	if (!grow((void **)&out->threads, &out->thread_room, out->thread_count, sizeof *out->threads))
		return false;
	struct py_thread *thread = &out->threads[out->thread_count];
	*thread = (struct py_thread){ .has_gil = holder == address, .first = out->frame_count };
	py_thread_identify(process->pid, process->process_fd, &process->location.layout, address, thread);
	thread->is_whole = py_walk(process, address, PY_CAREFUL, rooms->walker, &rooms->walk);
	add_frames(process, &rooms->walk, thread, out);
	out->thread_count++;
	return true;
}

static enum status gone(const struct py_process *process, struct reason *why_not)
{
	return reason_set(why_not, STATUS_END, NULL, "process %d has ended", (int)process->pid);
}

enum status py_reading(struct py_process *process, struct py_stacks *out, struct reason *why_not)
{
	const struct py_layout *layout = &process->location.layout;
	uint64_t interpreter = 0, thread = 0;
	unsigned interpreters = 0;
	struct rooms *rooms = malloc(sizeof *rooms);
	if (rooms)
		rooms->walker = py_walker_new();
	enum status status =
		rooms && rooms->walker ? STATUS_OK : reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	out->thread_count = out->frame_count = 0;
	if (status == STATUS_OK &&
		!remote_word(process->pid, process->location.runtime + layout->runtime_interpreters, &interpreter))
		status = gone(process, why_not);
	for (; status == STATUS_OK && interpreter && interpreters < PY_THREADS_MAX; interpreters++) {
		uint64_t holder = py_gil_holder(process, py_gil_find(process, interpreter));
		bool is_there = remote_word(process->pid, interpreter + layout->interpreter_threads, &thread);
		while (
			is_there && thread && out->thread_count < PY_THREADS_MAX && add_thread(process, thread, holder, rooms, out))
			is_there = remote_word(process->pid, thread + layout->thread_next, &thread);
		if (!is_there || !remote_word(process->pid, interpreter + layout->interpreter_next, &interpreter))
			status = errno == ESRCH ? gone(process, why_not) : STATUS_OK;
		if (!is_there)
			break;
	}
	if (status == STATUS_OK && out->thread_count == 0)
		status = reason_set(why_not, STATUS_DAMAGED, NULL,
			"process %d has no Python thread now (it may be starting or ending)", (int)process->pid);
	py_walker_free(rooms ? rooms->walker : NULL);
	free(rooms);
	return status;
}
