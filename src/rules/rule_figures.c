#include "src/rules/rule_figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"

static const struct figure_part *const parts[] = {
	&run_figures,
	&worker_figures,
	&rank_figures,
	&collective_figures,
	&ras_figures,
	&memory_figures,
	&machine_figures,
	&gpu_figures,
	&gpu_memory_figures,
	&gpu_wait_figures,
	&waits_figures,
	&hardware_figures,
	&code_figures,
	&requests_figures,
};

const struct figure *figure_at(size_t index)
{
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (index < parts[i]->count)
			return &parts[i]->rows[index];
		index -= parts[i]->count;
	}
	return NULL;
}

const struct figure *figure_find(const char *name, const char **argument)
{
	const struct figure *row;
	*argument = NULL;
	for (size_t i = 0; (row = figure_at(i)); i++) {
		size_t length = strlen(row->name);
		bool takes_word = row->name[length - 1] == '.';
		if (takes_word ? strncmp(name, row->name, length) != 0 : strcmp(name, row->name) != 0)
			continue;
		*argument = takes_word ? name + length : NULL;
		return row;
	}
	return NULL;
}

double figure_number(const struct figure_ref *ref, const struct context *context)
{
	const struct figure *row = ref->row;
	if (row->number)
		return row->number(context, ref->argument);
	if (row->text || row->offset == 0)
		return NAN;
	return *(const double *)(const void *)((const char *)context->model + row->offset);
}

bool figure_text(const struct figure_ref *ref, const struct context *context, char out[FIGURE_TEXT_SIZE])
{
	out[0] = '\0';
	if (ref->row->text) {
		char raw[FIGURE_TEXT_SIZE] = "";
		ref->row->text(context, ref->argument, raw);
		return text_clean(out, FIGURE_TEXT_SIZE, raw, strlen(raw)) > 0;
	}
	double value = figure_number(ref, context);
	figure_write(ref->row->form, value, out);
	return !isnan(value);
}

void figure_write(enum figure_form form, double value, char out[FIGURE_TEXT_SIZE])
{
	char number[NUMBER_SIZE];
	if (isinf(value)) {
		snprintf(out, FIGURE_TEXT_SIZE, "∞");
		return;
	}
	switch (form) {
	case FORM_PERCENT: format_percent(number, value); break;
	case FORM_SECONDS: format_seconds(number, value); break;
	case FORM_FIXED: format_fixed_seconds(number, value); break;
	case FORM_BYTES:
	case FORM_BYTES_PER_S: format_bytes(number, value); break;
	case FORM_RATE: format_rate(number, value); break;
	case FORM_COUNT: format_count(number, value); break;
	case FORM_FACTOR:
		if (isnan(value))
			format_count(number, value);
		else
			snprintf(number, sizeof number, "%.1f", value);
		break;
	case FORM_NUMBER:
	case FORM_TEXT:
	case FORMS:
		if (isnan(value))
			format_count(number, value);
		else
			snprintf(number, sizeof number, "%.7g", value);
		break;
	}
	snprintf(out, FIGURE_TEXT_SIZE, "%s", number);
}

void figure_write_part(double part_s, double whole_s, char out[FIGURE_TEXT_SIZE])
{
	char part[NUMBER_SIZE], whole[NUMBER_SIZE];
	bool is_fixed = whole_s >= 0.1 && whole_s < 10;
	if (!isnan(part_s))
		snprintf(out, FIGURE_TEXT_SIZE, "%s of %s",
			is_fixed ? format_fixed_seconds(part, part_s) : format_seconds(part, part_s),
			is_fixed ? format_fixed_seconds(whole, whole_s) : format_seconds(whole, whole_s));
}

const char *figure_form_name(enum figure_form form)
{
	static const char *const names[] = {
		[FORM_NUMBER] = "number",
		[FORM_COUNT] = "count",
		[FORM_FACTOR] = "factor",
		[FORM_PERCENT] = "share",
		[FORM_SECONDS] = "seconds",
		[FORM_BYTES] = "bytes",
		[FORM_BYTES_PER_S] = "bytes/s",
		[FORM_RATE] = "per second",
		[FORM_TEXT] = "text",
		[FORM_FIXED] = "seconds",
	};
	return names[form];
}

enum figure_unit figure_form_unit(enum figure_form form)
{
	switch (form) {
	case FORM_PERCENT: return FIGURE_RATIO;
	case FORM_SECONDS:
	case FORM_FIXED: return FIGURE_SECONDS;
	case FORM_BYTES:
	case FORM_BYTES_PER_S: return FIGURE_BYTES;
	default: return FIGURE_NUMBER;
	}
}

void figure_name(const struct figure_ref *ref, char *out, size_t size)
{
	snprintf(out, size, "%s%s", ref->row->name, ref->argument ? ref->argument : "");
}

void figure_shorten(char out[FIGURE_TEXT_SIZE], const char *name)
{
	enum { NAME_SIZE = 28 };
	static const char mark[] = "…";
	size_t length = strlen(name);
	bool is_cut = length >= NAME_SIZE;
	size_t used = text_clean(out, is_cut ? NAME_SIZE + 1 - sizeof mark : NAME_SIZE, name, length);
	if (is_cut)
		memcpy(out + used, mark, sizeof mark);
}
