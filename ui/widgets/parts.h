/* parts.h: what several views draw: panels, notes, wrapped text, times in one unit, list rows, cells of a CSV file. */
#ifndef PMTOP_UI_WIDGETS_PARTS_H
#define PMTOP_UI_WIDGETS_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/text.h"
#include "ui/core/canvas.h"
#include "ui/core/line.h"
#include "ui/widgets/view.h"

/* From here on panels are boxes and rows have room for words; below, rules and short forms. */
bool parts_is_roomy(const struct canvas *canvas);
/* A box, or a rule where room is short; `right` (may be NULL) is shortened piece by piece. Returns the inside. */
struct rect parts_panel(
	struct canvas *canvas, struct rect rect, const char *title, struct line *right, enum role title_role);
/* How many rows parts_panel takes beside the inside. */
int parts_panel_rows(const struct canvas *canvas);
/* A box in the middle of `rect` that says why there is nothing. Paragraphs are parted by '\n'. */
void parts_note(struct canvas *canvas, struct rect rect, const char *title, const char *text);
/* Breaks between words; returns the rows used (also of what was cut below the rect). */
int parts_wrap(struct canvas *canvas, struct rect rect, enum role role, const char *text);

/* "14:02:11", local time; "–" for 0. `time_ns` is monotonic, as everything in the model. */
const char *parts_clock(char out[NUMBER_SIZE], const struct scene *scene, int64_t time_ns);
/* Seconds in the unit and with the places that suit `like`, so that a column keeps one unit: "0.201 s", "4.51 ms". */
const char *parts_time(char out[NUMBER_SIZE], double seconds, double like);
/* The same without the unit; with a sign if `is_signed`, for differences. A little that would read as nothing is
 * "<0.001". */
const char *parts_time_bare(char out[NUMBER_SIZE], double seconds, double like, bool is_signed);
const char *parts_time_unit(double like);
/* "41 s", "12 min", "4 h 03": how long something has not ended. */
const char *parts_waiting(char out[NUMBER_SIZE], double seconds);
/* "0.3184", "1.2e-05". */
const char *parts_loss(char out[NUMBER_SIZE], double loss);
/* "7/624": the epoch's ordinal and the batch's index. */
const char *parts_batch_name(char out[NUMBER_SIZE], const struct run *run, const struct batch *batch);
/* "1,204". */
const char *parts_thousands(char out[NUMBER_SIZE], double count);

/* A scrolled list of `count` rows: keeps state->row and state->scroll in range for `height` rows, and answers the keys
 * that move. A click chooses the row under it, where `list` holds the rows. */
void parts_list_settle(struct view_state *state, int count, int height);
bool parts_list_key(struct view_state *state, struct key_event event, int count, struct rect list);

/* Makes what stands in the row the selection: one colour for all of it. */
void parts_select(struct canvas *canvas, struct rect row);

/* Whether a raised warning is about this operation of this run. */
bool parts_is_warned(const struct alerts *alerts, int run, uint32_t name);
enum role parts_severity_role(enum severity severity);
const char *parts_severity_sign(enum severity severity);
/* Whether `text` holds `part`, whatever the case of ASCII letters; true for an empty `part`. */
bool parts_matches(const char *text, const char *part);

/* CSV: each cell with its comma in front, but for the first of a row. */
void parts_csv_text(struct buffer *out, bool is_first, const char *text);
void parts_csv_number(struct buffer *out, bool is_first, double value); /* empty where unknown */
void parts_csv_integer(struct buffer *out, bool is_first, int64_t value);
/* Two cells: nanoseconds since 1970, and the same as ISO 8601 in UTC; both empty for 0. */
void parts_csv_time(struct buffer *out, bool is_first, const struct scene *scene, int64_t time_ns);

#endif
