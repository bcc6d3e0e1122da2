/* The screen of pmtop trace: every tab and page, from a made-up trace and from a real one of an H100. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/buffer.h"
#include "tests/support/picture.h"
#include "tests/support/stage.h"
#include "tests/support/suite.h"
#include "tests/support/traces.h"
#include "ui/terminal/term_text.h"
#include "ui/trace/trace_reading.h"
#include "ui/trace/trace_screen.h"

#define RESNET "tests/fixtures/traces/h100-resnet18.pt.trace.json.gz"

static struct profile_analysis *ranks[2];
static size_t rank_count;
static struct trace_screen *screen;
static struct canvas canvas;
static struct profile_view view;

static void close_screen(void)
{
	trace_screen_free(screen);
	canvas_release(&canvas);
	for (size_t i = 0; i < rank_count; i++)
		traces_free(ranks[i]);
	rank_count = 0;
	screen = NULL;
	view = (struct profile_view){ .group = GROUP_NAME };
}

static void draw(void) { trace_screen_draw(screen, &canvas); }

static void show(int width, int height, enum charset charset)
{
	canvas = picture_canvas(width, height, charset);
	screen = trace_screen_new(ranks, rank_count, &view);
	draw();
}

static void open_full(int width, int height, enum charset charset)
{
	ranks[rank_count++] = traces_read(traces_full, 0);
	show(width, height, charset);
}

static void open_real(int width, int height, enum charset charset)
{
	ranks[rank_count++] = traces_read_file(RESNET);
	show(width, height, charset);
}

static bool press(int key)
{
	bool goes_on = trace_screen_key(screen, (struct key_event){ .key = key }, &canvas);
	draw();
	return goes_on;
}

static void type(const char *keys)
{
	for (; *keys; keys++)
		ck_assert(press(*keys == '\r' ? KEY_RETURN : *keys == '\033' ? KEY_ESC : *keys == '\t' ? KEY_TAB : *keys));
}

static int row_of(const char *text)
{
	struct buffer shown = BUFFER_INIT;
	canvas_as_text(&canvas, &shown);
	const char *found = strstr(shown.data, text);
	int row = found ? 0 : -1;
	for (const char *at = shown.data; found && at < found; at++)
		row += *at == '\n';
	buffer_release(&shown);
	return row;
}

static bool shows(const char *text) { return row_of(text) >= 0; }

static void resize(int width, int height)
{
	ck_assert(canvas_resize(&canvas, width, height));
	draw();
}

/* -- pictures -- */

static const char *const tab_names[] = { "overview", "operators", "kernels", "copies", "gaps", "memory", "modules",
	"streams", "ranks" };
enum { TABS = sizeof tab_names / sizeof *tab_names };

static void expect_tabs(const char *trace, int width, int height, const char *suffix)
{
	for (int tab = 0; tab < TABS; tab++) {
		char name[100];
		press('1' + tab);
		snprintf(name, sizeof name, "trace_%s_%s_%dx%d%s", trace, tab_names[tab], width, height, suffix);
		picture_expect_file(&canvas, name);
	}
}

START_TEST(every_tab_of_a_small_trace_at_80x24)
{
	open_full(80, 24, CHARSET_BRAILLE);
	expect_tabs("full", 80, 24, "");
}
END_TEST

START_TEST(every_tab_of_a_small_trace_in_ascii)
{
	open_full(80, 24, CHARSET_ASCII);
	expect_tabs("full", 80, 24, "_ascii");
}
END_TEST

START_TEST(every_tab_of_a_small_trace_at_120x40)
{
	open_full(120, 40, CHARSET_BRAILLE);
	expect_tabs("full", 120, 40, "");
}
END_TEST

START_TEST(tabs_of_a_real_trace_at_three_sizes)
{
	static const int sizes[][2] = { { 80, 24 }, { 120, 40 }, { 200, 60 } };
	open_real(80, 24, CHARSET_BRAILLE);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		char name[80];
		resize(sizes[i][0], sizes[i][1]);
		for (int tab = 0; tab < 3; tab++) {
			press('1' + tab);
			snprintf(name, sizeof name, "trace_resnet18_%s_%dx%d", tab_names[tab], sizes[i][0], sizes[i][1]);
			picture_expect_file(&canvas, name);
		}
	}
}
END_TEST

static void expect_after(const char *keys, const char *name)
{
	type(keys);
	picture_expect_file(&canvas, name);
}

START_TEST(an_operator_opens_its_kernels_and_a_kernel_its_operators)
{
	open_full(120, 40, CHARSET_BRAILLE);
	expect_after("2\r", "trace_op_120x40");
	expect_after("\r", "trace_op_kernel_120x40");
	expect_after("\033\033", "trace_full_operators_120x40");
}
END_TEST

START_TEST(pages_fit_80_columns)
{
	open_full(80, 24, CHARSET_ASCII);
	expect_after("2\r", "trace_op_80x24_ascii");
	expect_after("\033\0335\r", "trace_gap_80x24_ascii");
	resize(80, 40);
	expect_after("\033\0333\r", "trace_kernel_80x40_ascii");
	expect_after("\033\0337\r", "trace_module_80x40_ascii");
}
END_TEST

START_TEST(a_gap_shows_what_the_host_did_in_it)
{
	open_full(120, 40, CHARSET_BRAILLE);
	expect_after("5\r", "trace_gap_120x40");
}
END_TEST

START_TEST(every_row_of_a_page_can_be_scrolled_to)
{
	open_real(80, 24, CHARSET_BRAILLE);
	/* One operator launches it; its delays stand below the screen. */
	type("3/bn_bw_1C11_singler\r\r");
	ck_assert(shows("Launched by"));
	ck_assert(!shows("Launch delay"));
	for (int i = 0; i < 12; i++)
		press(KEY_ARROW_DOWN);
	ck_assert(shows("Launch delay"));
	type("\r");
	ck_assert(shows("this row has no details"));
	press(KEY_TO_HOME);
	ck_assert(!shows("Launch delay"));
	press(KEY_PAGE_DOWN);
	ck_assert(shows("Launch delay"));
	press(KEY_PAGE_UP);
	type("\r");
	ck_assert(shows("─ aten::cudnn_batch_norm_backward ─"));
}
END_TEST

START_TEST(a_step_in_a_gap_opens_the_steps)
{
	open_real(80, 24, CHARSET_BRAILLE);
	type("5\r");
	ck_assert(shows("ProfilerStep#4"));
	type("\r");
	ck_assert(shows("─ ProfilerStep* ─"));
	ck_assert(shows("2 calls"));
}
END_TEST

START_TEST(a_trace_of_the_cpu_says_what_it_lacks)
{
	ranks[rank_count++] = traces_read(traces_of_cpu, -1);
	show(120, 40, CHARSET_BRAILLE);
	expect_after("1", "trace_cpu_overview_120x40");
	expect_after("2", "trace_cpu_operators_120x40");
	expect_after("\r", "trace_cpu_op_120x40");
	type("3");
	ck_assert(shows("The trace has no GPU kernels"));
	type("4");
	ck_assert(shows("The trace has no copies"));
	type("5");
	ck_assert(shows("no gaps in it"));
	type("6");
	ck_assert(shows("profile_memory=True) records them."));
	type("7");
	ck_assert(shows("with_modules=True) records them."));
	type("8");
	ck_assert(shows("no streams"));
	type("9");
	ck_assert(shows("This is one trace."));
}
END_TEST

START_TEST(two_ranks_stand_beside_each_other)
{
	ranks[rank_count++] = traces_read(traces_full, 0);
	ranks[rank_count++] = traces_read(traces_of_cpu, 1);
	show(120, 40, CHARSET_BRAILLE);
	ck_assert(shows("trace 1 of 2"));
	expect_after("9", "trace_ranks_two_120x40");
	type("]");
	ck_assert(shows("trace 2 of 2"));
	ck_assert(shows("rank 1/2"));
	type("1");
	ck_assert(shows("no GPU work in this trace"));
	type("[");
	ck_assert(shows("trace 1 of 2"));
	type("9/rank1\r\r");
	ck_assert(shows("trace 2 of 2"));
	ck_assert(shows("What to do"));
}
END_TEST

START_TEST(a_damaged_trace_says_so_first)
{
	static const char text[] = "{\"traceEvents\": [" TRACE_OP("aten::mm", "0", "5", "1") "," TRACE_OP(
		"aten::add", "6", "5", "2") ",{\"ph\":\"X\"";
	struct reason reason = { "", "" };
	ranks[0] = malloc(sizeof *ranks[0]);
	ck_assert_int_eq(profile_analyse_memory(ranks[0], text, strlen(text), GROUP_NAME, &reason), STATUS_OK);
	rank_count = 1;
	show(120, 40, CHARSET_BRAILLE);
	ck_assert_int_eq(row_of("the trace ends early, at byte"), 3);
}
END_TEST

START_TEST(a_trace_without_an_event_draws_every_tab)
{
	ranks[rank_count++] = traces_read("", -1);
	show(120, 40, CHARSET_BRAILLE);
	for (int tab = 0; tab < TABS; tab++) {
		press('1' + tab);
		type("\rns/x\r\033");
	}
	type("1");
	ck_assert(shows("The trace has no steps"));
	ck_assert(shows("No recommendation"));
}
END_TEST

START_TEST(every_size_is_drawn_without_writing_outside)
{
	open_full(200, 60, CHARSET_BRAILLE);
	for (int width = 1; width < 210; width += 7)
		for (int height = 1; height < 64; height += 5) {
			resize(width, height);
			for (int tab = 0; tab < TABS; tab++) {
				press('1' + tab);
				press(KEY_RETURN);
				press(KEY_TO_END);
				press('?');
				press(KEY_ESC);
			}
		}
}
END_TEST

START_TEST(reading_shows_how_far_it_is)
{
	struct trace_reading reading = { "/runs/rank1.json.gz", 2, 8, 0.41 };
	canvas = picture_canvas(80, 24, CHARSET_BRAILLE);
	trace_reading_draw(&reading, &canvas);
	picture_expect_file(&canvas, "trace_reading_80x24");
	ck_assert(shows("reading 41 %"));
	reading.ratio = 1;
	trace_reading_draw(&reading, &canvas);
	ck_assert(shows("analysing"));
	reading.ratio = NAN;
	trace_reading_draw(&reading, &canvas);
	ck_assert(shows("reading –"));
}
END_TEST

/* -- keys -- */

/* The first row of the table. */
static bool first_row_has(const char *text)
{
	int row = row_of(text);
	return row == 5;
}

START_TEST(s_sorts_by_the_next_column_and_capital_i_reverses)
{
	open_full(120, 40, CHARSET_BRAILLE);
	type("3");
	ck_assert(shows("TOTAL↓"));
	ck_assert(first_row_has("gemm<float, 128, 32>"));
	type("s");
	ck_assert(shows("MEAN↓"));
	type("I");
	ck_assert(shows("MEAN↑"));
	ck_assert(first_row_has("gemm<float, 128, 64>"));
	type("SS");
	ck_assert(shows("COUNT↓"));
	type("S");
	ck_assert(shows("KERNEL↑"));
	ck_assert(first_row_has("gemm<float, 128, 32>"));
	type(">");
	ck_assert(shows("COUNT↓"));
	ck_assert(first_row_has("gemm<float, 128, 64>"));
	/* The order stays when the tab is left. */
	type("12"
		 "3");
	ck_assert(shows("COUNT↓"));
}
END_TEST

START_TEST(b_groups_the_operators_anew_and_back)
{
	struct buffer first = BUFFER_INIT, again = BUFFER_INIT;
	open_full(160, 40, CHARSET_BRAILLE);
	type("2");
	canvas_as_text(&canvas, &first);
	ck_assert(shows("by name"));
	static const char *const groups[] = { "by shape", "by stack", "by module", "by name" };
	for (size_t i = 0; i < 4; i++) {
		type("b");
		ck_assert_msg(shows(groups[i]), "%s", groups[i]);
	}
	canvas_as_text(&canvas, &again);
	ck_assert_str_eq(again.data, first.data);
	buffer_release(&first);
	buffer_release(&again);
}
END_TEST

START_TEST(operators_by_module_stand_below_the_module)
{
	open_full(160, 40, CHARSET_BRAILLE);
	type("2bbb");
	int net = row_of(" Net_0"), linear = row_of("   Linear_0"), other = row_of("   Linear_1");
	ck_assert_int_ge(net, 0);
	ck_assert_int_gt(linear, net);
	ck_assert_int_gt(row_of("     aten::"), linear);
	ck_assert_int_gt(other, linear);
	type("s");
	ck_assert_msg(shows(" in Linear_0"), "the module is named where the rows are no tree");
}
END_TEST

START_TEST(a_limit_leaves_the_first_rows_of_any_order)
{
	view.limit = 2;
	open_full(120, 40, CHARSET_BRAILLE);
	type("2");
	ck_assert(shows("2 · of "));
	struct buffer by_time = BUFFER_INIT, by_name = BUFFER_INIT;
	const char *name;
	ck_assert(trace_screen_write(screen, &by_time, &name));
	ck_assert_str_eq(name, "Operators");
	type("sss");
	ck_assert(trace_screen_write(screen, &by_name, &name));
	ck_assert_str_ne(by_time.data, by_name.data);
	unsigned lines = 0;
	for (const char *c = by_time.data; *c; c++)
		lines += *c == '\n';
	ck_assert_uint_eq(lines, 3);
	ck_assert_ptr_eq(
		strstr(by_time.data,
			"operator,by,calls,self_gpu_s,total_gpu_s,self_cpu_s,total_cpu_s,kernels,tflop_per_s,share_ratio\n"),
		by_time.data);
	buffer_release(&by_time);
	buffer_release(&by_name);
	static const struct {
		const char *key, *begin;
	} tabs[] = { { "4", "direction,memory,count,bytes,time_s,mean_s,rate_bytes_per_s,share_ratio\n" },
		{ "8", "gpu,stream,busy_s,share_ratio,kernels,compute_s,copies,copying_s,comm_s\nGPU 0,stream 7," } };
	for (size_t i = 0; i < sizeof tabs / sizeof *tabs; i++) {
		struct buffer csv = BUFFER_INIT;
		type(tabs[i].key);
		ck_assert(trace_screen_write(screen, &csv, &name));
		ck_assert_msg(strncmp(csv.data, tabs[i].begin, strlen(tabs[i].begin)) == 0, "%s", csv.data);
		buffer_release(&csv);
	}
	ck_assert(press('w'));
	ck_assert(trace_screen_wants_csv(screen));
	type("1");
	ck_assert(!trace_screen_wants_csv(screen));
	ck_assert(!trace_screen_write(screen, &by_time, &name));
}
END_TEST

START_TEST(small_bins_beside_a_long_duration_show_their_edges)
{
	struct buffer events = BUFFER_INIT;
	for (int i = 0; i < 11; i++)
		buffer_printf(&events, TRACE_KERNEL("k", "7", "%d", "%d", "") ",", 20 * i, i + 1);
	buffer_puts(&events, TRACE_KERNEL("k", "7", "300", "100000", ""));
	ranks[rank_count++] = traces_read(events.data, -1);
	buffer_release(&events);
	show(120, 60, CHARSET_BRAILLE);
	type("3\r");
	ck_assert(shows("1.00 µs – 2.61 µs"));
}
END_TEST

START_TEST(of_several_gpus_the_overview_has_the_mean_and_each)
{
	ranks[rank_count++] = traces_read(TRACE_STEP("ProfilerStep#1", "0", "100") "," TRACE_KERNEL("k", "7", "0", "40",
										  "") ","
											  "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":1,\"tid\":7,"
											  "\"ts\":20,\"dur\":80,\"args\":{\"device\":1}}",
		-1);
	show(120, 40, CHARSET_BRAILLE);
	ck_assert(shows("mean of 2 GPUs"));
	ck_assert(shows("GPUs busy                   60 %   60.0 µs"));
	ck_assert(shows("GPU 0 busy                  40 %   40.0 µs"));
	ck_assert(shows("GPU 1 busy                  80 %   80.0 µs"));
}
END_TEST

START_TEST(ranks_without_a_gpu_explain_no_column_of_one_and_name_what_is_missing)
{
	ranks[rank_count++] = traces_read(traces_of_cpu, 0);
	ranks[rank_count++] = traces_read(traces_of_cpu, 2);
	ranks[0]->profile.world_size = ranks[1]->profile.world_size = 4;
	show(160, 40, CHARSET_BRAILLE);
	type("9");
	ck_assert(shows("Traces of ranks are missing: 1, 3"));
	ck_assert(!shows("CPU-bound:"));
}
END_TEST

START_TEST(a_search_goes_to_matches_around_the_end)
{
	open_full(120, 40, CHARSET_BRAILLE);
	type("2/relu\r");
	ck_assert(shows("/relu"));
	type("\r");
	ck_assert(shows("─ aten::relu ─"));
	type("\033n\r");
	ck_assert(shows("─ aten::relu ─"));
	type("\033\033/nothing\r");
	ck_assert(shows("no operator matches \"nothing\""));
	type("\033");
	ck_assert(!shows("/nothing"));
	type("1/");
	ck_assert(shows("no table to search"));
}
END_TEST

START_TEST(escape_goes_back_one_page_at_a_time)
{
	open_full(120, 40, CHARSET_BRAILLE);
	type("2\r");
	ck_assert(shows("─ aten::addmm ─"));
	type("\r");
	ck_assert(shows("─ gemm<float, 128, 32> ─"));
	type("\r");
	ck_assert(shows("─ aten::addmm ─"));
	type("\033");
	ck_assert(shows("─ gemm<float, 128, 32> ─"));
	type("\033");
	ck_assert(shows("─ aten::addmm ─"));
	type("\033");
	ck_assert(shows("─ Operators ─"));
	type("\033");
	ck_assert(shows("What to do"));
}
END_TEST

START_TEST(endless_pages_end_with_a_message)
{
	open_full(120, 40, CHARSET_BRAILLE);
	type("2");
	for (int i = 0; i < 40; i++)
		type("\r");
	ck_assert(shows("too many pages are open"));
	for (int i = 0; i < 16; i++)
		type("\033");
	ck_assert(shows("─ Operators ─"));
}
END_TEST

START_TEST(enter_on_a_recommendation_opens_its_table)
{
	open_real(120, 40, CHARSET_BRAILLE);
	type("\r");
	ck_assert(shows("─ Longest gaps ─"));
	type("1");
	press(KEY_ARROW_DOWN);
	ck_assert(shows("stages pageable memory"));
	type("\r");
	ck_assert(shows("─ Copies ─"));
}
END_TEST

START_TEST(a_recommendation_names_the_line_of_the_program)
{
	open_full(120, 40, CHARSET_BRAILLE);
	ck_assert(shows(".item() waits for the GPU 1 time, 148 µs in all, mostly in train.py(12): main"));
}
END_TEST

START_TEST(one_copy_is_one)
{
	open_full(120, 40, CHARSET_BRAILLE);
	ck_assert(shows("1 copy from pageable memory takes 60.0 µs"));
}
END_TEST

START_TEST(arrows_change_the_device_of_memory)
{
	open_real(120, 40, CHARSET_BRAILLE);
	type("6");
	ck_assert(shows("Allocated memory: GPU 0"));
	press(KEY_ARROW_RIGHT);
	ck_assert(shows("Allocated memory: CPU"));
	press(KEY_ARROW_RIGHT);
	ck_assert(shows("Allocated memory: GPU 0"));
	type("\r");
	ck_assert(shows("─ aten::empty ─"));
}
END_TEST

START_TEST(tab_and_clicks_open_tabs_and_sort)
{
	open_real(120, 40, CHARSET_BRAILLE);
	type("\t");
	ck_assert(shows("─ Operators ─"));
	press(KEY_BACK_TAB);
	press(KEY_BACK_TAB);
	ck_assert(shows("This is one trace."));
	trace_screen_key(screen, (struct key_event){ .key = KEY_CLICK, .x = 33, .y = 1 }, &canvas);
	draw();
	ck_assert(shows("─ Kernels ─"));
	/* The title of COUNT, then the selected row. */
	trace_screen_key(screen, (struct key_event){ .key = KEY_CLICK, .x = 54, .y = 4 }, &canvas);
	draw();
	ck_assert(shows("COUNT↓"));
	trace_screen_key(screen, (struct key_event){ .key = KEY_CLICK, .x = 20, .y = 5 }, &canvas);
	draw();
	ck_assert(shows("launches, "));
}
END_TEST

START_TEST(q_and_a_lost_terminal_end_it)
{
	open_full(80, 24, CHARSET_BRAILLE);
	ck_assert(!press('q'));
	ck_assert(!press(KEY_HANGUP));
	type("?");
	ck_assert(shows("Help"));
	ck_assert(!press('q'));
}
END_TEST

/* A real trace without stacks, of 84,725 events, where it is at hand. */
START_TEST(the_shared_trace_is_shown)
{
	static const char path[] = "../../shared/data/traces/h100-gpt-ondemand.json.gz";
	if (access(path, R_OK) != 0)
		return;
	ranks[rank_count++] = traces_read_file(path);
	show(120, 40, CHARSET_BRAILLE);
	ck_assert(shows("GPU busy 23 %"));
	type("2\r");
	ck_assert(shows("─ aten::mm ─"));
	ck_assert(shows("818 calls"));
	type("\033\0333");
	ck_assert(shows("1,019"));
	type("5\r");
	ck_assert(shows("GPU 0 idle for 2.54 ms"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace");
	TCase *tests = tcase_create("all");
	tcase_add_checked_fixture(tests, NULL, close_screen);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, every_tab_of_a_small_trace_at_80x24);
	tcase_add_test(tests, every_tab_of_a_small_trace_in_ascii);
	tcase_add_test(tests, every_tab_of_a_small_trace_at_120x40);
	tcase_add_test(tests, tabs_of_a_real_trace_at_three_sizes);
	tcase_add_test(tests, an_operator_opens_its_kernels_and_a_kernel_its_operators);
	tcase_add_test(tests, pages_fit_80_columns);
	tcase_add_test(tests, a_gap_shows_what_the_host_did_in_it);
	tcase_add_test(tests, every_row_of_a_page_can_be_scrolled_to);
	tcase_add_test(tests, a_step_in_a_gap_opens_the_steps);
	tcase_add_test(tests, a_trace_of_the_cpu_says_what_it_lacks);
	tcase_add_test(tests, two_ranks_stand_beside_each_other);
	tcase_add_test(tests, a_damaged_trace_says_so_first);
	tcase_add_test(tests, a_trace_without_an_event_draws_every_tab);
	tcase_add_test(tests, every_size_is_drawn_without_writing_outside);
	tcase_add_test(tests, reading_shows_how_far_it_is);
	tcase_add_test(tests, s_sorts_by_the_next_column_and_capital_i_reverses);
	tcase_add_test(tests, b_groups_the_operators_anew_and_back);
	tcase_add_test(tests, operators_by_module_stand_below_the_module);
	tcase_add_test(tests, a_limit_leaves_the_first_rows_of_any_order);
	tcase_add_test(tests, small_bins_beside_a_long_duration_show_their_edges);
	tcase_add_test(tests, of_several_gpus_the_overview_has_the_mean_and_each);
	tcase_add_test(tests, ranks_without_a_gpu_explain_no_column_of_one_and_name_what_is_missing);
	tcase_add_test(tests, a_search_goes_to_matches_around_the_end);
	tcase_add_test(tests, escape_goes_back_one_page_at_a_time);
	tcase_add_test(tests, endless_pages_end_with_a_message);
	tcase_add_test(tests, enter_on_a_recommendation_opens_its_table);
	tcase_add_test(tests, a_recommendation_names_the_line_of_the_program);
	tcase_add_test(tests, one_copy_is_one);
	tcase_add_test(tests, arrows_change_the_device_of_memory);
	tcase_add_test(tests, tab_and_clicks_open_tabs_and_sort);
	tcase_add_test(tests, q_and_a_lost_terminal_end_it);
	tcase_add_test(tests, the_shared_trace_is_shown);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
