/* No room for a region: the run continues with a memfd or without a region. */
#define PMTOP_IMPLEMENTATION
#include "src/region/find.h"

#include <check.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/support/publisher_clock.h"
#include "tests/support/regions.h"

static struct region_event events[16];

/* A /dev/shm of our own; goes with the test's process. */
static void mount_shm(const char *options)
{
	ck_assert_int_eq(unshare(CLONE_NEWNS), 0);
	ck_assert_int_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	ck_assert_int_eq(mount("tmpfs", "/dev/shm", "tmpfs", 0, options), 0);
}

static size_t find(struct region_location *out)
{
	int self = open("/proc/self", O_RDONLY | O_DIRECTORY);
	bool is_unfilled;
	size_t count = region_find(self, getpid(), out, 4, &is_unfilled);
	close(self);
	return count;
}

/* `others`: further regions of the process. */
static void check_works_as_memfd(struct pmtop *pm, size_t others)
{
	struct region_location locations[4];
	struct region *region;
	char message[REGION_MESSAGE_SIZE];
	ck_assert_ptr_nonnull(pm);
	ck_assert_str_eq(pm->path, "");
	for (int i = 0; i < 5; i++)
		pmtop_gauge(pm, "rate", i);
	ck_assert_uint_eq(find(locations), others + 1);
	if (!locations[0].is_memfd)
		locations[0] = locations[1];
	ck_assert(locations[0].is_memfd && locations[0].is_descriptor_link);
	ck_assert_msg(region_open(&locations[0], geteuid(), &region, message) == REGION_OK, "%s", message);
	ck_assert_uint_eq(regions_events(region, 0, events, 16), 5);
	ck_assert(region_is_in_place(region));
	ck_assert_int_eq(ftruncate(pm->file.fd, 4096), -1);
	region_close(region);
	pmtop_close(pm);
	ck_assert_uint_eq(find(locations), others);
}

START_TEST(a_full_shm_means_a_sealed_memfd)
{
	mount_shm("size=1m");
	check_works_as_memfd(pmtop_open("full", NULL), 0);
}
END_TEST

START_TEST(a_shm_that_fills_up_later_does_no_harm)
{
	static const char block[65536];
	mount_shm("size=8m");
	struct pmtop *pm = pmtop_open("first", NULL);
	ck_assert_str_ne(pm->path, "");
	int fd = open("/dev/shm/filler", O_RDWR | O_CREAT, 0600);
	while (write(fd, block, sizeof block) == sizeof block)
		;
	for (int i = 0; i < 100000; i++)
		PMTOP_SPAN(pm, "forward") {}
	ck_assert_double_gt(pmtop_get_total_time(pm), 0);
	check_works_as_memfd(pmtop_open("second", NULL), 1);
	pmtop_close(pm);
}
END_TEST

START_TEST(a_folder_on_a_disk_is_never_used)
{
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	struct statfs system;
	options.directory = "/";
	ck_assert_int_eq(statfs("/", &system), 0);
	ck_assert_int_ne(system.f_type, PMTOP_I_TMPFS);
	check_works_as_memfd(pmtop_open("disk", &options), 0);
	options.directory = "/nowhere";
	check_works_as_memfd(pmtop_open("nowhere", &options), 0);
}
END_TEST

static void forbid_memfd(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof rules / sizeof rules[0], rules };
	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* What pmtop_open says on standard error. */
static size_t said(const struct pmtop_options *options, char *out, size_t size)
{
	int ends[2], retained = dup(STDERR_FILENO);
	ck_assert_int_eq(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	ck_assert_ptr_null(pmtop_open("nothing", options));
	dup2(retained, STDERR_FILENO);
	close(ends[1]);
	ssize_t length = read(ends[0], out, size - 1);
	close(ends[0]);
	out[length > 0 ? length : 0] = '\0';
	return length > 0 ? (size_t)length : 0;
}

START_TEST(without_shm_and_memfd_nothing_is_published_and_one_line_reports_it_on_request)
{
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	char text[512];
	mount_shm("size=1m");
	forbid_memfd();
	ck_assert_uint_eq(said(&options, text, sizeof text), 0);
	options.tell = 1;
	size_t length = said(&options, text, sizeof text);
	ck_assert_msg(strstr(text, "pmtop: not publishing: ") == text, "%s", text);
	ck_assert_ptr_nonnull(strstr(text, "/dev/shm"));
	ck_assert_ptr_eq(strchr(text, '\n'), text + length - 1);
}
END_TEST

START_TEST(a_limit_on_file_sizes_is_no_signal)
{
	struct rlimit limit = { 100000, 100000 };
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_ptr_null(pmtop_open("limited", NULL));
}
END_TEST

START_TEST(no_descriptor_is_no_region)
{
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	struct rlimit none = { 3, limit.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	struct pmtop *pm = pmtop_open("no descriptor", NULL);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_ptr_null(pm);
}
END_TEST

START_TEST(evidence_and_memory_do_without_descriptors)
{
	struct pmtop *pm = pmtop_open("few descriptors", NULL);
	struct region *region = regions_open(pm->path);
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	struct rlimit none = { 3, limit.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	PMTOP_SPAN_MEMORY(pm, "memory") {}
	for (int i = 0; i < 2; i++) {
		pmtop_batch_begin(pm, 0);
		publisher_later_ns += 1000000;
		pmtop_batch_end(pm, 1);
	}
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_uint_eq(regions_events(region, 0, events, 16), 6);
	ck_assert_uint_eq(events[0].payload[4], PMTOP_UNKNOWN);
	ck_assert_uint_eq(events[5].type, PMTOP_EVENT_EVIDENCE);
	ck_assert_uint_eq(events[5].payload[3], PMTOP_UNKNOWN);
	region_close(region);
	pmtop_close(pm);
}
END_TEST

START_TEST(a_child_that_can_have_no_region_publishes_nothing_and_lives)
{
	struct pmtop *pm = pmtop_open("parent", NULL);
	struct region *region = regions_open(pm->path);
	pid_t pid = fork();
	if (!pid) {
		struct rlimit limit = { 100000, 100000 };
		setrlimit(RLIMIT_FSIZE, &limit);
		for (int i = 0; i < 1000; i++)
			PMTOP_SPAN(pm, "nothing") pmtop_gauge(pm, "rate", 1);
		int is_unknown = pmtop_get_total_time(pm) != pmtop_get_total_time(pm);
		pmtop_close(pm);
		_exit(is_unknown ? 0 : 1);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(regions_lane(region, 0).head, 0);
	ck_assert(region_is_in_place(region));
	region_close(region);
	pmtop_close(pm);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_full_shm_means_a_sealed_memfd,
		a_shm_that_fills_up_later_does_no_harm,
		a_folder_on_a_disk_is_never_used,
		without_shm_and_memfd_nothing_is_published_and_one_line_reports_it_on_request,
		a_limit_on_file_sizes_is_no_signal,
		no_descriptor_is_no_region,
		evidence_and_memory_do_without_descriptors,
		a_child_that_can_have_no_region_publishes_nothing_and_lives,
	};
	return regions_run("region: no room", NULL, NULL, tests, sizeof tests / sizeof tests[0]);
}
