/* summary_file.h: a summary as a readable JSON file with its steps, so that comparisons have intervals. `pmtop check
 * --save` writes it. pmtop also reads a saved report (`pmtop report --format=json`), which has quantiles only. */
#ifndef PMTOP_COMPARE_SUMMARY_SUMMARY_FILE_H
#define PMTOP_COMPARE_SUMMARY_SUMMARY_FILE_H

#include <stdbool.h>

#include "src/base/buffer.h"
#include "src/base/status.h"
#include "src/compare/summary/summary.h"

struct json_value;

enum { SUMMARY_VERSION = 1 };

void summary_write(struct buffer *out, const struct summary *summary);
/* Writes a temporary file and renames it, so that the file is never incomplete. */
enum status summary_save(const char *path, const struct summary *summary, struct reason *why_not);
/* Whether the file begins like JSON, so that it is no recording; false if it cannot be read. */
bool summary_is_file(const char *path);
/* On STATUS_OK the caller releases it. */
enum status summary_load(const char *path, struct summary *out, struct reason *why_not);
/* `object` NULL: none. */
void summary_take_gauges(const struct json_value *object, struct summary *out);
/* Cleans the text of a member; without one `out` stays as it is. */
void summary_take_text(char *out, size_t size, const struct json_value *object, const char *key);

#endif
