#include "tests/support/fake_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void must(int is_good, const char *what)
{
	if (is_good)
		return;
	perror(what);
	_exit(99);
}

void fake_proc_init(struct fake_proc *proc)
{
	strcpy(proc->root, "/tmp/pmtop-proc-XXXXXX");
	must(mkdtemp(proc->root) != NULL, "mkdtemp");
	fake_proc_put(proc, "sys/kernel/task_delayacct", "1\n");
}

void fake_proc_put(const struct fake_proc *proc, const char *name, const char *text)
{
	char path[512];
	int written = snprintf(path, sizeof path, "%s/%s", proc->root, name);
	must(written > 0 && (size_t)written < sizeof path, name);
	for (char *slash = path + strlen(proc->root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		must(mkdir(path, 0755) == 0 || errno == EEXIST, path);
		*slash = '/';
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
	close(fd);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status, (void)type, (void)where;
	return remove(path);
}

void fake_proc_release(struct fake_proc *proc) { nftw(proc->root, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

void fake_proc_write(const struct fake_proc *proc, int pid, const char *name, const char *text, size_t length)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%d/%s", proc->root, pid, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	must(fd >= 0 && write(fd, text, length) == (ssize_t)length, path);
	close(fd);
}

void fake_proc_puts(const struct fake_proc *proc, int pid, const char *name, const char *text)
{
	fake_proc_write(proc, pid, name, text, strlen(text));
}

void fake_proc_remove(const struct fake_proc *proc, int pid, const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%d/%s", proc->root, pid, name);
	must(remove(path) == 0, path);
}

static void make_folder(const struct fake_proc *proc, int pid, const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%d%s", proc->root, pid, name);
	must(mkdir(path, 0755) == 0, path);
}

void fake_proc_add(const struct fake_proc *proc, int pid, int parent, const char *comm)
{
	char text[512], name[64];
	make_folder(proc, pid, "");
	make_folder(proc, pid, "/task");
	snprintf(name, sizeof name, "/task/%d", pid);
	make_folder(proc, pid, name);
	snprintf(name, sizeof name, "task/%d/children", pid);
	fake_proc_puts(proc, pid, name, "");
	snprintf(text, sizeof text,
		"%d (%s) S %d 1 1 0 -1 4194304 1000 0 7 0 250 50 0 0 20 0 3 0 1234%d 99999744 2500 "
		"18446744073709551615 4194304 4300000 140720000000000 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		pid, comm, parent, pid);
	fake_proc_puts(proc, pid, "stat", text);
	snprintf(text, sizeof text,
		"Name:\t%s\nState:\tS (sleeping)\nTgid:\t%d\nPid:\t%d\nPPid:\t%d\nUid:\t0\t0\t0\t0\nVmHWM:\t 20000 kB\n"
		"VmRSS:\t 10000 kB\nRssAnon:\t 7000 kB\nRssFile:\t 2500 kB\nRssShmem:\t 500 kB\nVmSwap:\t 12 kB\nThreads:\t3\n"
		"voluntary_ctxt_switches:\t41\nnonvoluntary_ctxt_switches:\t5\n",
		comm, pid, pid, parent);
	fake_proc_puts(proc, pid, "status", text);
	fake_proc_puts(proc, pid, "io",
		"rchar: 5000\nwchar: 1\nsyscr: 1\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n");
	fake_proc_puts(proc, pid, "schedstat", "3000000000 700000 42\n");
	int written = snprintf(text, sizeof text, "/usr/bin/%s", comm);
	fake_proc_write(proc, pid, "cmdline", text, (size_t)written + 1);
}

void fake_proc_end(const struct fake_proc *proc, int pid)
{
	static const char *const files[] = { "stat", "status", "io", "schedstat", "cmdline" };
	char path[128];
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		fake_proc_puts(proc, pid, files[i], "");
	snprintf(path, sizeof path, "%s/%d", proc->root, pid);
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
