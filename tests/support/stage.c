#include "src/explain/explain.h"

#include <check.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/buffer.h"
#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/explain/explain_flagged.h"
#include "tests/support/stage.h"
#include "ui/terminal/term_text.h"

/* 14:00:00 UTC on 20 November 2026, when a story starts. */
static const int64_t story_realtime_ns = INT64_C(1795183200) * NS_PER_S;

void stage_open(struct stage *stage, const struct story_options *options, int width, int height)
{
	struct model_options model_options;

	setenv("TZ", "UTC", 1);
	tzset();
	setlocale(LC_CTYPE, "C.UTF-8");
	memset(stage, 0, sizeof *stage);
	settings_default(&stage->settings);
	stage->settings.refresh_s = (double)options->period_ns * 1e-9;
	model_options_default(&model_options);
	stage->model = model_new(&model_options);
	ck_assert_ptr_nonnull(stage->model);
	alerts_update(&stage->alerts, stage->model, &stage->settings);
	stage->screen = screen_new(stage->model, &stage->alerts, &stage->settings);
	ck_assert_ptr_nonnull(stage->screen);
	ck_assert(canvas_resize(&stage->canvas, width, height));
	stage->story = story_new(options);
	stage->begin_ns = options->start_ns;
}

void stage_close(struct stage *stage)
{
	alerts_release(&stage->alerts);
	story_free(stage->story);
	sample_set_release(&stage->set);
	canvas_release(&stage->canvas);
	screen_free(stage->screen);
	alerts_release(&stage->alerts);
	model_free(stage->model);
}

void stage_forget_alerts(struct stage *stage)
{
	free(stage->alerts.patterns);
	stage->alerts.patterns = NULL;
	stage->alerts.count = stage->alerts.pattern_room = 0;
}

void stage_play(struct stage *stage, double until_s)
{
	while (stage->model->now_ns < stage->begin_ns + (int64_t)(until_s * 1e9) && story_next(stage->story, &stage->set)) {
		model_apply(stage->model, &stage->set);
		explain_flagged(stage->model);
		alerts_update(&stage->alerts, stage->model, &stage->settings);
	}
	stage_draw(stage);
}

void stage_resize(struct stage *stage, int width, int height)
{
	ck_assert(canvas_resize(&stage->canvas, width, height));
	stage_draw(stage);
}

void stage_draw(struct stage *stage)
{
	screen_redraw(stage->screen);
	screen_draw(
		stage->screen, &stage->canvas, story_realtime_ns + stage->model->now_ns - stage->begin_ns, NS_PER_S / 2);
}

enum screen_wish stage_press(struct stage *stage, int key)
{
	enum screen_wish wish = screen_key(stage->screen, (struct key_event){ .key = key }, &stage->canvas);

	stage_draw(stage);
	return wish;
}

enum screen_wish stage_type(struct stage *stage, const char *keys)
{
	enum screen_wish wish = WISH_NOTHING;

	for (; *keys != '\0'; keys++)
		wish = stage_press(stage, *keys);
	return wish;
}

enum screen_wish stage_click(struct stage *stage, int x, int y)
{
	enum screen_wish wish =
		screen_key(stage->screen, (struct key_event){ .key = KEY_CLICK, .x = x, .y = y }, &stage->canvas);

	stage_draw(stage);
	return wish;
}

bool stage_find(const struct stage *stage, const char *text, int *x, int *y)
{
	struct buffer picture = BUFFER_INIT;
	const char *found;

	canvas_as_text(&stage->canvas, &picture);
	found = picture.data != NULL ? strstr(picture.data, text) : NULL;
	if (found != NULL && x != NULL && y != NULL) {
		char *row = picture.data;

		*y = 0;
		for (char *end = strchr(row, '\n'); end != NULL && end < found; end = strchr(row, '\n')) {
			row = end + 1;
			(*y)++;
		}
		picture.data[found - picture.data] = '\0';
		*x = (int)text_cells(row);
	}
	buffer_release(&picture);
	return found != NULL;
}

bool stage_shows(const struct stage *stage, const char *text) { return stage_find(stage, text, NULL, NULL); }

/* -- pictures in files -- */

static void read_picture(const char *path, struct buffer *out)
{
	FILE *file = fopen(path, "r");
	char bytes[4096];
	size_t length;

	if (file == NULL)
		return;
	while ((length = fread(bytes, 1, sizeof bytes, file)) > 0)
		buffer_add(out, bytes, length);
	fclose(file);
}

static void write_picture(const char *path, const struct buffer *picture)
{
	FILE *file = fopen(path, "w");

	ck_assert_msg(file != NULL, "cannot write %s", path);
	fwrite(picture->data, 1, picture->length, file);
	fclose(file);
}

static void print_difference(const char *expected, const char *actual)
{
	for (int row = 0; *expected != '\0' || *actual != '\0'; row++) {
		int wanted = (int)strcspn(expected, "\n"), got = (int)strcspn(actual, "\n");

		if (wanted != got || memcmp(expected, actual, (size_t)wanted) != 0)
			printf("%3d - %.*s\n%3d + %.*s\n", row, wanted, expected, row, got, actual);
		expected += wanted + (expected[wanted] == '\n');
		actual += got + (actual[got] == '\n');
	}
}

void picture_expect_file(const struct canvas *canvas, const char *name)
{
	struct buffer actual = BUFFER_INIT, expected = BUFFER_INIT;
	char path[256];
	bool is_same;

	snprintf(path, sizeof path, "tests/screens/expected/%s.txt", name);
	canvas_as_text(canvas, &actual);
	if (getenv("PMTOP_UPDATE") != NULL)
		write_picture(path, &actual);
	read_picture(path, &expected);
	is_same = expected.length == actual.length && memcmp(expected.data, actual.data, actual.length) == 0;
	if (!is_same) {
		printf("%s (- expected, + drawn; PMTOP_UPDATE=1 takes what was drawn)\n", path);
		print_difference(expected.data != NULL ? expected.data : "", actual.data);
	}
	buffer_release(&actual);
	buffer_release(&expected);
	ck_assert_msg(is_same, "the picture differs from %s", path);
}

void stage_expect(const struct stage *stage, const char *name) { picture_expect_file(&stage->canvas, name); }

void stage_expect_after(struct stage *stage, enum charset charset, const char *keys, const char *name)
{
	stage->canvas.charset = charset;
	stage_type(stage, keys);
	stage_draw(stage);
	stage_expect(stage, name);
}
