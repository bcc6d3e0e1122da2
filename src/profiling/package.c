#include "src/profiling/package.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/base/text.h"

enum { STATUS_TEXT_SIZE = 8192, REQUEST_SIZE = TRACE_FOLDER_SIZE + 80 };

/* The process's number in its own PID namespace: the last of NSpid. */
static pid_t number_inside(int directory_fd, pid_t pid)
{
	char text[STATUS_TEXT_SIZE];
	size_t length;
	if (file_read(directory_fd, "status", text, sizeof text, &length) != STATUS_OK)
		return pid;
	const char *line = strstr(text, "\nNSpid:");
	if (!line)
		return pid;
	size_t end = strcspn(line + 1, "\n") + 1;
	while (end > 0 && line[end - 1] != '\t')
		end--;
	return (pid_t)atoi(line + end);
}

/* Opens the folder component by component: a symbolic link could lead out of the process's root. */
static int open_folder(int root_fd, const char *const *components, uid_t uid)
{
	struct stat folder;
	int fd = dup(root_fd);
	for (; *components && fd >= 0; components++) {
		int next = openat(fd, *components, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(fd);
		fd = next;
	}
	if (fd >= 0 && (fstat(fd, &folder) != 0 || folder.st_uid != uid || (folder.st_mode & 077))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Returns a connected socket, or −1. */
static int connect_in(int folder_fd, pid_t number)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/profile.%d", folder_fd, (int)number);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Calls use(folder, number) for each folder in which the process may listen, until it returns a descriptor. */
static int find_in_folders(int directory_fd, pid_t number, uid_t uid, int (*use)(int folder_fd, pid_t number))
{
	char user[24], own[32];
	snprintf(user, sizeof user, "%u", (unsigned)uid);
	snprintf(own, sizeof own, "pmtop-%u", (unsigned)uid);
	const char *const runtime[] = { "run", "user", user, "pmtop", NULL }, *const tmp[] = { "tmp", own, NULL };
	const char *const *const folders[] = { runtime, tmp };
	int root_fd = openat(directory_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	for (size_t i = 0; root_fd >= 0 && fd < 0 && i < sizeof folders / sizeof *folders; i++) {
		int folder_fd = open_folder(root_fd, folders[i], uid);
		if (folder_fd < 0)
			continue;
		fd = use(folder_fd, number);
		close(folder_fd);
	}
	if (root_fd >= 0)
		close(root_fd);
	return fd;
}

static int open_in(int folder_fd, pid_t number)
{
	char name[32];
	snprintf(name, sizeof name, "profile.%d", (int)number);
	return openat(folder_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

bool package_is_there(int directory_fd, pid_t pid, uid_t uid)
{
	int fd = find_in_folders(directory_fd, number_inside(directory_fd, pid), uid, open_in);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static enum status check_peer(int fd, pid_t pid, uid_t uid, struct reason *why_not)
{
	struct ucred who;
	socklen_t size = sizeof who;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == uid && who.pid == pid)
		return STATUS_OK;
	return reason_set(why_not, STATUS_DENIED, NULL,
		"the socket for requests of process %d belongs to another process: nothing was sent", (int)pid);
}

static int write_request(const struct profiling_order *order, char line[REQUEST_SIZE])
{
	const struct profiling_start *start = &order->start;
	if (!order->steps)
		return snprintf(line, REQUEST_SIZE, "snapshot %d %s\n", order->is_automatic ? 2 : 1, order->folder);
	if (start->is_batch)
		return snprintf(line, REQUEST_SIZE, "profile 2 %u batch %llu %llu %s\n", order->steps,
			(unsigned long long)start->batch, (unsigned long long)start->every, order->folder);
	if (start->realtime_ms)
		return snprintf(line, REQUEST_SIZE, "profile 2 %u time %lld 0 %s\n", order->steps,
			(long long)start->realtime_ms, order->folder);
	return snprintf(line, REQUEST_SIZE, "profile 1 %u %s\n", order->steps, order->folder);
}

enum status package_open(struct package *package, int directory_fd, pid_t pid, uid_t uid,
	const struct profiling_order *order, struct reason *why_not)
{
	char line[REQUEST_SIZE];
	*package = (struct package){ .fd = -1, .steps = order->steps };
	snprintf(package->folder, sizeof package->folder, "%s", order->folder);
	int fd = find_in_folders(directory_fd, number_inside(directory_fd, pid), uid, connect_in);
	if (fd < 0)
		return STATUS_NOT_FOUND;
	enum status status = check_peer(fd, pid, uid, why_not);
	int length = write_request(order, line);
	if (status == STATUS_OK && (strlen(order->folder) >= TRACE_FOLDER_SIZE || strchr(order->folder, '\n')))
		status = reason_set(why_not, STATUS_INVALID, NULL, "the folder's name is too long or has a line break");
	if (status == STATUS_OK && send(fd, line, (size_t)length, MSG_NOSIGNAL) != length)
		status = reason_set(why_not, STATUS_IO, NULL, "process %d takes no request: %s", (int)pid, strerror(errno));
	if (status == STATUS_OK)
		package->fd = fd;
	else
		close(fd);
	return status;
}

/* It is a file in the folder that was asked for: a program cannot make pmtop read any other. */
static enum status take_path(struct package *package, const char *path, struct reason *why_not)
{
	size_t length = strlen(package->folder);
	const char *name = path + length + 1;
	if (strncmp(path, package->folder, length) != 0 || path[length] != '/' || !name[0] || strchr(name, '/'))
		return reason_set(
			why_not, STATUS_DAMAGED, NULL, "the program's answer names a file that is not in %.100s", package->folder);
	snprintf(package->path, sizeof package->path, "%s", path);
	return STATUS_OK;
}

static enum status take_line(struct package *package, const char *line, struct reason *why_not)
{
	char text[sizeof why_not->text];
	unsigned done, steps;
	if (sscanf(line, "step %u %u", &done, &steps) == 2) {
		package->has_begun = true;
		package->done = done <= package->steps ? done : package->steps;
		return STATUS_AGAIN;
	}
	const char *word = package->steps ? "trace " : "snapshot ";
	if (strncmp(line, word, strlen(word)) == 0)
		return take_path(package, line + strlen(word), why_not);
	if (strcmp(line, "unrecorded") == 0)
		return reason_set(why_not, STATUS_NOT_FOUND, NULL, "the program records no history of its memory");
	bool is_error = strncmp(line, "error ", 6) == 0;
	text_clean(text, sizeof text, line + 6 * is_error, strlen(line + 6 * is_error));
	return is_error ? reason_set(why_not, STATUS_UNSUPPORTED, NULL, "%s", text)
					: reason_set(why_not, STATUS_DAMAGED, NULL, "the program's answer is unknown: %.100s", text);
}

static enum status take_lines(struct package *package, struct reason *why_not)
{
	enum status status = STATUS_AGAIN;
	for (char *end; status == STATUS_AGAIN && (end = memchr(package->line, '\n', package->length));) {
		size_t used = (size_t)(end - package->line) + 1;
		*end = '\0';
		status = take_line(package, package->line, why_not);
		package->length -= used;
		memmove(package->line, package->line + used, package->length);
	}
	return status;
}

enum status package_read(struct package *package, struct reason *why_not)
{
	for (;;) {
		size_t room = sizeof package->line - package->length;
		if (!room)
			return reason_set(why_not, STATUS_DAMAGED, NULL, "the program's answer is too long");
		ssize_t length = recv(package->fd, package->line + package->length, room, MSG_DONTWAIT);
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0 && errno != ECONNRESET)
			return errno == EAGAIN ? STATUS_AGAIN
								   : reason_set(why_not, STATUS_IO, NULL, "no answer: %s", strerror(errno));
		if (length <= 0)
			return reason_set(why_not, STATUS_END, NULL, "the program ended its instrumentation, or itself");
		package->length += (size_t)length;
		enum status status = take_lines(package, why_not);
		if (status != STATUS_AGAIN)
			return status;
	}
}

void package_close(struct package *package)
{
	if (package->fd >= 0)
		close(package->fd);
	package->fd = -1;
}
