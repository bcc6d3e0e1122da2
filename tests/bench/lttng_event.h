/* A tracepoint of three fields, as pmtop's own event has: for bench_lttng.py only. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER pmtop_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_event.h"

#if !defined PMTOP_BENCH_LTTNG_EVENT_H || defined LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ
#define PMTOP_BENCH_LTTNG_EVENT_H

#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(pmtop_bench, event, LTTNG_UST_TP_ARGS(uint32_t, name, uint32_t, mode, double, value),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, name, name) lttng_ust_field_integer(uint32_t, mode, mode)
			lttng_ust_field_float(double, value, value)))

#endif

#include <lttng/tracepoint-event.h>
