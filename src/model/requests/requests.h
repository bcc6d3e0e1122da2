/* requests.h: answers to requests: how many, how fast, how many over what was agreed (the SLA); over sliding windows,
 * by the hour, by pattern of name.
 *
 * A request is a batch of mode "inference", named by its kind or by the one outermost span in it, or, as long as there
 * are none, an outermost span while that mode is current. It failed where a span named "error" ended in it. Counted are
 * those since pmtop attached, or in the ring at attach. Nothing here grows with their number: about 0.9 MB a run, from
 * the first request on. Quantiles within 2 % (src/base/histogram.h). Internal to the model but for the reading
 * calls. */
#ifndef PMTOP_MODEL_REQUESTS_REQUESTS_H
#define PMTOP_MODEL_REQUESTS_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	REQUEST_PATTERNS_MAX = 32, /* further ones are counted as "other" */
	REQUEST_HOURS_MAX = 48,    /* the newest; hours without a request have no row */
	REQUEST_LATE_MAX = 16,     /* requests over the SLA that are kept, the newest */
	REQUEST_NAME_SIZE = 128,
};

struct requests;

struct request_figures {
	uint64_t count, failed, over_sla;
	double rate_per_s;                         /* NAN where no time has passed */
	double mean_s, p50_s, p95_s, p99_s, max_s; /* NAN while there are none */
};
struct request_late {
	int64_t time_ns;
	double seconds;
	const char *pattern;
};

/* "GET /user/17" as "GET /user/" and a star: words of digits alone, of eight or more hexadecimal digits of which one is
 * a digit, and UUIDs. */
void request_pattern(char *out, size_t size, const char *name);

/* NULL when out of memory. */
struct requests *requests_new(void);
void requests_free(struct requests *requests);
void requests_add(
	struct requests *requests, const char *name, int64_t end_ns, double seconds, bool has_failed, double sla_s);

/* Of all, and of the last `window_s` (60, 300 or 3600 at most; to five seconds, the hour to a minute) before
 * `now_ns`. */
void requests_whole(const struct requests *requests, int64_t now_ns, struct request_figures *out);
void requests_window(const struct requests *requests, double window_s, int64_t now_ns, struct request_figures *out);
double requests_sla_s(const struct requests *requests);
/* The most frequent first; "other" last. */
size_t requests_patterns(const struct requests *requests);
const char *requests_pattern(
	const struct requests *requests, size_t place, int64_t now_ns, struct request_figures *out);
/* Hours since the first request, oldest first; when it began. */
size_t requests_hours(const struct requests *requests);
int64_t requests_hour(const struct requests *requests, size_t place, struct request_figures *out);
/* The newest first; pattern's text lives as long as the requests. */
size_t requests_late(const struct requests *requests, struct request_late *out, size_t max);

#endif
