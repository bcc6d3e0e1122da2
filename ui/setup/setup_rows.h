/* setup_rows.h: what each row of the set-up screen shows and changes. Private to ui/setup. */
#ifndef PMTOP_UI_SETUP_SETUP_ROWS_H
#define PMTOP_UI_SETUP_SETUP_ROWS_H

#include "ui/setup/setup.h"

enum { SETUP_TEXT_SIZE = 160 };

struct setup_page_kind {
	const char *name, *title;
	int label_width, value_width; /* with a blank behind each */
	int (*count)(const struct setup *setup);
	/* The label, the value and a description of a row. */
	void (*describe)(const struct setup *setup, int row, char label[SETUP_TEXT_SIZE], char value[SETUP_TEXT_SIZE],
		char what[SETUP_TEXT_SIZE]);
	void (*change)(struct setup *setup, int row, int by); /* by: 1 or −1 */
	void (*move)(struct setup *setup, int row, int by);   /* NULL: rows cannot be moved */
};
extern const struct setup_page_kind setup_pages[SETUP_PAGES];

#endif
