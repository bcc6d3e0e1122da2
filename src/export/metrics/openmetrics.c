#include "src/export/metrics/openmetrics.h"

#include <inttypes.h>
#include <math.h>

void openmetrics_begin(struct openmetrics *text, const char *name, const char *type, const char *unit, const char *help)
{
	text->family = (struct openmetrics_family){ name, type, unit, help, false };
}

static void announce(struct openmetrics *text)
{
	if (text->family.is_written)
		return;
	buffer_printf(text->out, "# TYPE pmtop_%s %s\n", text->family.name, text->family.type);
	if (text->family.unit[0])
		buffer_printf(text->out, "# UNIT pmtop_%s %s\n", text->family.name, text->family.unit);
	buffer_printf(text->out, "# HELP pmtop_%s %s\n", text->family.name, text->family.help);
	text->family.is_written = true;
}

void openmetrics_label(struct openmetrics *text, const char *name, const char *value)
{
	if (!value || !value[0])
		return;
	buffer_printf(&text->labels, "%s%s=\"", text->labels.length ? "," : "", name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			buffer_puts(&text->labels, "\\");
		if (*value == '\n')
			buffer_puts(&text->labels, "\\n");
		else
			buffer_add(&text->labels, value, 1);
	}
	buffer_puts(&text->labels, "\"");
}

void openmetrics_label_number(struct openmetrics *text, const char *name, int64_t value)
{
	buffer_printf(&text->labels, "%s%s=\"%" PRId64 "\"", text->labels.length ? "," : "", name, value);
}

void openmetrics_sample(struct openmetrics *text, const char *suffix, const char *quantile, double value)
{
	if (!isfinite(value))
		return;
	announce(text);
	buffer_printf(text->out, "pmtop_%s%s", text->family.name, suffix);
	bool has_labels = text->labels.length > 0;
	if (has_labels || quantile)
		buffer_printf(text->out, "{%s%s%s%s%s}", has_labels ? text->labels.data : "", has_labels && quantile ? "," : "",
			quantile ? "quantile=\"" : "", quantile ? quantile : "", quantile ? "\"" : "");
	buffer_printf(text->out, " %.12g\n", value);
}
