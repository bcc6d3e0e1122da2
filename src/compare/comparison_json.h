/* comparison_json.h: a comparison of runs as JSON. */
#ifndef PMTOP_COMPARE_COMPARISON_JSON_H
#define PMTOP_COMPARE_COMPARISON_JSON_H

struct buffer;
struct comparison;
struct json;
struct summary;

void summary_as_json(struct json *json, const struct summary *summary);
void comparison_as_json(struct buffer *out, const struct comparison *comparison);

#endif
