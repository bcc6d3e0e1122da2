/* stage.h: a screen over a complete model, fed by a story, at an injected time: no clock, no terminal, no process.
 *
 * Pictures are compared with tests/screens/expected/NAME.txt, relative to the working directory (the root of the
 * source). With PMTOP_UPDATE=1 they are written instead. */
#ifndef PMTOP_TESTS_SUPPORT_STAGE_H
#define PMTOP_TESTS_SUPPORT_STAGE_H

#include "src/model/model.h"
#include "src/rules/alerts.h"
#include "src/settings/settings.h"
#include "tests/support/story.h"
#include "ui/core/canvas.h"
#include "ui/screen.h"

struct stage {
	struct settings settings;
	struct model *model;
	struct alerts alerts;
	struct screen *screen;
	struct canvas canvas;
	struct story *story;
	struct sample_set set;
	int64_t begin_ns;
};

/* Time zone and locale are set too, so that clocks on the screen read the same everywhere. */
void stage_open(struct stage *stage, const struct story_options *options, int width, int height);
void stage_close(struct stage *stage);
/* Warnings and patterns are gone; the rules stay. */
void stage_forget_alerts(struct stage *stage);
/* Plays the story until so many seconds after its start, or its end, and draws. */
void stage_play(struct stage *stage, double until_s);
void stage_resize(struct stage *stage, int width, int height);
void stage_draw(struct stage *stage);
/* Presses keys and draws after each: printable ones as they are, '\r' Enter, '\t' Tab, '\033' Esc. Returns the last
 * key's result. */
enum screen_wish stage_type(struct stage *stage, const char *keys);
enum screen_wish stage_press(struct stage *stage, int key);
enum screen_wish stage_click(struct stage *stage, int x, int y);
/* Whether a row of the picture contains this text; its position is in *x and *y, which may be NULL. */
bool stage_shows(const struct stage *stage, const char *text);
bool stage_find(const struct stage *stage, const char *text, int *x, int *y);
/* If they differ, fails the test and prints the differing rows of both. */
void stage_expect(const struct stage *stage, const char *name);
/* The same in this charset after these keys. */
void stage_expect_after(struct stage *stage, enum charset charset, const char *keys, const char *name);
void picture_expect_file(const struct canvas *canvas, const char *name);

#endif
