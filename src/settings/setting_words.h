/* setting_words.h: the words of pmtop.yaml for enum color_choice, marks_choice, setting_level and setting_panel. */
#ifndef PMTOP_SETTINGS_SETTING_WORDS_H
#define PMTOP_SETTINGS_SETTING_WORDS_H

#include "src/settings/settings.h"

extern const char *const setting_color_words[], *const setting_marks_words[], *const setting_level_words[],
																				  *const setting_panel_words[];

#endif
