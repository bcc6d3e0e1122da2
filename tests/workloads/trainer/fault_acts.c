#include "fault_acts.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

enum { PAGE = 4096, CHILDREN = sizeof((struct faults *)0)->children / sizeof(pid_t) };

static int64_t duration_of(const struct fault *fault) { return (int64_t)(fault->ms * 1e6); }

static int64_t end_of(const struct fault *fault, const struct act *act) { return act->begin_ns + duration_of(fault); }

static void wait_out(const struct fault *fault, const struct act *act) { sleep_until(end_of(fault, act)); }

/* So much of the CPU, however long that takes. */
static void work(double ms)
{
	int64_t end_ns = cpu_ns() + (int64_t)(ms * 1e6);

	while (cpu_ns() < end_ns)
		;
}

#define ACT(name) void act_##name(struct faults *faults, struct fault *fault, const struct act *act)
#define UNUSED (void)faults, (void)fault, (void)act

/* -- in the loader -- */

ACT(slow_data)
{
	UNUSED;
	wait_out(fault, act);
}
ACT(slow_worker)
{
	UNUSED;
	wait_out(fault, act);
}
ACT(busy_data)
{
	UNUSED;
	work(fault->ms);
}
ACT(cold_read)
{
	UNUSED;
	scratch_read(&faults->scratch, duration_of(fault));
}
ACT(direct_read)
{
	UNUSED;
	scratch_read_direct(&faults->scratch, duration_of(fault));
}

ACT(worker_leak)
{
	size_t size = (size_t)(fault->mb * 1e6);
	char *kept = malloc(size);

	UNUSED;
	if (!kept)
		return;
	memset(kept, 1, size);
	/* A compiler leaves out what nobody can look at. */
	__asm__ volatile("" : : "r"(kept) : "memory");
	fault->kept_bytes += (double)size;
}

static bool is_stopped(pid_t pid)
{
	char path[64], text[256] = "";
	const char *after;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof text - 1) < 0)
		text[0] = '\0';
	if (fd >= 0)
		close(fd);
	after = strrchr(text, ')');
	return after && after[1] && after[2] == 'T';
}

ACT(stop_worker)
{
	UNUSED;
	accomplice_stop(&faults->accomplice, act->worker, duration_of(fault));
	while (!is_stopped(act->worker) && now_ns() < end_of(fault, act))
		sched_yield();
}

/* -- in forward, and after it -- */

ACT(sleep_forward)
{
	UNUSED;
	wait_out(fault, act);
}
ACT(busy_forward)
{
	UNUSED;
	work(fault->ms);
}
ACT(slow_optimizer)
{
	UNUSED;
	work(fault->ms);
}
ACT(page_out)
{
	UNUSED;
	scratch_touch(&faults->scratch, duration_of(fault));
}
ACT(bigger) { UNUSED; }

ACT(sync_log)
{
	UNUSED;
	do
		scratch_write(&faults->scratch, fault->mb);
	while (now_ns() < end_of(fault, act));
}

ACT(fault_storm)
{
	size_t size = (size_t)(fault->mb * 1e6);

	UNUSED;
	while (now_ns() < end_of(fault, act)) {
		char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (pages == MAP_FAILED)
			return;
		madvise(pages, size, MADV_NOHUGEPAGE);
		for (size_t at = 0; at < size; at += PAGE)
			pages[at] = 1;
		munmap(pages, size);
	}
}

ACT(allocate)
{
	size_t size = (size_t)(fault->mb * 1e6);

	UNUSED;
	faults->block = malloc(size);
	if (faults->block)
		memset(faults->block, 1, size);
	__asm__ volatile("" : : "r"(faults->block) : "memory");
}

ACT(collect)
{
	UNUSED;
	PMTOP_SPAN(act->pm, "gc")
	work(fault->ms);
}

/* Some hundred small functions: a good part of a second for a compiler. */
static FILE *write_program(void)
{
	FILE *file = tmpfile();

	for (int i = 0; file && i < 90; i++)
		fprintf(file,
			"double f%d(double *a, int n) { double s = %d; for (int i = 0; i < n; i++) { s += a[i] * %d; if (s > 1e6) "
			"s /= a[i %% 7]; a[i] = s; } return s; }\n",
			i, i, i);
	if (file && fseek(file, 0, SEEK_SET) == 0)
		return file;
	return NULL;
}

static void become_compiler(FILE *program)
{
	int nothing = open("/dev/null", O_WRONLY);

	dup2(fileno(program), STDIN_FILENO);
	dup2(nothing, STDOUT_FILENO);
	dup2(nothing, STDERR_FILENO);
	execlp("cc", "cc", "-O2", "-c", "-x", "c", "-o", "/dev/null", "-", (char *)NULL);
	prctl(PR_SET_NAME, "cc1");
	work(400);
	_exit(0);
}

ACT(compile)
{
	FILE *program = write_program();
	pid_t child;

	UNUSED;
	if (!program)
		return;
	child = fork();
	if (child == 0)
		become_compiler(program);
	while (child > 0 && waitpid(child, NULL, 0) < 0)
		;
	fclose(program);
}

ACT(memory_pressure)
{
	UNUSED;
	cgroup_limit_memory(&faults->cgroup, cgroup_anonymous(&faults->cgroup) + 12e6);
	scratch_touch(&faults->scratch, duration_of(fault));
	cgroup_limit_memory(&faults->cgroup, 0);
}

/* Until the clock was seen to stand still. */
ACT(stop_trainer)
{
	int64_t last_ns = now_ns(), longest_ns = 0;

	UNUSED;
	accomplice_stop(&faults->accomplice, getpid(), duration_of(fault));
	while (longest_ns < (int64_t)(fault->ms * 5e5) && last_ns < end_of(fault, act)) {
		int64_t now = now_ns();

		longest_ns = now - last_ns > longest_ns ? now - last_ns : longest_ns;
		last_ns = now;
	}
}

/* -- after it -- */

ACT(shm_leak)
{
	size_t size = (size_t)(fault->mb * 1e6) / PAGE * PAGE;
	off_t end;
	char *kept = MAP_FAILED;
	int fd = shm_open(faults->name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	UNUSED;
	if (fd < 0)
		return;
	end = lseek(fd, 0, SEEK_END);
	if (end >= 0 && ftruncate(fd, end + (off_t)size) == 0)
		kept = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, end);
	if (kept != MAP_FAILED) {
		memset(kept, 1, size);
		fault->kept_bytes += (double)size;
	}
	close(fd);
}

ACT(save_checkpoint)
{
	UNUSED;
	PMTOP_SPAN(act->pm, "checkpoint")
	scratch_write(&faults->scratch, fault->mb);
}

/* -- the whole batch -- */

bool act_pin(void)
{
	cpu_set_t cpus;
	int cpu = sched_getcpu();

	CPU_ZERO(&cpus);
	if (cpu >= 0)
		CPU_SET((size_t)cpu, &cpus);
	return cpu >= 0 && sched_setaffinity(0, sizeof cpus, &cpus) == 0;
}

ACT(hog)
{
	UNUSED;
	accomplice_hog(&faults->accomplice, !act->is_end);
}
ACT(quota)
{
	UNUSED;
	cgroup_limit_cpus(&faults->cgroup, act->is_end ? 0 : fault->size);
}

static void hog_as_child(void)
{
	prctl(PR_SET_NAME, "preprocess");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		work(1000);
}

ACT(child_hog)
{
	UNUSED;
	for (int i = 0; i < CHILDREN; i++) {
		pid_t *child = &faults->children[i];

		if (!act->is_end && (*child = fork()) == 0)
			hog_as_child();
		if (!act->is_end || *child <= 0)
			continue;
		kill(*child, SIGKILL);
		waitpid(*child, NULL, 0);
		*child = 0;
	}
}
