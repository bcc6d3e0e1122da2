#include "src/trace/output/profile_advice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/trace/output/profile_figures.h"

/* "gpu.idle_ratio > 0.2"; *end: behind it. */
static bool term_holds(const char *text, const struct profile_figures *figures, const char **end)
{
	size_t length = strcspn(text, " ");
	const struct profile_figure *figure = profile_figures_named(figures, text, length);
	const char *sign = text + length + (text[length] == ' ');
	if (*sign != '<' && *sign != '>')
		return false;
	char *stop;
	double level = strtod(sign + 1, &stop);
	*end = stop;
	return figure && stop > sign + 1 && isfinite(figure->value) &&
		(*sign == '>' ? figure->value > level : figure->value < level);
}

bool profile_rule_is_warning(const struct profile_rule *rule) { return strcmp(rule->severity, "warning") == 0; }

bool profile_rule_holds(const struct profile_rule *rule, const struct profile_figures *figures)
{
	const char *at = rule->condition;
	while (term_holds(at, figures, &at)) {
		if (!*at)
			return true;
		if (strncmp(at, " and ", 5) != 0)
			return false;
		at += 5;
	}
	return false;
}

const char *profile_rule_advice(const struct profile_rule *rule, const struct profile_figures *figures)
{
	static const char name[] = "trace.is_torch";
	const struct profile_figure *figure = profile_figures_named(figures, name, sizeof name - 1);
	return rule->elsewhere && figure && figure->value == 0 ? rule->elsewhere : rule->advice;
}

enum { SHOWN_SIZE = 200 };

/* "{copies.count}" is the figure's value, "{copies.count:copy|copies}" the word for it. *at: its bracket, afterwards
 * the closing one. "" = unknown. */
static const char *say_figure(const char **at, const struct profile_figures *figures, char out[SHOWN_SIZE])
{
	const char *name = *at + 1, *end = name + strcspn(name, "}");
	size_t length = strcspn(name, ":}");
	const struct profile_figure *figure = profile_figures_named(figures, name, length);
	const char *one = name + length + 1, *several = one < end ? memchr(one, '|', (size_t)(end - one)) : NULL;
	*at = *end ? end : end - 1;
	out[0] = '\0';
	if (!figure)
		return out;
	if (!several)
		return profile_figure_show(figure, out, SHOWN_SIZE);
	if (isfinite(figure->value) && figure->value > 1)
		snprintf(out, SHOWN_SIZE, "%.*s", (int)(end - several - 1), several + 1);
	else if (isfinite(figure->value))
		snprintf(out, SHOWN_SIZE, "%.*s", (int)(several - one), one);
	return out;
}

const char *profile_rule_say(const char *rule, const struct profile_figures *figures, char out[PROFILE_MESSAGE_SIZE])
{
	char text[SHOWN_SIZE];
	size_t length = 0, optional = 0; /* optional: where a part in brackets began */
	bool is_optional = false, lacks = false;
	for (const char *at = rule; *at && length + 1 < PROFILE_MESSAGE_SIZE; at++) {
		if (*at == '[') {
			is_optional = true, lacks = false, optional = length;
		} else if (*at == ']' && is_optional) {
			length = lacks ? optional : length;
			is_optional = false;
		} else if (*at == '{') {
			const char *shown = say_figure(&at, figures, text);
			lacks |= !shown[0];
			length += (size_t)snprintf(out + length, PROFILE_MESSAGE_SIZE - length, "%s", shown[0] ? shown : "–");
			if (length >= PROFILE_MESSAGE_SIZE)
				length = PROFILE_MESSAGE_SIZE - 1;
		} else {
			out[length++] = *at;
		}
	}
	out[length] = '\0';
	return out;
}
