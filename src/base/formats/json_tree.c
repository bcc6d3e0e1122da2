#include "src/base/formats/json_tree.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/text.h"

enum { DEPTH_MAX = 64, CHUNK_BYTES = 64 * 1024, NUMBER_LENGTH_MAX = 63 };

struct chunk {
	struct chunk *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

struct json_tree {
	struct chunk *chunks;
	const struct json_value *root;
};

struct reading {
	struct json_tree *tree;
	const char *at, *end;
	unsigned line, depth;
	const char *fault; /* the first error; NULL: none yet */
};

static void *allocate(struct reading *reading, size_t size)
{
	size_t wanted = (size + 15) & ~(size_t)15;
	struct chunk *chunk = reading->tree->chunks;
	if (!chunk || chunk->size - chunk->used < wanted) {
		size_t room = wanted > CHUNK_BYTES ? wanted : CHUNK_BYTES;
		chunk = malloc(sizeof *chunk + room);
		if (!chunk) {
			reading->fault = "out of memory";
			return NULL;
		}
		*chunk = (struct chunk){ .next = reading->tree->chunks, .size = room };
		reading->tree->chunks = chunk;
	}
	void *taken = chunk->bytes + chunk->used;
	chunk->used += wanted;
	return taken;
}

static void refuse(struct reading *reading, const char *fault)
{
	if (!reading->fault)
		reading->fault = fault;
}

static int peek(struct reading *reading)
{
	for (; reading->at < reading->end && strchr(" \t\r\n", *reading->at) && *reading->at; reading->at++)
		reading->line += *reading->at == '\n';
	return reading->at < reading->end ? (unsigned char)*reading->at : -1;
}

static bool accept(struct reading *reading, char wanted)
{
	if (reading->fault || peek(reading) != wanted)
		return false;
	reading->at++;
	return true;
}

/* -- texts -- */

static uint32_t read_hex(struct reading *reading)
{
	uint32_t code = 0;
	for (int i = 0; i < 4; i++) {
		int sign = reading->at < reading->end ? (unsigned char)*reading->at++ : -1;
		int value = sign >= '0' && sign <= '9'         ? sign - '0'
			: (sign | 32) >= 'a' && (sign | 32) <= 'f' ? (sign | 32) - 'a' + 10
													   : -1;
		if (sign < 0 || value < 0) {
			refuse(reading, "expected four hexadecimal digits after \\u");
			return 0;
		}
		code = code << 4 | (uint32_t)value;
	}
	return code;
}

static size_t read_escape(struct reading *reading, char *out)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	char letter = reading->at < reading->end ? *reading->at++ : '\0';
	const char *known = letter ? strchr(letters, letter) : NULL;
	if (known) {
		*out = meanings[known - letters];
		return 1;
	}
	if (letter != 'u') {
		refuse(reading, "unknown escape sequence");
		return 0;
	}
	uint32_t code = read_hex(reading);
	if (code >= 0xd800 && code < 0xdc00 && reading->end - reading->at > 1 && reading->at[0] == '\\' &&
		reading->at[1] == 'u') {
		reading->at += 2;
		uint32_t low = read_hex(reading);
		code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00)) : 0xfffd;
	}
	/* Strings here are NUL-terminated, and a lone surrogate is no character: both become U+FFFD. */
	return utf8_encode(code == 0 || (code >= 0xd800 && code < 0xe000) ? 0xfffd : code, out);
}

static const char *read_text(struct reading *reading)
{
	size_t length = 0;
	const char *end = reading->at;
	while (end < reading->end && *end != '"')
		end += *end == '\\' && end + 1 < reading->end ? 2 : 1;
	if (end >= reading->end) {
		refuse(reading, "unterminated string");
		return NULL;
	}
	/* Escapes are never shorter than the bytes they encode. */
	char *text = allocate(reading, (size_t)(end - reading->at) + 1);
	while (text && !reading->fault && reading->at < end) {
		if ((unsigned char)*reading->at < ' ')
			refuse(reading, "control character in a string");
		else if (*reading->at != '\\')
			text[length++] = *reading->at++;
		else {
			reading->at++;
			length += read_escape(reading, text + length);
		}
	}
	if (!text || reading->fault)
		return NULL;
	text[length] = '\0';
	reading->at = end + 1;
	return text;
}

/* -- values -- */

static bool is_json_number(const char *text)
{
	text += *text == '-';
	if (*text == '0')
		text++;
	else if (strspn(text, "0123456789") == 0)
		return false;
	else
		text += strspn(text, "0123456789");
	if (*text == '.') {
		size_t digits = strspn(++text, "0123456789");
		if (digits == 0)
			return false;
		text += digits;
	}
	if (*text == 'e' || *text == 'E') {
		text++;
		text += *text == '+' || *text == '-';
		size_t digits = strspn(text, "0123456789");
		if (digits == 0)
			return false;
		text += digits;
	}
	return *text == '\0';
}

static void read_word(struct reading *reading, struct json_value *value)
{
	static const struct {
		const char *word;
		enum json_kind kind;
		double number;
	} words[] = { { "null", JSON_NULL, 0 }, { "true", JSON_BOOL, 1 }, { "false", JSON_BOOL, 0 } };
	char word[NUMBER_LENGTH_MAX + 1];
	size_t length = 0;
	while (reading->at + length < reading->end && reading->at[length] &&
		strchr("+-.0123456789abcdefghijklmnopqrstuvwxyzE", reading->at[length]))
		length++;
	if (length == 0 || length > NUMBER_LENGTH_MAX) {
		refuse(reading, "expected a value");
		return;
	}
	memcpy(word, reading->at, length);
	word[length] = '\0';
	reading->at += length;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strcmp(word, words[i].word) == 0) {
			value->kind = words[i].kind;
			value->number = words[i].number;
			return;
		}
	}
	value->kind = JSON_NUMBER;
	value->number = strtod(word, NULL);
	if (!is_json_number(word) || !isfinite(value->number))
		refuse(reading, "neither a number nor true, false or null");
}

static struct json_value *read_value(struct reading *reading);

static void read_members(struct reading *reading, struct json_value *value, bool has_keys, char end)
{
	const struct json_value **last = &value->first;
	if (++reading->depth > DEPTH_MAX)
		refuse(reading, "nested too deeply");
	bool is_empty = accept(reading, end);
	while (!is_empty && !reading->fault) {
		const char *key = NULL;
		if (has_keys && !accept(reading, '"'))
			refuse(reading, "expected a key");
		if (has_keys && !reading->fault)
			key = read_text(reading);
		if (has_keys && !reading->fault && !accept(reading, ':'))
			refuse(reading, "expected a colon after the key");
		struct json_value *member = reading->fault ? NULL : read_value(reading);
		if (!member)
			break;
		member->key = key;
		*last = member;
		last = &member->next;
		value->count++;
		if (accept(reading, end))
			break;
		if (!accept(reading, ','))
			refuse(reading, "expected a comma or a closing bracket");
	}
	reading->depth--;
}

static struct json_value *read_value(struct reading *reading)
{
	struct json_value *value = allocate(reading, sizeof *value);
	if (!value)
		return NULL;
	*value = (struct json_value){ .kind = JSON_NULL };
	if (accept(reading, '{')) {
		value->kind = JSON_OBJECT;
		read_members(reading, value, true, '}');
	} else if (accept(reading, '[')) {
		value->kind = JSON_ARRAY;
		read_members(reading, value, false, ']');
	} else if (accept(reading, '"')) {
		value->kind = JSON_TEXT;
		value->text = read_text(reading);
	} else {
		read_word(reading, value);
	}
	return reading->fault ? NULL : value;
}

enum status json_tree_read(const char *text, size_t length, struct json_tree **out, struct reason *why_not)
{
	struct json_tree *tree = calloc(1, sizeof *tree);
	if (!tree)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	struct reading reading = { .tree = tree, .at = text, .end = text + length, .line = 1 };
	do
		tree->root = read_value(&reading);
	while (tree->root && peek(&reading) >= 0);
	if (reading.fault) {
		json_tree_free(tree);
		return reason_set(why_not, STATUS_DAMAGED, NULL, "line %u: %s", reading.line, reading.fault);
	}
	*out = tree;
	return STATUS_OK;
}

void json_tree_free(struct json_tree *tree)
{
	while (tree && tree->chunks) {
		struct chunk *next = tree->chunks->next;
		free(tree->chunks);
		tree->chunks = next;
	}
	free(tree);
}

const struct json_value *json_tree_root(const struct json_tree *tree) { return tree->root; }

const struct json_value *json_member(const struct json_value *object, const char *key, enum json_kind kind)
{
	if (!object || object->kind != JSON_OBJECT)
		return NULL;
	for (const struct json_value *member = object->first; member; member = member->next)
		if (strcmp(member->key, key) == 0)
			return member->kind == kind ? member : NULL;
	return NULL;
}

double json_member_number(const struct json_value *object, const char *key)
{
	const struct json_value *member = json_member(object, key, JSON_NUMBER);
	return member ? member->number : NAN;
}

const char *json_member_text(const struct json_value *object, const char *key)
{
	const struct json_value *member = json_member(object, key, JSON_TEXT);
	return member ? member->text : NULL;
}
