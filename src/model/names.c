#include "src/model/names.h"

#include <stdlib.h>
#include <string.h>

static size_t cut_length(const char *text, size_t max)
{
	size_t length = strnlen(text, max + 1);
	if (length <= max)
		return length;
	length = max;
	while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
		length--;
	return length;
}

char *copy_text(const char *text, size_t max)
{
	size_t length = cut_length(text ? text : "", max);
	char *copy = malloc(length + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text ? text : "", length);
	copy[length] = '\0';
	return copy;
}

void put_text(char *out, size_t size, const char *text)
{
	size_t length = cut_length(text ? text : "", size - 1);
	memcpy(out, text ? text : "", length);
	out[length] = '\0';
}

void names_release(struct names *names)
{
	for (size_t i = 0; i < names->room; i++)
		free(names->texts[i]);
	free(names->texts);
	*names = (struct names){ 0 };
}

void names_set(struct names *names, uint32_t id, const char *text)
{
	if (id == 0 || id > NAMES_MAX || !text)
		return;
	if (id >= names->room) {
		size_t room = names->room ? names->room : 32;
		while (room <= id)
			room *= 2;
		char **texts = realloc(names->texts, room * sizeof *texts);
		if (!texts)
			return;
		memset(texts + names->room, 0, (room - names->room) * sizeof *texts);
		names->texts = texts;
		names->room = room;
	}
	char *copy = copy_text(text, NAME_LENGTH_MAX);
	if (!copy)
		return;
	free(names->texts[id]);
	names->texts[id] = copy;
}

const char *names_text(const struct names *names, uint32_t id) { return id < names->room ? names->texts[id] : NULL; }

uint32_t names_find(const struct names *names, const char *text)
{
	for (size_t id = 1; id < names->room; id++)
		if (names->texts[id] && strcmp(names->texts[id], text) == 0)
			return (uint32_t)id;
	return 0;
}
