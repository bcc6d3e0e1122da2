/* The child that reads memory for pmtop: it returns what the kernel returns, has no open descriptors of ours, and ends
 * with us. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/remote_reader.h"
#include "src/base/files/remote_resident.h"
#include "src/sources/inferred/stacks_stuck.h"
#include "src/sources/python/remote.h"
#include "tests/support/children.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"

enum { PIECES = 3000, SIZE = 40, FAR = 200, APART = 4096, FAR_SIZE = FAR * APART };

static unsigned char ours[PIECES][SIZE], theirs[PIECES][SIZE];
/* Shared memory counts as a file's: only the child reads it. */
static uint64_t (*far_apart)[APART / sizeof(uint64_t)], *of_file;
static struct remote_reader *reader;

static pid_t child_of(pid_t tid)
{
	char path[64];
	int pid = 0;
	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)tid);
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	if (fscanf(file, "%d", &pid) != 1)
		pid = 0;
	fclose(file);
	return pid;
}

static void setup(void)
{
	reader = remote_reader_new(10 * NS_PER_S);
	remote_reader_use(reader);
	far_apart = mmap(NULL, FAR_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(far_apart, MAP_FAILED);
	of_file = far_apart[0];
	for (size_t i = 0; i < sizeof ours; i++)
		ours[i / SIZE][i % SIZE] = (unsigned char)(i * 7 + i / 256);
}

static void teardown(void)
{
	remote_reader_use(NULL);
	remote_reader_free(reader);
	munmap(far_apart, FAR_SIZE);
	ck_assert_int_eq(child_of(gettid()), 0);
}

START_TEST(many_pieces_are_read_as_one_would)
{
	static struct remote_piece pieces[PIECES];
	for (size_t i = 0; i < PIECES; i++)
		pieces[i] = (struct remote_piece){ (uintptr_t)ours[PIECES - 1 - i], theirs[PIECES - 1 - i], SIZE };
	ck_assert(remote_read_pieces(getpid(), pieces, PIECES));
	ck_assert_int_eq(memcmp(ours, theirs, sizeof ours), 0);
	ck_assert_int_gt(remote_reader_cpu_ns(reader), 0);
	ck_assert_int_eq(remote_test_self(), 0);
}
END_TEST

START_TEST(errors_are_those_of_the_kernel)
{
	uint64_t word;
	ck_assert(!remote_word(getpid(), 8, &word));
	ck_assert_int_eq(errno, EFAULT);
	ck_assert(!remote_word(0x7ffffff0, 8, &word));
	ck_assert_int_eq(errno, ESRCH);
	ck_assert_int_eq(remote_reader_stuck_ns(reader), 0);
}
END_TEST

START_TEST(a_reader_has_no_open_descriptor)
{
	char path[32];
	uint64_t word;
	size_t count = 0;
	ck_assert(remote_word(getpid(), (uintptr_t)ours, &word));
	snprintf(path, sizeof path, "/proc/%d/fd", (int)child_of(gettid()));
	DIR *folder = opendir(path);
	ck_assert_ptr_nonnull(folder);
	for (const struct dirent *entry; (entry = readdir(folder));)
		count += entry->d_name[0] != '.';
	closedir(folder);
	ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(a_file_is_read_as_far_as_there_is_room)
{
	char text[32], folder[] = "/tmp/pmtop-reader-XXXXXX", path[64];
	size_t length;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/file", folder);
	ck_assert(!remote_reader_file(reader, path, text, sizeof text, &length));
	ck_assert_int_eq(errno, ENOENT);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs("some words", file);
	fclose(file);
	ck_assert(remote_reader_file(reader, path, text, sizeof text, &length));
	ck_assert_uint_eq(length, 10);
	ck_assert_int_eq(memcmp(text, "some words", 10), 0);
	ck_assert(remote_reader_file(reader, path, text, 4, &length));
	ck_assert_uint_eq(length, 4);
	unlink(path);
	rmdir(folder);
}
END_TEST

START_TEST(a_reader_runs_where_its_thread_does)
{
	uint64_t word;
	cpu_set_t where;
	ck_assert(remote_word(getpid(), (uintptr_t)ours, &word));
	ck_assert_int_eq(sched_getaffinity(child_of(gettid()), sizeof where, &where), 0);
	ck_assert_int_eq(CPU_COUNT(&where), 1);
}
END_TEST

/* How often the child has waited for a request, once for each. */
static long waits(void)
{
	char path[64], line[128];
	long count = -1;
	snprintf(path, sizeof path, "/proc/%d/status", (int)child_of(gettid()));
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof line, file))
		if (strncmp(line, "voluntary_ctxt_switches:", 24) == 0)
			count = atol(line + 24);
	fclose(file);
	ck_assert_int_ge(count, 0);
	return count;
}

/* A walk through words that differ each time. */
static void walk_far(uint64_t value)
{
	uint64_t word;
	for (size_t i = 0; i < FAR; i++)
		far_apart[i][i] = value + i;
	for (size_t i = 0; i < FAR; i++) {
		ck_assert(remote_word(getpid(), (uintptr_t)&far_apart[i][i], &word));
		ck_assert_uint_eq(word, value + i);
	}
}

/* remote_copies_begin takes the copies, so the words are set before it. */
static void walk_far_with(struct remote_copies *copies, uint64_t value)
{
	uint64_t word;
	for (size_t i = 0; i < FAR; i++)
		far_apart[i][i] = value + i;
	remote_copies_begin(copies, getpid());
	for (size_t i = 0; i < FAR; i++) {
		ck_assert(remote_word(getpid(), (uintptr_t)&far_apart[i][i], &word));
		ck_assert_uint_eq(word, value + i);
	}
	remote_copies_end();
}

START_TEST(a_walk_that_is_repeated_needs_one_request)
{
	struct remote_copies *copies = remote_copies_new();
	ck_assert_ptr_nonnull(copies);
	walk_far_with(copies, 1000);
	for (unsigned i = 0; i < 2; i++) {
		long before = waits();
		walk_far_with(copies, 2000 + 1000 * i);
		ck_assert_int_le(waits() - before, 5);
	}
	/* Afterwards each word is read as it is. */
	walk_far(5000);
	walk_far(6000);
	remote_copies_free(copies);
}
END_TEST

START_TEST(words_that_are_expected_are_read_together)
{
	struct remote_copies *copies = remote_copies_new();
	uint64_t addresses[FAR], word;
	ck_assert_ptr_nonnull(copies);
	for (size_t i = 0; i < FAR; i++)
		addresses[i] = (uintptr_t)&far_apart[i][i];
	addresses[1] = 0;
	addresses[2] = 8; /* no memory is there */
	ck_assert(remote_word(getpid(), (uintptr_t)of_file, &word));
	long before = waits();
	remote_copies_begin(copies, getpid());
	remote_copies_expect(getpid(), addresses, FAR);
	for (size_t i = 3; i < FAR; i++)
		ck_assert(remote_word(getpid(), addresses[i], &word));
	ck_assert(!remote_word(getpid(), 8, &word));
	ck_assert_int_eq(errno, EFAULT);
	remote_copies_end();
	ck_assert_int_le(waits() - before, 30);
	remote_copies_free(copies);
}
END_TEST

/* Also where a piece crosses pages, and where more is read than there is room for copies. */
START_TEST(memory_that_is_gone_has_no_copy)
{
	struct remote_copies *copies = remote_copies_new();
	unsigned char *pages = mmap(NULL, 3 * APART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char across[32], *all = malloc(FAR_SIZE);
	uint64_t word;
	ck_assert(copies && all && pages != MAP_FAILED);
	for (unsigned i = 0; i < 3 * APART; i++)
		pages[i] = (unsigned char)(i / 16);
	for (unsigned i = 0; i < 3; i++) {
		remote_copies_begin(copies, getpid());
		ck_assert(remote_word(getpid(), (uintptr_t)pages, &word));
		ck_assert(remote_word(getpid(), (uintptr_t)pages + 2 * APART, &word));
		ck_assert_int_eq(remote_read(getpid(), (uintptr_t)pages + APART - 16, across, sizeof across), i == 0);
		ck_assert_int_eq(remote_word(getpid(), (uintptr_t)pages + APART, &word), i == 0);
		ck_assert(remote_read(getpid(), (uintptr_t)far_apart, all, FAR_SIZE));
		ck_assert_int_eq(memcmp(all, far_apart, FAR_SIZE), 0);
		ck_assert(!remote_read(getpid(), UINT64_MAX - 8, across, sizeof across));
		remote_copies_end();
		if (i == 0)
			ck_assert_int_eq(memcmp(across, pages + APART - 16, sizeof across), 0);
		munmap(pages + APART, APART);
	}
	munmap(pages, 3 * APART);
	free(all);
	remote_copies_free(copies);
}
END_TEST

/* As where a damaged object leads: also the very last addresses there are. */
START_TEST(no_address_is_too_far_for_copies)
{
	static const uint64_t addresses[] = { UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 255, UINT64_MAX - 256,
		UINT64_MAX / 2 - 7, UINT64_MAX / 2, UINT64_MAX / 2 + 1 };
	struct remote_copies *copies = remote_copies_new();
	unsigned char some[512];
	ck_assert_ptr_nonnull(copies);
	for (unsigned i = 0; i < 2; i++) {
		remote_copies_begin(copies, getpid());
		remote_copies_expect(getpid(), addresses, sizeof addresses / sizeof *addresses);
		for (size_t at = 0; at < sizeof addresses / sizeof *addresses; at++)
			for (size_t size = 1; size <= sizeof some; size *= 2)
				ck_assert(!remote_read(getpid(), addresses[at], some, size));
		ck_assert(remote_read(getpid(), (uintptr_t)ours, some, sizeof *ours));
		remote_copies_end();
	}
	remote_copies_free(copies);
}
END_TEST

START_TEST(a_killed_reader_is_started_again)
{
	uint64_t word;
	ck_assert(remote_word(getpid(), (uintptr_t)of_file, &word));
	kill(child_of(gettid()), SIGKILL);
	ck_assert(!remote_word(getpid(), (uintptr_t)of_file, &word));
	ck_assert_int_eq(errno, EIO);
	ck_assert(remote_word(getpid(), (uintptr_t)of_file, &word));
}
END_TEST

/* A child that is stopped answers as little as one that waits in the kernel. */
START_TEST(a_reader_that_does_not_answer_is_abandoned)
{
	uint64_t word;
	struct stacks_stuck stuck = { 0 };
	ck_assert(remote_word(getpid(), (uintptr_t)of_file, &word));
	pid_t first = child_of(gettid());
	remote_reader_set_limit(reader, 100 * NS_PER_MS);
	kill(first, SIGSTOP);
	ck_assert(!remote_word(getpid(), (uintptr_t)of_file, &word));
	ck_assert_int_eq(errno, ETIMEDOUT);
	ck_assert(!remote_word(getpid(), (uintptr_t)of_file, &word));
	ck_assert_int_eq(errno, ETIMEDOUT);
	remote_reader_set_limit(reader, 10 * NS_PER_S);
	ck_assert(stacks_stuck_note(&stuck, reader, 100 * NS_PER_S));
	ck_assert_int_eq(stuck.child, first);
	ck_assert_int_eq(stuck.try_ns, 101 * NS_PER_S);
	ck_assert(!stacks_stuck_is_due(&stuck, reader, 100 * NS_PER_S));
	ck_assert(remote_word(getpid(), (uintptr_t)of_file, &word));
	ck_assert(!stacks_stuck_note(&stuck, reader, 101 * NS_PER_S));
	const int64_t deadline_ns = wait_deadline(30);
	while (remote_reader_is_left(reader, first) && wait_nap(deadline_ns))
		continue;
	ck_assert(stacks_stuck_is_due(&stuck, reader, 200 * NS_PER_S));
	stacks_stuck_end(&stuck, 200 * NS_PER_S);
	ck_assert_int_eq(stuck.since_ns, 0);
}
END_TEST

static pid_t of_thread;

static void *read_and_end(void *argument)
{
	uint64_t word;
	remote_reader_use(argument);
	ck_assert(remote_word(getpid(), (uintptr_t)of_file, &word));
	of_thread = child_of(gettid());
	return NULL;
}

static bool has_ended(void *argument)
{
	uint64_t word;
	(void)argument;
	remote_word(getpid(), (uintptr_t)of_file, &word);
	return !remote_reader_is_left(reader, of_thread) && kill(of_thread, 0) != 0;
}

START_TEST(a_reader_ends_with_its_thread)
{
	pthread_t thread;
	ck_assert_int_eq(pthread_create(&thread, NULL, read_and_end, reader), 0);
	pthread_join(thread, NULL);
	ck_assert_int_gt(of_thread, 0);
	/* A read notices its end and reaps it. */
	ck_assert(wait_until(has_ended, NULL, 30));
}
END_TEST

/* -- memory that the thread reads itself -- */

static bool child_waits(void *argument)
{
	char path[64], text[512] = "";
	(void)argument;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)child_of(gettid()));
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_gt(fread(text, 1, sizeof text - 1, file), 0);
	fclose(file);
	return strstr(text, ") S ");
}

/* The child answers before it waits again. */
static long waits_for(uint64_t address)
{
	uint64_t word;
	ck_assert(wait_until(child_waits, NULL, 30));
	long before = waits();
	ck_assert(remote_word(getpid(), address, &word));
	ck_assert(wait_until(child_waits, NULL, 30));
	return waits() - before;
}

/* Until a child was allowed to read, only a child reads. */
START_TEST(resident_memory_of_no_file_needs_no_child)
{
	uint64_t word;
	pid_t pid;
	ck_assert(remote_word(getpid(), (uintptr_t)ours, &word));
	ck_assert_int_gt(child_of(gettid()), 0);
	ck_assert_int_eq(waits_for((uintptr_t)ours), 0);
	ck_assert_int_gt(waits_for((uintptr_t)of_file), 0);
	ck_assert_int_eq(remote_reader_waits_since_ns(reader, &pid), 0);
}
END_TEST

START_TEST(only_pages_in_memory_and_of_no_file_are_resident)
{
	struct remote_resident *resident = remote_resident_new();
	char *pages = mmap(NULL, 3 * APART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(resident && pages != MAP_FAILED);
	pages[0] = pages[2 * APART] = 1;
	const struct {
		uintptr_t address;
		size_t size;
		bool is_resident;
	} cases[] = { { (uintptr_t)pages, 16, true }, { (uintptr_t)pages + 2 * APART, APART, true },
		{ (uintptr_t)pages + APART, 8, false }, { (uintptr_t)pages + APART - 8, 16, false },
		{ (uintptr_t)pages, 3 * APART, false }, { (uintptr_t)of_file, 8, false }, { 8, 8, false },
		{ UINT64_MAX - 8, 8, false }, { UINT64_MAX, 8, false }, { UINT64_MAX / 2, 8, false } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct remote_piece pieces[] = { { (uintptr_t)pages, NULL, 8 },
			{ cases[i].address, NULL, cases[i].size } };
		ck_assert_int_eq(remote_resident_has(resident, getpid(), pieces, 2, NS_PER_S), cases[i].is_resident);
	}
	const struct remote_piece untouched = { (uintptr_t)pages + APART, NULL, 8 };
	ck_assert(!remote_resident_has(resident, 0x7ffffff0, &untouched, 1, NS_PER_S));
	pages[APART] = 1;
	ck_assert(!remote_resident_has(resident, getpid(), &untouched, 1, NS_PER_S + NS_PER_MS));
	ck_assert(remote_resident_has(resident, getpid(), &untouched, 1, 2 * NS_PER_S));
	munmap(pages, 3 * APART);
	ck_assert(!remote_resident_has(resident, getpid(), &untouched, 1, 20 * NS_PER_S));
	remote_resident_free(resident);
}
END_TEST

/* Close together and far apart, in any order, also twice, with nothing in between and of no size. */
START_TEST(pieces_of_one_page_are_read_as_if_each_were_alone)
{
	static const struct {
		size_t at, size;
	} cases[] = { { 8, 8 }, { 20, 4 }, { 24, 8 }, { 24, 8 }, { 0, 40 }, { 40, 300 }, { 700, 8 }, { 100, 0 }, { 708, 1 },
		{ 4090, 20 }, { 4110, 8 }, { 9000, 5000 } };
	enum { COUNT = sizeof cases / sizeof *cases };
	struct remote_piece pieces[COUNT];
	static unsigned char out[COUNT][5001];
	memset(out, 0xee, sizeof out);
	for (size_t i = 0; i < COUNT; i++)
		pieces[i] = (struct remote_piece){ (uintptr_t)ours + cases[i].at, out[i], cases[i].size };
	ck_assert(remote_read_direct(getpid(), pieces, COUNT));
	for (size_t i = 0; i < COUNT; i++) {
		ck_assert_int_eq(memcmp(out[i], (unsigned char *)ours + cases[i].at, cases[i].size), 0);
		ck_assert_uint_eq(out[i][cases[i].size], 0xee);
	}
}
END_TEST

START_TEST(searches_have_a_share_of_a_cpu)
{
	struct stacks_search search;
	stacks_search_init(&search, 0);
	stacks_search_pay(&search, 400 * NS_PER_MS);
	ck_assert(stacks_search_may(&search, 0));
	stacks_search_pay(&search, 200 * NS_PER_MS);
	ck_assert(!stacks_search_may(&search, NS_PER_S));
	ck_assert(stacks_search_may(&search, 3 * NS_PER_S));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("remote reader");
	TCase *tests = tcase_create("remote reader");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, many_pieces_are_read_as_one_would);
	tcase_add_test(tests, errors_are_those_of_the_kernel);
	tcase_add_test(tests, a_reader_has_no_open_descriptor);
	tcase_add_test(tests, a_file_is_read_as_far_as_there_is_room);
	tcase_add_test(tests, a_reader_runs_where_its_thread_does);
	tcase_add_test(tests, a_walk_that_is_repeated_needs_one_request);
	tcase_add_test(tests, words_that_are_expected_are_read_together);
	tcase_add_test(tests, memory_that_is_gone_has_no_copy);
	tcase_add_test(tests, no_address_is_too_far_for_copies);
	tcase_add_test(tests, a_killed_reader_is_started_again);
	tcase_add_test(tests, a_reader_that_does_not_answer_is_abandoned);
	tcase_add_test(tests, a_reader_ends_with_its_thread);
	tcase_add_test(tests, resident_memory_of_no_file_needs_no_child);
	tcase_add_test(tests, only_pages_in_memory_and_of_no_file_are_resident);
	tcase_add_test(tests, pieces_of_one_page_are_read_as_if_each_were_alone);
	tcase_add_test(tests, searches_have_a_share_of_a_cpu);
	return suite_run(suite);
}
