/* summary_file.h: a summary as a file: JSON that a person can read, with the steps themselves, so that two of them can
 * be compared with their noise. `pmtop check --save` writes it. A report that was saved (`pmtop report --format=json`)
 * is read as well; it has quantiles only. */
#ifndef PMTOP_COMPARE_SUMMARY_FILE_H
#define PMTOP_COMPARE_SUMMARY_FILE_H

#include <stdbool.h>

#include "src/base/buffer.h"
#include "src/base/status.h"
#include "src/compare/summary.h"

enum { SUMMARY_VERSION = 1 };

void summary_write(struct buffer *out, const struct summary *summary);
/* Written beside it first, then renamed: there is never half a file. */
enum status summary_save(const char *path, const struct summary *summary, struct reason *why_not);
/* Whether the file begins as JSON does (and is no recording); what cannot be read does not. */
bool summary_is_file(const char *path);
/* STATUS_OK: release it. */
enum status summary_load(const char *path, struct summary *out, struct reason *why_not);

/* -- for summary_file.c: what it found in a file that is a report -- */
struct json_value;
enum status summary_of_report(const struct json_value *report, struct summary *out, struct reason *why_not);

#endif
