#include "src/base/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <linux/random.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int kernel_memory_file(const char *name, unsigned flags)
{
	return (int)syscall(SYS_memfd_create, name, flags | MFD_CLOEXEC);
}

bool kernel_random(void *out, size_t size, bool may_wait)
{
	long length = syscall(SYS_getrandom, out, size, may_wait ? 0U : GRND_NONBLOCK);
	if (length >= 0 || errno != ENOSYS)
		return length == (long)size;
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	length = read(fd, out, size);
	close(fd);
	return length == (long)size;
}

pid_t kernel_thread_id(void) { return (pid_t)syscall(SYS_gettid); }

int kernel_statx(int directory_fd, const char *path, int flags, unsigned mask, struct statx *out)
{
	int result = (int)syscall(SYS_statx, directory_fd, path, flags, mask, out);
	struct stat file;
	if (result == 0 || errno != ENOSYS)
		return result;
	result = fstatat(directory_fd, path, &file, flags & (AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT));
	if (result == 0)
		*out = (struct statx){ .stx_mask = STATX_BASIC_STATS,
			.stx_dev_major = major(file.st_dev),
			.stx_dev_minor = minor(file.st_dev),
			.stx_ino = file.st_ino,
			.stx_mode = (uint16_t)file.st_mode,
			.stx_uid = file.st_uid,
			.stx_gid = file.st_gid,
			.stx_size = (uint64_t)file.st_size,
			.stx_blocks = (uint64_t)file.st_blocks };
	return result;
}
