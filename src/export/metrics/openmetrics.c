#include "src/export/metrics/openmetrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void openmetrics_begin(struct openmetrics *text, const char *name, const char *type, const char *unit, const char *help)
{
	text->family = (struct openmetrics_family){ name, type, unit, help, false };
}

/* Format 0.0.4 names a family as its samples are named. */
static const char *plain_ending(const struct openmetrics_family *family)
{
	return family->type[0] == 'c' ? "_total" : family->type[0] == 'i' ? "_info" : "";
}

static void announce(struct openmetrics *text)
{
	const struct openmetrics_family *family = &text->family;
	const char *ending = text->is_plain ? plain_ending(family) : "";
	if (family->is_written)
		return;
	buffer_printf(text->out, "# TYPE pmtop_%s%s %s\n", family->name, ending,
		text->is_plain && family->type[0] == 'i' ? "gauge" : family->type);
	if (family->unit[0] && !text->is_plain)
		buffer_printf(text->out, "# UNIT pmtop_%s %s\n", family->name, family->unit);
	buffer_printf(text->out, "# HELP pmtop_%s%s %s\n", family->name, ending, family->help);
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

/* With one more label, if its name is not NULL. */
static void add_sample(
	struct openmetrics *text, const char *suffix, const char *label, const char *label_value, double value)
{
	announce(text);
	buffer_printf(text->out, "pmtop_%s%s", text->family.name, suffix);
	bool has_labels = text->labels.length > 0;
	if (has_labels || label)
		buffer_printf(text->out, "{%s%s%s%s%s%s}", has_labels ? text->labels.data : "", has_labels && label ? "," : "",
			label ? label : "", label ? "=\"" : "", label ? label_value : "", label ? "\"" : "");
	buffer_printf(text->out, " %.12g", value);
}

void openmetrics_sample(struct openmetrics *text, const char *suffix, const char *quantile, double value)
{
	if (!isfinite(value))
		return;
	add_sample(text, suffix, quantile ? "quantile" : NULL, quantile, value);
	buffer_puts(text->out, "\n");
}

void openmetrics_bucket(struct openmetrics *text, double bound, uint64_t count, const char *exemplar)
{
	char le[32] = "+Inf";
	if (isfinite(bound))
		snprintf(le, sizeof le, bound == floor(bound) ? "%.1f" : "%.12g", bound);
	add_sample(text, "_bucket", "le", le, (double)count);
	if (exemplar[0] && !text->is_plain)
		buffer_printf(text->out, " # %s", exemplar);
	buffer_puts(text->out, "\n");
}
