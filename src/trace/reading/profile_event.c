#include "src/trace/reading/profile_event.h"

#include <math.h>

#include "src/trace/reading/profile_layout.h"
#include "src/trace/store/profile_flops.h"
#include "src/trace/store/profile_kinds.h"
#include "src/trace/store/profile_table.h"

/* 28 hours: a longer event is damaged, and the sum of many could overflow. */
#define DURATION_MAX_NS 100000000000000

/* -- fields -- */

struct field_key {
	const char *text;
	enum profile_field field;
};

/* By length, so that most keys need one comparison. "Bytes" is of [memory], "bytes" of copies; lower-case forms are of
 * PyTorch 1.x. */
static const struct field_key keys_2[] = { { "ph", FIELD_PH }, { "ts", FIELD_TS }, { 0 } };
static const struct field_key keys_3[] = { { "cat", FIELD_CAT }, { "pid", FIELD_PID }, { "tid", FIELD_TID },
	{ "dur", FIELD_DUR }, { 0 } };
static const struct field_key keys_4[] = { { "name", FIELD_NAME }, { 0 } };
static const struct field_key args_4[] = { { "Addr", FIELD_ADDRESS }, { "name", FIELD_ARG_NAME }, { 0 } };
static const struct field_key args_5[] = { { "bytes", FIELD_BYTES }, { "Bytes", FIELD_BYTES }, { 0 } };
static const struct field_key args_6[] = { { "stream", FIELD_STREAM }, { "device", FIELD_DEVICE }, { 0 } };
static const struct field_key args_8[] = { { "step_num", FIELD_STEP }, { 0 } };
static const struct field_key args_9[] = { { "Device Id", FIELD_DEVICE_ID }, { 0 } };
static const struct field_key args_10[] = { { "Input Dims", FIELD_DIMS }, { "Input dims", FIELD_DIMS }, { 0 } };
static const struct field_key args_11[] = { { "External id", FIELD_EXTERNAL_ID }, { "correlation", FIELD_CORRELATION },
	{ "Device Type", FIELD_DEVICE_TYPE }, { "external id", FIELD_EXTERNAL_ID }, { 0 } };
static const struct field_key args_12[] = { { "warps per SM", FIELD_WARPS }, { 0 } };
static const struct field_key args_14[] = { { "correlation_id", FIELD_CORRELATION },
	{ "Total Reserved", FIELD_RESERVED }, { "kernel_details", FIELD_DETAILS }, { "memcpy_details", FIELD_DETAILS },
	{ "memset_details", FIELD_DETAILS }, { 0 } };
static const struct field_key args_15[] = { { "Concrete Inputs", FIELD_CONCRETE },
	{ "Total Allocated", FIELD_ALLOCATED }, { 0 } };
static const struct field_key args_20[] = { { "registers per thread", FIELD_REGISTERS }, { 0 } };
static const struct field_key args_25[] = { { "est. achieved occupancy %", FIELD_OCCUPANCY }, { 0 } };

enum { KEY_LENGTH_MAX = 25 };
static const struct field_key *const event_keys[KEY_LENGTH_MAX + 1] = { [2] = keys_2, [3] = keys_3, [4] = keys_4 };
static const struct field_key *const arg_keys[KEY_LENGTH_MAX + 1] = { [4] = args_4,
	[5] = args_5,
	[6] = args_6,
	[8] = args_8,
	[9] = args_9,
	[10] = args_10,
	[11] = args_11,
	[12] = args_12,
	[14] = args_14,
	[15] = args_15,
	[20] = args_20,
	[25] = args_25 };

static unsigned field_of(const struct field_key *const *table, const char *text, size_t length)
{
	if (length > KEY_LENGTH_MAX || !table[length])
		return FIELD_OTHER;
	for (const struct field_key *key = table[length]; key->text; key++)
		if (token_equal(key->text, text, length))
			return key->field;
	return FIELD_OTHER;
}

/* Where an event goes on behind a value or an opening brace. */
struct turn {
	enum profile_step step;
	unsigned field;
	bool is_layout; /* whether the layout may learn it */
};

/* NULL; what stands at `at` cannot stand there, unless the text ends. */
static const char *refuse(const char *at, const char *end, struct profile_event *event)
{
	event->is_malformed = at < end;
	return NULL;
}

/* Reads what lies before the next value. An object within args is a value. */
static const char *read_turn(const char *at, const char *end, enum profile_step before, bool is_in_args,
	struct turn *turn, struct profile_event *event)
{
	*turn = (struct turn){ is_in_args ? STEP_ARGS_END : STEP_END, FIELD_OTHER, true };
	at = token_space(at);
	if (*at == '}')
		return at < end ? at + 1 : NULL;
	if (before != STEP_OPEN && before != STEP_ARGS) {
		if (*at != ',')
			return refuse(at, end, event);
		at = token_space(at + 1);
		if (*at == '}')
			return at < end ? at + 1 : NULL;
	}
	if (*at != '"')
		return refuse(at, end, event);
	const char *key = at + 1, *stop = token_string_end(key, end);
	if (!stop)
		return NULL;
	size_t length = (size_t)(stop - key);
	at = token_space(stop + 1);
	if (*at != ':')
		return refuse(at, end, event);
	at = token_space(at + 1);
	bool is_args = !is_in_args && length == 4 && memcmp(key, "args", 4) == 0;
	if (is_args && *at == '{') {
		turn->step = STEP_ARGS;
		return at + 1;
	}
	*turn = (struct turn){ STEP_VALUE, field_of(is_in_args ? arg_keys : event_keys, key, length), !is_args };
	return at;
}

const char *profile_event_parse(
	struct profile_layout *layout, const char *at, const char *end, struct profile_event *event)
{
	enum profile_step step = STEP_OPEN;
	bool is_in_args = false, is_known = true;
	uint32_t node = 0;
	event->has = 0;
	event->is_malformed = false;
	for (at++; at && step != STEP_END;) {
		unsigned field;
		uint32_t child = is_known ? profile_layout_find(layout, node, at) : 0;
		if (child) {
			const struct profile_layout_node *known = &layout->nodes[child];
			at += known->length;
			step = (enum profile_step)known->step;
			field = known->field;
		} else {
			struct turn turn;
			const char *from = at;
			if (!(at = read_turn(from, end, step, is_in_args, &turn, event)))
				return NULL;
			step = turn.step;
			field = turn.field;
			if (is_known && turn.is_layout)
				child = profile_layout_learn(layout, node, from, (size_t)(at - from), step, field);
			is_known = child;
		}
		node = child;
		if (step == STEP_VALUE) {
			const char *value = token_space(at);
			if (!(at = token_value(value, end, &event->fields[field])))
				return token_ends_scalar(*value) && *value != '"' ? refuse(value, end, event) : NULL;
			event->has |= 1u << field;
		} else {
			is_in_args = step == STEP_ARGS;
		}
	}
	return at;
}

/* -- events -- */

static inline struct profile_slice field(const struct profile_event *event, enum profile_field which)
{
	return event->has & 1u << which ? event->fields[which] : (struct profile_slice){ 0 };
}

static bool whole(const struct profile_event *event, enum profile_field which, int64_t *out)
{
	return event->has & 1u << which && token_whole(event->fields[which], out);
}

/* Ids are of 32 bits but for some devices; the others count down from the largest. */
static uint32_t link_of(struct profile *profile, const struct profile_event *event, enum profile_field which)
{
	int64_t id;
	if (!whole(event, which, &id) || id <= 0)
		return 0;
	if (id <= UINT32_MAX)
		return (uint32_t)id;
	struct profile_entry *entry = profile_table_at(profile->links, (uint64_t)id);
	if (!entry) {
		profile->no_memory = true;
		return 0;
	}
	if (!entry->bits)
		entry->bits = UINT32_MAX - profile->links->count + 1;
	return (uint32_t)entry->bits;
}

static uint32_t name_of(struct profile *profile, const struct profile_event *event)
{
	struct profile_slice name = field(event, FIELD_NAME);
	return profile_names_add(&profile->names, name.length ? name : (struct profile_slice){ "(no name)", 9 });
}

/* What profile_foreign_convert() wants to know of an event that may be a device's. */
static void take_foreign(struct profile *profile, const struct profile_event *event, struct profile_host *host)
{
	if (event->has & 1u << FIELD_DETAILS)
		host->shape = profile_names_add(&profile->names, event->fields[FIELD_DETAILS]);
	host->parent = profile_names_add(&profile->names, field(event, FIELD_ARG_NAME));
}

static void take_host(struct profile *profile, const struct profile_event *event, enum profile_kind kind,
	int64_t start_ns, int64_t duration_ns)
{
	struct profile_track *track = profile_track_of(profile, field(event, FIELD_PID), field(event, FIELD_TID));
	uint32_t name = name_of(profile, event);
	struct profile_host *host = track ? profile_add_host(profile, track) : NULL;
	bool is_foreign = kind == PROFILE_KIND_COUNT || !(event->has & 1u << FIELD_CAT);
	if (!host)
		return;
	if (kind == PROFILE_KIND_COUNT)
		kind = PROFILE_OP;
	*host = (struct profile_host){ .start_ns = start_ns,
		.duration_ns = duration_ns,
		.name = name | (uint32_t)kind << PROFILE_NAME_BITS,
		.link = link_of(profile, event, kind == PROFILE_RUNTIME ? FIELD_CORRELATION : FIELD_EXTERNAL_ID) };
	if (kind == PROFILE_RUNTIME) {
		track->has_runtime = true;
		profile->has_graphs |= profile_name_traits(&profile->names, name) & TRAIT_GRAPH;
	}
	if ((kind == PROFILE_OP || kind == PROFILE_ANNOTATION) && event->has & 1u << FIELD_DIMS) {
		host->shape = profile_names_add(&profile->names, event->fields[FIELD_DIMS]);
		profile->has_shapes = true;
		profile_flops_add(profile, name, host->shape, event->fields[FIELD_DIMS], field(event, FIELD_CONCRETE));
	}
	if (is_foreign)
		take_foreign(profile, event, host);
	profile->has_stacks |= kind == PROFILE_PYTHON;
	/* A Python function may have begun long before, but for those of JAX. */
	if (kind != PROFILE_PYTHON || !(event->has & 1u << FIELD_CAT))
		profile_widen(profile, start_ns, start_ns + duration_ns);
}

/* Kineto cannot compute the occupancy of a kernel with much dynamic shared memory, and writes 0. A true 0 is that of a
 * kernel of a few warps. */
static bool occupancy_of(const struct profile_event *event, double *percent)
{
	double warps;
	if (!(event->has & 1u << FIELD_OCCUPANCY) || !token_number(event->fields[FIELD_OCCUPANCY], percent) ||
		*percent < 0 || *percent > 100)
		return false;
	return *percent > 0 || !(event->has & 1u << FIELD_WARPS) || !token_number(event->fields[FIELD_WARPS], &warps) ||
		warps < 1;
}

static void count_kernel(struct profile *profile, const struct profile_event *event, uint32_t name, int64_t duration_ns)
{
	struct profile_kernel *kernel = profile_kernel_of(profile, name);
	double occupancy;
	int64_t registers;
	if (!kernel)
		return;
	kernel->count++;
	kernel->total_ns += duration_ns;
	kernel->min_ns = duration_ns < kernel->min_ns ? duration_ns : kernel->min_ns;
	kernel->max_ns = duration_ns > kernel->max_ns ? duration_ns : kernel->max_ns;
	if (occupancy_of(event, &occupancy)) {
		kernel->occupancy_ns += (double)duration_ns;
		kernel->occupancy_sum += (double)duration_ns * occupancy / 100;
	}
	if (whole(event, FIELD_REGISTERS, &registers) && registers > 0 && registers < 1 << 16)
		kernel->registers = (uint32_t)registers;
}

static void count_copy(struct profile *profile, const struct profile_event *event, uint32_t name, int64_t duration_ns)
{
	struct profile_copy *copy = profile_copy_of(profile, name);
	int64_t bytes;
	if (!copy)
		return;
	copy->count++;
	copy->total_ns += duration_ns;
	if (whole(event, FIELD_BYTES, &bytes) && bytes >= 0) {
		copy->bytes += (uint64_t)bytes;
		copy->bytes_count++;
	}
}

static int32_t device_of(const struct profile_event *event)
{
	int64_t device;
	if (whole(event, FIELD_DEVICE, &device))
		return device >= 0 && device < 1 << 20 ? (int32_t)device : -1;
	/* Kineto writes the device as the process. Others, such as ONNX Runtime, write the process that launched the work.
	 */
	return whole(event, FIELD_PID, &device) && device >= 0 && device < PROFILE_GPUS_MAX ? (int32_t)device : -1;
}

static void take_work(struct profile *profile, const struct profile_event *event, enum profile_kind kind,
	int64_t start_ns, int64_t duration_ns)
{
	struct profile_track *track =
		profile_track_on(profile, field(event, FIELD_PID), field(event, FIELD_TID), device_of(event));
	uint32_t name = name_of(profile, event);
	struct profile_work *work = track ? profile_add_work(profile, track) : NULL;
	if (!work)
		return;
	*work = (struct profile_work){ .start_ns = start_ns,
		.duration_ns = duration_ns,
		.name = name | (uint32_t)kind << PROFILE_NAME_BITS,
		.correlation = link_of(profile, event, FIELD_CORRELATION),
		.external_id = link_of(profile, event, FIELD_EXTERNAL_ID) };
	(kind == PROFILE_KERNEL ? count_kernel : count_copy)(profile, event, name, duration_ns);
	profile_widen(profile, start_ns, start_ns + duration_ns);
}

/* -1: pmtop ignores it. JAX writes no category: "$train.py:12 main" is a Python function, what has a correlation a call
 * of the driver (or the work of a device, profile_foreign.h), what has a step's number the program's own block. */
static int kind_of(const struct profile_event *event)
{
	if (event->has & 1u << FIELD_CAT)
		return profile_category_kind(event->fields[FIELD_CAT]);
	if (event->has & 1u << FIELD_NAME && event->fields[FIELD_NAME].text[0] == '$')
		return PROFILE_PYTHON;
	if (event->has & 1u << FIELD_STEP)
		return PROFILE_ANNOTATION;
	return event->has & 1u << FIELD_CORRELATION ? PROFILE_RUNTIME : PROFILE_OP;
}

static void take_complete(struct profile *profile, const struct profile_event *event)
{
	int64_t start_ns, duration_ns = 0, step;
	int kind = kind_of(event);
	profile->has_categories |= (event->has & 1u << FIELD_CAT) != 0;
	profile->is_torch |= event->has & 1u << FIELD_CAT && kind < PROFILE_KIND_COUNT;
	if (kind < 0)
		return;
	if (!token_nanoseconds(field(event, FIELD_TS), &start_ns) ||
		(event->has & 1u << FIELD_DUR && !token_nanoseconds(event->fields[FIELD_DUR], &duration_ns)) ||
		duration_ns < 0 || duration_ns > DURATION_MAX_NS) {
		profile->ignored_count++;
		return;
	}
	bool is_work = kind >= PROFILE_KERNEL && kind < PROFILE_KIND_COUNT;
	(is_work ? take_work : take_host)(profile, event, (enum profile_kind)kind, start_ns, duration_ns);
	if (whole(event, FIELD_STEP, &step))
		profile_add_step(profile, start_ns, duration_ns, step);
}

static void take_memory(struct profile *profile, const struct profile_event *event)
{
	int64_t at_ns, bytes, address = 0, total = -1, device = -1, type = -1, reserved;
	struct profile_track *track = profile_track_of(profile, field(event, FIELD_PID), field(event, FIELD_TID));
	if (!track || !token_nanoseconds(field(event, FIELD_TS), &at_ns) || !whole(event, FIELD_BYTES, &bytes)) {
		profile->ignored_count++;
		return;
	}
	whole(event, FIELD_ADDRESS, &address);
	whole(event, FIELD_ALLOCATED, &total);
	whole(event, FIELD_DEVICE_ID, &device);
	whole(event, FIELD_DEVICE_TYPE, &type);
	struct profile_allocation *allocation = profile_add_allocation(profile);
	if (!allocation)
		return;
	*allocation = (struct profile_allocation){ .at_ns = at_ns,
		.address = (uint64_t)address,
		.bytes = bytes,
		.total_allocated = total >= 0 ? total : -1,
		.track = (uint32_t)(track - profile->tracks),
		.device = (int16_t)(device >= 0 && device < 1024 ? device : -1),
		.device_type = (int16_t)(type >= 0 && type < 1024 ? type : -1) };
	profile->has_memory = true;
	if (type > 0 && whole(event, FIELD_RESERVED, &reserved) && (double)reserved > profile->peak_reserved_bytes)
		profile->peak_reserved_bytes = (double)reserved;
}

static bool is_text(struct profile_slice slice, const char *text)
{
	return slice.length == strlen(text) && memcmp(slice.text, text, slice.length) == 0;
}

static void take_metadata(struct profile *profile, const struct profile_event *event)
{
	struct profile_slice name = field(event, FIELD_NAME), value = field(event, FIELD_ARG_NAME);
	bool is_process = is_text(name, "process_name");
	if (!value.length || (!is_process && !is_text(name, "thread_name")))
		return;
	struct profile_track *track = profile_track_of(profile, field(event, FIELD_PID), field(event, FIELD_TID));
	if (!track)
		return;
	uint32_t text = profile_names_add(&profile->names, value);
	if (is_process)
		track->process = text;
	else
		track->thread = text;
}

/* The event takes its place now, so that of two with equal times the one that begins first is around the other. */
static void take_begin(struct profile *profile, const struct profile_event *event)
{
	struct profile_track *track = profile_track_of(profile, field(event, FIELD_PID), field(event, FIELD_TID));
	int64_t start_ns;
	if (!track || !token_nanoseconds(field(event, FIELD_TS), &start_ns) ||
		!profile_grow(profile, &track->opened, &track->open_capacity, track->open_count, sizeof *track->opened))
		return;
	uint32_t name = name_of(profile, event);
	struct profile_host *host = profile_add_host(profile, track);
	if (!host)
		return;
	*host = (struct profile_host){
		.start_ns = start_ns, .duration_ns = PROFILE_OPEN_NS, .name = name | (uint32_t)PROFILE_OP << PROFILE_NAME_BITS
	};
	track->opened[track->open_count++] = track->host_count - 1;
}

/* Which of the events that are open an E event ends: the innermost of its name, or the innermost if it has none. */
static uint32_t find_opened(const struct profile *profile, const struct profile_track *track, struct profile_slice name)
{
	uint32_t at = track->open_count, wanted = profile_names_find(&profile->names, name);
	if (!name.length)
		return at ? at - 1 : PROFILE_NONE;
	while (at-- > 0)
		if (profile_name_of(track->hosts[track->opened[at]].name) == wanted)
			return at;
	return PROFILE_NONE;
}

static void take_end(struct profile *profile, const struct profile_event *event)
{
	struct profile_track *track = profile_track_of(profile, field(event, FIELD_PID), field(event, FIELD_TID));
	int64_t end_ns;
	if (!track)
		return;
	uint32_t at = find_opened(profile, track, field(event, FIELD_NAME));
	if (at == PROFILE_NONE || !token_nanoseconds(field(event, FIELD_TS), &end_ns)) {
		profile->unpaired_count++;
		return;
	}
	struct profile_host *host = &track->hosts[track->opened[at]];
	if (end_ns < host->start_ns || end_ns - host->start_ns > DURATION_MAX_NS) {
		profile->unpaired_count++;
		return;
	}
	memmove(&track->opened[at], &track->opened[at + 1], (--track->open_count - at) * sizeof *track->opened);
	host->duration_ns = end_ns - host->start_ns;
	profile_widen(profile, host->start_ns, end_ns);
}

void profile_event_take(struct profile *profile, const struct profile_event *event)
{
	struct profile_slice phase = field(event, FIELD_PH);
	profile->event_count++;
	if (phase.length != 1)
		return;
	profile->has_phases = true;
	switch (phase.text[0]) {
	case 'X': take_complete(profile, event); break;
	case 'i':
	case 'I':
		if (is_text(field(event, FIELD_NAME), "[memory]"))
			take_memory(profile, event);
		break;
	case 'M': take_metadata(profile, event); break;
	case 'B': take_begin(profile, event); break;
	case 'E': take_end(profile, event); break;
	default: break;
	}
}

/* Without the events that have no end. */
static void drop_open(struct profile *profile, struct profile_track *track)
{
	uint32_t count = 0;
	profile->unpaired_count += track->open_count;
	for (uint32_t i = 0; i < track->host_count; i++)
		if (track->hosts[i].duration_ns != PROFILE_OPEN_NS)
			track->hosts[count++] = track->hosts[i];
	track->host_count = count;
}

void profile_event_end(struct profile *profile)
{
	for (uint32_t i = 0; i < profile->track_count; i++) {
		struct profile_track *track = &profile->tracks[i];
		if (track->open_capacity)
			drop_open(profile, track);
		if (track->next_device) {
			profile->tracks[track->next_device].process = track->process;
			profile->tracks[track->next_device].thread = track->thread;
		}
	}
}
