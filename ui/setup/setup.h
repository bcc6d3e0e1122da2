/* setup.h: the set-up screen (F2, or S): refresh, colours, panels and the levels of warnings. A change applies at once;
 * what was changed is saved in the user's pmtop.yaml when the screen is left. */
#ifndef PMTOP_UI_SETUP_SETUP_H
#define PMTOP_UI_SETUP_SETUP_H

#include <stdbool.h>

#include "src/rules/rule_levels.h"
#include "src/settings/settings.h"
#include "ui/themes/theme_book.h"
#include "ui/widgets/view.h"

enum setup_page { SETUP_DISPLAY, SETUP_PANELS, SETUP_WARNINGS, SETUP_PAGES };
enum { SETUP_RULES_MAX = 256 };

struct setup {
	bool is_open;
	bool has_changed; /* until the caller has applied the settings */
	struct settings *settings;
	const struct rule_book *rules; /* NULL: none */
	const char *path;              /* of the user's file; NULL: none, nothing is saved */
	/* private */
	char own_path[4096];
	struct settings saved; /* as they are in the file, or were at the start */
	enum setup_page page;
	bool is_in_rows; /* the cursor is in the rows, not in the list of pages */
	struct view_state rows[SETUP_PAGES];
	struct theme_book themes;
	enum setting_panel order[SETTING_PANEL_COUNT];
	bool is_shown[SETTING_PANEL_COUNT]; /* by panel */
	size_t rule_count;
	struct rule_row list[SETUP_RULES_MAX];
	struct rect pages, body;
};

/* `path`: the file that --config names; NULL: the user's own. */
void setup_init(struct setup *setup, struct settings *settings, const struct rule_book *rules, const char *path);
/* The rows that it takes of `height`; the view is drawn in the rest, so that a change is seen at once. */
int setup_height(const struct setup *setup, int height);
void setup_draw(struct setup *setup, struct canvas *canvas, struct rect rect);
/* Opens it with F2 or S; while it is open handles all keys but q. A message says where the settings were saved. */
bool setup_key(struct setup *setup, struct scene *scene, struct key_event event);
/* Saves what was changed, as when it is left: before pmtop ends. False: nothing was changed; else *text says where it
 * was saved, or why not. */
bool setup_save(struct setup *setup, char *text, size_t size);

#endif
