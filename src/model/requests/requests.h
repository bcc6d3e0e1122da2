/* requests.h: statistics of requests: rate, latency, failures and violations of the SLA, over sliding windows, per
 * hour, and per name pattern.
 *
 * A request is a batch of mode "inference", named by its kind or by the only outermost span in it. As long as there are
 * no such batches, it is an outermost span while that mode is current. It failed if a span named "error" ended in it.
 * Requests count since pmtop attached, including those in the ring at that time. Memory does not grow with their
 * number: about 0.9 MB per run, allocated with the first request. Quantiles are accurate to 2 % (src/base/histogram.h).
 * Only the reading functions are for use outside of the model. */
#ifndef PMTOP_MODEL_REQUESTS_REQUESTS_H
#define PMTOP_MODEL_REQUESTS_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	REQUEST_PATTERNS_MAX = 32, /* further patterns are counted as "other" */
	REQUEST_HOURS_MAX = 48,    /* the latest; hours without requests have no row */
	REQUEST_LATE_MAX = 64,     /* the latest requests over the SLA are retained, with their names as published */
	REQUEST_NAME_SIZE = 128,
};

struct requests;

struct request_figures {
	uint64_t count, failed, over_sla;
	double rate_per_s;                         /* NAN if no time has passed */
	double mean_s, p50_s, p95_s, p99_s, max_s; /* NAN while there are none */
};
struct request_late {
	int64_t time_ns;
	double seconds;
	const char *pattern, *name; /* name: as published, with its id if it has one */
};

/* NULL: out of memory. */
struct requests *requests_new(void);
void requests_free(struct requests *requests);
void requests_add(
	struct requests *requests, const char *name, int64_t end_ns, double seconds, bool has_failed, double sla_s);

/* Figures of all requests, and of the last `window_s` before `now_ns` (at most 3600, with a resolution of 5 s up to
 * 300, else of a minute). */
void requests_whole(const struct requests *requests, int64_t now_ns, struct request_figures *out);
void requests_window(const struct requests *requests, double window_s, int64_t now_ns, struct request_figures *out);
double requests_sla_s(const struct requests *requests);
/* Patterns, most frequent first; "other" is last. */
size_t requests_patterns(const struct requests *requests);
const char *requests_pattern(const struct requests *requests, size_t row, int64_t now_ns, struct request_figures *out);
/* Hours since the first request, oldest first; requests_hour returns the hour's begin in ns. */
size_t requests_hours(const struct requests *requests);
int64_t requests_hour(const struct requests *requests, size_t row, struct request_figures *out);
/* Requests over the SLA, newest first; `pattern` is valid as long as `requests`, `name` until the next
 * requests_add. */
size_t requests_late(const struct requests *requests, struct request_late *out, size_t max);

#endif
