/* pmtop stack PID: prints the Python stack of each thread of a process and its children, without stopping them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/formats/json.h"
#include "src/base/text.h"
#include "src/commands/commands.h"
#include "src/model/code/code.h"
#include "src/model/code/code_phases.h"
#include "src/session/command.h"
#include "src/session/output.h"
#include "src/session/runs/runs.h"
#include "src/sources/python/py_stack.h"
#include "src/sources/python/remote.h"
#include "src/sources/target/access.h"
#include "src/sources/target/target.h"

enum { FUNCTION_WIDTH_MAX = 40, READ_MAX_S = 4 };

/* The limit for the other processes once reading one took longer than READ_MAX_S. */
#define READ_NEXT_NS (200 * NS_PER_MS)

struct stack_out {
	struct buffer text;
	struct json json;
	bool is_json;
	size_t processes; /* Python processes printed */
	struct remote_reader *reader;
	struct reason stuck; /* about the first process whose memory did not answer in time; empty = none */
};

static const char *state_words(char state)
{
	static const struct {
		char state;
		const char *words;
	} all[] = {
		{ 'R', "running" },
		{ 'S', "sleeping" },
		{ 'D', "waiting for I/O (uninterruptible)" },
		{ 'T', "stopped" },
		{ 't', "stopped by a debugger" },
		{ 'Z', "ended" },
		{ 'I', "idle" },
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (all[i].state == state)
			return all[i].words;
	return NULL;
}

/* -- text -- */

static void print_frames(struct buffer *out, const struct py_frame *frames, size_t count)
{
	size_t width = 0;
	for (size_t i = 0; i < count; i++) {
		size_t cells = text_cells(frames[i].function);
		width = cells > width && cells <= FUNCTION_WIDTH_MAX ? cells : width;
	}
	for (size_t i = 0; i < count; i++) {
		size_t cells = text_cells(frames[i].function);
		buffer_printf(out, "    %s%*s  %s", frames[i].function, (int)(cells < width ? width - cells : 0), "",
			code_short_file(frames[i].file));
		if (frames[i].line)
			buffer_printf(out, ":%d", frames[i].line);
		buffer_puts(out, "\n");
	}
}

/* `common`: the default thread name (the process's), which is not printed. */
static void print_thread(
	struct buffer *out, const struct py_stacks *stacks, const struct py_thread *thread, const char *common)
{
	const char *state = state_words(thread->state);
	buffer_puts(out, "\n  thread");
	if (thread->tid)
		buffer_printf(out, " %d", (int)thread->tid);
	if (thread->name[0] && strcmp(thread->name, common) != 0)
		buffer_printf(out, " (%s)", thread->name);
	buffer_printf(out, "%s%s%s\n", state ? ": " : "", state ? state : "",
		thread->has_gil ? state ? ", holds the GIL" : ": holds the GIL" : "");
	if (!thread->is_whole)
		buffer_puts(out, "    … (the innermost frames changed during the read)\n");
	print_frames(out, stacks->frames + thread->first, thread->count);
	if (thread->is_cut)
		buffer_printf(out, "    … (only the innermost %d frames are shown)\n", PY_FRAMES_MAX);
	else if (thread->is_whole && thread->count == 0)
		buffer_puts(out, "    (no Python code)\n");
}

static void print_text(struct stack_out *out, const struct target_member *member, const struct py_layout *layout,
	const struct py_stacks *stacks)
{
	char version[PY_VERSION_SIZE];
	py_layout_version(layout, version);
	buffer_printf(
		&out->text, "%s%s (%d), Python %s\n", out->processes ? "\n" : "", member->command, (int)member->pid, version);
	for (size_t i = 0; i < stacks->thread_count; i++)
		print_thread(&out->text, stacks, &stacks->threads[i], member->stat.comm);
}

/* -- JSON -- */

static void print_json(struct stack_out *out, const struct target_member *member, const struct py_layout *layout,
	const struct py_stacks *stacks)
{
	struct json *json = &out->json;
	char version[PY_VERSION_SIZE];
	py_layout_version(layout, version);
	json_open_object(json, NULL);
	json_integer(json, "pid", member->pid);
	json_integer(json, "parent_pid", member->parent);
	json_text(json, "command", member->command);
	json_text(json, "python", version);
	json_open_array(json, "threads");
	for (size_t i = 0; i < stacks->thread_count; i++) {
		const struct py_thread *thread = &stacks->threads[i];
		json_open_object(json, NULL);
		if (thread->tid)
			json_integer(json, "tid", thread->tid);
		json_text(json, "name", thread->name[0] ? thread->name : NULL);
		json_text(json, "state", thread->state ? (char[]){ thread->state, '\0' } : NULL);
		json_bool(json, "has_gil", thread->has_gil);
		json_bool(json, "is_whole", thread->is_whole && !thread->is_cut);
		json_open_array(json, "frames");
		for (size_t k = 0; k < thread->count; k++) {
			const struct py_frame *frame = &stacks->frames[thread->first + k];
			json_open_object(json, NULL);
			json_text(json, "function", frame->function);
			json_text(json, "file", frame->file);
			if (frame->line)
				json_integer(json, "line", frame->line);
			json_close_object(json);
		}
		json_close_array(json);
		json_close_object(json);
	}
	json_close_array(json);
	json_close_object(json);
}

/* -- the tree -- */

static enum status print_member(
	const struct target *target, const struct target_member *member, struct stack_out *out, struct reason *why_not)
{
	struct py_process *process;
	struct py_stacks stacks = { 0 };
	enum status status = py_open(member->pid, member->directory_fd, NULL, &process, why_not);
	if (status == STATUS_DENIED)
		access_explain_memory(member->directory_fd, member->pid, target->uid, remote_test_self(), why_not);
	if (status != STATUS_OK)
		return status;
	status = py_reading(process, &stacks, why_not);
	if (status == STATUS_OK) {
		(out->is_json ? print_json : print_text)(out, member, py_version(process), &stacks);
		out->processes++;
	}
	py_stacks_release(&stacks);
	py_close(process);
	return status;
}

/* If reading this process timed out, notes it and lets the reader go on with the others. */
static void note_stuck(struct stack_out *out, pid_t pid)
{
	if (!remote_reader_stuck_ns(out->reader))
		return;
	remote_reader_resume(out->reader);
	remote_reader_set_limit(out->reader, READ_NEXT_NS);
	if (!out->stuck.text[0])
		reason_set(&out->stuck, STATUS_IO, "check for a stuck page fault (userfaultfd, FUSE, network disk)",
			"reading the memory of process %d took more than %d s", (int)pid, READ_MAX_S);
}

/* If no stack can be printed, *why_not is about the target itself, not about one of its children. */
static enum status sample_tree(struct target *target, struct stack_out *out, struct reason *why_not)
{
	enum status status = target_refresh(target);
	if (status != STATUS_OK || target->member_count == 0)
		return reason_set(
			why_not, STATUS_NOT_FOUND, "pmtop list shows the runs", "process %d has ended", (int)target->pid);
	if (out->is_json) {
		json_open_object(&out->json, NULL);
		json_open_array(&out->json, "processes");
	}
	for (size_t i = 0; i < target->member_count; i++) {
		struct reason other;
		enum status found = print_member(target, &target->members[i], out, i ? &other : why_not);
		note_stuck(out, target->members[i].pid);
		/* The process exists, but is not Python. */
		found = found == STATUS_NOT_FOUND ? STATUS_UNSUPPORTED : found;
		status = i == 0 ? found : status;
	}
	if (out->is_json) {
		json_close_array(&out->json);
		json_close_object(&out->json);
		buffer_puts(&out->text, "\n");
	}
	return out->processes ? STATUS_OK : status;
}

static enum status find_pid(const struct options *options, pid_t *pid, struct reason *why_not)
{
	struct run_row *rows;
	const struct run_row *row = NULL;
	*pid = options->pid;
	if (!options->run_name)
		return STATUS_OK;
	size_t count = runs_find(NULL, &rows);
	enum status status = runs_choose(rows, count, options->run_name, &row, why_not);
	if (status == STATUS_OK && !row->is_live)
		status = reason_set(why_not, STATUS_NOT_FOUND, "pmtop list shows the live runs",
			"run %.100s has ended and has no stack", options->run_name);
	if (status == STATUS_OK)
		*pid = row->pid;
	free(rows);
	return status;
}

static enum exit_code run_stack(const struct options *options, const struct settings *settings)
{
	struct target target;
	struct stack_out out = { .text = BUFFER_INIT, .is_json = options->format == FORMAT_JSON };
	struct reason reason = { "", "" };
	pid_t pid;
	int code = 0;
	(void)settings;
	out.json = (struct json){ .out = &out.text };
	out.reader = remote_reader_new(READ_MAX_S * NS_PER_S);
	if (!out.reader)
		return command_fail(reason_set(&reason, STATUS_NO_MEMORY, NULL, "out of memory"), &reason);
	enum status status = find_pid(options, &pid, &reason);
	if (status == STATUS_OK)
		status = target_open(&target, pid, "/proc", &reason);
	if (status != STATUS_OK) {
		remote_reader_free(out.reader);
		return command_fail(status, &reason);
	}
	remote_reader_use(out.reader);
	status = sample_tree(&target, &out, &reason);
	remote_reader_use(NULL);
	remote_reader_free(out.reader);
	target_close(&target);
	if (status == STATUS_OK) {
		if (!out.is_json)
			output_fit_locale(&out.text);
		output_flush(&out.text, &code);
	}
	if (out.stuck.text[0])
		code = (int)command_fail(STATUS_IO, &out.stuck);
	else if (status != STATUS_OK)
		code = (int)command_fail(status, &reason);
	buffer_release(&out.text);
	return (enum exit_code)code;
}

const struct command stack_command = {
	.name = "stack",
	.synopsis = "stack PID|NAME",
	.summary = "print the Python stacks of a running process",
	.details = "pmtop reads its memory; it does not stop the process.\n",
	.example = "pmtop stack 48213",
	.words = COMMAND_TAKES_TARGET,
	.traits = COMMAND_NEEDS_PROCESS | COMMAND_NEEDS_RUNNING,
	.formats = FORMATS_TEXT_JSON,
	.needs_target = true,
	.run = run_stack,
};
