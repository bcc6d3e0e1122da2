/* Requests for traces: Kineto's datagrams and the package's lines, with clients and servers made up here. Real ones:
 * tests/python/test_profile_request.py. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/profiling/kineto.h"
#include "src/profiling/kineto_idle.h"
#include "src/profiling/package.h"
#include "src/profiling/trace_file.h"
#include "tests/support/suite.h"

#define CONFIGURATION "ACTIVITIES_ITERATIONS=3\n"

struct poll_datagram {
	struct kineto_header header;
	struct kineto_request request;
	int32_t pids[2];
};

static char folder[64];
static struct kineto kineto;
static struct reason reason;
static pid_t wanted;

static void setup(void)
{
	strcpy(folder, "/tmp/pmtop-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	reason = (struct reason){ "", "" };
	wanted = getpid();
	kineto.fd = -1;
}

static void teardown(void)
{
	kineto_close(&kineto);
	trace_folder_remove(folder);
}

static const char *find(void *context, pid_t pid)
{
	(void)context;
	return pid == wanted ? CONFIGURATION : NULL;
}

static const char *find_nothing(void *context, pid_t pid)
{
	(void)context, (void)pid;
	return "";
}

static enum kineto_poll answer(void) { return kineto_answer(&kineto, find, NULL); }

/* A job's socket: FOLDER/NAME, as PyTorch names it. */
static int open_client(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", folder, name);
	if (name[0])
		ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%s/dynolog", folder);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

static struct poll_datagram make_poll(void)
{
	return (struct poll_datagram){ .header = { .size = sizeof(struct poll_datagram) - sizeof(struct kineto_header),
									   .type = "req" },
		.request = { .type = 3, .pid_count = 2 },
		.pids = { (int32_t)getpid(), 1 } };
}

/* The body of the answer; NULL: none came. */
static const char *read_answer(int client)
{
	static char bytes[4096];
	struct kineto_header header;
	ssize_t length = recv(client, bytes, sizeof bytes - 1, 0);
	if (length < 0)
		return NULL;
	ck_assert_int_ge(length, (ssize_t)sizeof header);
	memcpy(&header, bytes, sizeof header);
	ck_assert_uint_eq(header.size, (uint64_t)length - sizeof header);
	ck_assert_str_eq(header.type, "req");
	bytes[length] = '\0';
	return bytes + sizeof header;
}

START_TEST(a_job_that_polls_gets_the_configuration)
{
	struct poll_datagram poll = make_poll();
	ck_assert_int_eq(kineto_open(&kineto, folder, geteuid(), &reason), STATUS_OK);
	int client = open_client("client");
	ck_assert_int_eq(answer(), KINETO_NONE);
	ck_assert_int_eq(send(client, &poll, sizeof poll, 0), sizeof poll);
	ck_assert_int_eq(answer(), KINETO_GIVEN);
	ck_assert_str_eq(read_answer(client), CONFIGURATION);
	close(client);
}
END_TEST

/* PyTorch 2.13 aborts on an answer from any other name. */
START_TEST(the_answer_comes_from_the_name_in_the_jobs_environment)
{
	struct poll_datagram poll = make_poll();
	struct sockaddr_un from = { 0 };
	socklen_t length = sizeof from;
	char path[sizeof from.sun_path], byte;
	ck_assert_int_eq(kineto_open(&kineto, folder, geteuid(), &reason), STATUS_OK);
	int client = open_client("client");
	send(client, &poll, sizeof poll, 0);
	answer();
	ck_assert_int_eq(recvfrom(client, &byte, 1, MSG_TRUNC, (struct sockaddr *)&from, &length) > 0, true);
	snprintf(path, sizeof path, "%s/", folder);
	ck_assert_int_eq(strncmp(from.sun_path, path, strlen(path)), 0);
	close(client);
}
END_TEST

START_TEST(a_busy_profiler_and_a_poll_without_a_request_get_nothing)
{
	struct poll_datagram poll = make_poll();
	ck_assert_int_eq(kineto_open(&kineto, folder, geteuid(), &reason), STATUS_OK);
	int client = open_client("client");
	poll.request.type = 1;
	send(client, &poll, sizeof poll, 0);
	ck_assert_int_eq(answer(), KINETO_BUSY);
	ck_assert_str_eq(read_answer(client), "");
	poll.request.type = 3;
	send(client, &poll, sizeof poll, 0);
	ck_assert_int_eq(kineto_answer(&kineto, find_nothing, NULL), KINETO_IDLE);
	ck_assert_str_eq(read_answer(client), "");
	close(client);
}
END_TEST

START_TEST(another_process_gets_an_empty_answer_whatever_pid_it_claims)
{
	struct poll_datagram poll = make_poll();
	int status;
	ck_assert_int_eq(kineto_open(&kineto, folder, geteuid(), &reason), STATUS_OK);
	int client = open_client("client");
	pid_t child = fork();
	if (child == 0)
		_exit(send(client, &poll, sizeof poll, 0) != sizeof poll);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(answer(), KINETO_OTHER);
	ck_assert_str_eq(read_answer(client), "");
	close(client);
}
END_TEST

START_TEST(the_process_of_another_user_gets_an_empty_answer)
{
	struct poll_datagram poll = make_poll();
	ck_assert_int_eq(kineto_open(&kineto, folder, geteuid(), &reason), STATUS_OK);
	kineto.uid = geteuid() + 1;
	int client = open_client("client");
	send(client, &poll, sizeof poll, 0);
	ck_assert_int_eq(answer(), KINETO_OTHER);
	ck_assert_str_eq(read_answer(client), "");
	close(client);
}
END_TEST

static void send_damaged(int client, const void *bytes, size_t length)
{
	ck_assert_int_eq(send(client, bytes, length, 0), (ssize_t)length);
	ck_assert_int_eq(answer(), KINETO_OTHER);
	ck_assert_ptr_null(read_answer(client));
}

START_TEST(damaged_datagrams_are_not_answered)
{
	static char large[64 * 1024];
	struct poll_datagram poll = make_poll();
	ck_assert_int_eq(kineto_open(&kineto, folder, geteuid(), &reason), STATUS_OK);
	int client = open_client("client");
	for (size_t length = 0; length < sizeof poll; length++)
		send_damaged(client, &poll, length);
	const int32_t counts[] = { -1, 0, 1, 3, 1 << 30, INT32_MIN, INT32_MAX };
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		poll.request.pid_count = counts[i];
		send_damaged(client, &poll, sizeof poll);
	}
	poll = make_poll();
	const uint64_t sizes[] = { 0, 1, poll.header.size - 1, poll.header.size + 1, UINT64_MAX, (uint64_t)1 << 63 };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		poll.header.size = sizes[i];
		send_damaged(client, &poll, sizeof poll);
	}
	poll = make_poll();
	memset(poll.header.type, 'r', sizeof poll.header.type);
	send_damaged(client, &poll, sizeof poll);
	poll = make_poll();
	poll.header.size = sizeof large - sizeof poll.header;
	poll.request.pid_count = (int32_t)((sizeof large - sizeof poll.header - sizeof poll.request) / 4);
	memcpy(large, &poll, sizeof poll);
	send_damaged(client, large, sizeof large);
	poll = make_poll();
	send(client, &poll, sizeof poll, 0);
	ck_assert_int_eq(answer(), KINETO_GIVEN);
	close(client);
}
END_TEST

START_TEST(a_poll_without_a_return_address_does_no_harm)
{
	struct poll_datagram poll = make_poll();
	ck_assert_int_eq(kineto_open(&kineto, folder, geteuid(), &reason), STATUS_OK);
	int client = open_client("");
	send(client, &poll, sizeof poll, 0);
	ck_assert_int_eq(answer(), KINETO_OTHER);
	close(client);
}
END_TEST

START_TEST(a_second_daemon_is_refused_and_the_socket_of_a_dead_one_replaced)
{
	struct kineto second;
	ck_assert_int_eq(kineto_open(&kineto, folder, geteuid(), &reason), STATUS_OK);
	ck_assert_int_eq(kineto_open(&second, folder, geteuid(), &reason), STATUS_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(reason.text, "dynolog"));
	ck_assert_ptr_nonnull(strstr(reason.remedy, "dyno gputrace"));
	close(kineto.fd); /* as a killed one leaves it */
	ck_assert_int_eq(kineto_open(&kineto, folder, geteuid(), &reason), STATUS_OK);
}
END_TEST

START_TEST(a_folder_that_the_job_would_not_accept_is_refused)
{
	char path[200] = "/";
	ck_assert_int_eq(kineto_open(&kineto, "tmp/sockets", geteuid(), &reason), STATUS_INVALID);
	ck_assert_str_eq(reason.text, "KINETO_IPC_SOCKET_DIR=tmp/sockets is no absolute path");
	memset(path + 1, 'x', 60);
	ck_assert_int_eq(kineto_open(&kineto, path, geteuid(), &reason), STATUS_INVALID);
	ck_assert_ptr_nonnull(strstr(reason.text, "too long"));
}
END_TEST

START_TEST(the_configuration_never_asks_for_memory)
{
	char text[KINETO_CONFIGURATION_SIZE];
	for (int by_time = 0; by_time < 2; by_time++) {
		kineto_configure(text, "/tmp/x", 7, by_time ? 1700000000000 : 0);
		ck_assert_ptr_nonnull(strstr(text, "ACTIVITIES_LOG_FILE=/tmp/x/trace.json\n"));
		ck_assert_int_eq(strstr(text, "ACTIVITIES_ITERATIONS=7\n") != NULL, !by_time);
		ck_assert_int_eq(strstr(text, "PROFILE_START_TIME=1700000000000\n") != NULL, by_time);
		ck_assert_ptr_null(strstr(text, "MEMORY"));
		for (const char *line = text; *line; line = strchr(line, '\n') + 1)
			ck_assert_uint_lt(strcspn(line, "="), strcspn(line, "\n"));
	}
}
END_TEST

/* A job polls: whether it could send, and what it got. */
static const char *poll_once(int client, bool *is_sent)
{
	struct poll_datagram poll = make_poll();
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	snprintf(address.sun_path, sizeof address.sun_path, "%s/dynolog", folder);
	*is_sent =
		sendto(client, &poll, sizeof poll, MSG_DONTWAIT, (struct sockaddr *)&address, sizeof address) == sizeof poll;
	if (kineto.fd >= 0)
		answer();
	return read_answer(client);
}

static int open_unconnected(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%s/client", folder);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

/* Each error in sending is a line on the job's standard error. */
START_TEST(a_launched_jobs_polls_never_fail_whether_pmtop_asks_or_is_killed)
{
	struct kineto_idle idle;
	bool is_sent = true;
	rmdir(folder);
	ck_assert_int_eq(kineto_idle_open(&idle, &reason), STATUS_OK);
	int inherited = dup(idle.fd);
	close(idle.fd);
	strcpy(folder, idle.folder);
	int client = open_unconnected();
	for (int i = 0; i < 2000 && is_sent; i++)
		ck_assert_ptr_null(poll_once(client, &is_sent));
	ck_assert_int_eq(is_sent, true);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(kineto_open(&kineto, folder, geteuid(), &reason), STATUS_OK);
		struct kineto second;
		ck_assert_int_eq(kineto_open(&second, folder, geteuid(), &reason), STATUS_UNSUPPORTED);
		ck_assert_str_eq(poll_once(client, &is_sent), CONFIGURATION);
		kineto_close(&kineto);
		ck_assert_ptr_null(poll_once(client, &is_sent));
		ck_assert_int_eq(is_sent, true);
	}
	ck_assert_int_eq(kineto_open(&kineto, folder, geteuid(), &reason), STATUS_OK);
	close(kineto.fd); /* killed while it asks: the next one repairs it */
	ck_assert_int_eq(kineto_open(&kineto, folder, geteuid(), &reason), STATUS_OK);
	ck_assert_str_eq(poll_once(client, &is_sent), CONFIGURATION);
	kineto_close(&kineto);
	ck_assert_ptr_null(poll_once(client, &is_sent));
	ck_assert_int_eq(is_sent, true);
	close(inherited);
	close(client);
}
END_TEST

/* -- the file -- */

static void put(const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
}

START_TEST(a_trace_is_complete_once_it_ends_as_json_and_stops_growing)
{
	char path[128];
	off_t size = -1;
	ck_assert_int_eq(trace_folder_find(folder, &size, path, sizeof path), false);
	put("trace_7.json.tmp", "{}");
	ck_assert_int_eq(trace_folder_find(folder, &size, path, sizeof path), false);
	put("trace_7.json", "{\"traceEvents\": [ {}");
	ck_assert_int_eq(trace_folder_find(folder, &size, path, sizeof path), false);
	put("trace_7.json", "{\"traceEvents\": [ {}, ");
	ck_assert_int_eq(trace_folder_find(folder, &size, path, sizeof path), false);
	ck_assert_int_eq(trace_folder_find(folder, &size, path, sizeof path), false);
	put("trace_7.json", "{\"traceEvents\": [ {}, {} ] }\n");
	ck_assert_int_eq(trace_folder_find(folder, &size, path, sizeof path), false);
	ck_assert_int_eq(trace_folder_find(folder, &size, path, sizeof path), true);
	ck_assert_ptr_nonnull(strstr(path, "/trace_7.json"));
}
END_TEST

START_TEST(a_link_is_no_trace)
{
	char path[128], link_name[128];
	off_t size = -1;
	put("real", "{ }");
	snprintf(path, sizeof path, "%s/real", folder);
	snprintf(link_name, sizeof link_name, "%s/trace.json", folder);
	ck_assert_int_eq(symlink(path, link_name), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(trace_folder_find(folder, &size, path, sizeof path), false);
	ck_assert_int_eq(trace_file_is_regular(link_name), false);
}
END_TEST

/* -- the package -- */

static int listener = -1, process_fd = -1;
static char socket_folder[64], socket_path[96];

/* This process listens, as an instrumented program does. */
static void setup_package(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	setup();
	snprintf(socket_folder, sizeof socket_folder, "/tmp/pmtop-%u", (unsigned)geteuid());
	mkdir(socket_folder, 0700);
	ck_assert_int_eq(chmod(socket_folder, 0700), 0);
	snprintf(socket_path, sizeof socket_path, "%s/profile.%d", socket_folder, (int)getpid());
	unlink(socket_path);
	strcpy(address.sun_path, socket_path);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
	ck_assert_int_eq(listen(listener, 1), 0);
	process_fd = open("/proc/self", O_RDONLY | O_DIRECTORY);
}

static void teardown_package(void)
{
	close(listener);
	close(process_fd);
	unlink(socket_path);
	teardown();
}

static struct profiling_order order;

static enum status ask(struct package *package, pid_t pid, uid_t uid)
{
	order.folder = "/tmp/here";
	order.steps = 3;
	return package_open(package, process_fd, pid, uid, &order, &reason);
}

static enum status ask_self(struct package *package) { return ask(package, getpid(), geteuid()); }

/* Asks, and answers with `text`; returns what pmtop makes of it. */
static enum status answer_with(struct package *package, const char *text, size_t length)
{
	char line[64] = "";
	ck_assert_int_eq(ask_self(package), STATUS_OK);
	int program = accept(listener, NULL, NULL);
	ck_assert_int_gt(read(program, line, sizeof line - 1), 0);
	ck_assert_str_eq(line, "profile 1 3 /tmp/here\n");
	ck_assert_int_eq(package_read(package, &reason), STATUS_AGAIN);
	ck_assert_int_eq(send(program, text, length, MSG_NOSIGNAL), (ssize_t)length);
	enum status status = package_read(package, &reason);
	close(program);
	package_close(package);
	return status;
}

static enum status answer_text(struct package *package, const char *text)
{
	return answer_with(package, text, strlen(text));
}

START_TEST(a_program_that_listens_is_asked_and_its_trace_taken)
{
	static struct package package;
	ck_assert_int_eq(answer_text(&package, "step 0 3\nstep 1 3\nstep 2"), STATUS_AGAIN);
	ck_assert_uint_eq(package.done, 1);
	ck_assert_int_eq(answer_text(&package, "step 3 3\ntrace /tmp/here/a.pt.trace.json\n"), STATUS_OK);
	ck_assert_str_eq(package.path, "/tmp/here/a.pt.trace.json");
	ck_assert_int_eq(answer_text(&package, "error PermissionError: /tmp/here\n"), STATUS_UNSUPPORTED);
	ck_assert_str_eq(reason.text, "PermissionError: /tmp/here");
}
END_TEST

START_TEST(a_hostile_answer_is_refused)
{
	static const char *const answers[] = { "trace /etc/shadow\n", "trace /tmp/here/../../etc/shadow\n",
		"trace /tmp/here/\n", "trace /tmp/hereafter\n", "trace \n", "\n", "what\n", "trace\n" };
	static struct package package;
	static char endless[TRACE_PATH_SIZE];
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
		ck_assert_int_eq(answer_text(&package, answers[i]), STATUS_DAMAGED);
	memset(endless, 'x', sizeof endless);
	ck_assert_int_eq(answer_with(&package, endless, sizeof endless), STATUS_DAMAGED);
	ck_assert_int_eq(answer_text(&package, "step 4000000000 3\n"), STATUS_AGAIN);
	ck_assert_uint_eq(package.done, 3);
	ck_assert_int_eq(answer_text(&package, "error \033[31mred\n"), STATUS_UNSUPPORTED);
	ck_assert_ptr_null(strchr(reason.text, '\033'));
}
END_TEST

START_TEST(a_request_may_name_the_first_batch_or_the_time)
{
	static const struct {
		struct profiling_start start;
		const char *line;
	} cases[] = {
		{ { .is_batch = true, .batch = 79, .every = 40, .realtime_ms = 5 }, "profile 2 3 batch 79 40 /tmp/here\n" },
		{ { .realtime_ms = 1700000000000 }, "profile 2 3 time 1700000000000 0 /tmp/here\n" },
	};
	static struct package package;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char line[80] = "";
		order.start = cases[i].start;
		ck_assert_int_eq(ask_self(&package), STATUS_OK);
		int program = accept(listener, NULL, NULL);
		ck_assert_int_gt(read(program, line, sizeof line - 1), 0);
		ck_assert_str_eq(line, cases[i].line);
		close(program);
		package_close(&package);
	}
	order.start = (struct profiling_start){ 0 };
}
END_TEST

START_TEST(a_snapshot_that_nobody_asked_for_says_so)
{
	static struct package package;
	for (int is_automatic = 0; is_automatic < 2; is_automatic++) {
		const struct profiling_order snapshot = { .folder = "/tmp/here", .is_automatic = is_automatic };
		char line[80] = "";
		ck_assert_int_eq(package_open(&package, process_fd, getpid(), geteuid(), &snapshot, &reason), STATUS_OK);
		int program = accept(listener, NULL, NULL);
		ck_assert_int_gt(read(program, line, sizeof line - 1), 0);
		ck_assert_str_eq(line, is_automatic ? "snapshot 2 /tmp/here\n" : "snapshot 1 /tmp/here\n");
		ck_assert_int_eq(send(program, "unrecorded\n", 11, MSG_NOSIGNAL), 11);
		ck_assert_int_eq(package_read(&package, &reason), STATUS_NOT_FOUND);
		close(program);
		package_close(&package);
	}
}
END_TEST

START_TEST(a_program_that_ends_says_so)
{
	static struct package package;
	ck_assert_int_eq(ask_self(&package), STATUS_OK);
	close(accept(listener, NULL, NULL));
	ck_assert_int_eq(package_read(&package, &reason), STATUS_END);
	package_close(&package);
}
END_TEST

START_TEST(a_folder_that_others_may_enter_is_not_trusted)
{
	static struct package package;
	ck_assert_int_eq(chmod(socket_folder, 0755), 0);
	ck_assert_int_eq(ask_self(&package), STATUS_NOT_FOUND);
	ck_assert_int_eq(chmod(socket_folder, 0700), 0);
	ck_assert_int_eq(ask(&package, getpid(), geteuid() + 1), STATUS_NOT_FOUND);
}
END_TEST

START_TEST(a_socket_of_another_process_is_refused)
{
	static struct package package;
	ck_assert_int_eq(ask(&package, getpid() + 1, geteuid()), STATUS_DENIED);
	ck_assert_ptr_nonnull(strstr(reason.text, "belongs to another process"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("profiling");
	TCase *kineto_case = tcase_create("kineto"), *package_case = tcase_create("package");
	tcase_add_checked_fixture(kineto_case, setup, teardown);
	tcase_add_test(kineto_case, a_job_that_polls_gets_the_configuration);
	tcase_add_test(kineto_case, the_answer_comes_from_the_name_in_the_jobs_environment);
	tcase_add_test(kineto_case, a_busy_profiler_and_a_poll_without_a_request_get_nothing);
	tcase_add_test(kineto_case, another_process_gets_an_empty_answer_whatever_pid_it_claims);
	tcase_add_test(kineto_case, the_process_of_another_user_gets_an_empty_answer);
	tcase_add_test(kineto_case, damaged_datagrams_are_not_answered);
	tcase_add_test(kineto_case, a_poll_without_a_return_address_does_no_harm);
	tcase_add_test(kineto_case, a_second_daemon_is_refused_and_the_socket_of_a_dead_one_replaced);
	tcase_add_test(kineto_case, a_folder_that_the_job_would_not_accept_is_refused);
	tcase_add_test(kineto_case, the_configuration_never_asks_for_memory);
	tcase_add_test(kineto_case, a_launched_jobs_polls_never_fail_whether_pmtop_asks_or_is_killed);
	tcase_add_test(kineto_case, a_trace_is_complete_once_it_ends_as_json_and_stops_growing);
	tcase_add_test(kineto_case, a_link_is_no_trace);
	tcase_add_checked_fixture(package_case, setup_package, teardown_package);
	tcase_add_test(package_case, a_program_that_listens_is_asked_and_its_trace_taken);
	tcase_add_test(package_case, a_hostile_answer_is_refused);
	tcase_add_test(package_case, a_request_may_name_the_first_batch_or_the_time);
	tcase_add_test(package_case, a_snapshot_that_nobody_asked_for_says_so);
	tcase_add_test(package_case, a_program_that_ends_says_so);
	tcase_add_test(package_case, a_folder_that_others_may_enter_is_not_trusted);
	tcase_add_test(package_case, a_socket_of_another_process_is_refused);
	suite_add_tcase(suite, kineto_case);
	suite_add_tcase(suite, package_case);
	return suite_run(suite);
}
