/* scrape_rules.h: pmtop's rules as a rule file of Prometheus. A rule is translated if all figures that it compares are
 * exported (scrape_figures.h); the others are listed in a comment, and pmtop evaluates them itself: pmtop_warning. */
#ifndef PMTOP_EXPORT_SCRAPE_SCRAPE_RULES_H
#define PMTOP_EXPORT_SCRAPE_SCRAPE_RULES_H

#include "src/base/buffer.h"
#include "src/rules/rule_book.h"

void scrape_rules_write(struct buffer *out, const struct rule_book *book);

#endif
