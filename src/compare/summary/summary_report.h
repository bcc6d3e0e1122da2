/* summary_report.h: a summary read from a report that pmtop saved. */
#ifndef PMTOP_COMPARE_SUMMARY_SUMMARY_REPORT_H
#define PMTOP_COMPARE_SUMMARY_SUMMARY_REPORT_H

#include "src/base/status.h"

struct json_value;
struct summary;

enum status summary_of_report(const struct json_value *report, struct summary *out, struct reason *why_not);

#endif
