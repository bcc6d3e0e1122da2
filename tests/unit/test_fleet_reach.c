/* How pmtop fleet reaches hosts: lists of hosts, the frames of relays, a relay, who becomes one. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/buffer.h"
#include "src/base/clock.h"
#include "src/commands/fleet/fleet_names.h"
#include "src/fleet/fleet_host.h"
#include "src/fleet/fleet_output.h"
#include "src/fleet/reach/fleet_command.h"
#include "src/fleet/reach/fleet_frame.h"
#include "src/fleet/reach/fleet_process.h"
#include "src/fleet/reach/fleet_serve.h"
#include "tests/support/suite.h"

enum { STEPS_MAX = 3000 };

/* -- names -- */

static const char *names_of(const char *word)
{
	static char text[1024];
	struct fleet_names names = { 0 };
	struct reason reason = { 0 };
	size_t used = 0;
	enum status status = fleet_names_add(&names, word, &reason);
	snprintf(text, sizeof text, "refused");
	for (size_t i = 0; i < names.count && used < sizeof text && status == STATUS_OK; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "", names.names[i]);
	fleet_names_release(&names);
	return text;
}

START_TEST(lists_of_slurm_are_expanded)
{
	static const char *const cases[][2] = { { "gpu7", "gpu7" }, { "node[1-3]", "node1 node2 node3" },
		{ "n[008-011]-ib", "n008-ib n009-ib n010-ib n011-ib" }, { "n[1,3-4,07]", "n1 n3 n4 n07" },
		{ "a[1-2],b,me@c", "a1 a2 b me@c" }, { "r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2" },
		{ "a[1-3],a2,a[2-4]", "a1 a2 a3 a4" } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_str_eq(names_of(cases[i][0]), cases[i][1]);
}
END_TEST

START_TEST(lists_that_are_none_or_have_no_end_are_refused)
{
	static const char *const cases[] = { "n[", "n[1", "n]", "n[]", "n[1-]", "n[-1]", "n[3-1]", "n[a-b]", "n[1,]",
		"a,,b", "n[1-5000]", "n[0-999999999][0-999999999]", "n[1-99999999999]", "@/dev/null/none", "n[[1]]" };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_msg(strcmp(names_of(cases[i]), "refused") == 0, "%s: %s", cases[i], names_of(cases[i]));
}
END_TEST

START_TEST(file_of_hosts_has_words_lists_and_comments)
{
	char path[] = "/tmp/pmtop-hosts-XXXXXX", word[64];
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	dprintf(fd, "# rack 1\nn[1-2] gpu7  # spare\r\n\nlast");
	close(fd);
	snprintf(word, sizeof word, "@%s", path);
	ck_assert_str_eq(names_of(word), "n1 n2 gpu7 last");
	unlink(path);
}
END_TEST

/* -- frames -- */

START_TEST(frames_are_read_as_they_were_written_and_wait_for_their_end)
{
	struct buffer bytes = BUFFER_INIT;
	struct fleet_frame frame = {
		.kind = FLEET_FRAME_DATA, .serial = 255, .channel = 511, .length = 3, .payload = "abc"
	};
	struct fleet_frame found;
	int number;
	fleet_frame_write(&bytes, &frame);
	for (size_t cut = 0; cut < bytes.length; cut++)
		ck_assert_int_eq(fleet_frame_read(bytes.data, cut, &found), FLEET_FRAME_PART);
	ck_assert_int_eq(fleet_frame_read(bytes.data, bytes.length, &found), FLEET_FRAME_FOUND);
	ck_assert(found.kind == frame.kind && found.serial == 255 && found.channel == 511 && found.length == 3);
	ck_assert(memcmp(found.payload, "abc", 3) == 0 && !fleet_frame_number(&found, &number));
	found = (struct fleet_frame){ .length = 5, .payload = "35072" };
	ck_assert(fleet_frame_number(&found, &number) && number == 35072);
	found = (struct fleet_frame){ .length = 10, .payload = "9999999999" };
	ck_assert(!fleet_frame_number(&found, &number));
	buffer_release(&bytes);
}
END_TEST

START_TEST(damaged_frames_are_refused_and_what_stands_before_the_first_is_skipped)
{
	struct fleet_frame found;
	ck_assert_int_eq(fleet_frame_read("pmtX", 4, &found), FLEET_FRAME_DAMAGED);
	ck_assert_int_eq(fleet_frame_read("pmtR\0\0\0\0\0\0\0\0", 12, &found), FLEET_FRAME_DAMAGED);
	ck_assert_int_eq(fleet_frame_read("pmtR\x63\0\0\0\0\0\0\0", 12, &found), FLEET_FRAME_DAMAGED);
	ck_assert_int_eq(fleet_frame_read("pmtR\6\0\0\0\1\0\1\0", 12, &found), FLEET_FRAME_DAMAGED);
	ck_assert_int_eq(fleet_frame_read("pmtR\6\0\0\0\377\377\377\377", 12, &found), FLEET_FRAME_DAMAGED);
	ck_assert_uint_eq(fleet_frame_skip("Welcome\npmtR", 12), 8);
	ck_assert_uint_eq(fleet_frame_skip("Welcome pm", 10), 8);
	ck_assert_uint_eq(fleet_frame_skip("Welcome", 7), 7);
}
END_TEST

START_TEST(lines_of_processes_are_tagged)
{
	uint16_t channel;
	uint8_t serial;
	ck_assert_str_eq(fleet_frame_line("@12.3 clock 7 1 2 3", &channel, &serial), "clock 7 1 2 3");
	ck_assert(channel == 12 && serial == 3);
	static const char *const others[] = { "ssh: connect", "@", "@12", "@12.3", "@12.300 x", "@512.1 x", "@-1.1 x",
		"@1.x" };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		ck_assert_ptr_null(fleet_frame_line(others[i], &channel, &serial));
}
END_TEST

/* -- a relay -- */

struct relay {
	pid_t pid;
	int in, out, errors;
};

static struct relay start_relay(rlim_t descriptors)
{
	struct rlimit limit;
	int in[2], out[2], errors[2];
	ck_assert(pipe(in) == 0 && pipe(out) == 0 && pipe(errors) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		dup2(errors[1], STDERR_FILENO);
		for (int fd = STDERR_FILENO + 1; fd <= errors[1]; fd++)
			close(fd);
		getrlimit(RLIMIT_NOFILE, &limit);
		limit.rlim_cur = descriptors < limit.rlim_max ? descriptors : limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
		_exit(fleet_serve(-1) ? 0 : 1);
	}
	close(in[0]);
	close(out[1]);
	close(errors[1]);
	return (struct relay){ pid, in[1], out[0], errors[0] };
}

static long resident_kb(pid_t pid)
{
	char path[64];
	long pages = 0;
	snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%*d %ld", &pages), 1);
	fclose(file);
	return pages * sysconf(_SC_PAGESIZE) / 1024;
}

static bool has_ended(int pid)
{
	char path[64], state = 'Z';
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	FILE *file = fopen(path, "r");
	if (!file)
		return true;
	bool is_read = fscanf(file, "%*d %*s %c", &state) == 1;
	fclose(file);
	return !is_read || state == 'Z';
}

/* The process writes without end, and nobody reads. A relay that does not stop reading grows by gigabytes a second. */
START_TEST(relay_whose_reader_is_slow_lets_its_processes_wait_and_ends_them_with_its_input)
{
	enum { GROWTH_MAX_KB = 8 * 1024, CALM_TIMES = 20 };
	static const char command[] = "echo $$ >&2; exec yes";
	struct buffer bytes = BUFFER_INIT;
	struct fleet_frame frame = {
		.kind = FLEET_FRAME_START, .serial = 9, .channel = 3, .length = sizeof command - 1, .payload = command
	};
	char line[64] = "", room[256];
	int pid, status;
	struct relay relay = start_relay(RLIM_INFINITY);
	fleet_frame_write(&bytes, &frame);
	ck_assert_int_eq(write(relay.in, bytes.data, bytes.length), (ssize_t)bytes.length);
	ck_assert_int_gt(read(relay.errors, line, sizeof line - 1), 0);
	ck_assert_msg(sscanf(line, "@3.9 %d", &pid) == 1, "%s", line);
	long first_kb = resident_kb(relay.pid), last_kb = first_kb;
	for (int calm = 0; calm < CALM_TIMES; usleep(10000)) {
		long now_kb = resident_kb(relay.pid);
		calm = now_kb == last_kb ? calm + 1 : 0;
		last_kb = now_kb;
		ck_assert_int_lt(last_kb - first_kb, GROWTH_MAX_KB);
	}
	ck_assert_int_eq(read(relay.out, room, sizeof room), (ssize_t)sizeof room);
	ck_assert_int_eq(fleet_frame_read(room, sizeof room, &frame), FLEET_FRAME_FOUND);
	ck_assert_int_eq(frame.kind, FLEET_FRAME_HELLO);
	ck_assert(!has_ended(pid));
	close(relay.in);
	ck_assert_int_eq(waitpid(relay.pid, &status, 0), relay.pid);
	ck_assert_int_eq(status, 0);
	while (!has_ended(pid))
		usleep(1000);
	close(relay.out);
	close(relay.errors);
	buffer_release(&bytes);
}
END_TEST

/* All are started from one reading, before any of them ends. */
START_TEST(relay_starts_more_processes_than_the_usual_limit_of_descriptors_allows)
{
	enum { PROCESSES = 30, DESCRIPTORS = 64 };
	struct buffer bytes = BUFFER_INIT;
	char room[4096];
	int ended = 0;
	ssize_t length;
	struct relay relay = start_relay(DESCRIPTORS);
	for (uint16_t i = 0; i < PROCESSES; i++)
		fleet_frame_write(
			&bytes, &(struct fleet_frame){ .kind = FLEET_FRAME_START, .channel = i, .length = 6, .payload = "exit 0" });
	ck_assert_int_eq(write(relay.in, bytes.data, bytes.length), (ssize_t)bytes.length);
	buffer_clear(&bytes);
	while (ended < PROCESSES && (length = read(relay.out, room, sizeof room)) > 0) {
		size_t at = 0;
		struct fleet_frame frame;
		buffer_add(&bytes, room, (size_t)length);
		for (; fleet_frame_read(bytes.data + at, bytes.length - at, &frame) == FLEET_FRAME_FOUND;
			 at += FLEET_FRAME_HEAD + frame.length) {
			int status = -1;
			if (frame.kind != FLEET_FRAME_ENDED)
				continue;
			ck_assert(fleet_frame_number(&frame, &status) && status == 0);
			ended++;
		}
		buffer_drop(&bytes, at);
	}
	ck_assert_int_eq(ended, PROCESSES);
	close(relay.in);
	ck_assert_int_eq(waitpid(relay.pid, NULL, 0), relay.pid);
	close(relay.out);
	close(relay.errors);
	buffer_release(&bytes);
}
END_TEST

/* -- the tree -- */

START_TEST(more_than_64_hosts_are_reached_through_relays_by_ssh_alone)
{
	struct fleet_way way = { .period_s = 0.5 };
	ck_assert_uint_eq(fleet_command_fan_out(&way, 64), 1);
	ck_assert_uint_eq(fleet_command_fan_out(&way, 65), 9);
	ck_assert_uint_eq(fleet_command_fan_out(&way, 1000), 32);
	way.exec = "kubectl exec -i {} --";
	ck_assert_uint_eq(fleet_command_fan_out(&way, 1000), 1);
	way.fan_out = 8;
	ck_assert_uint_eq(fleet_command_fan_out(&way, 1000), 8);
}
END_TEST

START_TEST(relay_is_started_as_its_host_is_and_runs_its_own_collect)
{
	char line[FLEET_COMMAND_SIZE];
	struct reason reason;
	struct fleet_way way = { .period_s = 0.5, .pid = 12, .program = "/opt/pm top" };
	ck_assert_int_eq(fleet_command_relay(&way, "n1", line, &reason), STATUS_OK);
	ck_assert_ptr_nonnull(strstr(line, "-o BatchMode=yes"));
	ck_assert_ptr_nonnull(strstr(line, "pm top'\\'' collect --relay'"));
	ck_assert_ptr_null(strstr(line, "-p 12"));
	ck_assert_int_eq(fleet_command_own(&way, line, &reason), STATUS_OK);
	ck_assert_str_eq(line, "exec '/opt/pm top' collect --fleet -d 0.5 -p 12");
}
END_TEST

/* -- hosts that end -- */

/* Starts it, and steps until it has ended. Returns its pause. */
static int64_t pause_after_start(struct fleet_host *host, int64_t now_ns, int64_t lived_ns)
{
	struct sample_set lent = SAMPLE_SET_INIT;
	struct fleet_dying dying = { 0 };
	char room[4096];
	fleet_host_start(host, now_ns);
	if (lived_ns)
		host->set_ns = now_ns + lived_ns;
	now_ns += lived_ns;
	for (int i = 0; i < STEPS_MAX && host->state != FLEET_HOST_ENDED; i++) {
		fleet_dying_add(&dying, fleet_host_step(host, now_ns, 0, &lent, room, sizeof room));
		usleep(1000);
	}
	ck_assert_int_eq(host->state, FLEET_HOST_ENDED);
	ck_assert_int_eq(host->retry_ns, now_ns + host->pause_ns);
	sample_set_release(&lent);
	fleet_dying_release(&dying);
	return host->pause_ns / NS_PER_S;
}

static void check_pauses(const char *command, const int *pauses_s, size_t count)
{
	struct fleet_host host;
	fleet_host_init(&host, "n1", strdup(command), NS_PER_S);
	for (size_t i = 0; i < count; i++)
		ck_assert_int_eq(pause_after_start(&host, NS_PER_S, 0), pauses_s[i]);
	fleet_host_release(&host);
}

START_TEST(host_that_refuses_the_login_is_tried_ever_more_seldom)
{
	check_pauses("echo 'me@n1: Permission denied (publickey).' >&2; exit 255",
		(const int[]){ 15, 30, 60, 120, 240, 300, 300 }, 7);
	check_pauses("echo 'ssh: connect to host n1 port 22: Connection refused' >&2; exit 255",
		(const int[]){ 1, 2, 4, 8, 16, 30, 30 }, 7);
}
END_TEST

START_TEST(stream_that_ends_within_a_minute_is_no_success)
{
	struct fleet_host host;
	char words[FLEET_WORDS_SIZE];
	fleet_host_init(&host, "n1", strdup("exit 1"), NS_PER_S);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pause_after_start(&host, NS_PER_S, 2 * NS_PER_S), 1 << i);
	ck_assert_str_eq(fleet_words_retry(&host, words), "; next try after 4 s");
	ck_assert_int_eq(pause_after_start(&host, NS_PER_S, 60 * NS_PER_S), 1);
	fleet_host_release(&host);
}
END_TEST

/* Its output has ended, so the process that is left cannot be asked to end by that. */
START_TEST(what_a_host_that_has_ended_left_behind_is_killed)
{
	struct fleet_host host;
	int ends[2];
	char command[96], byte;
	ck_assert_int_eq(pipe(ends), 0);
	snprintf(command, sizeof command, "sleep 100 > /proc/%d/fd/%d 2> /dev/null & exit 3", getpid(), ends[1]);
	fleet_host_init(&host, "n1", strdup(command), NS_PER_S);
	pause_after_start(&host, NS_PER_S, 0);
	ck_assert_str_eq(host.reason, "its process ended with status 3");
	close(ends[1]);
	/* The end of the file: nobody writes any more. */
	ck_assert_int_eq(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	fleet_host_release(&host);
}
END_TEST

static void keep_line(void *context, const char *line) { snprintf(context, FLEET_PROCESS_LINE_SIZE, "%s", line); }

/* When its process has ended, nobody reads a second time. */
START_TEST(all_errors_that_a_pipe_holds_are_read_at_once)
{
	struct fleet_process process = FLEET_PROCESS_INIT;
	char noise[60 * 1000], last[FLEET_PROCESS_LINE_SIZE] = "";
	int ends[2];
	memset(noise, 'n', sizeof noise);
	noise[sizeof noise - 1] = '\n';
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_eq(write(ends[1], noise, sizeof noise), sizeof noise);
	ck_assert_int_eq(write(ends[1], "ssh: no route\n", 14), 14);
	close(ends[1]);
	process.fds[STDERR_FILENO] = ends[0];
	ck_assert(fleet_process_read_errors(&process, keep_line, last));
	ck_assert_str_eq(last, "ssh: no route");
	fleet_process_detach(&process);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fleet_reach");
	TCase *all = tcase_create("fleet_reach");
	tcase_add_test(all, lists_of_slurm_are_expanded);
	tcase_add_test(all, lists_that_are_none_or_have_no_end_are_refused);
	tcase_add_test(all, file_of_hosts_has_words_lists_and_comments);
	tcase_add_test(all, frames_are_read_as_they_were_written_and_wait_for_their_end);
	tcase_add_test(all, damaged_frames_are_refused_and_what_stands_before_the_first_is_skipped);
	tcase_add_test(all, lines_of_processes_are_tagged);
	tcase_add_test(all, relay_whose_reader_is_slow_lets_its_processes_wait_and_ends_them_with_its_input);
	tcase_add_test(all, relay_starts_more_processes_than_the_usual_limit_of_descriptors_allows);
	tcase_add_test(all, more_than_64_hosts_are_reached_through_relays_by_ssh_alone);
	tcase_add_test(all, relay_is_started_as_its_host_is_and_runs_its_own_collect);
	tcase_add_test(all, host_that_refuses_the_login_is_tried_ever_more_seldom);
	tcase_add_test(all, stream_that_ends_within_a_minute_is_no_success);
	tcase_add_test(all, all_errors_that_a_pipe_holds_are_read_at_once);
	tcase_add_test(all, what_a_host_that_has_ended_left_behind_is_killed);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
