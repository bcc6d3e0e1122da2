/* Where a request is written, in a made-up interpreter in this process, and what is refused before anything is written.
 * tests/terminal/instrument.py asks real interpreters. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/sources/python/py_request.h"
#include "tests/support/suite.h"

enum { PATH_SIZE = 512, SUPPORT_14 = 89, SUPPORT_15 = 105, STOP = 32, VERSION_14_1 = 0x030e01f0 };

struct thread {
	uint64_t breaker, owner;
	uint32_t unused;
	int32_t pending;
	char path[PATH_SIZE];
	char behind[16];
};

struct interpreter {
	uint64_t next, main_thread;
	int32_t is_enabled;
};

static struct thread thread;
static struct interpreter newest, first;
static struct {
	uint64_t words[PY_DEBUG_WORDS], interpreters;
} runtime;
static struct py_location location;
static struct py_request request;
static struct reason reason;

static void setup_minor(unsigned minor)
{
	thread = (struct thread){ .breaker = 0x4142434445464701, .owner = (uintptr_t)&first, .path = "before" };
	memset(thread.behind, '!', sizeof thread.behind);
	first = (struct interpreter){ .main_thread = (uintptr_t)&thread, .is_enabled = 1 };
	newest = (struct interpreter){ .next = (uintptr_t)&first };
	memset(&runtime, 0, sizeof runtime);
	runtime.interpreters = (uintptr_t)&newest;
	runtime.words[1] = VERSION_14_1 + ((uint64_t)(minor - 14) << 16);
	runtime.words[8] = offsetof(struct interpreter, next);
	runtime.words[10] = offsetof(struct interpreter, main_thread);
	uint64_t *support = runtime.words + (minor == 14 ? SUPPORT_14 : SUPPORT_15);
	support[0] = offsetof(struct thread, breaker);
	support[1] = offsetof(struct thread, unused);
	support[2] = offsetof(struct interpreter, is_enabled);
	support[3] = offsetof(struct thread, pending) - support[1];
	support[4] = offsetof(struct thread, path) - support[1];
	support[5] = PATH_SIZE;
	location = (struct py_location){ .runtime = (uintptr_t)&runtime,
		.layout = { .minor = minor,
			.patch = 1,
			.runtime_interpreters = sizeof runtime.words,
			.interpreter_next = offsetof(struct interpreter, next),
			.thread_interpreter = offsetof(struct thread, owner),
			.thread_size = offsetof(struct thread, behind) } };
	request = (struct py_request){ 0 };
	reason = (struct reason){ "", "" };
}

static void setup(void) { setup_minor(14); }

static enum status open_it(void) { return py_request_open(getpid(), &location, &request, &reason); }

static void opens(void) { ck_assert_msg(open_it() == STATUS_OK, "%s", reason.text); }

/* Refused, with the word in its text, and nothing written. */
static void refuses(enum status expected, const char *word)
{
	struct thread before = thread;
	ck_assert_int_eq(open_it(), expected);
	ck_assert_msg(strstr(reason.text, word) != NULL, "%s", reason.text);
	ck_assert_mem_eq(&before, &thread, sizeof thread);
}

START_TEST(the_path_and_the_request_are_written)
{
	setup_minor((unsigned)_i);
	struct thread expected = thread;
	opens();
	ck_assert_mem_eq(&expected, &thread, sizeof thread);
	ck_assert_int_eq(py_request_send(&request, "/tmp/script.py", &reason), STATUS_OK);
	strcpy(expected.path, "/tmp/script.py");
	expected.pending = 1;
	ck_assert_mem_eq(&expected, &thread, sizeof thread);
	ck_assert_int_eq(py_request_answer(&request), PY_ANSWER_WAITING);
	thread.pending = 0;
	ck_assert_int_eq(py_request_answer(&request), PY_ANSWER_TAKEN);
	ck_assert(!py_request_withdraw(&request));
}
END_TEST

START_TEST(hurrying_sets_one_bit)
{
	struct thread expected = thread;
	opens();
	ck_assert_int_eq(py_request_hurry(&request, &reason), STATUS_OK);
	expected.breaker |= STOP;
	ck_assert_mem_eq(&expected, &thread, sizeof thread);
	ck_assert_int_eq(py_request_hurry(&request, &reason), STATUS_OK);
	ck_assert_mem_eq(&expected, &thread, sizeof thread);
}
END_TEST

START_TEST(a_request_is_withdrawn)
{
	opens();
	ck_assert_int_eq(py_request_send(&request, "/tmp/script.py", &reason), STATUS_OK);
	ck_assert(py_request_withdraw(&request));
	ck_assert_int_eq(thread.pending, 0);
}
END_TEST

START_TEST(a_path_that_does_not_fit_is_refused)
{
	char path[PATH_SIZE + 1];
	memset(path, 'a', PATH_SIZE);
	path[PATH_SIZE] = '\0';
	opens();
	struct thread before = thread;
	ck_assert_int_eq(py_request_send(&request, path, &reason), STATUS_INVALID);
	ck_assert_mem_eq(&before, &thread, sizeof thread);
	path[PATH_SIZE - 1] = '\0';
	ck_assert_int_eq(py_request_send(&request, path, &reason), STATUS_OK);
	ck_assert_str_eq(thread.path, path);
	ck_assert_mem_eq(before.behind, thread.behind, sizeof thread.behind);
}
END_TEST

START_TEST(an_interpreter_that_ends_gets_nothing)
{
	opens();
	thread.owner = 0;
	struct thread before = thread;
	ck_assert_int_ne(py_request_send(&request, "/tmp/script.py", &reason), STATUS_OK);
	ck_assert_int_ne(py_request_hurry(&request, &reason), STATUS_OK);
	ck_assert_int_eq(py_request_answer(&request), PY_ANSWER_ENDED);
	ck_assert(!py_request_withdraw(&request));
	ck_assert_mem_eq(&before, &thread, sizeof thread);
}
END_TEST

START_TEST(older_and_unfinished_pythons_are_refused)
{
	location.layout.minor = 13;
	refuses(STATUS_UNSUPPORTED, "Python 3.13.1, and only CPython 3.14 and newer");
	ck_assert_ptr_nonnull(strstr(reason.remedy, "pmtop -- COMMAND"));
	location.layout.minor = 14;
	runtime.words[1] = 0x030e00c2; /* 3.14.0rc2 */
	refuses(STATUS_UNSUPPORTED, "pre-release");
}
END_TEST

START_TEST(what_is_switched_off_or_in_use_is_refused)
{
	first.is_enabled = 0;
	refuses(STATUS_UNSUPPORTED, "PYTHON_DISABLE_REMOTE_DEBUG");
	first.is_enabled = 7;
	refuses(STATUS_DAMAGED, "invalid");
	first.is_enabled = 1;
	thread.pending = 1;
	refuses(STATUS_UNSUPPORTED, "another debugger");
	thread.pending = 2;
	refuses(STATUS_DAMAGED, "invalid");
}
END_TEST

/* Each of the six words, beyond the thread state; and the interpreter's. */
START_TEST(invalid_offsets_are_refused)
{
	static const uint64_t far[] = { sizeof(struct thread), UINT64_MAX, UINT64_MAX - 3 };
	uint64_t *word = runtime.words + (_i < 6 ? SUPPORT_14 + _i : _i == 6 ? 8 : 10);
	for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
		if (_i == 2 && i == 0)
			continue; /* may be anywhere in the interpreter */
		if (_i == 7 && i == 0)
			continue;
		*word = far[i];
		refuses(STATUS_DAMAGED, "invalid");
	}
}
END_TEST

START_TEST(invalid_pointers_are_refused)
{
	thread.owner = (uintptr_t)&newest;
	refuses(STATUS_DAMAGED, "invalid");
	thread.owner = (uintptr_t)&first;
	first.main_thread = 0;
	refuses(STATUS_DAMAGED, "invalid");
	first.main_thread = (uintptr_t)&thread;
	first.next = (uintptr_t)&newest; /* a circle */
	ck_assert_int_ne(open_it(), STATUS_OK);
	newest.next = 8;
	ck_assert_int_eq(open_it(), STATUS_IO);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("py request");
	TCase *tests = tcase_create("py request");
	tcase_add_checked_fixture(tests, setup, NULL);
	tcase_add_loop_test(tests, the_path_and_the_request_are_written, 14, 16);
	tcase_add_test(tests, hurrying_sets_one_bit);
	tcase_add_test(tests, a_request_is_withdrawn);
	tcase_add_test(tests, a_path_that_does_not_fit_is_refused);
	tcase_add_test(tests, an_interpreter_that_ends_gets_nothing);
	tcase_add_test(tests, older_and_unfinished_pythons_are_refused);
	tcase_add_test(tests, what_is_switched_off_or_in_use_is_refused);
	tcase_add_loop_test(tests, invalid_offsets_are_refused, 0, 8);
	tcase_add_test(tests, invalid_pointers_are_refused);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
