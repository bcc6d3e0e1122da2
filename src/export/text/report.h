/* report.h: the report of a run as text. */
#ifndef PMTOP_EXPORT_TEXT_REPORT_H
#define PMTOP_EXPORT_TEXT_REPORT_H

struct alerts;
struct buffer;
struct model;

/* PERFORMANCE SUMMARY, AGGREGATE STATISTICS, epochs, warnings, as the guides show them. */
void export_report(struct buffer *out, const struct model *model, const struct alerts *alerts, int run);

#endif
