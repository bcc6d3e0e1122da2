/* Figures of waits for the GPU and of copies to it: the phases "sync" and "transfer" with the lines of the program
 * within them ("train.py:21 .item()"), and the counters and gauges transfer.*, as pmtop.torch publishes them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/model/run/known_names.h"
#include "src/rules/inputs/figures.h"
#include "src/rules/rule_context.h"

static bool is_of(const struct context *context, const struct operation *operation, enum known_name name)
{
	return operation->mode == context->track->mode && run_name_is(context->run, operation->name, name);
}

/* The line with the longest time directly within operations of this name, and with these words at its end; NULL: none
 * is known. */
static const char *line_within(const struct context *context, enum known_name name, const char *end)
{
	const struct operation *max = NULL;
	for (size_t i = 0; context->run && i < context->run->operation_count; i++) {
		const struct operation *operation = &context->run->operations[i];
		const char *text = run_name(context->run, operation->name);
		size_t length = strlen(text), end_length = strlen(end);
		if (operation->mode == context->track->mode && operation->depth > 0 &&
			run_name_is(context->run, operation->parent, name) && strstr(text, ":") && length > end_length &&
			strcmp(text + length - end_length, end) == 0 && (!max || operation->total_s > max->total_s))
			max = operation;
	}
	return max ? run_name(context->run, max->name) : NULL;
}

/* Counts and shares of all waits, wherever in the step they are; one within another counts once. False: no line that
 * waits is known. */
static bool sum_waits(const struct context *context, double *count, double *share)
{
	*count = *share = 0;
	for (size_t i = 0; context->run && i < context->run->operation_count; i++) {
		const struct operation *operation = &context->run->operations[i];
		if (!is_of(context, operation, KNOWN_SYNC) || operation->parent == operation->name)
			continue;
		*count += (double)operation->count;
		*share += isnan(operation->share_ratio) ? 0 : operation->share_ratio;
	}
	return line_within(context, KNOWN_SYNC, "") != NULL;
}

/* Of "my train.py:21 .item()" the length of the line; what follows is the call. */
static size_t line_length(const char *name)
{
	size_t colon = strcspn(name, ":");
	return colon + strcspn(name + colon, " ");
}

static void write_line(const char *name, char out[FIGURE_TEXT_SIZE])
{
	if (name)
		snprintf(out, FIGURE_TEXT_SIZE, "%.*s", (int)line_length(name), name);
}

NUMBER(waits_per_step)
{
	double count, share;
	bool is_known = sum_waits(context, &count, &share) && context->track->count > 0;
	return is_known ? count / (double)context->track->count : NAN;
}

NUMBER(waits_share)
{
	double count, share;
	return sum_waits(context, &count, &share) ? share : NAN;
}

TEXT(waits_line) { write_line(line_within(context, KNOWN_SYNC, ""), out); }

TEXT(waits_call)
{
	const char *name = line_within(context, KNOWN_SYNC, ""), *call = name ? name + line_length(name) : "";
	if (*call)
		figure_shorten(out, call + 1);
}

NUMBER(pageable_bytes)
{
	const struct counter *row = context->run ? run_counter(context->run, "transfer.h2d_pageable_bytes") : NULL;
	return row && context->steps ? row->rate_per_s * context->mean_s : NAN;
}

NUMBER(pageable_rate)
{
	double value;
	return context->run && run_gauge(context->run, "transfer.pageable_bytes_per_s", &value, NULL) ? value : NAN;
}

TEXT(pageable_line) { write_line(line_within(context, KNOWN_TRANSFER, " pageable"), out); }

#define RUN_NUMBER(name, form, function, what, lacks) NUMBER_ROW(name, form, RUN, function, what, lacks)
#define RUN_TEXT(name, function, what, lacks) TEXT_ROW(name, RUN, function, what, lacks)

static const char no_waits[] = "no wait with its line is published (pmtop.torch on a GPU)";
static const char no_copies[] = "no copy from pageable memory is published (the counter transfer.h2d_pageable_bytes)";

static const struct figure rows[] = {
	RUN_NUMBER("waits.per_step", COUNT, waits_per_step, "waits for the GPU per step (the phase sync)", no_waits),
	RUN_NUMBER("waits.share_ratio", PERCENT, waits_share, "their share of the steps' time", no_waits),
	RUN_TEXT("waits.line", waits_line, "the line that waits longest: \"train.py:21\"", no_waits),
	RUN_TEXT("waits.call", waits_call, "its call: \".item()\"", no_waits),
	RUN_NUMBER("transfer.pageable_bytes_per_step", BYTES, pageable_bytes,
		"host to device from pageable memory, per step", no_copies),
	RUN_NUMBER("transfer.pageable_bytes_per_s", BYTES_PER_S, pageable_rate, "the rate of these copies, by GPU timings",
		"no GPU timings of batches with such copies only"),
	RUN_TEXT("transfer.pageable_line", pageable_line, "the line whose pageable copies take longest", no_copies),
};

const struct figure_part waits_figures = { rows, sizeof rows / sizeof *rows };
