#include "src/sources/target/foreign_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"

#define ANSWER_NS (1 * NS_PER_S)
#define RETRY_NS (3 * NS_PER_S)

enum { NAME_SIZE = 4096 + 1024, PIECE_SIZE = 32 * 1024, RACES_MAX = 8, DESCRIPTORS_MAX = 65536 };

/* From linux/openat2.h (Linux 5.6); the installed headers may be older. */
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
enum { WITHOUT_MAGIC_LINKS = 0x02, IN_ROOT = 0x10 };
struct how {
	uint64_t flags, mode, resolve;
};

/* On 32-bit architectures the bare names take 16-bit ids. */
#ifdef SYS_setresuid32
enum { SET_GROUPS = SYS_setgroups32, SET_GIDS = SYS_setresgid32, SET_UIDS = SYS_setresuid32 };
#else
enum { SET_GROUPS = SYS_setgroups, SET_GIDS = SYS_setresgid, SET_UIDS = SYS_setresuid };
#endif

/* The child writes this before the text. */
struct answer {
	int32_t status;
	uint32_t length;
};

/* The child's task. */
struct errand {
	int process_fd, out;
	const struct foreign_rights *rights;
	const char *name; /* path below the process's root */
	int64_t newest_ns;
};

/* -- the child: system calls only, because other threads may have held any lock at the fork -- */

/* A child that never ends must not hold a descriptor of pmtop: the terminal, a pipe, a lock. */
static void close_between(unsigned first, unsigned last)
{
	struct rlimit limit;
	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	unsigned end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < DESCRIPTORS_MAX ? (unsigned)limit.rlim_cur
																							 : DESCRIPTORS_MAX;
	for (unsigned fd = first; fd < end && fd <= last; fd++)
		close((int)fd);
}

static void close_all_but(int a, int b)
{
	unsigned low = (unsigned)(a < b ? a : b), high = (unsigned)(a < b ? b : a);
	if (low > 0)
		close_between(0, low - 1);
	close_between(low + 1, high - 1);
	close_between(high + 1, ~0U);
}

static void leave_parent(const struct errand *errand)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		signal(faults[i], SIG_DFL);
	close_all_but(errand->process_fd, errand->out);
	setsid();
}

static bool is_user(uid_t uid)
{
	uid_t real, effective, saved;
	return getresuid(&real, &effective, &saved) == 0 && real == uid && effective == uid && saved == uid;
}

/* Limits pmtop's own capabilities to those in `retained`: 64 bits in two words. */
static bool drop_capabilities(uint64_t retained)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
	if (syscall(SYS_capget, &head, data) < 0)
		return false;
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		data[i].permitted &= (uint32_t)(retained >> 32 * i);
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, data) == 0;
}

/* Raw system calls, because glibc's setresuid changes all threads of the process, and the child has only one. If
 * pmtop may not change ids (an ordinary user, root in a container without CAP_SETGID), it reads only as its own
 * user. */
static bool take_rights(const struct foreign_rights *rights)
{
	bool is_changed = syscall(SET_GROUPS, rights->group_count, rights->groups) == 0 &&
		syscall(SET_GIDS, rights->gid, rights->gid, rights->gid) == 0 &&
		syscall(SET_UIDS, rights->uid, rights->uid, rights->uid) == 0;
	if ((!is_changed && !is_user(rights->uid)) || !drop_capabilities(rights->uid == 0 ? rights->capabilities : 0))
		return false;
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* The change of user cleared this setting. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return is_user(rights->uid);
}

static enum status status_of(int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
	case ESRCH: return STATUS_NOT_FOUND;
	case EACCES:
	case EPERM: return STATUS_DENIED;
	case ENOSYS: return STATUS_UNSUPPORTED;
	default: return STATUS_IO;
	}
}

/* Finds the file without opening it: opening a device can have effects. */
static int find_below(int root_fd, const char *name)
{
	struct how how = { .flags = O_PATH | O_CLOEXEC, .resolve = IN_ROOT | WITHOUT_MAGIC_LINKS };
	long fd = -1;
	for (int races = 0; races < RACES_MAX; races++) {
		fd = syscall(SYS_openat2, root_fd, name, &how, sizeof how);
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return (int)fd;
}

/* Opens the file that was found, even if another file has its name by now. */
static int open_found(int found)
{
	char path[32] = "/proc/self/fd/", digits[12];
	size_t length = strlen(path), count = 0;
	for (int rest = found; rest || !count; rest /= 10)
		digits[count++] = (char)('0' + rest % 10);
	while (count)
		path[length++] = digits[--count];
	path[length] = '\0';
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

static enum status open_file(const struct errand *errand, int *fd, uint32_t *length)
{
	struct stat about;
	int root_fd = openat(errand->process_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return status_of(errno);
	if (!take_rights(errand->rights))
		return STATUS_DENIED;
	int found = find_below(root_fd, errand->name);
	if (found < 0)
		return status_of(errno);
	if (fstat(found, &about) < 0)
		return status_of(errno);
	if (!S_ISREG(about.st_mode) || about.st_size > FOREIGN_FILE_MAX ||
		about.st_mtim.tv_sec * NS_PER_S + about.st_mtim.tv_nsec > errand->newest_ns)
		return STATUS_INVALID;
	*fd = open_found(found);
	*length = (uint32_t)about.st_size;
	return *fd < 0 ? status_of(errno) : STATUS_OK;
}

static bool write_all(int fd, const void *bytes, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t written = write(fd, (const char *)bytes + done, length - done);
		if (written < 0 && errno != EINTR)
			return false;
		done += written > 0 ? (size_t)written : 0;
	}
	return true;
}

/* If the file shrank meanwhile, the answer is too short and the parent drops it. */
static void run_errand(const struct errand *errand)
{
	char piece[PIECE_SIZE];
	int fd = -1;
	struct answer answer = { 0 };
	leave_parent(errand);
	answer.status = (int32_t)open_file(errand, &fd, &answer.length);
	bool is_good = write_all(errand->out, &answer, sizeof answer) && answer.status == STATUS_OK;
	for (uint32_t left = answer.length; is_good && left;) {
		ssize_t got = read(fd, piece, left < PIECE_SIZE ? left : PIECE_SIZE);
		if (got < 0 && errno == EINTR)
			continue;
		is_good = got > 0 && write_all(errand->out, piece, (size_t)got);
		left -= got > 0 ? (uint32_t)got : 0;
	}
	_exit(0);
}

/* -- the end of a child -- */

static void reap(struct foreign_reader *reader)
{
	unsigned retained = 0;
	for (unsigned i = 0; i < reader->child_count; i++)
		if (waitpid(reader->children[i], NULL, WNOHANG) == 0)
			reader->children[retained++] = reader->children[i];
	reader->child_count = retained;
}

/* Only children that have not been waited for, because the pid of another may have been reused. */
static void kill_children(struct foreign_reader *reader)
{
	reap(reader);
	for (unsigned i = 0; i < reader->child_count; i++)
		kill(reader->children[i], SIGKILL);
}

void foreign_reader_release(struct foreign_reader *reader)
{
	kill_children(reader);
	reap(reader);
}

/* -- the parent -- */

/* False: end of file, or timeout (AGAIN in *status). */
static bool read_bytes(int fd, void *bytes, size_t length, int64_t until_ns, enum status *status)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	for (size_t done = 0; done < length;) {
		int64_t left_ns = until_ns - clock_monotonic_ns();
		int count = left_ns > 0 ? poll(&ready, 1, (int)(left_ns / NS_PER_MS) + 1) : 0;
		if (count < 0 && errno == EINTR)
			continue;
		if (count == 0)
			*status = STATUS_AGAIN;
		ssize_t got = count > 0 ? read(fd, (char *)bytes + done, length - done) : -1;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

static enum status take_answer(int fd, char **text, size_t *length)
{
	struct answer answer;
	enum status status = STATUS_IO;
	int64_t until_ns = clock_monotonic_ns() + ANSWER_NS;
	if (!read_bytes(fd, &answer, sizeof answer, until_ns, &status))
		return status;
	if (answer.status != STATUS_OK)
		return answer.status > STATUS_OK && answer.status <= STATUS_INVALID && answer.status != STATUS_AGAIN
			? (enum status)answer.status
			: STATUS_IO;
	if (answer.length > FOREIGN_FILE_MAX)
		return STATUS_IO;
	char *bytes = malloc((size_t)answer.length + 1);
	if (!bytes)
		return STATUS_NO_MEMORY;
	if (!read_bytes(fd, bytes, answer.length, until_ns, &status)) {
		free(bytes);
		return status;
	}
	*text = bytes;
	*length = answer.length;
	return STATUS_OK;
}

static void note_timeout(struct foreign_reader *reader, const char *name)
{
	kill_children(reader);
	reader->next_ns = clock_monotonic_ns() + RETRY_NS;
	if (++reader->timeouts < FOREIGN_TIMEOUTS_MAX)
		return;
	reason_set(&reader->why, STATUS_IO, "check its file system (ls, mount)",
		"no source lines: reading %.150s took longer than 1 s", name);
	atomic_store(&reader->has_given_up, true);
}

/* The path inside the root: the working directory's path without the root's prefix. Both are as pmtop sees them,
 * because /proc offers no other view. */
static bool path_in_root(int process_fd, const char *name, char out[NAME_SIZE])
{
	char root[4096], cwd[4096];
	if (name[0] == '/')
		return snprintf(out, NAME_SIZE, "%s", name) < NAME_SIZE;
	ssize_t root_length = readlinkat(process_fd, "root", root, sizeof root),
			length = readlinkat(process_fd, "cwd", cwd, sizeof cwd);
	if (root_length <= 0 || length <= 0 || root_length == (ssize_t)sizeof root || length == (ssize_t)sizeof cwd)
		return false;
	root_length = root_length == 1 ? 0 : root_length;
	if (length < root_length || memcmp(root, cwd, (size_t)root_length) != 0 ||
		(length > root_length && cwd[root_length] != '/'))
		return false;
	return snprintf(out, NAME_SIZE, "%.*s/%s", (int)(length - root_length), cwd + root_length, name) < NAME_SIZE;
}

static enum status start_child(struct foreign_reader *reader, struct errand *errand, int *fd)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return STATUS_AGAIN;
	errand->out = ends[1];
	pid_t pid = fork();
	if (pid == 0)
		run_errand(errand);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return STATUS_AGAIN;
	}
	reader->children[reader->child_count++] = pid;
	*fd = ends[0];
	return STATUS_OK;
}

enum status foreign_file_read(struct foreign_reader *reader, int process_fd, const struct foreign_rights *rights,
	const char *name, int64_t newest_ns, char **text, size_t *length)
{
	char path[NAME_SIZE];
	int fd = -1;
	struct errand errand = { .process_fd = process_fd, .rights = rights, .name = path, .newest_ns = newest_ns };
	reap(reader);
	if (reader->has_given_up || reader->child_count == FOREIGN_CHILDREN_MAX || clock_monotonic_ns() < reader->next_ns)
		return STATUS_AGAIN;
	if (!path_in_root(process_fd, name, path))
		return STATUS_NOT_FOUND;
	enum status status = start_child(reader, &errand, &fd);
	if (status != STATUS_OK) {
		reader->next_ns = clock_monotonic_ns() + ANSWER_NS;
		return status;
	}
	status = take_answer(fd, text, length);
	close(fd);
	if (status == STATUS_AGAIN)
		note_timeout(reader, name);
	reap(reader);
	return status;
}
