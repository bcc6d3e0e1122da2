/* rule_file.h: reads rule files. */
#ifndef PMTOP_RULES_READING_RULE_FILE_H
#define PMTOP_RULES_READING_RULE_FILE_H

#include <stddef.h>

#include "src/base/status.h"

struct rule_book;
struct rule_source;

enum status rule_files_read(
	struct rule_book *book, const struct rule_source *sources, size_t count, struct reason *why_not);

#endif
