#include "src/base/formats/cells.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "src/base/clock.h"

void cell_number(struct buffer *out, double value)
{
	if (isfinite(value))
		buffer_printf(out, "%.12g", value);
}

void cell_float(struct buffer *out, float value)
{
	if (isfinite(value))
		buffer_printf(out, "%.7g", (double)value);
}

void cell_text(struct buffer *out, const char *text)
{
	if (!text)
		return;
	if (!strpbrk(text, "\",\r\n")) {
		buffer_puts(out, text);
		return;
	}
	buffer_puts(out, "\"");
	for (; *text; text++) {
		if (*text == '"')
			buffer_puts(out, "\"");
		buffer_add(out, text, 1);
	}
	buffer_puts(out, "\"");
}

void cell_time(struct buffer *out, int64_t realtime_ns, int decimals)
{
	time_t seconds = (time_t)(realtime_ns / NS_PER_S);
	struct tm tm;
	char fraction[16];
	if (!gmtime_r(&seconds, &tm))
		return;
	snprintf(fraction, sizeof fraction, "%09lld", (long long)(realtime_ns % NS_PER_S));
	buffer_printf(out, "%04d-%02d-%02dT%02d:%02d:%02d%s%.*sZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
		tm.tm_min, tm.tm_sec, decimals ? "." : "", decimals, fraction);
}
