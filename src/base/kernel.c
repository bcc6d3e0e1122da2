#include "src/base/kernel.h"

#include <linux/memfd.h>
#include <linux/random.h>
#include <sys/syscall.h>
#include <unistd.h>

int kernel_memory_file(const char *name, unsigned flags)
{
	return (int)syscall(SYS_memfd_create, name, flags | MFD_CLOEXEC);
}

bool kernel_random(void *out, size_t size, bool may_wait)
{
	return syscall(SYS_getrandom, out, size, may_wait ? 0U : GRND_NONBLOCK) == (long)size;
}

pid_t kernel_thread_id(void) { return (pid_t)syscall(SYS_gettid); }

int kernel_statx(int directory_fd, const char *path, int flags, unsigned mask, struct statx *out)
{
	return (int)syscall(SYS_statx, directory_fd, path, flags, mask, out);
}
