/* The replacements of getrandom() and statx() on kernels that have neither: a filter makes these calls fail as there.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "src/base/kernel.h"
#include "tests/support/suite.h"

/* Each test runs in a process of its own. */
static void remove_calls(void)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_statx, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof program / sizeof *program, .filter = program };
	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
	ck_assert_int_eq(syscall(SYS_getrandom, NULL, 0, 0), -1);
}

static void compare_with_stat(void)
{
	struct statx got;
	struct stat file;
	ck_assert_int_eq(kernel_statx(AT_FDCWD, "/proc/self/exe", AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &got), 0);
	ck_assert_int_eq(stat("/proc/self/exe", &file), 0);
	ck_assert(makedev(got.stx_dev_major, got.stx_dev_minor) == file.st_dev && got.stx_ino == file.st_ino);
	ck_assert(got.stx_mode == file.st_mode && got.stx_uid == file.st_uid && got.stx_gid == file.st_gid);
	ck_assert(got.stx_size == (uint64_t)file.st_size && got.stx_blocks == (uint64_t)file.st_blocks);
	errno = 0;
	ck_assert_int_eq(kernel_statx(AT_FDCWD, "/nonexistent", 0, STATX_BASIC_STATS, &got), -1);
	ck_assert_int_eq(errno, ENOENT);
}

static void compare_random(void)
{
	unsigned char first[16] = { 0 }, second[16] = { 0 };
	ck_assert(kernel_random(first, sizeof first, true) && kernel_random(second, sizeof second, false));
	ck_assert(memcmp(first, second, sizeof first) != 0);
}

START_TEST(calls_of_this_kernel)
{
	compare_with_stat();
	compare_random();
	ck_assert_int_eq(kernel_thread_id(), getpid());
	int fd = kernel_memory_file("test", 0);
	ck_assert(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
	close(fd);
}
END_TEST

START_TEST(calls_of_an_old_kernel)
{
	remove_calls();
	compare_with_stat();
	compare_random();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kernel");
	TCase *tcase = tcase_create("kernel");
	tcase_add_test(tcase, calls_of_this_kernel);
	tcase_add_test(tcase, calls_of_an_old_kernel);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
