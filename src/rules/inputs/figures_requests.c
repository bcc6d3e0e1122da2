/* Figures of the requests of a service over its limit. The limit is the level of the rule latency_over_sla. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "src/model/requests/requests.h"
#include "src/rules/inputs/figures.h"

#define LATE_S 60

static struct request_figures of_last_minute(const struct context *context)
{
	struct request_figures figures = { .count = 0 };
	if (context->run && context->run->requests)
		requests_window(context->run->requests, LATE_S, context->model->now_ns, &figures);
	return figures;
}

/* The newest that ended within the minute; false: none. */
static bool newest_late(const struct context *context, struct request_late *out)
{
	return context->run && context->run->requests && requests_late(context->run->requests, out, 1) &&
		(double)(context->model->now_ns - out->time_ns) * 1e-9 <= LATE_S;
}

/* Requests before pmtop attached are none of this minute's. */
NUMBER(late_count)
{
	struct request_late late;
	if (!context->run || !context->run->requests)
		return NAN;
	return newest_late(context, &late) ? (double)of_last_minute(context).over_sla : 0;
}

NUMBER(count)
{
	double requests = (double)of_last_minute(context).count;
	return context->run && context->run->requests ? requests : NAN;
}

NUMBER(late_seconds)
{
	struct request_late late;
	return newest_late(context, &late) ? late.seconds : NAN;
}

NUMBER(limit) { return context->run && context->run->requests ? requests_sla_s(context->run->requests) : NAN; }

TEXT(late_name)
{
	struct request_late late;
	figure_shorten(out, newest_late(context, &late) ? late.name : "");
}

static const char none[] = "no requests";

static const struct figure rows[] = {
	NUMBER_ROW("requests.late", COUNT, RUN, late_count, "requests over their limit in the last minute", none),
	NUMBER_ROW("requests.count", COUNT, RUN, count, "requests in the last minute", none),
	NUMBER_ROW("requests.late_s", SECONDS, RUN, late_seconds, "time of the newest of these over the limit", none),
	NUMBER_ROW("requests.limit_s", SECONDS, RUN, limit, "their limit: the level of latency_over_sla", none),
	TEXT_ROW("requests.late_name", RUN, late_name, "name of the newest over the limit, as published", none),
};

const struct figure_part requests_figures = { rows, sizeof rows / sizeof *rows };
