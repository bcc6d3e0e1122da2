#include "src/base/files/file_aside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/mounts.h"
#include "src/base/files/remote_reader.h"
#include "src/base/kernel.h"

enum { POINTS_MAX = 64, CONTENT_MAX = 1 << 20 };
#define READ_NS NS_PER_S
#define AGAIN_NS (30 * NS_PER_S)

/* -- which files -- */

/* The mounts below /proc and /sys that may hang. */
static struct {
	pthread_mutex_t lock;
	FILE *mountinfo; /* stays open: poll(2) reports changes */
	_Atomic int64_t next_ns;
	_Atomic size_t count;
	char points[POINTS_MAX][HANG_PATH_SIZE];
} mounted = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The lock is held. */
static void read_mounts(void)
{
	char *line = NULL;
	size_t size = 0, count = 0;
	struct mount mount;
	rewind(mounted.mountinfo);
	while (count < POINTS_MAX && getline(&line, &size, mounted.mountinfo) > 0)
		if (mount_parse(line, &mount) && mount_may_hang(&mount) &&
			(path_is_below(mount.point, "/proc") || path_is_below(mount.point, "/sys")) &&
			strcmp(mount.type, "autofs") != 0 && strlen(mount.point) < HANG_PATH_SIZE)
			memcpy(mounted.points[count++], mount.point, strlen(mount.point) + 1);
	mounted.count = count;
	free(line);
}

static void check_mounts(void)
{
	int64_t now_ns = clock_monotonic_ns();
	if (now_ns < atomic_load_explicit(&mounted.next_ns, memory_order_relaxed))
		return;
	pthread_mutex_lock(&mounted.lock);
	mounted.next_ns = now_ns + READ_NS;
	bool is_first = !mounted.mountinfo;
	if (is_first)
		mounted.mountinfo = fopen("/proc/self/mountinfo", "re");
	struct pollfd change = { .fd = mounted.mountinfo ? fileno(mounted.mountinfo) : -1, .events = POLLPRI };
	if (mounted.mountinfo && (poll(&change, 1, 0) > 0 || is_first))
		read_mounts();
	pthread_mutex_unlock(&mounted.lock);
}

static bool is_mounted(const char *whole)
{
	bool is_below = false;
	pthread_mutex_lock(&mounted.lock);
	for (size_t i = 0; i < mounted.count && !is_below; i++)
		is_below = path_is_below(whole, mounted.points[i]);
	pthread_mutex_unlock(&mounted.lock);
	return is_below;
}

bool file_is_aside(int directory_fd, const char *path, char whole[HANG_PATH_SIZE])
{
	check_mounts();
	if (mounted.count == 0)
		return false;
	hang_write_path(directory_fd, path, whole);
	return is_mounted(whole);
}

/* -- reading them -- */

/* One child for the whole program: such files are few. */
static struct {
	pthread_mutex_t lock;
	struct remote_reader *reader;
	size_t left_count;
	/* children still blocked, their files, and when to check again */
	struct {
		pid_t child;
		int64_t next_ns;
		char path[HANG_PATH_SIZE];
	} left[REMOTE_LEFT_MAX];
} aside = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Accepts files again whose reader has ended: the file has answered, or the thread that started the reader has
 * ended. */
static void forget_answered(void)
{
	size_t retained = 0;
	for (size_t i = 0; i < aside.left_count; i++)
		if (clock_monotonic_ns() < aside.left[i].next_ns || remote_reader_is_left(aside.reader, aside.left[i].child))
			aside.left[retained++] = aside.left[i];
		else
			hang_accept(aside.left[i].path);
	aside.left_count = retained;
}

static void leave_behind(const char *whole)
{
	pid_t child = remote_reader_resume(aside.reader);
	hang_refuse(whole);
	snprintf(aside.left[aside.left_count].path, HANG_PATH_SIZE, "%s", whole);
	aside.left[aside.left_count].next_ns = clock_monotonic_ns() + AGAIN_NS;
	aside.left[aside.left_count++].child = child;
}

/* Used when no child can be started. */
static ssize_t read_directly(const char *whole, char *out, size_t size)
{
	int fd = open(whole, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ssize_t length = fd < 0 ? -1 : read(fd, out, size);
	int error = errno;
	if (fd >= 0)
		close(fd);
	errno = error;
	return length;
}

/* The lock is held. */
static ssize_t read_by_child(const char *whole, char *out, size_t size)
{
	size_t length = 0;
	if (!aside.reader && !(aside.reader = remote_reader_new(HANG_LIMIT_NS)))
		return read_directly(whole, out, size);
	forget_answered();
	errno = ETIMEDOUT;
	if (aside.left_count == REMOTE_LEFT_MAX || hang_is_refused(whole))
		return -1;
	if (remote_reader_file(aside.reader, whole, out, size, &length))
		return (ssize_t)length;
	/* A child ends with the thread that started it. */
	if (errno == EIO && remote_reader_file(aside.reader, whole, out, size, &length))
		return (ssize_t)length;
	if (errno == EAGAIN || errno == ENOMEM)
		return read_directly(whole, out, size);
	if (errno == ETIMEDOUT) {
		leave_behind(whole);
		errno = ETIMEDOUT;
	}
	return -1;
}

ssize_t file_aside_read(const char *whole, char *out, size_t size)
{
	pthread_mutex_lock(&aside.lock);
	ssize_t length = read_by_child(whole, out, size);
	pthread_mutex_unlock(&aside.lock);
	return length;
}

int file_aside_open(const char *whole)
{
	char *content = malloc(CONTENT_MAX);
	ssize_t length = content ? file_aside_read(whole, content, CONTENT_MAX) : -1;
	int fd = length < 0 ? -1 : kernel_memory_file("pmtop-copy", 0);
	if (fd >= 0 && (write(fd, content, (size_t)length) != length || lseek(fd, 0, SEEK_SET) != 0)) {
		close(fd);
		fd = -1;
	}
	free(content);
	return fd;
}
