#include "src/sources/python/py_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/base/text.h"
#include "src/sources/proc/proc_file.h"
#include "src/sources/python/py_walk.h"
#include "src/sources/python/remote.h"

enum { STATUS_SIZE = 8192, STAT_SIZE = 1024, PTHREAD_TID = 720 };

/* The thread's number in the innermost namespace: the last of NSpid. */
static pid_t number_inside(int process_fd, const char *tid)
{
	char path[64], text[STATUS_SIZE];
	size_t length;
	snprintf(path, sizeof path, "task/%.16s/status", tid);
	if (file_read(process_fd, path, text, sizeof text, &length) != STATUS_OK)
		return 0;
	const char *line = strstr(text, "\nNSpid:");
	if (!line)
		return (pid_t)atoi(tid);
	size_t end = strcspn(line + 1, "\n") + 1;
	while (end > 0 && line[end - 1] != '\t')
		end--;
	return (pid_t)atoi(line + end);
}

/* Maps a number inside a container to pmtop's. 0: there is no such thread. */
static pid_t number_here(int process_fd, pid_t inside)
{
	char name[32];
	snprintf(name, sizeof name, "%d", (int)inside);
	if (number_inside(process_fd, name) == inside)
		return inside;
	DIR *folder = file_open_folder(process_fd, "task");
	pid_t found = 0;
	if (!folder)
		return 0;
	for (const struct dirent *entry; !found && (entry = file_next(folder));)
		if (entry->d_name[0] != '.' && number_inside(process_fd, entry->d_name) == inside)
			found = (pid_t)atoi(entry->d_name);
	closedir(folder);
	return found;
}

/* Up to 3.10 Python stores only the pthread_t, in which glibc has the number (checked for 2.31 to 2.36). An invalid
 * number matches no thread. */
static pid_t stored_number(pid_t pid, const struct py_layout *layout, uint64_t address)
{
	uint64_t word;
	int32_t tid;
	if (layout->thread_native != PY_NOWHERE)
		return remote_word(pid, address + layout->thread_native, &word) && word <= INT32_MAX ? (pid_t)word : 0;
	if (!remote_word(pid, address + layout->thread_pthread, &word) ||
		!remote_read(pid, word + PTHREAD_TID, &tid, sizeof tid))
		return 0;
	return tid > 0 ? tid : 0;
}

/* The main interpreter was created first, so it is the last in the list. So is the main thread, except after a fork
 * in another thread. */
bool py_find_main(const struct py_process *process, uint64_t *interpreter, uint64_t *thread)
{
	const struct py_layout *layout = &process->location.layout;
	uint64_t next = 0, address = 0, last = 0;
	char name[32];
	snprintf(name, sizeof name, "%d", (int)process->pid);
	pid_t inside = number_inside(process->process_fd, name);
	bool is_read = remote_word(process->pid, process->location.runtime + layout->runtime_interpreters, &next);
	for (unsigned i = 0; is_read && next && i < PY_THREADS_MAX; i++) {
		last = next;
		is_read = remote_word(process->pid, next + layout->interpreter_next, &next);
	}
	*interpreter = last;
	is_read = is_read && last && remote_word(process->pid, last + layout->interpreter_threads, &address);
	for (unsigned i = 0; is_read && address && i < PY_THREADS_MAX; i++) {
		*thread = address;
		if (inside && stored_number(process->pid, layout, address) == inside)
			return true;
		is_read = remote_word(process->pid, address + layout->thread_next, &address);
	}
	return is_read && last && *thread;
}

void py_thread_refresh(int process_fd, struct py_thread *thread)
{
	char path[64], text[STAT_SIZE];
	size_t length;
	struct proc_stat stat;
	snprintf(path, sizeof path, "task/%d/stat", (int)thread->tid);
	if (!thread->tid || file_read(process_fd, path, text, sizeof text, &length) != STATUS_OK ||
		!proc_stat_parse(text, length, &stat)) {
		thread->state = '\0';
		return;
	}
	thread->state = stat.state;
	text_clean(thread->name, sizeof thread->name, stat.comm, strlen(stat.comm));
}

void py_thread_identify(
	pid_t pid, int process_fd, const struct py_layout *layout, uint64_t address, struct py_thread *out)
{
	pid_t inside = stored_number(pid, layout, address);
	out->tid = inside ? number_here(process_fd, inside) : 0;
	py_thread_refresh(process_fd, out);
}

static bool is_listed(const struct py_thread_at *list, size_t count, uint64_t address)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].address == address)
			return true;
	return false;
}

/* Its number and the thread after it, in one call if the number is stored. */
static bool read_thread(const struct py_process *process, struct py_thread_at *at, uint64_t *next)
{
	const struct py_layout *layout = &process->location.layout;
	uint64_t number;
	if (layout->thread_native == PY_NOWHERE) {
		at->number = stored_number(process->pid, layout, at->address);
		return remote_word(process->pid, at->address + layout->thread_next, next);
	}
	const struct remote_piece pieces[] = { { at->address + layout->thread_native, &number, sizeof number },
		{ at->address + layout->thread_next, next, sizeof *next } };
	bool is_read = remote_read_pieces(process->pid, pieces, 2);
	at->number = is_read && number <= INT32_MAX ? (pid_t)number : 0;
	return is_read;
}

size_t py_threads_list(const struct py_process *process, uint64_t interpreter, struct py_thread_at *out, size_t max)
{
	uint64_t address = 0;
	size_t count = 0;
	bool is_read = remote_word(process->pid, interpreter + process->location.layout.interpreter_threads, &address);
	while (is_read && address && count < max && !is_listed(out, count, address)) {
		out[count] = (struct py_thread_at){ address, 0 };
		is_read = read_thread(process, &out[count++], &address);
	}
	return count;
}

bool py_thread_run_ns(int process_fd, pid_t tid, uint64_t *run_ns)
{
	char path[64], text[STAT_SIZE], *end;
	size_t length;
	snprintf(path, sizeof path, "task/%d/schedstat", (int)tid);
	if (!tid || file_read(process_fd, path, text, sizeof text, &length) != STATUS_OK)
		return false;
	*run_ns = strtoull(text, &end, 10);
	return end != text;
}
