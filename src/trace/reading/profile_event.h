/* profile_event.h: one event of a trace as its fields, and what a profile keeps of it. */
#ifndef PMTOP_TRACE_PROFILE_EVENT_H
#define PMTOP_TRACE_PROFILE_EVENT_H

#include "src/trace/store/profile.h"

enum profile_field {
	FIELD_PH,
	FIELD_CAT,
	FIELD_NAME,
	FIELD_PID,
	FIELD_TID,
	FIELD_TS,
	FIELD_DUR,
	/* of args */
	FIELD_EXTERNAL_ID,
	FIELD_CORRELATION,
	FIELD_DIMS,
	FIELD_CONCRETE,
	FIELD_STREAM,
	FIELD_DEVICE,
	FIELD_BYTES,
	FIELD_OCCUPANCY,
	FIELD_WARPS,
	FIELD_REGISTERS,
	FIELD_ADDRESS,
	FIELD_ALLOCATED,
	FIELD_RESERVED,
	FIELD_DEVICE_TYPE,
	FIELD_DEVICE_ID,
	FIELD_ARG_NAME, /* of a process or thread; JAX: the operation that a kernel computes */
	FIELD_STEP,     /* JAX, TensorFlow: the number of the step that the event is */
	FIELD_DETAILS, /* JAX, TensorFlow: of a kernel or copy, "regs:32 … occ_pct:50", "kind_src:pinned … size:4096" */
	FIELD_COUNT,
	FIELD_OTHER = FIELD_COUNT
};

struct profile_event {
	uint32_t has;      /* 1 << enum profile_field */
	bool is_malformed; /* no more bytes can make it an event */
	struct profile_slice fields[FIELD_COUNT + 1];
};

struct profile_layout;

/* Reads an event; `at`: its '{'. Returns what follows it, or NULL (profile_token.h). */
const char *profile_event_parse(
	struct profile_layout *layout, const char *at, const char *end, struct profile_event *event);
void profile_event_take(struct profile *profile, const struct profile_event *event);
/* After the last one: drops the events that began and did not end. */
void profile_event_end(struct profile *profile);

#endif
