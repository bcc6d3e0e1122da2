/* pmtop trace on a real terminal: opens, sorts, searches, opens details and quits; the terminal is as before. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/support/suite.h"
#include "tests/support/vt.h"

#define TRACE "tests/fixtures/traces/h100-resnet18.pt.trace.json.gz"
enum { DEADLINE_MS = 20000 };
#define ASSERT_SHOWS(vt, text) ck_assert_msg(vt_wait_text(vt, text, DEADLINE_MS), "the screen has no \"%s\"", text)

static const char *const environment[] = { "TERM=xterm-256color", "LC_ALL=C.UTF-8", "NO_COLOR",
	"XDG_CONFIG_HOME=/nonexistent", NULL };

static const char *program(void)
{
	static char path[4096];
	const char *build = getenv("PMTOP_BUILD");
	snprintf(path, sizeof path, "%s/pmtop", build ? build : "build");
	return path;
}

static struct vt *start(int width, int height, const char *first, const char *second)
{
	char *const argv[] = { (char *)program(), "trace", (char *)first, (char *)second, NULL };
	return vt_start(width, height, argv, environment);
}

static int end(struct vt *vt)
{
	int status;
	ck_assert(vt_wait_exit(vt, &status, DEADLINE_MS));
	vt_free(vt);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

START_TEST(a_person_sorts_searches_looks_into_a_kernel_and_quits)
{
	struct vt *vt = start(120, 40, TRACE, NULL);
	struct termios before = vt_modes(vt);
	ASSERT_SHOWS(vt, "What to do");
	ASSERT_SHOWS(vt, "GPU busy 42 %");
	vt_press(vt, "3");
	ASSERT_SHOWS(vt, "TOTAL↓");
	vt_press(vt, "s");
	ASSERT_SHOWS(vt, "MEAN↓");
	vt_press(vt, "/max_pool_b\r");
	ASSERT_SHOWS(vt, "/max_pool_b");
	vt_press(vt, "\r");
	ASSERT_SHOWS(vt, "Launch delay");
	vt_press(vt, "\r");
	ASSERT_SHOWS(vt, "─ aten::max_pool2d_with_indices_backward ─");
	vt_press(vt, "\033");
	ASSERT_SHOWS(vt, "Launch delay");
	vt_resize(vt, 80, 24);
	ASSERT_SHOWS(vt, "1Over");
	vt_press(vt, "q");
	int status;
	ck_assert(vt_wait_exit(vt, &status, DEADLINE_MS));
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	struct termios after = vt_modes(vt);
	ck_assert_uint_eq(before.c_lflag | ICANON | ECHO, after.c_lflag | ICANON | ECHO);
	ck_assert(after.c_lflag & ICANON && after.c_lflag & ECHO);
	ck_assert(vt_saw(vt, "\033[?1049l"));
	vt_free(vt);
}
END_TEST

START_TEST(a_format_or_batch_prints_on_a_terminal_too)
{
	static const char *const options[] = { "--format=text", "-b" };
	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		struct vt *vt = start(100, 200, TRACE, options[i]);
		ASSERT_SHOWS(vt, "WHAT TO DO");
		ck_assert_int_eq(end(vt), 0);
	}
	struct vt *vt = start(100, 10, TRACE, "--json");
	int status;
	ck_assert(vt_wait_exit(vt, &status, DEADLINE_MS));
	ck_assert(vt_saw(vt, "\"curve\":["));
	vt_free(vt);
}
END_TEST

/* 64 GB of blanks between two events, as gzip: 16 MB again and again. */
static void write_long(const char *path)
{
	enum { PIECE = 16 << 20, PIECES = 4096 };
	char *blanks = malloc(PIECE), *packed = malloc(PIECE);
	z_stream stream = { 0 };
	gzFile start = gzopen(path, "wb");
	ck_assert_int_gt(gzputs(start, "{\"traceEvents\": ["), 0);
	ck_assert_int_eq(gzclose(start), Z_OK);
	memset(blanks, ' ', PIECE);
	ck_assert_int_eq(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_in = (Bytef *)blanks;
	stream.avail_in = PIECE;
	stream.next_out = (Bytef *)packed;
	stream.avail_out = PIECE;
	ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
	FILE *file = fopen(path, "ab");
	for (int i = 0; i < PIECES; i++)
		ck_assert_uint_eq(fwrite(packed, stream.total_out, 1, file), 1);
	ck_assert_int_eq(fclose(file), 0);
	deflateEnd(&stream);
	free(blanks);
	free(packed);
}

START_TEST(q_ends_it_while_it_reads)
{
	char path[] = "/tmp/pmtop-trace-XXXXXX";
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	write_long(path);
	struct vt *vt = start(80, 24, path, NULL);
	ASSERT_SHOWS(vt, " %");
	ASSERT_SHOWS(vt, "reading ");
	vt_press(vt, "q");
	unlink(path);
	ck_assert_int_eq(end(vt), 0);
}
END_TEST

START_TEST(a_trace_that_is_typed_is_printed)
{
	struct vt *vt = start(100, 40, "-", NULL);
	vt_press(vt,
		"{\"traceEvents\": "
		"[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2}]}\n\004");
	ASSERT_SHOWS(vt, "no GPU work in this trace");
	ck_assert_int_eq(end(vt), 0);
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_reported_below_the_screen)
{
	struct vt *vt = start(120, 40, "README.md", NULL);
	ASSERT_SHOWS(vt, "README.md is no trace");
	ck_assert_int_ne(end(vt), 0);
	vt = start(120, 40, TRACE, "README.md");
	ASSERT_SHOWS(vt, "1 of 2 traces could not be read");
	ASSERT_SHOWS(vt, "What to do");
	vt_press(vt, "q");
	ASSERT_SHOWS(vt, "README.md is no trace");
	ck_assert_int_ne(end(vt), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace_screen");
	TCase *tests = tcase_create("all");
	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, a_person_sorts_searches_looks_into_a_kernel_and_quits);
	tcase_add_test(tests, a_format_or_batch_prints_on_a_terminal_too);
	tcase_add_test(tests, q_ends_it_while_it_reads);
	tcase_add_test(tests, a_trace_that_is_typed_is_printed);
	tcase_add_test(tests, a_file_that_cannot_be_read_is_reported_below_the_screen);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
