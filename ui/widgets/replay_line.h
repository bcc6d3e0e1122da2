/* replay_line.h: the line of a replay above the last one: position in the recording, speed, flagged batches, lost
 * blocks. If there is room, an outline of the step times on the same time axis is drawn above it.
 *
 * "14:02:33  0:12:03 / 1:02:10  ━━━━━━━━━━▲━━━━━█──────▲─── ×──────  2x  ▲ 3  12 blocks lost" */
#ifndef PMTOP_UI_WIDGETS_REPLAY_LINE_H
#define PMTOP_UI_WIDGETS_REPLAY_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/core/canvas.h"

enum { REPLAY_COLUMNS_MAX = 512, REPLAY_TYPED_SIZE = 40 };

enum replay_state {
	REPLAY_PLAYING,
	REPLAY_PAUSED,
	REPLAY_FOLLOWING,
	REPLAY_SEEKING,
	REPLAY_ENDED,
	REPLAY_STILL /* a single picture without a line */
};

struct replay_column {
	double step_s; /* mean of the steps; NAN = none, or not read yet */
	bool is_flagged;
	bool is_lost;   /* blocks of the recording are missing here */
	bool is_silent; /* nothing was recorded: a suspend, a stopped monitor */
};
struct replay_line {
	enum replay_state state;
	double speed;  /* 1 = as recorded; HUGE_VAL = as fast as it goes */
	bool has_span; /* false: a pipe, whose duration is unknown */
	int64_t begin_ns, at_ns, end_ns;
	int64_t realtime_offset_ns;
	double done_ratio; /* of a seek */
	uint64_t lost_blocks;
	uint64_t flag_count;
	size_t column_count; /* as many as replay_line_bar returns; 0 = not read yet */
	struct replay_column columns[REPLAY_COLUMNS_MAX];
	bool is_typing; /* the user is typing a time in the last line */
	char typed[REPLAY_TYPED_SIZE];
	struct rect bar; /* its last position, with the outline above it, for clicks */
};
/* The rows it needs on a canvas: 0 for a still picture. */
int replay_line_rows(const struct replay_line *line, const struct canvas *canvas);
/* Cells of the bar on a canvas of this width. */
int replay_line_bar(const struct replay_line *line, int width);
void replay_line_draw(struct replay_line *line, struct canvas *canvas, struct rect rect);
/* The prompt, in place of the key hints. */
void replay_line_prompt(const struct replay_line *line, struct canvas *canvas, struct rect row);
/* "replay 2x", "‖ paused", "following", "seeking 43 %": for the header. */
const char *replay_line_state(const struct replay_line *line, char *out, size_t size);
/* The time at a click; false if the click is elsewhere. */
bool replay_line_hit(const struct replay_line *line, int x, int y, int64_t *time_ns);

#endif
