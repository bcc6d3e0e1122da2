/* parts.h: shared drawing: panels, notes, wrapped text, times in one unit, list rows, CSV cells. */
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

/* From this size on panels are boxes and rows have room for words; below it, rules and short forms. */
bool parts_is_roomy(const struct canvas *canvas);
/* A box, or a rule if room is short; `right` (may be NULL) is shortened piece by piece. Returns the inside. */
struct rect parts_panel(
	struct canvas *canvas, struct rect rect, const char *title, struct line *right, enum role title_role);
/* The rows that parts_panel needs for its frame. */
int parts_panel_rows(const struct canvas *canvas);
/* A box in the middle of `rect` that says why a view is empty. '\n' separates paragraphs. */
void parts_note(struct canvas *canvas, struct rect rect, const char *title, const char *text);
/* Wraps text between words; returns the rows used (including rows cut below the rect). */
int parts_wrap(struct canvas *canvas, struct rect rect, enum role role, const char *text);

/* "14:02:11", local time; "–" for 0. `time_ns` is monotonic, as everything in the model. */
const char *parts_clock(char out[NUMBER_SIZE], const struct scene *scene, int64_t time_ns);
/* Seconds in the unit and with the precision that suit `like`, so that a column has one unit: "0.201 s", "4.51 ms". */
const char *parts_time(char out[NUMBER_SIZE], double seconds, double like);
/* The same without the unit; with a sign if `is_signed`, for differences. A positive value that would round to zero
 * is "<0.001". */
const char *parts_time_bare(char out[NUMBER_SIZE], double seconds, double like, bool is_signed);
const char *parts_time_unit(double like);
const char *parts_bytes_per_s(char out[NUMBER_SIZE], double bytes_per_s); /* "3.42 GB/s" */
/* "41 s", "12 min", "4 h 03": how long something has lasted so far. */
const char *parts_waiting(char out[NUMBER_SIZE], double seconds);
/* "0.3184", "1.2e-05". */
const char *parts_loss(char out[NUMBER_SIZE], double loss);
/* "batch 624 of epoch 7"; the index is the program's own. */
enum { BATCH_WORDS_SIZE = 48 };
const char *parts_batch_words(char out[BATCH_WORDS_SIZE], const struct run *run, const struct batch *batch);
/* "7/624", the same for columns and for searching. */
const char *parts_batch_name(char out[NUMBER_SIZE], const struct run *run, const struct batch *batch);
/* "1,204" batches; "≥ 1,204" if there may be more. */
const char *parts_batches(char out[NUMBER_SIZE], const struct scene *scene, bool is_at_least, double count);
/* "1,204". */
const char *parts_thousands(char out[NUMBER_SIZE], double count);

/* A scrolled list of `count` rows: keeps state->row and state->scroll in range for `height` rows, and handles the
 * keys that move the selection. A click in `list` selects the row under it. */
void parts_list_settle(struct view_state *state, int count, int height);
bool parts_list_key(struct view_state *state, struct key_event event, int count, struct rect list);
/* Handles < > and I, which choose among `count` columns to sort by; and a click on the title of a column. */
bool parts_sort_key(struct view_state *state, struct key_event event, int count);
void parts_sort_by(struct view_state *state, int column);
/* Handles n (or N): selects the next (previous) row that `matches` state->search, around the end. False: none, and a
 * message says that no `what` matches. */
bool parts_list_find(struct scene *scene, struct key_event event, int count, const char *what,
	bool (*matches)(const void *rows, int row, const char *search), const void *rows);

/* Draws the row as selected: one colour for all of it. */
void parts_select(struct canvas *canvas, struct rect row);

/* Whether a raised warning is about this operation of this run. */
bool parts_is_warned(const struct alerts *alerts, int run, uint32_t name);
enum role parts_severity_role(enum severity severity);
const char *parts_severity_sign(enum severity severity);
/* Whether `text` contains `part`, ignoring the case of ASCII letters; true for an empty `part`. */
bool parts_matches(const char *text, const char *part);

/* CSV: every cell but the first of a row is preceded by a comma. */
void parts_csv_text(struct buffer *out, bool is_first, const char *text);
void parts_csv_number(struct buffer *out, bool is_first, double value); /* empty where unknown */
void parts_csv_integer(struct buffer *out, bool is_first, int64_t value);
/* Two cells: nanoseconds since 1970, and the same as ISO 8601 in UTC; both empty for 0. */
void parts_csv_time(struct buffer *out, bool is_first, const struct scene *scene, int64_t time_ns);

#endif
