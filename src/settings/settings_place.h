/* settings_place.h: where a setting stands in the text of a pmtop.yaml. Private to src/settings. */
#ifndef PMTOP_SETTINGS_SETTINGS_PLACE_H
#define PMTOP_SETTINGS_SETTINGS_PLACE_H

#include <stdbool.h>
#include <stddef.h>

/* How a value is written there. */
enum place_kind {
	PLACE_VALUE,         /* in place of [begin, end) */
	PLACE_LINE,          /* as a line of its own at `begin`, `indent` blanks deep: "key: value" */
	PLACE_FLOW,          /* at `begin`, behind a brace: "key: value" and a comma unless `is_alone` */
	PLACE_SECTION,       /* as lines of their own at `begin`: the section and the key */
	PLACE_SECTION_FLOW,  /* at `begin`, behind a brace: "section: {key: value}" */
	PLACE_SECTION_VALUE, /* in place of [begin, end): "{key: value}" */
};
struct place {
	enum place_kind kind;
	size_t begin, end; /* bytes */
	size_t indent;
	bool is_alone;
};

/* False: the text is not YAML. */
bool place_find(const char *text, size_t length, const char *section, const char *key, struct place *out);

#endif
