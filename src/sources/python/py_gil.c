#include "src/sources/python/py_gil.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/files/file.h"
#include "src/sources/python/remote.h"

/* struct _gil_runtime_state from last_holder on: three words, and two pairs of a condition and a mutex. */
enum { GIL_SIZE = 200, CALL_SIZE = 256 };

uint64_t py_gil_find(const struct py_process *process, uint64_t interpreter)
{
	const struct py_layout *layout = &process->location.layout;
	uint64_t address = 0;
	if (layout->runtime_gil != PY_NOWHERE)
		return process->location.runtime + layout->runtime_gil;
	bool is_found = layout->interpreter_gil != PY_NOWHERE &&
		remote_word(process->pid, interpreter + layout->interpreter_gil, &address) && address;
	return is_found ? address + 8 : 0;
}

uint64_t py_gil_holder(const struct py_process *process, uint64_t gil)
{
	uint64_t words[2];
	bool is_held = gil && remote_read(process->pid, gil, words, sizeof words) && (uint32_t)words[1] == 1;
	return is_held ? words[0] : 0;
}

/* "202 0x7fa5d514e6f0 0x89 …": the call's number and its arguments; "running" if it is in none. */
bool py_gil_is_awaited(int process_fd, pid_t tid, uint64_t gil)
{
	char path[48], text[CALL_SIZE];
	size_t length;
	snprintf(path, sizeof path, "task/%d/syscall", (int)tid);
	if (!gil || file_read(process_fd, path, text, sizeof text, &length) != STATUS_OK)
		return false;
	const char *argument = strstr(text, " 0x");
	uint64_t futex = argument ? strtoull(argument + 1, NULL, 16) : 0;
	return futex >= gil && futex - gil < GIL_SIZE;
}
