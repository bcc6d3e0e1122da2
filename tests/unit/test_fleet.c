/* pmtop fleet without processes: clocks, ranks, their comparison, the screen, with time injected. */
#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/fleet/fleet.h"
#include "src/fleet/fleet_median.h"
#include "src/fleet/fleet_output.h"
#include "src/fleet/fleet_tee.h"
#include "src/fleet/fleet_view.h"
#include "src/samples/stream.h"
#include "src/samples/stream_read.h"
#include "src/samples/stream_write.h"
#include "tests/support/picture.h"
#include "tests/support/suite.h"
#include "ui/fleet/fleet_screen.h"
#include "ui/terminal/term_text.h"

enum { RANKS = 1000, STEPS = 40 };
#define NOW_NS (INT64_C(100000) * NS_PER_S)
#define HOUR_NS (INT64_C(3600) * NS_PER_S)

/* -- the clock -- */

/* An exchange with a host whose clock is `ahead_ns` ahead, with these delays. */
static void exchange(struct fleet_clock *clock, int64_t now_ns, int64_t ahead_ns, int64_t there_ns, int64_t back_ns)
{
	char question[FLEET_CLOCK_LINE_SIZE], answer[128];
	clock->due_ns = 0;
	ck_assert(fleet_clock_ask(clock, now_ns, question));
	int64_t received_ns = now_ns + there_ns + ahead_ns, sent_ns = received_ns + NS_PER_MS;
	ck_assert(fleet_clock_reply(question, received_ns, sent_ns, sent_ns + HOUR_NS, answer, sizeof answer));
	answer[strcspn(answer, "\n")] = '\0';
	ck_assert(fleet_clock_answer(clock, answer, now_ns + there_ns + NS_PER_MS + back_ns));
}

START_TEST(clock_an_hour_ahead_is_known_within_half_of_the_round_trip)
{
	struct fleet_clock clock = { 0 };
	exchange(&clock, NOW_NS, HOUR_NS, 4 * NS_PER_MS, 0);
	struct fleet_offset offset = fleet_clock_offset(&clock, NOW_NS, HOUR_NS);
	ck_assert_int_eq(offset.method, FLEET_CLOCK_EXCHANGE);
	ck_assert_double_eq_tol(offset.error_s, 0.002, 0.0001);
	ck_assert_double_le(fabs(seconds_between(HOUR_NS, offset.ahead_ns)), offset.error_s + 1e-6);
	ck_assert_double_eq_tol(offset.wall_s, 3600, 0.003);
}
END_TEST

START_TEST(delays_of_two_directions_narrow_the_bounds_and_age_widens_them)
{
	struct fleet_clock clock = { 0 };
	exchange(&clock, NOW_NS, 0, 10 * NS_PER_MS, 100000);
	exchange(&clock, NOW_NS, 0, 100000, 10 * NS_PER_MS);
	struct fleet_offset offset = fleet_clock_offset(&clock, NOW_NS, 0);
	ck_assert_double_eq_tol(offset.error_s, 0.0001, 0.00005);
	ck_assert_double_le(fabs(seconds_between(0, offset.ahead_ns)), offset.error_s + 1e-6);
	offset = fleet_clock_offset(&clock, NOW_NS + 10 * NS_PER_S, 0);
	ck_assert_double_gt(offset.error_s, 0.0015);
}
END_TEST

/* One exchange in six is fast, as on a machine with more processes than CPUs. */
START_TEST(error_on_a_busy_machine_is_that_of_the_fastest_exchanges)
{
	struct fleet_clock clock = { 0 };
	char question[FLEET_CLOCK_LINE_SIZE], answer[128];
	uint32_t random = 1;
	unsigned asked = 0;
	double worst_s = 0;
	for (int64_t now_ns = NOW_NS; now_ns < NOW_NS + 600 * NS_PER_S; now_ns += NS_PER_S / 4) {
		struct fleet_offset offset = fleet_clock_offset(&clock, now_ns, 0);
		if (now_ns > NOW_NS + 30 * NS_PER_S) {
			worst_s = fmax(worst_s, offset.error_s);
			ck_assert_double_le(fabs(seconds_between(HOUR_NS, offset.ahead_ns)), offset.error_s + 1e-6);
		}
		if (!fleet_clock_ask(&clock, now_ns, question))
			continue;
		random = random * 1664525 + 1013904223;
		int64_t there_ns = (random >> 16) % 6 ? (20 + (random >> 20) % 40) * NS_PER_MS : NS_PER_MS;
		ck_assert(fleet_clock_reply(
			question, now_ns + there_ns + HOUR_NS, now_ns + there_ns + HOUR_NS, 0, answer, sizeof answer));
		answer[strcspn(answer, "\n")] = '\0';
		ck_assert(fleet_clock_answer(&clock, answer, now_ns + there_ns + NS_PER_MS));
		asked++;
	}
	ck_assert_double_le(worst_s, 0.005);
	ck_assert_uint_lt(asked, 1000);
}
END_TEST

START_TEST(clock_that_was_set_is_followed_by_the_next_answer)
{
	struct fleet_clock clock = { 0 };
	exchange(&clock, NOW_NS, 0, NS_PER_MS, NS_PER_MS);
	exchange(&clock, NOW_NS + NS_PER_S, HOUR_NS, NS_PER_MS, NS_PER_MS);
	struct fleet_offset offset = fleet_clock_offset(&clock, NOW_NS + NS_PER_S, 0);
	ck_assert_double_eq_tol(seconds_between(0, offset.ahead_ns), 3600, 0.002);
}
END_TEST

START_TEST(answers_that_lie_are_not_used)
{
	struct fleet_clock clock = { 0 };
	char question[FLEET_CLOCK_LINE_SIZE];
	ck_assert(fleet_clock_ask(&clock, NOW_NS, question));
	ck_assert(fleet_clock_answer(&clock, "clock 7 1 2 3", NOW_NS));
	ck_assert(fleet_clock_answer(&clock, "clock 1 9223372036854775807 9223372036854775807 0", NOW_NS));
	ck_assert(fleet_clock_answer(&clock, "clock 1 5 4 0", NOW_NS));
	ck_assert(!fleet_clock_answer(&clock, "pmtop: no training run was found", NOW_NS));
	ck_assert_uint_eq(clock.answers, 0);
	ck_assert_int_eq(fleet_clock_offset(&clock, NOW_NS, 0).method, FLEET_CLOCK_UNKNOWN);
	fleet_clock_heard(&clock, NOW_NS - NS_PER_S, NOW_NS);
	struct fleet_offset offset = fleet_clock_offset(&clock, NOW_NS, 0);
	ck_assert_int_eq(offset.method, FLEET_CLOCK_ONE_WAY);
	ck_assert(isnan(offset.error_s));
}
END_TEST

/* -- ranks -- */

static struct fleet *fleet;
static struct fleet_view view;
static struct fleet_host *const *hosts;

static void open_fleet(size_t count)
{
	static char names[RANKS][16];
	static char *words[RANKS];
	struct fleet_way way = { .exec = "true {}", .period_s = 0.5 };
	struct reason reason;
	for (size_t i = 0; i < count; i++) {
		snprintf(names[i], sizeof names[i], "node%zu", i);
		words[i] = names[i];
	}
	ck_assert_int_eq(fleet_open(&way, words, count, &fleet, &reason), STATUS_OK);
	ck_assert_uint_eq(fleet_hosts(fleet, &hosts), count);
}

static void close_fleet(void)
{
	fleet_view_release(&view);
	fleet_close(fleet);
}

static struct record *add(struct sample_set *set, enum record_kind kind, int64_t time_ns)
{
	return sample_set_add(set, kind, 0, time_ns);
}

/* `steps` steps until NOW_NS, of which the rank waits for others in the last part. */
static void run_rank(struct fleet_host *host, const char *number, double step_s, double wait_s, unsigned steps)
{
	struct sample_set set = SAMPLE_SET_INIT;
	int64_t step_ns = (int64_t)(step_s * 1e9);
	host->state = FLEET_HOST_LIVE;
	struct record *opened = add(&set, RECORD_RUN_OPENED, NOW_NS);
	opened->opened.pid = 4711;
	opened->opened.name = "digits";
	opened->opened.uuid = host->name;
	struct record *name = add(&set, RECORD_NAME, NOW_NS);
	name->name.id = 7;
	name->name.text = "allreduce";
	struct record *meta = add(&set, RECORD_META, NOW_NS);
	meta->meta.key = "RANK";
	meta->meta.value = number;
	for (unsigned i = 0; i < steps; i++) {
		int64_t begin_ns = host->offset.ahead_ns + NOW_NS - (int64_t)(steps - i) * step_ns;
		add(&set, RECORD_BATCH_BEGIN, begin_ns)->batch.number = i;
		struct record *span = add(&set, RECORD_SPAN, begin_ns + step_ns - 2);
		span->span.name = 7;
		span->span.duration_ns = (int64_t)(wait_s * 1e9);
		struct record *end = add(&set, RECORD_BATCH_END, begin_ns + step_ns - 1);
		end->batch.number = i;
		end->batch.begin_ns = begin_ns;
	}
	fleet_host_apply(host, &set, NOW_NS);
	sample_set_release(&set);
}

START_TEST(synchronous_ranks_are_compared_by_their_own_time)
{
	open_fleet(4);
	for (int i = 0; i < 4; i++)
		run_rank(hosts[i], (const char *[]){ "0", "1", "2", "3" }[i], 0.2, i == 2 ? 0.01 : 0.1, STEPS);
	ck_assert(fleet_view_fill(&view, fleet, FLEET_SORT_SLOWEST, NOW_NS));
	ck_assert_uint_eq(view.count, 4);
	ck_assert(view.is_synchronous);
	ck_assert_int_eq(view.rows[0].rank->number, 2);
	ck_assert_double_eq_tol(view.rows[0].ratio, 1.9, 0.01);
	ck_assert_double_eq_tol(view.rows[0].step_s, 0.2, 0.001);
	ck_assert_int_eq(view.rows[0].state, FLEET_RANK_RUNNING);
	close_fleet();
}
END_TEST

/* Ranks 2 and 3 compute 0.19 s, the others 0.1 s: two wait 0.09 s of each step of 0.2 s. */
START_TEST(lost_time_is_that_of_the_ranks_that_others_wait_for)
{
	open_fleet(4);
	for (int i = 0; i < 4; i++)
		run_rank(hosts[i], (const char *[]){ "0", "1", "2", "3" }[i], 0.2, i >= 2 ? 0.01 : 0.1, STEPS);
	hosts[1]->ranks[0]->gpu_busy_ratio = 0.2;
	hosts[2]->ranks[0]->gpu_busy_ratio = 0.9;
	ck_assert(fleet_view_fill(&view, fleet, FLEET_SORT_LOST, NOW_NS));
	ck_assert_int_eq(view.rows[0].rank->number, 2);
	ck_assert_double_eq_tol(view.rows[0].lost_ratio, 0.09 / 0.8, 0.001);
	ck_assert_double_eq_tol(view.rows[1].lost_ratio, 0.09 / 0.8, 0.001);
	ck_assert_double_eq_tol(view.rows[2].lost_ratio, 0, 1e-6);
	ck_assert_double_eq_tol(view.lost_ratio, 0.18 / 0.8, 0.001);
	ck_assert_double_eq_tol(view.rows[2].wait_ratio, 0.5, 0.001);
	ck_assert(fleet_view_fill(&view, fleet, FLEET_SORT_GPU, NOW_NS));
	ck_assert_int_eq(view.rows[0].rank->number, 1);
	ck_assert_int_eq(view.rows[1].rank->number, 2);
	ck_assert(fleet_view_fill(&view, fleet, FLEET_SORT_WAIT, NOW_NS));
	ck_assert_int_eq(view.rows[0].rank->number, 0);
	close_fleet();
	open_fleet(2);
	run_rank(hosts[0], "0", 0.2, 0.1, STEPS);
	run_rank(hosts[1], "1", 0.4, 0.1, STEPS / 2);
	ck_assert(fleet_view_fill(&view, fleet, FLEET_SORT_LOST, NOW_NS));
	ck_assert(isnan(view.rows[0].lost_s) && isnan(view.lost_ratio));
	close_fleet();
}
END_TEST

START_TEST(of_many_ranks_the_late_one_is_charged_and_no_other)
{
	char number[8];
	open_fleet(100);
	for (int i = 0; i < 100; i++) {
		snprintf(number, sizeof number, "%d", i);
		run_rank(hosts[i], number, 0.2, i == 7 ? 0.01 : 0.1, STEPS);
	}
	ck_assert(fleet_view_fill(&view, fleet, FLEET_SORT_LOST, NOW_NS));
	ck_assert_int_eq(view.rows[0].rank->number, 7);
	ck_assert_double_eq_tol(view.rows[0].lost_ratio, 99 * 0.09 / (100 * 0.2), 0.001);
	ck_assert(view.rows[1].lost_s == 0);
	close_fleet();
}
END_TEST

START_TEST(hosts_clock_an_hour_ahead_does_not_move_its_steps)
{
	open_fleet(2);
	hosts[1]->offset.ahead_ns = HOUR_NS;
	run_rank(hosts[0], "0", 0.2, 0.1, STEPS);
	run_rank(hosts[1], "1", 0.2, 0.1, STEPS);
	ck_assert(fleet_view_fill(&view, fleet, FLEET_SORT_RANK, NOW_NS));
	ck_assert_double_eq_tol(view.rows[1].late_s, 0, 1e-6);
	ck_assert_double_eq_tol(view.rows[1].still_s, 0, 0.001);
	close_fleet();
}
END_TEST

START_TEST(impossible_times_are_left_out_and_counted)
{
	open_fleet(1);
	run_rank(hosts[0], "0", 0.2, 0.1, STEPS);
	hosts[0]->offset.ahead_ns = -24 * HOUR_NS;
	struct sample_set set = SAMPLE_SET_INIT;
	add(&set, RECORD_BATCH_BEGIN, NOW_NS);
	add(&set, RECORD_BATCH_BEGIN, INT64_MAX);
	add(&set, RECORD_BATCH_BEGIN, INT64_MIN);
	fleet_host_apply(hosts[0], &set, NOW_NS);
	ck_assert_uint_eq(hosts[0]->wrong_times, 3);
	sample_set_release(&set);
	close_fleet();
}
END_TEST

START_TEST(rank_without_steps_is_stuck_or_waits_or_is_silent)
{
	open_fleet(3);
	for (int i = 0; i < 3; i++)
		run_rank(hosts[i], (const char *[]){ "0", "1", "2" }[i], 0.2, 0.1, STEPS);
	struct sample_set set = SAMPLE_SET_INIT;
	add(&set, RECORD_OPEN_SPAN, NOW_NS)->span.name = 7;
	fleet_host_apply(hosts[1], &set, NOW_NS);
	hosts[2]->state = FLEET_HOST_SILENT;
	ck_assert(fleet_view_fill(&view, fleet, FLEET_SORT_RANK, NOW_NS + 4 * NS_PER_S));
	ck_assert_int_eq(view.rows[0].state, FLEET_RANK_RUNNING);
	ck_assert(fleet_view_fill(&view, fleet, FLEET_SORT_RANK, NOW_NS + 6 * NS_PER_S));
	ck_assert_int_eq(view.rows[0].state, FLEET_RANK_STUCK);
	ck_assert_int_eq(view.rows[1].state, FLEET_RANK_WAITING);
	ck_assert_int_eq(view.rows[2].state, FLEET_RANK_SILENT);
	ck_assert_uint_eq(view.problem_count, 3);
	ck_assert(fleet_view_fill(&view, fleet, FLEET_SORT_SLOWEST, NOW_NS + 6 * NS_PER_S));
	ck_assert_int_eq(view.rows[0].state, FLEET_RANK_STUCK);
	sample_set_release(&set);
	close_fleet();
}
END_TEST

START_TEST(rank_with_a_few_very_slow_steps_is_the_slowest)
{
	open_fleet(4);
	for (int i = 0; i < 4; i++)
		run_rank(hosts[i], (const char *[]){ "0", "1", "2", "3" }[i], 0.2, 0.1, STEPS);
	struct sample_set set = SAMPLE_SET_INIT;
	add(&set, RECORD_BATCH_BEGIN, NOW_NS)->batch.number = STEPS;
	add(&set, RECORD_BATCH_BEGIN, NOW_NS + 9 * NS_PER_S)->batch.number = STEPS + 1;
	fleet_host_apply(hosts[3], &set, NOW_NS + 9 * NS_PER_S);
	ck_assert(fleet_view_fill(&view, fleet, FLEET_SORT_SLOWEST, NOW_NS + NS_PER_S));
	ck_assert_int_eq(view.rows[0].rank->number, 3);
	ck_assert_double_gt(view.rows[0].ratio, 2);
	sample_set_release(&set);
	close_fleet();
}
END_TEST

START_TEST(rank_that_two_names_of_a_host_bring_is_shown_once)
{
	open_fleet(2);
	snprintf(hosts[1]->name, sizeof hosts[1]->name, "node0");
	run_rank(hosts[0], "0", 0.2, 0.1, STEPS);
	run_rank(hosts[1], "0", 0.2, 0.1, STEPS);
	ck_assert(fleet_view_fill(&view, fleet, FLEET_SORT_RANK, NOW_NS));
	ck_assert_uint_eq(view.count, 1);
	close_fleet();
}
END_TEST

START_TEST(medians_are_those_of_sorted_values)
{
	for (unsigned count = 1; count < 200; count++) {
		double values[200], sorted = (count - 1) / 2.0;
		for (unsigned i = 0; i < count; i++)
			/* A permutation: 7919 is a prime above all counts. */
			values[i] = (double)(i * 7919 % count);
		ck_assert_double_eq_tol(fleet_median(values, count), sorted, 1e-9);
	}
	ck_assert(isnan(fleet_median(NULL, 0)));
}
END_TEST

/* -- the command for a host -- */

START_TEST(commands_quote_hosts_and_refuse_options)
{
	char line[FLEET_COMMAND_SIZE];
	struct reason reason;
	struct fleet_way way = { .period_s = 0.5, .run = "my run" };
	ck_assert_int_eq(fleet_command_line(&way, "n'1", line, &reason), STATUS_OK);
	ck_assert_ptr_nonnull(strstr(line, "-o BatchMode=yes"));
	ck_assert_ptr_nonnull(strstr(line, " -- 'n'\\''1' 'pmtop collect --fleet -d 0.5 -s "));
	ck_assert_int_eq(fleet_command_line(&way, "-oProxyCommand=reboot", line, &reason), STATUS_INVALID);
	ck_assert_int_eq(fleet_command_line(&way, "a b", line, &reason), STATUS_INVALID);
	way = (struct fleet_way){ .period_s = 2, .exec = "kubectl exec -i {} --", .pid = 12 };
	ck_assert_int_eq(fleet_command_line(&way, "w;reboot", line, &reason), STATUS_OK);
	ck_assert_str_eq(line, "kubectl exec -i 'w;reboot' -- pmtop collect --fleet -d 2 -p 12");
	way.exec = "kubectl exec";
	ck_assert_int_eq(fleet_command_line(&way, "w", line, &reason), STATUS_INVALID);
	way = (struct fleet_way){ .period_s = 0.5, .srun = "77" };
	ck_assert_int_eq(fleet_command_line(&way, "n1", line, &reason), STATUS_OK);
	ck_assert_str_eq(
		line, "exec srun --jobid=77 --overlap --nodes=1 --ntasks=1 --nodelist=n1 pmtop collect --fleet -d 0.5");
}
END_TEST

/* -- what a host says -- */

static const char *said_after(const char *const *lines, const char **advice)
{
	static struct fleet_said said;
	said = (struct fleet_said){ 0 };
	for (; *lines; lines++)
		fleet_said_take(&said, *lines, strlen(*lines), NOW_NS);
	*advice = fleet_said_advice(&said, 255);
	return said.text;
}

START_TEST(cause_is_retained_not_what_follows_from_it)
{
	static const struct {
		const char *lines[5], *text, *advice;
	} cases[] = {
		{ { "Welcome", "ssh: connect to host gate port 22: Connection refused",
			  "Connection closed by UNKNOWN port 65535" },
			"Connection refused", NULL },
		{ { "Host key verification failed.", "Connection closed by UNKNOWN port 65535" }, "Host key ver",
			"connect once" },
		{ { "Host key for n1 has changed and you have requested strict checking.", "Host key verification failed." },
			"has changed", "ssh-keygen -R" },
		{ { "me@n1: Permission denied (publickey).", " " }, "Permission denied", "ssh-agent" },
		{ { "pmtop: unknown option, or an option without its value: --fleet: see pmtop --help" }, "--fleet",
			"too old" },
		{ { "pmtop: unknown option, or an option without its value: --relay: see pmtop --help" }, "--relay",
			"too old to relay" },
		{ { "error: pods \"w\" not found", "command terminated with exit code 1" }, "pods", NULL },
		{ { "sh: 1: exec: sssh: not found" }, "sssh", "not found on this machine" },
		{ { "All is recorded.", "Connection to n1 closed by remote host." }, "closed by remote host", NULL },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *advice, *text = said_after(cases[i].lines, &advice);
		ck_assert_msg(strstr(text, cases[i].text) != NULL, "%s", text);
		ck_assert_msg(cases[i].advice ? advice && strstr(advice, cases[i].advice) : !advice, "%s", advice);
	}
}
END_TEST

START_TEST(cause_of_an_hour_ago_is_not_the_cause_of_now)
{
	struct fleet_said said = { 0 };
	fleet_said_take(&said, "pmtop: 3 samples were lost", 26, NOW_NS);
	fleet_said_take(&said, "Connection closed by n1", 23, NOW_NS + HOUR_NS);
	ck_assert_str_eq(said.text, "Connection closed by n1");
}
END_TEST

/* -- the copy of a stream -- */

START_TEST(copy_of_a_stream_begins_with_a_header_and_a_dictionary_and_loses_nothing)
{
	int ends[2];
	struct stream_writer writer = { 0 };
	struct stream_header header = { .pid = 1, .command = "train" };
	struct sample_set set = SAMPLE_SET_INIT, out = SAMPLE_SET_INIT;
	struct buffer bytes = BUFFER_INIT;
	char copy[1 << 16];
	bool has_gap;
	for (int i = 0; i < 9; i++) {
		set.time_ns = i;
		sample_set_figure(&set, i, METRIC_SYSTEM_CPUS, 0, i);
		stream_write_set(&writer, i == 5 ? BLOCK_DICTIONARY : BLOCK_TICK, &set, &bytes);
		sample_set_clear(&set);
	}
	ck_assert_int_eq(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
	struct fleet_tee *tee = fleet_tee_new(ends[1]);
	for (size_t at = 0; at < bytes.length; at += 7)
		fleet_tee_feed(tee, &header, bytes.data + at, bytes.length - at < 7 ? bytes.length - at : 7);
	ck_assert(fleet_tee_flush(tee));
	ssize_t length = read(ends[0], copy, sizeof copy);
	struct stream_reader *reader = stream_reader_new();
	ck_assert_int_eq(stream_reader_feed(reader, copy, (size_t)length), STATUS_OK);
	ck_assert_int_eq(stream_reader_next(reader, &out, &has_gap), STREAM_HEADED);
	ck_assert_int_eq(stream_reader_next(reader, &out, &has_gap), STREAM_DICTIONARY);
	for (int i = 6; i < 9; i++) {
		ck_assert_int_eq(stream_reader_next(reader, &out, &has_gap), STREAM_TICK);
		ck_assert(!has_gap);
	}
	ck_assert_uint_eq(stream_reader_losses(reader)->blocks, 0);
	close(ends[0]);
	ck_assert(fleet_tee_flush(tee));
	fleet_tee_free(tee);
	stream_reader_free(reader);
	sample_set_release(&set);
	sample_set_release(&out);
	stream_writer_release(&writer);
	buffer_release(&bytes);
}
END_TEST

/* -- the screen -- */

static struct canvas canvas;
static struct fleet_screen screen;

static const char *drawn(void)
{
	static struct buffer text;
	buffer_clear(&text);
	fleet_screen_draw(&screen, &canvas, fleet, &view, NOW_NS, NOW_NS);
	canvas_as_text(&canvas, &text);
	return text.data;
}

static void open_thousand(int width, int height, enum charset charset)
{
	static char numbers[RANKS][8];
	open_fleet(RANKS);
	for (int i = 0; i < RANKS; i++) {
		snprintf(numbers[i], sizeof numbers[i], "%d", i);
		run_rank(hosts[i], numbers[i], i == 613 ? 0.5 : 0.2, 0.1, STEPS);
	}
	ck_assert(fleet_view_fill(&view, fleet, FLEET_SORT_SLOWEST, NOW_NS));
	screen = (struct fleet_screen){ 0 };
	canvas = picture_canvas(width, height, charset);
}

static enum fleet_wish press(int key)
{
	return fleet_screen_key(&screen, (struct key_event){ .key = key }, fleet, &view);
}

START_TEST(thousand_ranks_on_80x24_begin_with_the_slowest)
{
	open_thousand(80, 24, CHARSET_ASCII);
	const char *text = drawn();
	ck_assert_ptr_nonnull(strstr(text, "1000 hosts: 1000 live"));
	ck_assert_ptr_nonnull(strstr(text, "1000 ranks"));
	const char *first = strstr(text, "rank 613");
	ck_assert_ptr_nonnull(first);
	ck_assert_ptr_null(strstr(text, "rank 614"));
	ck_assert_ptr_nonnull(strstr(first, "4.00"));
	ck_assert_ptr_nonnull(strstr(first, "####"));
	/* Its steps are longer than those of the others: they do not wait for it. */
	ck_assert(isnan(view.rows[0].lost_s) && view.rows[1].lost_s == 0);
	ck_assert_ptr_nonnull(strstr(text, "Enter open"));
	canvas_release(&canvas);
	close_fleet();
}
END_TEST

START_TEST(list_scrolls_to_the_last_rank_and_selection_opens_it)
{
	open_thousand(120, 40, CHARSET_BRAILLE);
	press(KEY_TO_END);
	ck_assert_ptr_nonnull(strstr(drawn(), "rank 999"));
	ck_assert_int_eq(press(KEY_RETURN), FLEET_WISH_OPEN);
	ck_assert_int_eq(fleet_screen_row(&screen, &view)->rank->number, 999);
	press('>');
	ck_assert_int_eq(screen.sort, FLEET_SORT_RANK);
	ck_assert(fleet_view_fill(&view, fleet, screen.sort, NOW_NS));
	ck_assert_ptr_nonnull(strstr(drawn(), "sorted by rank"));
	ck_assert_int_eq(fleet_screen_row(&screen, &view)->rank->number, 999);
	press(KEY_TAB);
	ck_assert_ptr_nonnull(strstr(drawn(), "REASON"));
	ck_assert_int_eq(press(KEY_RETURN), FLEET_WISH_NOTHING);
	ck_assert_int_eq(press('q'), FLEET_WISH_QUIT);
	canvas_release(&canvas);
	close_fleet();
}
END_TEST

START_TEST(reason_of_the_selected_host_is_shown_whole_on_80_columns)
{
	open_fleet(3);
	hosts[1]->state = FLEET_HOST_ENDED;
	snprintf(hosts[1]->reason, sizeof hosts[1]->reason,
		"me@node1: Permission denied (publickey,password). \342\206\222 pmtop cannot ask for a password: use a key, or "
		"ssh-agent");
	ck_assert(fleet_view_fill(&view, fleet, FLEET_SORT_SLOWEST, NOW_NS));
	screen = (struct fleet_screen){ .shows_hosts = true };
	canvas = picture_canvas(80, 24, CHARSET_ASCII);
	ck_assert_ptr_null(strstr(drawn(), "ssh-agent"));
	press(KEY_ARROW_DOWN);
	ck_assert_ptr_nonnull(strstr(drawn(), "ssh-agent"));
	hosts[1]->pause_ns = 300 * NS_PER_S;
	ck_assert_ptr_nonnull(strstr(drawn(), "ssh-agent; next try after 300 s"));
	canvas_release(&canvas);
	close_fleet();
}
END_TEST

START_TEST(any_size_is_drawn)
{
	open_thousand(200, 60, CHARSET_BRAILLE);
	for (int height = 1; height < 30; height += 3)
		for (int width = 1; width < 210; width += 13) {
			ck_assert(canvas_resize(&canvas, width, height));
			ck_assert_ptr_nonnull(drawn());
		}
	canvas_release(&canvas);
	close_fleet();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fleet");
	TCase *all = tcase_create("fleet");
	tcase_set_timeout(all, 60);
	tcase_add_test(all, clock_an_hour_ahead_is_known_within_half_of_the_round_trip);
	tcase_add_test(all, delays_of_two_directions_narrow_the_bounds_and_age_widens_them);
	tcase_add_test(all, error_on_a_busy_machine_is_that_of_the_fastest_exchanges);
	tcase_add_test(all, clock_that_was_set_is_followed_by_the_next_answer);
	tcase_add_test(all, answers_that_lie_are_not_used);
	tcase_add_test(all, synchronous_ranks_are_compared_by_their_own_time);
	tcase_add_test(all, lost_time_is_that_of_the_ranks_that_others_wait_for);
	tcase_add_test(all, of_many_ranks_the_late_one_is_charged_and_no_other);
	tcase_add_test(all, hosts_clock_an_hour_ahead_does_not_move_its_steps);
	tcase_add_test(all, impossible_times_are_left_out_and_counted);
	tcase_add_test(all, rank_without_steps_is_stuck_or_waits_or_is_silent);
	tcase_add_test(all, rank_with_a_few_very_slow_steps_is_the_slowest);
	tcase_add_test(all, rank_that_two_names_of_a_host_bring_is_shown_once);
	tcase_add_test(all, medians_are_those_of_sorted_values);
	tcase_add_test(all, commands_quote_hosts_and_refuse_options);
	tcase_add_test(all, cause_is_retained_not_what_follows_from_it);
	tcase_add_test(all, cause_of_an_hour_ago_is_not_the_cause_of_now);
	tcase_add_test(all, copy_of_a_stream_begins_with_a_header_and_a_dictionary_and_loses_nothing);
	tcase_add_test(all, thousand_ranks_on_80x24_begin_with_the_slowest);
	tcase_add_test(all, list_scrolls_to_the_last_rank_and_selection_opens_it);
	tcase_add_test(all, reason_of_the_selected_host_is_shown_whole_on_80_columns);
	tcase_add_test(all, any_size_is_drawn);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
