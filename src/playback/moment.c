#include "src/playback/moment.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/clock.h"

const char moment_takes[] = "a time such as 90s, 5m, 1h30m, -5m, 0:01:30, 14:02:30, 2026-11-20T14:02, 50%, #624 (a "
							"batch), @7 (an epoch), begin or end";

enum { DAY_S = 86400, TEXT_MAX = 40 };

/* Reads digits, optionally with a point and more digits, in every locale. */
static bool read_number(const char **text, double *out)
{
	const char *at = *text;
	double value = 0, weight = 1;
	if (!isdigit((unsigned char)*at))
		return false;
	for (; isdigit((unsigned char)*at); at++)
		value = value * 10 + (*at - '0');
	if (*at == '.' && isdigit((unsigned char)at[1]))
		for (at++; isdigit((unsigned char)*at); at++)
			value += (*at - '0') * (weight /= 10);
	*text = at;
	*out = value;
	return true;
}

/* Reads "90s", "1h30m", "2d", "250ms": the largest unit first, each at most once. Without a unit: seconds. */
static bool read_duration(const char *text, double *seconds)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = { { "d", DAY_S }, { "h", 3600 }, { "ms", 1e-3 }, { "m", 60 }, { "s", 1 } };
	double number, before = HUGE_VAL;
	*seconds = 0;
	do {
		size_t unit = 0, count = sizeof units / sizeof *units;
		if (!read_number(&text, &number))
			return false;
		if (!*text && before == HUGE_VAL) {
			*seconds = number;
			return true;
		}
		while (unit < count && strncmp(text, units[unit].unit, strlen(units[unit].unit)) != 0)
			unit++;
		if (unit == count || units[unit].seconds >= before)
			return false;
		before = units[unit].seconds;
		*seconds += number * before;
		text += strlen(units[unit].unit);
	} while (*text);
	return true;
}

/* Reads "A:B" or "A:B:C"; the last of three may have a fraction. Returns the number of parts, or 0. */
static int read_colons(const char *text, double parts[3], int *first_digits)
{
	int count = 0;
	*first_digits = (int)strspn(text, "0123456789");
	for (;;) {
		size_t digits = strspn(text, "0123456789");
		if (count == 3 || !digits || digits > 4 || (count && digits != 2) || !read_number(&text, &parts[count]))
			return 0;
		count++;
		if (!*text)
			return count >= 2 && parts[1] < 60 && (count < 3 || parts[2] < 60) ? count : 0;
		if (*text++ != ':' || (count < 3 && parts[count - 1] != floor(parts[count - 1])))
			return 0;
	}
}

/* "1:30" is minutes and seconds, "14:02" hours and minutes. */
static bool read_clock(const char *text, bool is_since, struct moment *out)
{
	double parts[3];
	int digits, count = read_colons(text, parts, &digits);
	bool is_clock = !is_since && digits == 2;
	if (!count || (is_clock && parts[0] >= 24))
		return false;
	double seconds = count == 3 ? parts[0] * 3600 + parts[1] * 60 + parts[2]
		: is_clock              ? parts[0] * 3600 + parts[1] * 60
								: parts[0] * 60 + parts[1];
	*out = (struct moment){ is_clock ? MOMENT_CLOCK : MOMENT_SECONDS, seconds };
	return true;
}

static bool read_date(const char *text, struct moment *out)
{
	struct tm date = { .tm_isdst = -1 };
	double second = 0;
	int used = 0, length = (int)strlen(text);
	char between = 'T', zone = '\0';
	if (sscanf(text, "%4d-%2d-%2d%n", &date.tm_year, &date.tm_mon, &date.tm_mday, &used) != 3)
		return false;
	if (used < length) {
		const char *rest = text + used;
		int more = 0;
		if (sscanf(rest, "%c%2d:%2d%n", &between, &date.tm_hour, &date.tm_min, &more) != 3 ||
			(between != 'T' && between != ' '))
			return false;
		rest += more;
		if (*rest == ':' && (rest++, !read_number(&rest, &second)))
			return false;
		if (*rest)
			zone = *rest++;
		if (*rest || (zone && zone != 'Z'))
			return false;
	}
	if (date.tm_mon < 1 || date.tm_mon > 12 || date.tm_mday < 1 || date.tm_mday > 31 || date.tm_hour > 23 ||
		date.tm_min > 59 || second >= 61 || date.tm_year < 1970)
		return false;
	date.tm_year -= 1900;
	date.tm_mon--;
	*out = (struct moment){ MOMENT_DATE, (double)(zone ? timegm(&date) : mktime(&date)) + second };
	return true;
}

static bool read_whole(const char *text, double min, double *out)
{
	return read_number(&text, out) && !*text && *out == floor(*out) && *out >= min && *out < 1e15;
}

static bool read_share(const char *text, double *out)
{
	if (!read_number(&text, out) || strcmp(text + (*text == ' '), "%") != 0 || *out > 100)
		return false;
	*out /= 100;
	return true;
}

bool moment_parse(const char *text, struct moment *out)
{
	static const struct {
		const char *word;
		enum moment_kind kind;
	} words[] = {
		{ "begin", MOMENT_BEGIN },
		{ "start", MOMENT_BEGIN },
		{ "end", MOMENT_END },
	};
	char clean[TEXT_MAX];
	while (*text == ' ')
		text++;
	size_t length = strlen(text);
	while (length && text[length - 1] == ' ')
		length--;
	if (!length || length >= sizeof clean)
		return false;
	memcpy(clean, text, length);
	clean[length] = '\0';
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strcmp(clean, words[i].word) == 0) {
			*out = (struct moment){ words[i].kind, 0 };
			return true;
		}
	}
	struct moment moment = { MOMENT_SECONDS, 0 };
	bool is_signed = *clean == '+' || *clean == '-', good;
	if (*clean == '#' || *clean == '@') {
		moment.kind = *clean == '#' ? MOMENT_BATCH : MOMENT_EPOCH;
		good = read_whole(clean + 1, moment.kind == MOMENT_EPOCH, &moment.value);
	} else if (clean[length - 1] == '%') {
		moment.kind = MOMENT_SHARE;
		good = read_share(clean, &moment.value);
	} else if (strchr(clean + 1, '-')) {
		good = read_date(clean, &moment);
	} else if (strchr(clean, ':')) {
		good = read_clock(clean + is_signed, is_signed, &moment);
	} else {
		good = read_duration(clean + is_signed, &moment.value);
	}
	if (good && *clean == '-')
		moment.value = -moment.value;
	if (good)
		*out = moment;
	return good;
}

bool moment_is_time(const struct moment *moment)
{
	return moment->kind != MOMENT_BATCH && moment->kind != MOMENT_EPOCH;
}

static int64_t to_ns(double seconds) { return (int64_t)(fmax(fmin(seconds, 9e9), -9e9) * (double)NS_PER_S); }

/* The first time with this clock reading at or after the beginning; mktime, because a day may have 23 or 25 hours. */
static int64_t clock_after(double seconds, int64_t begin_realtime_ns)
{
	time_t begin = (time_t)(begin_realtime_ns / NS_PER_S);
	int whole = (int)seconds;
	int64_t found_ns = begin_realtime_ns;
	for (int day = 0; day < 2; day++) {
		struct tm parts;
		if (!localtime_r(&begin, &parts))
			break;
		parts.tm_mday += day;
		parts.tm_hour = whole / 3600;
		parts.tm_min = whole / 60 % 60;
		parts.tm_sec = whole % 60;
		parts.tm_isdst = -1;
		int64_t second = (int64_t)mktime(&parts);
		if (second > INT64_MAX / NS_PER_S || second < INT64_MIN / NS_PER_S)
			break;
		found_ns = clock_add(second * NS_PER_S, (int64_t)((seconds - whole) * (double)NS_PER_S));
		/* A person types whole seconds, so accept the second in which the recording begins. */
		if (found_ns >= begin_realtime_ns - begin_realtime_ns % NS_PER_S)
			break;
	}
	return found_ns;
}

int64_t moment_time_ns(const struct moment *moment, int64_t begin_ns, int64_t end_ns, int64_t realtime_offset_ns)
{
	int64_t offset_back_ns = realtime_offset_ns == INT64_MIN ? INT64_MAX : -realtime_offset_ns;
	uint64_t span_ns = (uint64_t)end_ns - (uint64_t)begin_ns;
	switch (moment->kind) {
	case MOMENT_SECONDS: return clock_add(signbit(moment->value) ? end_ns : begin_ns, to_ns(moment->value));
	case MOMENT_CLOCK:
		return clock_add(clock_after(moment->value, clock_add(begin_ns, realtime_offset_ns)), offset_back_ns);
	case MOMENT_DATE: return clock_add(to_ns(moment->value), offset_back_ns);
	case MOMENT_SHARE:
		return moment->value >= 1
			? end_ns
			: (int64_t)((uint64_t)begin_ns + (uint64_t)((double)span_ns * fmax(moment->value, 0)));
	case MOMENT_END: return end_ns;
	default: return begin_ns;
	}
}
