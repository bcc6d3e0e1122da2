/* picker.h: the list of processes that `pmtop` without arguments shows. The caller passes new rows each time; the
 * selection follows its process and run. */
#ifndef PMTOP_UI_WIDGETS_PICKER_H
#define PMTOP_UI_WIDGETS_PICKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ui/core/canvas.h"
#include "ui/core/keys.h"

/* Texts are clean and borrowed; "" or NULL if unknown. */
struct picker_row {
	int32_t pid;
	const char *run, *rank, *epoch, *batch, *rate, *memory;
	const char *gpu;   /* "0: 38.9 GB" */
	const char *state; /* "training", "ended 14:02 (killed), last events kept" */
	const char *how;   /* "published (pmtop.h 1.0)", "pmtop -p 51377" */
	bool is_ended;
	bool is_slowest; /* of the ranks of its run */
};
struct picker {
	/* private */
	int row, scroll; /* among the shown rows */
	int32_t pid;
	char run[128]; /* what was selected when it was last drawn */
	bool is_typing;
	char filter[64];
	struct rect list;
};

enum picker_wish { PICKER_NOTHING, PICKER_CHOSEN, PICKER_QUIT };

void picker_init(struct picker *picker);
void picker_draw(struct picker *picker, const struct picker_row *rows, size_t count, struct canvas *canvas);
/* After PICKER_CHOSEN, picker_selected says which row. */
enum picker_wish picker_key(struct picker *picker, const struct picker_row *rows, size_t count, struct key_event event);
/* Index of the selected row, −1 if no row is shown. */
int picker_selected(const struct picker *picker, const struct picker_row *rows, size_t count);

#endif
