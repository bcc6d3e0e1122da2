#include "src/settings/settings_place.h"

#include <string.h>
#include <yaml.h>

/* -- offsets: libyaml counts characters -- */

static size_t byte_of(const char *text, size_t length, size_t characters)
{
	size_t at = 0;
	while (characters > 0 && at < length) {
		at++;
		while (at < length && ((unsigned char)text[at] & 0xc0) == 0x80)
			at++;
		characters--;
	}
	return at;
}

static size_t line_end(const char *text, size_t length, size_t at)
{
	while (at < length && text[at] != '\n' && text[at] != '\r')
		at++;
	return at;
}

static size_t indent_of(const char *text, size_t at)
{
	size_t begin = at;
	while (begin > 0 && text[begin - 1] != '\n' && text[begin - 1] != '\r')
		begin--;
	return at - begin;
}

/* -- nodes -- */

struct walk {
	yaml_parser_t parser;
	yaml_event_t event;
	const char *text;
	size_t length;
};

static bool next(struct walk *walk)
{
	yaml_event_delete(&walk->event);
	return yaml_parser_parse(&walk->parser, &walk->event) != 0;
}

static size_t event_begin(const struct walk *walk)
{
	return byte_of(walk->text, walk->length, walk->event.start_mark.index);
}

static size_t event_end(const struct walk *walk)
{
	return byte_of(walk->text, walk->length, walk->event.end_mark.index);
}

static bool is_word(const struct walk *walk, const char *word)
{
	return walk->event.type == YAML_SCALAR_EVENT && strcmp((const char *)walk->event.data.scalar.value, word) == 0;
}

/* One value: where it begins, and where its last character ends. */
struct node {
	size_t begin, end;
	bool is_mapping, is_flow, is_block_list;
};

/* Passes the rest of the node whose first event is the current one. The end event of a node without brackets stands at
 * the next token, so that its last scalar says where it ends. */
static bool pass_node(struct walk *walk, struct node *node)
{
	yaml_event_type_t type = walk->event.type;
	*node = (struct node){ event_begin(walk), event_end(walk), false, false, false };
	if (type != YAML_MAPPING_START_EVENT && type != YAML_SEQUENCE_START_EVENT)
		return true;
	node->is_mapping = type == YAML_MAPPING_START_EVENT;
	node->is_flow = node->is_mapping ? walk->event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE
									 : walk->event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
	node->is_block_list = !node->is_mapping && !node->is_flow;
	for (int depth = 1; depth > 0;) {
		if (!next(walk))
			return false;
		type = walk->event.type;
		bool is_end = type == YAML_MAPPING_END_EVENT || type == YAML_SEQUENCE_END_EVENT;
		depth += is_end ? -1 : type == YAML_MAPPING_START_EVENT || type == YAML_SEQUENCE_START_EVENT;
		if (event_end(walk) > event_begin(walk))
			node->end = event_end(walk);
	}
	return true;
}

/* -- a key of the section -- */

/* Its value: an empty one is behind the colon, a list of lines is replaced from the colon on. */
static void place_at_value(const struct walk *walk, const struct node *node, size_t key_end, struct place *out)
{
	size_t colon = key_end;
	while (colon < walk->length && walk->text[colon] != ':')
		colon++;
	bool is_behind_colon = node->begin == node->end || node->is_block_list;
	*out = (struct place){ .kind = PLACE_VALUE,
		.begin = is_behind_colon ? colon + 1 : node->begin,
		.end = node->begin == node->end ? colon + 1 : node->end };
}

/* The current event is the section's value. */
static bool find_in_section(struct walk *walk, const char *key, size_t section_begin, struct place *out)
{
	size_t begin = event_begin(walk), end = event_end(walk);
	if (walk->event.type != YAML_MAPPING_START_EVENT) {
		bool is_empty = begin == end;
		*out = (struct place){ .kind = is_empty ? PLACE_LINE : PLACE_SECTION_VALUE,
			.begin = is_empty ? line_end(walk->text, walk->length, begin) : begin,
			.end = end,
			.indent = indent_of(walk->text, section_begin) + 2 };
		return true;
	}
	bool is_flow = walk->event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE, is_alone = true;
	size_t indent = indent_of(walk->text, begin), last = begin;
	while (next(walk) && walk->event.type != YAML_MAPPING_END_EVENT) {
		bool is_key = is_word(walk, key);
		size_t key_end = event_end(walk);
		struct node node;
		is_alone = false;
		if (!next(walk) || !pass_node(walk, &node))
			return false;
		if (is_key) {
			place_at_value(walk, &node, key_end, out);
			return true;
		}
		last = node.end > key_end ? node.end : key_end;
	}
	*out = is_flow
		? (struct place){ .kind = PLACE_FLOW, .begin = begin + 1, .is_alone = is_alone }
		: (struct place){ .kind = PLACE_LINE, .begin = line_end(walk->text, walk->length, last), .indent = indent };
	return walk->event.type == YAML_MAPPING_END_EVENT;
}

/* -- the document -- */

/* A section that is not there goes to the end of the text, or before the document's end marker. */
static bool find_end(struct walk *walk, size_t last, struct place *out)
{
	bool is_open = next(walk) && walk->event.type == YAML_DOCUMENT_END_EVENT;
	bool has_marker = is_open && !walk->event.data.document_end.implicit;
	*out = (struct place){ .kind = PLACE_SECTION,
		.begin = has_marker ? line_end(walk->text, walk->length, last) : walk->length };
	return is_open;
}

static bool find_in_document(struct walk *walk, const char *section, const char *key, struct place *out)
{
	size_t begin = event_begin(walk), last = begin;
	if (walk->event.type != YAML_MAPPING_START_EVENT)
		return walk->event.type == YAML_SCALAR_EVENT && find_end(walk, last, out);
	bool is_flow = walk->event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE, is_alone = true;
	while (next(walk) && walk->event.type != YAML_MAPPING_END_EVENT) {
		bool is_section = is_word(walk, section);
		size_t section_begin = event_begin(walk), name_end = event_end(walk);
		struct node node;
		is_alone = false;
		if (!next(walk))
			return false;
		if (is_section)
			return find_in_section(walk, key, section_begin, out);
		if (!pass_node(walk, &node))
			return false;
		last = node.end > name_end ? node.end : name_end;
	}
	if (!is_flow)
		return find_end(walk, last, out);
	*out = (struct place){ .kind = PLACE_SECTION_FLOW, .begin = begin + 1, .is_alone = is_alone };
	return true;
}

bool place_find(const char *text, size_t length, const char *section, const char *key, struct place *out)
{
	struct walk walk = { .text = text, .length = length };
	if (!yaml_parser_initialize(&walk.parser))
		return false;
	yaml_parser_set_encoding(&walk.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&walk.parser, (const unsigned char *)text, length);
	bool is_found = next(&walk) && next(&walk); /* the stream begins, then the document */
	if (is_found && walk.event.type == YAML_STREAM_END_EVENT)
		*out = (struct place){ .kind = PLACE_SECTION, .begin = length };
	else
		is_found = is_found && next(&walk) && find_in_document(&walk, section, key, out);
	yaml_event_delete(&walk.event);
	yaml_parser_delete(&walk.parser);
	return is_found;
}
