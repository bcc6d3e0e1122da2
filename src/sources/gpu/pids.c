#include "src/sources/gpu/pids.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/sources/target/command.h"

/* The initial pid namespace has this number: PROC_PID_INIT_INO, include/linux/proc_ns.h. */
#define INITIAL_NAMESPACE "pid:[4026531836]"

enum { PATH_SIZE = 512, LINK_SIZE = 128, STATUS_SIZE = 4096, CMDLINE_SIZE = 4096, FILES_MAX = 4096 };
enum { ENTRIES_MAX = 256, COMMAND_SIZE = 96, NUMBERS_MAX = 8 };
/* How long results stay valid. A driver reports processes that have its device open: such a process keeps it open,
 * and one without it is another process with the same number. */
#define DEVICE_LIFETIME_NS (20 * NS_PER_S)
#define COMMAND_LIFETIME_NS (10 * NS_PER_S)

/* The folder's inode distinguishes a process from a later one with the same number. */
struct pid_entry {
	int32_t pid;
	ino_t folder;
	int64_t used_ns, device_ns, command_ns; /* device_ns, command_ns: time of the last search; 0 = never */
	bool has_device;
	char command[COMMAND_SIZE];
};

/* A member's pids from the namespace of /proc down to its own. */
struct pid_numbers {
	pid_t pid;
	uint64_t start_ticks;
	unsigned count;
	int32_t numbers[NUMBERS_MAX];
};

void pids_init(struct pids *pids, const struct target *target, const char *device)
{
	char path[PATH_SIZE], name[LINK_SIZE];
	snprintf(path, sizeof path, "%s/self/ns/pid", target->proc_root);
	ssize_t length = readlink(path, name, sizeof name - 1);
	name[length > 0 ? length : 0] = '\0';
	*pids = (struct pids){
		.target = target, .device = device, .is_inside = length > 0 && strcmp(name, INITIAL_NAMESPACE) != 0
	};
}

void pids_release(struct pids *pids)
{
	free(pids->entries);
	free(pids->numbers);
	pids->entries = NULL;
	pids->numbers = NULL;
	pids->entry_count = pids->number_count = pids->number_room = 0;
}

static const struct target_member *member_of(const struct target *target, int32_t pid)
{
	for (size_t i = 0; i < target->member_count; i++)
		if (target->members[i].pid == pid)
			return &target->members[i];
	return NULL;
}

/* -- one process -- */

static bool find_device(const struct pids *pids, int32_t pid)
{
	char path[PATH_SIZE], file[LINK_SIZE];
	size_t length = strlen(pids->device);
	bool is_found = false;
	snprintf(path, sizeof path, "%s/%d/fd", pids->target->proc_root, (int)pid);
	DIR *directory = opendir(path);
	const struct dirent *entry;
	for (int i = 0; directory && !is_found && i < FILES_MAX && (entry = readdir(directory)); i++) {
		ssize_t got = readlinkat(dirfd(directory), entry->d_name, file, sizeof file);
		is_found = got >= (ssize_t)length && memcmp(file, pids->device, length) == 0;
	}
	if (directory)
		closedir(directory);
	return is_found;
}

static bool is_there(const struct pids *pids, int32_t pid, ino_t *folder)
{
	char path[PATH_SIZE];
	struct stat status;
	*folder = 0;
	snprintf(path, sizeof path, "%s/%d", pids->target->proc_root, (int)pid);
	if (stat(path, &status) == 0) {
		*folder = status.st_ino;
		return true;
	}
	/* hidepid=2 hides the folder of a process, not the process. */
	return strcmp(pids->target->proc_root, "/proc") == 0 && kill(pid, 0) < 0 && errno == EPERM;
}

/* Its entry, or the least recently used one. */
static struct pid_entry *entry_of(struct pids *pids, int32_t pid)
{
	struct pid_entry *oldest = pids->entries;
	for (size_t i = 0; i < pids->entry_count; i++) {
		if (pids->entries[i].pid == pid)
			return &pids->entries[i];
		oldest = pids->entries[i].used_ns < oldest->used_ns ? &pids->entries[i] : oldest;
	}
	return pids->entry_count < ENTRIES_MAX ? &pids->entries[pids->entry_count++] : oldest;
}

/* NULL: out of memory. */
static struct pid_entry *find_entry(struct pids *pids, int32_t pid, ino_t folder, int64_t now_ns)
{
	if (!pids->entries && !(pids->entries = calloc(ENTRIES_MAX, sizeof *pids->entries)))
		return NULL;
	struct pid_entry *entry = entry_of(pids, pid);
	if (entry->pid != pid || entry->folder != folder)
		*entry = (struct pid_entry){ .pid = pid, .folder = folder };
	entry->used_ns = now_ns;
	return entry;
}

static bool is_fresh(int64_t refreshed_ns, int64_t now_ns, int64_t lifetime_ns)
{
	return refreshed_ns && now_ns - refreshed_ns < lifetime_ns;
}

static bool has_device_open(struct pids *pids, int32_t pid, ino_t folder, int64_t now_ns)
{
	struct pid_entry *entry = find_entry(pids, pid, folder, now_ns);
	if (!entry)
		return find_device(pids, pid);
	if (!is_fresh(entry->device_ns, now_ns, DEVICE_LIFETIME_NS)) {
		entry->has_device = find_device(pids, pid);
		entry->device_ns = now_ns;
	}
	return entry->has_device;
}

/* -- numbers of the target's members -- */

static void read_numbers(const struct target_member *member, struct pid_numbers *out)
{
	char text[STATUS_SIZE];
	size_t length;
	*out = (struct pid_numbers){ .pid = member->pid, .start_ticks = member->start_ticks };
	const char *at = file_read(member->directory_fd, "status", text, sizeof text, &length) == STATUS_OK
		? strstr(text, "\nNSpid:")
		: NULL;
	if (!at)
		return;
	for (at += strlen("\nNSpid:"); (*at == '\t' || *at == ' ') && out->count < NUMBERS_MAX;) {
		char *end;
		long number = strtol(at, &end, 10);
		if (end == at)
			break;
		out->numbers[out->count++] = number > 0 && number <= INT32_MAX ? (int32_t)number : 0;
		at = end;
	}
}

static bool is_of(const struct pid_numbers *numbers, const struct target_member *member)
{
	return numbers->pid == member->pid && numbers->start_ticks == member->start_ticks;
}

/* A member's numbers never change, so only those of new members are read. */
static bool renew_numbers(struct pids *pids)
{
	const struct target *target = pids->target;
	if (target->member_count > pids->number_room) {
		struct pid_numbers *grown = realloc(pids->numbers, target->member_count * sizeof *grown);
		if (!grown)
			return false;
		pids->numbers = grown;
		pids->number_room = target->member_count;
	}
	for (size_t i = 0; i < target->member_count; i++) {
		size_t at = i;
		while (at < pids->number_count && !is_of(&pids->numbers[at], &target->members[i]))
			at++;
		if (at < pids->number_count && at > i) {
			memmove(&pids->numbers[i], &pids->numbers[at], (pids->number_count - at) * sizeof *pids->numbers);
			pids->number_count -= at - i;
		} else if (at >= pids->number_count) {
			read_numbers(&target->members[i], &pids->numbers[i]);
			pids->number_count = i + 1;
		}
	}
	pids->number_count = target->member_count;
	return true;
}

static bool has_number(const struct pid_numbers *numbers, int32_t driver_pid)
{
	for (unsigned i = 0; i < numbers->count; i++)
		if (numbers->numbers[i] == driver_pid)
			return true;
	return false;
}

/* NULL if no member, or more than one, has it. */
static const struct target_member *only_one_with(struct pids *pids, int32_t driver_pid)
{
	const struct target_member *found = NULL;
	if (!renew_numbers(pids))
		return NULL;
	for (size_t i = 0; i < pids->number_count; i++) {
		if (!has_number(&pids->numbers[i], driver_pid))
			continue;
		if (found)
			return NULL;
		found = &pids->target->members[i];
	}
	return found;
}

/* -- results -- */

static bool is_its_user(struct pids *pids, int32_t pid, int64_t now_ns)
{
	ino_t folder;
	return is_there(pids, pid, &folder) && (!pids->is_inside || has_device_open(pids, pid, folder, now_ns));
}

enum pid_status pids_find(struct pids *pids, uint32_t driver_pid, int64_t now_ns, int32_t *out)
{
	if (driver_pid == 0 || driver_pid > INT32_MAX)
		return pids->is_inside ? PID_HIDDEN : PID_GONE;
	int32_t pid = (int32_t)driver_pid;
	if (is_its_user(pids, pid, now_ns)) {
		*out = pid;
		return PID_KNOWN;
	}
	const struct target_member *member = only_one_with(pids, pid);
	if (member && (!pids->is_inside || is_its_user(pids, member->pid, now_ns))) {
		*out = member->pid;
		return PID_KNOWN;
	}
	return pids->is_inside ? PID_HIDDEN : PID_GONE;
}

static void read_command(const struct pids *pids, int32_t pid, char *out, size_t size)
{
	char path[PATH_SIZE], text[CMDLINE_SIZE], comm[64] = "";
	size_t length;
	snprintf(path, sizeof path, "%s/%d/comm", pids->target->proc_root, (int)pid);
	if (file_read(AT_FDCWD, path, comm, sizeof comm, &length) != STATUS_OK)
		comm[0] = '\0';
	comm[strcspn(comm, "\n")] = '\0';
	snprintf(path, sizeof path, "%s/%d/cmdline", pids->target->proc_root, (int)pid);
	if (file_read(AT_FDCWD, path, text, sizeof text, &length) != STATUS_OK)
		length = 0;
	command_shorten(out, size, text, length, comm);
}

void pids_command(struct pids *pids, int32_t pid, int64_t now_ns, char *out, size_t size)
{
	ino_t folder;
	out[0] = '\0';
	if (member_of(pids->target, pid) || !is_there(pids, pid, &folder))
		return;
	struct pid_entry *entry = find_entry(pids, pid, folder, now_ns);
	if (!entry) {
		read_command(pids, pid, out, size);
		return;
	}
	if (!is_fresh(entry->command_ns, now_ns, COMMAND_LIFETIME_NS)) {
		read_command(pids, pid, entry->command, sizeof entry->command);
		entry->command_ns = now_ns;
	}
	snprintf(out, size, "%s", entry->command);
}
