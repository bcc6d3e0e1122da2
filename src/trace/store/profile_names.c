#include "src/trace/store/profile_names.h"

#include <stdlib.h>

#include "src/base/text.h"

enum { NAMES_MAX = 1 << 24, NAME_LENGTH_MAX = 1 << 20, TEXT_MAX = 1 << 30 };

static uint64_t word_at(const char *text)
{
	uint64_t word;
	memcpy(&word, text, sizeof word);
	return word;
}

static uint32_t hash_of(const char *text, size_t length)
{
	const uint64_t factor = 0x9e3779b97f4a7c15;
	uint64_t hash = length * factor;
	for (; length >= 8; text += 8, length -= 8) {
		hash = (hash ^ word_at(text)) * factor;
		hash ^= hash >> 32;
	}
	uint64_t last = 0;
	memcpy(&last, text, length);
	hash = (hash ^ last) * factor;
	return (uint32_t)(hash >> 32);
}

static bool grow_slots(struct profile_names *names)
{
	uint32_t count = names->slot_count ? names->slot_count * 2 : 1024;
	uint32_t *slots = calloc(count, sizeof *slots);
	if (!slots)
		return false;
	for (uint32_t i = 1; i < names->count; i++) {
		uint32_t slot = names->names[i].hash & (count - 1);
		while (slots[slot])
			slot = (slot + 1) & (count - 1);
		slots[slot] = i;
	}
	free(names->slots);
	names->slots = slots;
	names->slot_count = count;
	return true;
}

static bool grow_text(struct profile_names *names, size_t more)
{
	if (names->text_length + more <= names->text_capacity)
		return true;
	size_t capacity = (names->text_length + more) * 2;
	char *text = capacity < TEXT_MAX ? realloc(names->text, capacity) : NULL;
	if (text) {
		names->text = text;
		names->text_capacity = capacity;
	}
	return text != NULL;
}

static bool grow_names(struct profile_names *names)
{
	if (names->count < names->capacity)
		return true;
	uint32_t capacity = names->capacity ? names->capacity * 2 : 256;
	struct profile_name *grown = capacity <= NAMES_MAX ? realloc(names->names, capacity * sizeof *grown) : NULL;
	if (grown) {
		names->names = grown;
		names->capacity = capacity;
	}
	return grown != NULL;
}

static uint32_t insert(struct profile_names *names, struct profile_slice text, uint32_t hash)
{
	if (names->is_full || !grow_names(names) || !grow_text(names, text.length) ||
		(names->count * 2 >= names->slot_count && !grow_slots(names))) {
		names->is_full = true;
		return PROFILE_NAME_OTHER;
	}
	uint32_t index = names->count++, slot = hash & (names->slot_count - 1);
	while (names->slots[slot])
		slot = (slot + 1) & (names->slot_count - 1);
	names->slots[slot] = index;
	names->names[index] =
		(struct profile_name){ .offset = (uint32_t)names->text_length, .length = (uint32_t)text.length, .hash = hash };
	memcpy(names->text + names->text_length, text.text, text.length);
	names->text_length += text.length;
	return index;
}

bool profile_names_init(struct profile_names *names)
{
	*names = (struct profile_names){ 0 };
	if (!grow_names(names) || !grow_slots(names) || !grow_text(names, 1024))
		return false;
	names->names[0] = (struct profile_name){ 0 };
	names->count = 1;
	return profile_names_add(names, (struct profile_slice){ "(other names)", 13 }) == PROFILE_NAME_OTHER;
}

void profile_names_release(struct profile_names *names)
{
	free(names->text);
	free(names->names);
	free(names->slots);
	*names = (struct profile_names){ 0 };
}

static uint32_t look_up(const struct profile_names *names, struct profile_slice text, uint32_t hash)
{
	for (uint32_t slot = hash & (names->slot_count - 1); names->slots[slot];
		 slot = (slot + 1) & (names->slot_count - 1)) {
		const struct profile_name *name = &names->names[names->slots[slot]];
		if (name->hash == hash && name->length == text.length &&
			token_equal(names->text + name->offset, text.text, text.length))
			return names->slots[slot];
	}
	return 0;
}

uint32_t profile_names_add(struct profile_names *names, struct profile_slice text)
{
	if (!text.length)
		return PROFILE_NAME_NONE;
	if (text.length > NAME_LENGTH_MAX)
		text.length = NAME_LENGTH_MAX;
	uint32_t hash = hash_of(text.text, text.length), found = look_up(names, text, hash);
	return found ? found : insert(names, text, hash);
}

uint32_t profile_names_find(const struct profile_names *names, struct profile_slice text)
{
	return text.length ? look_up(names, text, hash_of(text.text, text.length)) : 0;
}

struct profile_slice profile_names_text(const struct profile_names *names, uint32_t name)
{
	if (name == PROFILE_NAME_NONE || name >= names->count)
		return (struct profile_slice){ "", 0 };
	return (struct profile_slice){ names->text + names->names[name].offset, names->names[name].length };
}

/* -- showing -- */

static bool hex4(const char *text, size_t length, uint32_t *code)
{
	*code = 0;
	for (size_t i = 0; i < 4; i++) {
		char byte = i < length ? text[i] : '\0';
		uint32_t digit = byte >= '0' && byte <= '9'    ? (uint32_t)(byte - '0')
			: (byte | 32) >= 'a' && (byte | 32) <= 'f' ? (uint32_t)((byte | 32) - 'a' + 10)
													   : 16;
		if (digit > 15)
			return false;
		*code = *code * 16 + digit;
	}
	return true;
}

/* `at`: behind \u. Returns the bytes used; 0 = no such escape. */
static size_t decode_unicode(const char *at, size_t left, char out[4], size_t *length)
{
	uint32_t code, low;
	size_t used = 4;
	if (!hex4(at, left, &code))
		return 0;
	if (code >= 0xd800 && code < 0xdc00 && left >= 10 && at[4] == '\\' && at[5] == 'u' &&
		hex4(at + 6, left - 6, &low) && low >= 0xdc00 && low < 0xe000) {
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		used = 10;
	}
	if (code >= 0xd800 && code < 0xe000)
		code = 0xfffd;
	*length = utf8_encode(code, out);
	return used;
}

static size_t unescape(struct profile_slice text, char *out, size_t size)
{
	static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
	size_t length = 0;
	for (size_t i = 0; i < text.length && length + 4 < size; i++) {
		const char *at = text.text + i;
		if (*at != '\\' || i + 1 == text.length) {
			out[length++] = *at;
			continue;
		}
		i++;
		size_t added, used = at[1] == 'u' ? decode_unicode(at + 2, text.length - i - 1, out + length, &added) : 0;
		const char *found = at[1] ? strchr(from, at[1]) : NULL;
		if (used) {
			length += added;
			i += used;
		} else {
			out[length++] = found ? to[found - from] : at[1];
		}
	}
	return length;
}

const char *profile_show(struct profile_slice text, char *out, size_t size)
{
	char plain[4096 + 8];
	size_t length = unescape(text, plain, size < sizeof plain ? size + 4 : sizeof plain);
	text_clean(out, size, plain, length);
	return out;
}

const char *profile_names_show(const struct profile_names *names, uint32_t name, char *out, size_t size)
{
	return profile_show(profile_names_text(names, name), out, size);
}

char *profile_names_copy(const struct profile_names *names, uint32_t name)
{
	struct profile_slice text = profile_names_text(names, name);
	/* Of one byte of the text up to three are made. */
	size_t size = 3 * text.length + 8;
	char *plain = malloc(size), *out = malloc(size);
	if (plain && out)
		text_clean(out, size, plain, unescape(text, plain, size));
	if (!plain) {
		free(out);
		out = NULL;
	}
	free(plain);
	return out;
}

bool profile_names_begin(const struct profile_names *names, uint32_t name, const char *prefix)
{
	struct profile_slice text = profile_names_text(names, name);
	size_t length = strlen(prefix);
	return text.length >= length && memcmp(text.text, prefix, length) == 0;
}

bool profile_names_contain(const struct profile_names *names, uint32_t name, const char *part)
{
	struct profile_slice text = profile_names_text(names, name);
	return memmem(text.text, text.length, part, strlen(part)) != NULL;
}
