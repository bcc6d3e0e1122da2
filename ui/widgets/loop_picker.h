/* loop_picker.h: in place of the view, the loops of the shown run's process, of which a person chooses the one whose
 * iterations are the steps. The selection follows its line. */
#ifndef PMTOP_UI_WIDGETS_LOOP_PICKER_H
#define PMTOP_UI_WIDGETS_LOOP_PICKER_H

#include <stdbool.h>
#include <stdint.h>

#include "ui/widgets/view.h"

enum { LOOP_CHOICE_SIZE = 544 };

struct loop_picker {
	bool is_open;
	/* private */
	int row, scroll;
	bool has_moved; /* until then, what is in use is selected */
	uint32_t line;  /* of what is selected; 0: pmtop chooses */
	char file[512];
	struct rect list;
	bool has_choice;
	char choice[LOOP_CHOICE_SIZE];
};

void loop_picker_draw(struct loop_picker *picker, const struct scene *scene, struct canvas *canvas, struct rect rect);
/* Handles `s`, and while it is open the keys that move the selection, Enter and Esc; false: not its key. */
bool loop_picker_key(struct loop_picker *picker, struct scene *scene, struct key_event event);
/* The process whose loops are wanted; 0: none, −1: of any that has some. */
int32_t loop_picker_wants(const struct loop_picker *picker, const struct scene *scene);
/* True once after a choice: FILE:LINE, or "" if pmtop chooses. */
bool loop_picker_take(struct loop_picker *picker, char out[LOOP_CHOICE_SIZE]);

#endif
