/* A process chooses what it maps, and pmtop searches its mappings for a Python: a library with an endless chain of
 * symbols, mapped as often as the kernel allows, must cost no more than one search's budget. Root's pmtop searches
 * processes of other users, too. Its list of threads may be endless. */
#include <check.h>
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/python/py_gil.h"
#include "src/sources/python/py_threads.h"
#include "tests/support/children.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"

enum { PAGE = 4096, DYNAMIC_AT = 512, TIMES = 60000, CHAIN_SIZE = 1 << 20, WATCH_S = 6 };

static char folder[] = "/tmp/pmtop-hostile-XXXXXX", library[64];
static struct child hostile;

struct tables {
	uint32_t buckets, first, filter_words, shift, bucket, chain[CHAIN_SIZE];
};

static void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	_exit(99);
}

/* All images share tables in memory far above them: addresses above an image are absolute. */
static void write_image(const struct tables *tables)
{
	unsigned char page[PAGE] = { 0 };
	Elf64_Ehdr header = { .e_phoff = sizeof header, .e_phnum = 2, .e_phentsize = sizeof(Elf64_Phdr) };
	Elf64_Phdr headers[2] = { { .p_type = PT_LOAD },
		{ .p_type = PT_DYNAMIC, .p_vaddr = DYNAMIC_AT, .p_memsz = 4 * sizeof(Elf64_Dyn) } };
	Elf64_Dyn dynamic[4] = { { .d_tag = DT_SYMTAB, .d_un.d_ptr = (uintptr_t)tables },
		{ .d_tag = DT_STRTAB, .d_un.d_ptr = (uintptr_t)tables },
		{ .d_tag = DT_GNU_HASH, .d_un.d_ptr = (uintptr_t)tables } };
	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	memcpy(page, &header, sizeof header);
	memcpy(page + sizeof header, headers, sizeof headers);
	memcpy(page + DYNAMIC_AT, dynamic, sizeof dynamic);
	int fd = open(library, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	must(fd >= 0 && write(fd, page, sizeof page) == sizeof page, library);
	close(fd);
}

/* `argument`: whether chains never end; else there are no symbols at all. */
static void hostile_body(void *argument, int in, int out)
{
	struct tables *tables = mmap(NULL, sizeof *tables, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(tables != MAP_FAILED, "mmap");
	tables->buckets = argument ? 1 : 0;
	write_image(tables);
	int fd = open(library, O_RDONLY);
	for (uintptr_t i = 0; i < TIMES; i++) {
		void *wanted = (void *)(UINT64_C(0x10000000) + i * 2 * PAGE);
		must(mmap(wanted, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0) == wanted,
			"mmap (vm.max_map_count must be 65530 or more)");
	}
	child_ready(out);
	child_wait(in);
}

static int64_t cpu_of(const struct rusage *usage)
{
	return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * NS_PER_S +
		(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000;
}

static void setup(void)
{
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(library, sizeof library, "%s/libpython3.11.so.1.0", folder);
}

static void teardown(void)
{
	child_kill(&hostile);
	unlink(library);
	rmdir(folder);
}

START_TEST(a_search_ends_with_its_budget)
{
	static int endless;
	char path[32];
	struct py_process *process;
	struct reason why_not = { "", "" };
	hostile = child_start(hostile_body, _i ? &endless : NULL);
	child_await(&hostile);
	snprintf(path, sizeof path, "/proc/%d", (int)hostile.pid);
	int fd = open(path, O_RDONLY | O_DIRECTORY);
	int64_t before_ns = clock_process_cpu_ns();
	enum status status = py_open(hostile.pid, fd, NULL, &process, &why_not);
	int64_t cost_ns = clock_process_cpu_ns() - before_ns;
	close(fd);
	ck_assert_int_eq(status, STATUS_DAMAGED);
	ck_assert_msg(strstr(why_not.text, "search exceeded its budget"), "%s", why_not.text);
	ck_assert_msg(cost_ns < 2 * NS_PER_S, "%lld ns", (long long)cost_ns);
}
END_TEST

static pid_t start_pmtop(const char *output)
{
	char pid[16], program[512];
	const char *build = getenv("PMTOP_BUILD");
	snprintf(pid, sizeof pid, "%d", (int)hostile.pid);
	snprintf(program, sizeof program, "%s/pmtop", build ? build : "build");
	pid_t pmtop = fork();
	if (pmtop == 0) {
		must(freopen(output, "w", stdout), output);
		execl(program, program, "-b", "--format=json", "-d", "1", "-p", pid, (char *)NULL);
		_exit(99);
	}
	return pmtop;
}

static bool says(const char *path, const char *words)
{
	char *text = NULL;
	size_t room = 0;
	bool is_found = false;
	FILE *file = fopen(path, "r");
	while (file && !is_found && getline(&text, &room, file) > 0)
		is_found = strstr(text, words);
	free(text);
	if (file)
		fclose(file);
	return is_found;
}

/* A line of JSON each second. */
static size_t line_count(const char *path)
{
	size_t count = 0;
	FILE *file = fopen(path, "r");
	for (int c; file && (c = getc(file)) != EOF;)
		count += c == '\n';
	if (file)
		fclose(file);
	return count;
}

static bool has_watched(void *path) { return line_count(path) > WATCH_S && says(path, "search exceeded its budget"); }

/* An earlier version kept a core busy. */
START_TEST(a_monitor_stays_cheap)
{
	static int endless;
	char output[96];
	int status;
	struct rusage usage;
	hostile = child_start(hostile_body, &endless);
	child_await(&hostile);
	snprintf(output, sizeof output, "%s/output", folder);
	pid_t pmtop = start_pmtop(output);
	bool is_said = wait_until(has_watched, output, 60);
	kill(pmtop, SIGTERM);
	ck_assert_int_eq(wait4(pmtop, &status, 0, &usage), pmtop);
	bool is_resident_said = says(output, "\"memory\"");
	unlink(output);
	ck_assert(is_said && is_resident_said);
	ck_assert_msg(cpu_of(&usage) < 3 * NS_PER_S, "%lld ns", (long long)cpu_of(&usage));
}
END_TEST

/* Thread states as a process may fake them: {next, number of the thread} */
enum { FAKE_THREADS = 100000, FAKE_NEXT = 0, FAKE_NUMBER = 8, LIST_MAX = 64 };

struct fake_thread {
	uint64_t next, number;
};

static struct py_process fake_process(void)
{
	struct py_process process = { .pid = getpid(), .process_fd = -1 };
	process.location.layout = (struct py_layout){ .interpreter_threads = 0,
		.thread_next = FAKE_NEXT,
		.thread_native = FAKE_NUMBER,
		.runtime_gil = PY_NOWHERE,
		.interpreter_gil = 0 };
	return process;
}

static size_t list_fake(const uint64_t *first, struct py_thread_at out[LIST_MAX])
{
	struct py_process process = fake_process();
	return py_threads_list(&process, (uintptr_t)first, out, LIST_MAX);
}

START_TEST(a_list_of_threads_that_leads_back_ends_there)
{
	struct py_thread_at out[LIST_MAX];
	struct fake_thread threads[3];
	uint64_t first = (uintptr_t)&threads[0];
	for (size_t i = 0; i < 3; i++)
		threads[i] = (struct fake_thread){ (uintptr_t)&threads[i < 2 ? i + 1 : 1], 100 + i };
	ck_assert_uint_eq(list_fake(&first, out), 3);
	ck_assert_int_eq(out[2].number, 102);
	threads[0].next = first;
	ck_assert_uint_eq(list_fake(&first, out), 1);
	first = 0;
	ck_assert_uint_eq(list_fake(&first, out), 0);
}
END_TEST

START_TEST(an_endless_list_of_threads_is_cut)
{
	struct py_thread_at out[LIST_MAX];
	struct fake_thread *threads = calloc(FAKE_THREADS, sizeof *threads);
	ck_assert_ptr_nonnull(threads);
	uint64_t first = (uintptr_t)threads;
	for (size_t i = 0; i < FAKE_THREADS; i++)
		threads[i] = (struct fake_thread){ (uintptr_t)&threads[(i + 1) % FAKE_THREADS], UINT64_MAX };
	ck_assert_uint_eq(list_fake(&first, out), LIST_MAX);
	ck_assert_int_eq(out[0].number, 0); /* no such number */
	free(threads);
}
END_TEST

START_TEST(a_list_of_threads_that_leads_nowhere_ends)
{
	struct py_thread_at out[LIST_MAX];
	struct fake_thread thread = { 8, 100 };
	uint64_t first = (uintptr_t)&thread, gil = 8;
	struct py_process process = fake_process();
	ck_assert_uint_le(list_fake(&first, out), 2);
	ck_assert_uint_eq(py_gil_find(&process, (uintptr_t)&gil), 16);
	ck_assert_uint_eq(py_gil_holder(&process, 16), 0);
	ck_assert_uint_eq(py_gil_find(&process, 8), 0);
	ck_assert(!py_gil_is_awaited(-1, getpid(), 16));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hostile Python");
	TCase *tests = tcase_create("hostile");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, a_search_ends_with_its_budget, 0, 2);
	tcase_add_test(tests, a_monitor_stays_cheap);
	TCase *threads = tcase_create("threads");
	suite_add_tcase(suite, threads);
	tcase_add_test(threads, a_list_of_threads_that_leads_back_ends_there);
	tcase_add_test(threads, an_endless_list_of_threads_is_cut);
	tcase_add_test(threads, a_list_of_threads_that_leads_nowhere_ends);
	return suite_run(suite);
}
