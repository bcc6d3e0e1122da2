#include "src/sources/ras/ras_processes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/sources/proc/environment.h"

enum { CHUNK = 32 * 1024, STATUS_SIZE = 8192 };

#define AGAIN_NS (60 * NS_PER_S)
/* A process that has grown by so much may have loaded libnccl, which has more. */
#define GROWTH_BYTES (UINT64_C(16) << 20)

static const char library[] = "/libnccl.so";

/* -- the list -- */

static size_t find(const struct ras_processes *processes, const struct target_member *member)
{
	size_t at = 0;
	for (; at < processes->count; at++) {
		const struct ras_candidate *candidate = &processes->list[at];
		if (candidate->process.pid == member->pid && candidate->start_ticks == member->start_ticks &&
			candidate->generation == member->generation)
			break;
	}
	return at;
}

static void add(struct ras_processes *processes, const struct target_member *member)
{
	int fd = processes->count < RAS_PROCESSES_MAX ? fcntl(member->directory_fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (fd < 0)
		return;
	processes->list[processes->count++] = (struct ras_candidate){ .process = { .pid = member->pid },
		.start_ticks = member->start_ticks,
		.generation = member->generation,
		.fd = fd,
		.is_retained = true };
}

static bool has_grown(const struct ras_candidate *candidate, uint64_t bytes)
{
	return !candidate->has_nccl && bytes >= candidate->searched_bytes + GROWTH_BYTES;
}

bool ras_processes_take(struct ras_processes *processes, const struct target *target)
{
	size_t retained = 0;
	bool is_any_larger = false;
	for (size_t i = 0; i < processes->count; i++)
		processes->list[i].is_retained = false;
	for (size_t i = 0; i < target->member_count; i++) {
		const struct target_member *member = &target->members[i];
		size_t at = find(processes, member);
		if (at < processes->count) {
			processes->list[at].is_retained = true;
			is_any_larger |= member->has_stat && has_grown(&processes->list[at], member->stat.virtual_bytes);
		} else if (member->has_stat && member->stat.threads > 1) {
			add(processes, member);
		}
	}
	for (size_t i = 0; i < processes->count; i++) {
		if (processes->list[i].is_retained)
			processes->list[retained++] = processes->list[i];
		else
			close(processes->list[i].fd);
	}
	processes->count = retained;
	return is_any_larger;
}

int64_t ras_processes_next_ns(const struct ras_processes *processes)
{
	int64_t next_ns = INT64_MAX;
	for (size_t i = 0; i < processes->count; i++)
		next_ns = processes->list[i].next_ns < next_ns ? processes->list[i].next_ns : next_ns;
	return next_ns;
}

void ras_processes_release(struct ras_processes *processes)
{
	for (size_t i = 0; i < processes->count; i++)
		close(processes->list[i].fd);
	processes->count = 0;
}

/* -- one process -- */

/* "NSpid:	4711	12": of the namespaces from the outermost, pmtop's, to its own. */
static int32_t read_inner_pid(const struct ras_candidate *candidate)
{
	char text[STATUS_SIZE];
	size_t length;
	uint64_t number = 0, inner = 0;
	if (file_read(candidate->fd, "status", text, sizeof text, &length) != STATUS_OK)
		return 0;
	for (unsigned i = 0; i < 32 && proc_field(text, "NSpid", i, &number); i++)
		inner = number;
	return inner > 0 && inner <= INT32_MAX ? (int32_t)inner : candidate->process.pid;
}

static bool has_library(const struct ras_candidate *candidate)
{
	char text[CHUNK + sizeof library];
	size_t before = 0;
	bool is_found = false;
	int fd = file_open(candidate->fd, "maps", O_RDONLY | O_NONBLOCK | O_NOCTTY);
	while (fd >= 0 && !is_found) {
		ssize_t got = file_read_some(fd, text + before, CHUNK);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		size_t length = before + (size_t)got;
		is_found = memmem(text, length, library, sizeof library - 1) != NULL;
		before = length < sizeof library ? length : sizeof library - 1;
		memmove(text, text + length - before, before);
	}
	if (fd >= 0)
		close(fd);
	return is_found;
}

/* Of its address space; 0 = unknown. */
static uint64_t read_size(const struct ras_candidate *candidate)
{
	char text[128];
	size_t length;
	bool is_read = file_read(candidate->fd, "statm", text, sizeof text, &length) == STATUS_OK;
	return is_read ? strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

void ras_candidate_read_pid(struct ras_candidate *candidate)
{
	if (candidate->process.inner_pid == 0)
		candidate->process.inner_pid = read_inner_pid(candidate);
}

bool ras_candidate_search(struct ras_candidate *candidate, int64_t now_ns)
{
	if (candidate->has_nccl)
		return true;
	uint64_t size = read_size(candidate);
	if (now_ns < candidate->next_ns && !has_grown(candidate, size))
		return false;
	candidate->searched_bytes = size > candidate->searched_bytes ? size : candidate->searched_bytes;
	candidate->has_nccl = has_library(candidate);
	candidate->next_ns = now_ns + AGAIN_NS;
	return candidate->has_nccl;
}

enum status ras_candidate_address(
	const struct ras_candidate *candidate, struct ras_addresses *out, struct reason *why_not)
{
	struct variable variables[] = { { .name = "NCCL_RAS_ENABLE" }, { .name = "NCCL_RAS_ADDR" } };
	environment_read(candidate->fd, variables, 2);
	if (variables[0].is_set && strcmp(variables[0].value, "0") == 0)
		return reason_set(why_not, STATUS_NOT_FOUND, "unset NCCL_RAS_ENABLE",
			"NCCL's RAS is off in process %d (NCCL_RAS_ENABLE=0)", (int)candidate->process.pid);
	if (!ras_addresses_parse(variables[1].is_set ? variables[1].value : NULL, out))
		return reason_set(why_not, STATUS_INVALID, "set it to an address and a port: 127.0.0.1:28028",
			"NCCL_RAS_ADDR=%s: pmtop looks up no names", out->text);
	return STATUS_OK;
}
