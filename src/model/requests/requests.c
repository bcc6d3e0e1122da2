#include "src/model/requests/requests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/base/histogram.h"
#include "src/base/text.h"
#include "src/model/requests/request_pattern.h"

enum { FINE_S = 5, FINE_SLICES = 61, COARSE_S = 60, COARSE_SLICES = 61, HOUR_S = 3600 };

/* Requests of one time slice, or of one pattern. */
struct tally {
	int64_t index; /* number of the slice; 0 = none yet */
	uint64_t count, failed, over_sla;
	double total_s, min_s, max_s;
	uint32_t histogram[HISTOGRAM_BUCKETS];
};
struct pattern {
	char name[REQUEST_NAME_SIZE];
	struct tally tally;
};
struct late {
	int64_t time_ns;
	double seconds;
	size_t pattern;
	char name[REQUEST_NAME_SIZE];
};

struct requests {
	int64_t first_ns;
	double sla_s;
	struct tally whole, fine[FINE_SLICES], coarse[COARSE_SLICES], hours[REQUEST_HOURS_MAX];
	size_t hour_count, pattern_count;
	struct pattern patterns[REQUEST_PATTERNS_MAX + 1]; /* the last is "other" */
	uint64_t late_count;
	struct late late[REQUEST_LATE_MAX];
};

struct requests *requests_new(void)
{
	struct requests *requests = calloc(1, sizeof *requests);
	if (requests)
		strcpy(requests->patterns[REQUEST_PATTERNS_MAX].name, "other");
	return requests;
}

void requests_free(struct requests *requests) { free(requests); }

static void tally_add(struct tally *tally, double seconds, bool has_failed, bool is_over)
{
	tally->min_s = tally->count == 0 ? seconds : fmin(tally->min_s, seconds);
	tally->max_s = tally->count == 0 ? seconds : fmax(tally->max_s, seconds);
	tally->count++;
	tally->failed += has_failed;
	tally->over_sla += is_over;
	tally->total_s += seconds;
	tally->histogram[histogram_bucket((uint64_t)fmin(seconds * 1e9 + 0.5, 0x1p62))]++;
}

static void tally_merge(struct tally *into, const struct tally *from)
{
	if (from->count == 0)
		return;
	into->min_s = into->count == 0 ? from->min_s : fmin(into->min_s, from->min_s);
	into->max_s = into->count == 0 ? from->max_s : fmax(into->max_s, from->max_s);
	into->count += from->count;
	into->failed += from->failed;
	into->over_sla += from->over_sla;
	into->total_s += from->total_s;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		into->histogram[i] += from->histogram[i];
}

static void tally_figures(const struct tally *tally, double over_s, struct request_figures *out)
{
	bool has = tally->count > 0;
	*out = (struct request_figures){ tally->count, tally->failed, tally->over_sla,
		over_s > 0 ? (double)tally->count / over_s : NAN, has ? tally->total_s / (double)tally->count : NAN,
		histogram_quantile(tally->histogram, 0.5, tally->min_s, tally->max_s),
		histogram_quantile(tally->histogram, 0.95, tally->min_s, tally->max_s),
		histogram_quantile(tally->histogram, 0.99, tally->min_s, tally->max_s), has ? tally->max_s : NAN };
}

/* The slice of a time; NULL: its slot has been reused by a later one. */
static struct tally *slice_at(struct tally *slices, int64_t count, int64_t seconds, int64_t time_ns)
{
	int64_t index = time_ns / (seconds * NS_PER_S) + 1;
	struct tally *slice = &slices[index % count];
	if (slice->index > index)
		return NULL;
	if (slice->index < index)
		*slice = (struct tally){ .index = index };
	return slice;
}

/* Earlier requests than the first one seen count for its hour. If all slots are used, the oldest hour is dropped. */
static struct tally *hour_at(struct requests *requests, int64_t time_ns)
{
	int64_t index = time_ns > requests->first_ns ? (time_ns - requests->first_ns) / (HOUR_S * NS_PER_S) + 1 : 1;
	size_t row = requests->hour_count;
	while (row > 0 && requests->hours[row - 1].index > index)
		row--;
	if (row > 0 && requests->hours[row - 1].index == index)
		return &requests->hours[row - 1];
	if (requests->hour_count == REQUEST_HOURS_MAX) {
		if (row == 0)
			return NULL;
		memmove(&requests->hours[0], &requests->hours[1], (REQUEST_HOURS_MAX - 1) * sizeof requests->hours[0]);
		requests->hour_count--;
		row--;
	}
	memmove(
		&requests->hours[row + 1], &requests->hours[row], (requests->hour_count++ - row) * sizeof requests->hours[0]);
	requests->hours[row] = (struct tally){ .index = index };
	return &requests->hours[row];
}

static size_t pattern_of(struct requests *requests, const char *name)
{
	char text[REQUEST_NAME_SIZE];
	request_pattern(text, sizeof text, name);
	for (size_t i = 0; i < requests->pattern_count; i++)
		if (strcmp(requests->patterns[i].name, text) == 0)
			return i;
	if (requests->pattern_count == REQUEST_PATTERNS_MAX)
		return REQUEST_PATTERNS_MAX;
	strcpy(requests->patterns[requests->pattern_count].name, text);
	return requests->pattern_count++;
}

void requests_add(
	struct requests *requests, const char *name, int64_t end_ns, double seconds, bool has_failed, double sla_s)
{
	bool is_over = seconds > sla_s;
	if (!(seconds >= 0) || end_ns <= 0)
		return;
	requests->sla_s = sla_s;
	if (requests->first_ns == 0)
		requests->first_ns = end_ns;
	size_t pattern = pattern_of(requests, name);
	struct tally *into[] = { &requests->whole, slice_at(requests->fine, FINE_SLICES, FINE_S, end_ns),
		slice_at(requests->coarse, COARSE_SLICES, COARSE_S, end_ns), hour_at(requests, end_ns),
		&requests->patterns[pattern].tally };
	for (size_t i = 0; i < sizeof into / sizeof *into; i++)
		if (into[i])
			tally_add(into[i], seconds, has_failed, is_over);
	if (!is_over)
		return;
	struct late *late = &requests->late[requests->late_count++ % REQUEST_LATE_MAX];
	*late = (struct late){ .time_ns = end_ns, .seconds = seconds, .pattern = pattern };
	text_clean(late->name, sizeof late->name, name, strlen(name));
}

static double since_first_s(const struct requests *requests, int64_t now_ns)
{
	return now_ns > requests->first_ns ? (double)(now_ns - requests->first_ns) * 1e-9 : 0;
}

void requests_whole(const struct requests *requests, int64_t now_ns, struct request_figures *out)
{
	tally_figures(&requests->whole, since_first_s(requests, now_ns), out);
}

void requests_window(const struct requests *requests, double window_s, int64_t now_ns, struct request_figures *out)
{
	bool is_fine = window_s <= FINE_S * (FINE_SLICES - 1);
	int64_t slice_s = is_fine ? FINE_S : COARSE_S, newest = now_ns / (slice_s * NS_PER_S) + 1;
	const struct tally *slices = is_fine ? requests->fine : requests->coarse;
	struct tally sum = { 0 };
	for (size_t i = 0; i < (is_fine ? FINE_SLICES : COARSE_SLICES); i++)
		if (slices[i].index <= newest && slices[i].index > newest - (int64_t)window_s / slice_s)
			tally_merge(&sum, &slices[i]);
	/* The latest slice is incomplete. */
	double covered_s = window_s - (double)slice_s + (double)(now_ns % (slice_s * NS_PER_S)) * 1e-9;
	tally_figures(&sum, fmin(covered_s, since_first_s(requests, now_ns)), out);
}

double requests_sla_s(const struct requests *requests) { return requests->sla_s; }

size_t requests_patterns(const struct requests *requests)
{
	return requests->pattern_count + (requests->patterns[REQUEST_PATTERNS_MAX].tally.count > 0);
}

const char *requests_pattern(const struct requests *requests, size_t row, int64_t now_ns, struct request_figures *out)
{
	const struct pattern *chosen = &requests->patterns[REQUEST_PATTERNS_MAX];
	/* Its rank: patterns before it are more frequent, or equally frequent and seen earlier. */
	for (size_t i = 0; i < requests->pattern_count; i++) {
		size_t before = 0;
		for (size_t k = 0; k < requests->pattern_count; k++) {
			uint64_t a = requests->patterns[k].tally.count, b = requests->patterns[i].tally.count;
			before += a > b || (a == b && k < i);
		}
		if (before == row)
			chosen = &requests->patterns[i];
	}
	tally_figures(&chosen->tally, since_first_s(requests, now_ns), out);
	return chosen->name;
}

size_t requests_hours(const struct requests *requests) { return requests->hour_count; }

int64_t requests_hour(const struct requests *requests, size_t row, struct request_figures *out)
{
	const struct tally *hour = &requests->hours[row];
	tally_figures(hour, 0, out);
	return requests->first_ns + (hour->index - 1) * HOUR_S * NS_PER_S;
}

size_t requests_late(const struct requests *requests, struct request_late *out, size_t max)
{
	uint64_t retained = requests->late_count < REQUEST_LATE_MAX ? requests->late_count : REQUEST_LATE_MAX;
	size_t count = 0;
	for (uint64_t i = 0; i < retained && count < max; i++) {
		const struct late *late = &requests->late[(requests->late_count - 1 - i) % REQUEST_LATE_MAX];
		out[count++] =
			(struct request_late){ late->time_ns, late->seconds, requests->patterns[late->pattern].name, late->name };
	}
	return count;
}
