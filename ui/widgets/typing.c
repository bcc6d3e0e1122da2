#include "ui/widgets/typing.h"

#include <string.h>

#include "src/base/text.h"

enum typing typing_key(char *text, size_t size, struct key_event event)
{
	size_t length = strlen(text), added;
	char bytes[4];
	if (event.key == KEY_RETURN)
		return TYPING_DONE;
	if (event.key == KEY_ESC) {
		text[0] = '\0';
		return TYPING_ENDED;
	}
	if (event.key == KEY_ERASE || event.key == 8) {
		while (length > 0 && (text[--length] & 0xc0) == 0x80)
			;
		text[length] = '\0';
	} else if (event.key >= ' ' && event.key < KEY_ARROW_UP &&
		length + (added = utf8_encode((uint32_t)event.key, bytes)) < size) {
		memcpy(text + length, bytes, added);
		text[length + added] = '\0';
	}
	return TYPING_ON;
}
