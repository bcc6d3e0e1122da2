/* report.h: the report of a run as text. */
#ifndef PMTOP_EXPORT_TEXT_REPORT_H
#define PMTOP_EXPORT_TEXT_REPORT_H

struct alerts;
struct buffer;
struct model;

/* The tables PERFORMANCE SUMMARY and AGGREGATE STATISTICS, epochs and warnings. */
void export_report(struct buffer *out, const struct model *model, const struct alerts *alerts, int run);

#endif
