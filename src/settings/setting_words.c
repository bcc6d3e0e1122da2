#include "src/settings/setting_words.h"

const char *const setting_color_words[] = { [COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never" };

const char *const setting_marks_words[] = {
	[MARKS_AUTO] = "auto", [MARKS_BRAILLE] = "braille", [MARKS_BLOCKS] = "blocks", [MARKS_ASCII] = "ascii"
};

const char *const setting_level_words[] = {
	[LEVEL_OFF] = "off", [LEVEL_INFO] = "info", [LEVEL_WARNING] = "warning", [LEVEL_CRITICAL] = "critical"
};

#define PANEL_WORD(name) #name,
const char *const setting_panel_words[] = { SETTING_PANELS(PANEL_WORD) };
#undef PANEL_WORD
