/* keys.h: keys and clicks, independent of the terminal's escape sequences. Printable characters are their own code
 * (32…126 and beyond). */
#ifndef PMTOP_UI_CORE_KEYS_H
#define PMTOP_UI_CORE_KEYS_H

enum key {
	KEY_NOTHING = 0,
	KEY_TAB = 9,
	KEY_RETURN = 13,
	KEY_ESC = 27,
	KEY_ERASE = 127,
	KEY_ARROW_UP = 0x110000,
	KEY_ARROW_DOWN,
	KEY_ARROW_LEFT,
	KEY_ARROW_RIGHT,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_TO_HOME,
	KEY_TO_END,
	KEY_BACK_TAB,
	KEY_FUNCTION_1,
	KEY_FUNCTION_2,
	KEY_CLICK, /* with x, y */
	KEY_WHEEL_UP,
	KEY_WHEEL_DOWN,
	KEY_WINDOW, /* the size changed */
	KEY_HANGUP, /* the terminal is gone */
};

struct key_event {
	int key;
	int x, y;
};

#endif
