#include "src/trace/analysis/profile_host.h"

#include <stdlib.h>

#include "src/trace/store/profile_flops.h"
#include "src/trace/store/profile_kinds.h"
#include "src/trace/store/profile_table.h"

enum { WAIT_TRAITS = TRAIT_DATA | TRAIT_SYNC | TRAIT_COPY | TRAIT_COMMUNICATION };

/* What runs directly within an event. */
struct children {
	uint32_t count;
	int64_t sum_ns;   /* of their durations, as key_averages subtracts them */
	int64_t union_ns; /* without what two of them share */
	int64_t end_ns;   /* of the last one */
};

/* An event whose end has not been reached yet. */
struct frame {
	uint32_t host;
	uint32_t only;                           /* the first child */
	uint32_t wait;                           /* trait of the outermost event around that has one; 0 = none */
	struct children children, only_children; /* only_children: of the first child */
	uint32_t python, module;                 /* names: the nearest around it, itself included */
	uint32_t row, only_row;                  /* in profile_ops, + 1; 0 = no memory */
};

struct nest {
	struct profile *profile;
	struct profile_ops *ops;
	struct profile_waits *waits;
	struct profile_track *track;
	struct frame *frames;
	uint32_t count, capacity;
	bool notes_waits; /* of this track */
};

static bool looks_like_library(const struct profile *profile, uint32_t name)
{
	static const char *const parts[] = { "<built-in", "torch/", "site-packages/", "dist-packages/", "<frozen",
		"nn.Module:", "lib/python3", "threading.py", "contextlib.py", "<string>" };
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (profile_names_contain(&profile->names, name, parts[i]))
			return true;
	return !profile_names_contain(&profile->names, name, ".py(");
}

bool profile_host_is_module(const struct profile *profile, uint32_t name)
{
	return profile_names_begin(&profile->names, name, "nn.Module: ");
}

/* Cached in profile_name.kind: 1 = own, 2 = of a library. */
static bool is_library(const struct profile *profile, uint32_t name)
{
	uint16_t *kind = &profile->names.names[name].kind;
	if (!*kind)
		*kind = looks_like_library(profile, name) ? 2 : 1;
	return *kind == 2;
}

static uint32_t by_of(const struct profile_ops *ops, const struct profile_host *host, const struct frame *frame)
{
	enum profile_kind kind = profile_kind_of(host->name);
	if (kind != PROFILE_OP && kind != PROFILE_ANNOTATION)
		return 0;
	switch (ops->group) {
	case GROUP_SHAPE: return host->shape;
	case GROUP_STACK: return frame->python;
	case GROUP_MODULE: return frame->module;
	default: return 0;
	}
}

static struct profile_op *row_at(struct profile *profile, struct profile_ops *ops, uint32_t name, uint32_t by)
{
	/* The row found last for this name is mostly the one wanted. */
	uint32_t *found = &profile->names.names[profile_name_of(name)].found;
	if (*found < ops->count && ops->rows[*found].name == name && ops->rows[*found].by == by)
		return &ops->rows[*found];
	struct profile_entry *entry = profile_table_at(ops->index, (uint64_t)name << 32 | by);
	if (!entry)
		return NULL;
	if (!entry->bits) {
		if (!profile_grow(profile, &ops->rows, &ops->capacity, ops->count, sizeof *ops->rows))
			return NULL;
		ops->rows[ops->count] = (struct profile_op){ .name = name, .by = by };
		entry->bits = ++ops->count;
	}
	*found = (uint32_t)entry->bits - 1;
	return &ops->rows[*found];
}

/* ProfilerStep#3 counts as ProfilerStep*, as in key_averages. */
uint32_t profile_host_row_name(struct profile *profile, uint32_t name)
{
	name &= ~PROFILE_MERGED;
	if (profile_kind_of(name) == PROFILE_ANNOTATION &&
		profile_names_begin(&profile->names, profile_name_of(name), "ProfilerStep#"))
		return profile_names_add(&profile->names, (struct profile_slice){ "ProfilerStep*", 13 }) |
			(uint32_t)PROFILE_ANNOTATION << PROFILE_NAME_BITS;
	return name;
}

bool profile_host_is_as_key_averages(const struct profile *profile, const struct profile_host *host)
{
	return profile->is_torch && profile_kind_of(host->name) != PROFILE_PYTHON;
}

/* Whether the frame's only child is an operator of the same name. */
static bool absorbs(const struct nest *nest, const struct frame *frame)
{
	const struct profile_host *hosts = nest->track->hosts;
	return frame->children.count == 1 && !((hosts[frame->host].name ^ hosts[frame->only].name) & ~PROFILE_MERGED) &&
		profile_host_is_as_key_averages(nest->profile, &hosts[frame->host]);
}

static void note_wait(struct nest *nest, const struct profile_host *host, uint32_t trait)
{
	struct profile_waits *waits = nest->waits;
	if (host->duration_ns &&
		profile_grow(nest->profile, &waits->rows, &waits->capacity, waits->count, sizeof *waits->rows))
		waits->rows[waits->count++] = (struct profile_wait){ host->start_ns, profile_host_end(host), trait };
}

static void count_row(
	struct nest *nest, uint32_t index, const struct profile_host *host, const struct children *children, int sign)
{
	if (!index)
		return;
	struct profile_op *row = &nest->ops->rows[index - 1];
	bool is_torch = profile_host_is_as_key_averages(nest->profile, host);
	row->has_host = true;
	row->count += (uint64_t)sign;
	row->total_ns += is_torch || !row->open_count ? sign * host->duration_ns : 0;
	row->self_ns += sign * (host->duration_ns - (is_torch ? children->sum_ns : children->union_ns));
	row->own_ns += sign * (host->duration_ns - children->union_ns);
}

/* A module that several call is a part of the first. */
static void note_parent(struct nest *nest, const struct profile_host *host, const struct frame *around)
{
	uint32_t name = profile_name_of(host->name), parent = around ? around->module : 0;
	struct profile_op *row = row_at(nest->profile, nest->ops, host->name & ~PROFILE_MERGED, 0);
	if (row && !row->parent && parent != name)
		row->parent = parent;
}

static void add_child(struct frame *around, const struct frame *frame, const struct profile_host *host)
{
	struct children *children = &around->children;
	int64_t end_ns = profile_host_end(host),
			from_ns = children->count && children->end_ns > host->start_ns ? children->end_ns : host->start_ns;
	if (!children->count++) {
		around->only = frame->host;
		around->only_row = frame->row;
		around->only_children = frame->children;
	}
	children->sum_ns += host->duration_ns;
	children->union_ns += end_ns > from_ns ? end_ns - from_ns : 0;
	children->end_ns = end_ns > from_ns ? end_ns : from_ns;
}

static void pop(struct nest *nest)
{
	struct frame *frame = &nest->frames[--nest->count];
	struct profile_host *hosts = nest->track->hosts, *host = &hosts[frame->host];
	struct frame *around = nest->count ? &nest->frames[nest->count - 1] : NULL;
	if (frame->row)
		nest->ops->rows[frame->row - 1].open_count--;
	if (absorbs(nest, frame)) {
		count_row(nest, frame->only_row, &hosts[frame->only], &frame->only_children, -1);
		/* It is merged already where the operators are grouped anew. */
		if (!(hosts[frame->only].name & PROFILE_MERGED))
			profile_flops_remove(nest->profile, profile_name_of(hosts[frame->only].name), hosts[frame->only].shape);
		hosts[frame->only].name |= PROFILE_MERGED;
		frame->children = frame->only_children;
	}
	count_row(nest, frame->row, host, &frame->children, 1);
	if (profile_kind_of(host->name) == PROFILE_PYTHON && frame->module == profile_name_of(host->name))
		note_parent(nest, host, around);
	if (around)
		add_child(around, frame, host);
}

/* A wait within a copy is a part of that. */
static unsigned wait_trait(struct nest *nest, uint32_t name, const struct frame *around)
{
	unsigned trait = profile_name_traits(&nest->profile->names, name) & WAIT_TRAITS;
	if (trait & TRAIT_SYNC && around) {
		uint32_t outer = profile_name_of(nest->track->hosts[around->host].name);
		if (profile_names_begin(&nest->profile->names, outer, "aten::copy_"))
			return TRAIT_COPY;
	}
	return trait & TRAIT_COMMUNICATION ? TRAIT_COMMUNICATION : trait & TRAIT_DATA ? TRAIT_DATA : trait;
}

/* Its index + 1; 0: no memory. */
static uint32_t row_of(struct nest *nest, const struct profile_host *host, const struct frame *frame)
{
	const struct profile_op *row = row_at(
		nest->profile, nest->ops, profile_host_row_name(nest->profile, host->name), by_of(nest->ops, host, frame));
	return row ? (uint32_t)(row - nest->ops->rows) + 1 : 0;
}

static bool push(struct nest *nest, uint32_t index)
{
	struct profile_host *host = &nest->track->hosts[index];
	uint32_t name = profile_name_of(host->name);
	if (!profile_grow(nest->profile, &nest->frames, &nest->capacity, nest->count, sizeof *nest->frames))
		return false;
	struct frame *frame = &nest->frames[nest->count], *around = nest->count ? frame - 1 : NULL;
	*frame = (struct frame){ .host = index };
	host->parent = around ? around->host : PROFILE_NONE;
	if (around) {
		frame->wait = around->wait;
		frame->python = around->python;
		frame->module = around->module;
	}
	if (!frame->wait && nest->notes_waits && (frame->wait = wait_trait(nest, name, around)))
		note_wait(nest, host, frame->wait);
	if (profile_kind_of(host->name) == PROFILE_PYTHON) {
		if (profile_host_is_module(nest->profile, name)) {
			frame->module = name;
			nest->profile->has_modules = true;
		} else if (!is_library(nest->profile, name)) {
			frame->python = name;
		}
	}
	frame->row = row_of(nest, host, frame);
	if (frame->row)
		nest->ops->rows[frame->row - 1].open_count++;
	nest->count++;
	return true;
}

static bool is_hidden(struct profile *profile, const struct profile_host *host)
{
	return profile_name_traits(&profile->names, profile_name_of(host->name)) & TRAIT_HIDDEN;
}

static bool is_async(struct profile *profile, const struct profile_host *host)
{
	return profile_kind_of(host->name) == PROFILE_ANNOTATION &&
		profile_name_traits(&profile->names, profile_name_of(host->name)) & TRAIT_ASYNC;
}

static const struct profile_host *top_of(const struct nest *nest)
{
	return &nest->track->hosts[nest->frames[nest->count - 1].host];
}

/* As in key_averages: it has no own time, and is no part of what runs meanwhile. */
static void count_async(struct nest *nest, uint32_t index)
{
	struct profile_host *host = &nest->track->hosts[index];
	while (nest->count && profile_host_end(top_of(nest)) <= host->start_ns)
		pop(nest);
	const struct frame *around = nest->count ? &nest->frames[nest->count - 1] : NULL;
	struct frame frame = { .python = around ? around->python : 0, .module = around ? around->module : 0 };
	const struct children all = { .sum_ns = host->duration_ns, .union_ns = host->duration_ns };
	host->parent = around ? around->host : PROFILE_NONE;
	count_row(nest, row_of(nest, host, &frame), host, &all, 1);
	if (nest->notes_waits && !(around && around->wait))
		note_wait(nest, host, TRAIT_COMMUNICATION);
}

/* Device tracks of TensorFlow and JAX hold no host events (profile_foreign.h moved them). */
static bool nest_track(struct nest *nest)
{
	struct profile_track *track = nest->track;
	nest->count = 0;
	for (uint32_t i = 0; i < track->host_count; i++) {
		const struct profile_host *host = &track->hosts[i];
		if (is_hidden(nest->profile, host)) {
			track->hosts[i].parent = nest->count ? nest->frames[nest->count - 1].host : PROFILE_NONE;
			continue;
		}
		if (is_async(nest->profile, host)) {
			count_async(nest, i);
			continue;
		}
		while (nest->count) {
			const struct profile_host *top = top_of(nest);
			if (host->start_ns < profile_host_end(top) && profile_host_end(host) <= profile_host_end(top))
				break;
			pop(nest);
		}
		if (!push(nest, i))
			return false;
	}
	while (nest->count)
		pop(nest);
	return true;
}

/* key_averages subtracts what two children share twice. That is never below 0 here. */
static void settle_self(struct profile_ops *ops)
{
	for (uint32_t i = 0; i < ops->count; i++)
		if (ops->rows[i].self_ns < 0)
			ops->rows[i].self_ns = ops->rows[i].own_ns;
}

bool profile_host_nest(struct profile *profile, struct profile_ops *ops, struct profile_waits *waits)
{
	struct nest nest = { .profile = profile, .ops = ops, .waits = waits };
	bool is_good = (ops->index = profile_table_new()) != NULL, has_runtime = false;
	for (uint32_t i = 0; i < profile->track_count; i++)
		has_runtime |= profile->tracks[i].has_runtime;
	for (uint32_t i = 0; i < profile->track_count && is_good; i++) {
		nest.track = &profile->tracks[i];
		/* Other threads, such as workers that load data, do not keep the GPU waiting. */
		nest.notes_waits = nest.track->has_runtime || !has_runtime;
		is_good = nest_track(&nest);
	}
	free(nest.frames);
	settle_self(ops);
	return is_good;
}

struct profile_op *profile_host_row(struct profile *profile, struct profile_ops *ops, const struct profile_track *track,
	const struct profile_host *host)
{
	struct frame frame = { 0 };
	if (ops->group == GROUP_STACK || ops->group == GROUP_MODULE)
		for (const struct profile_host *at = host;; at = &track->hosts[at->parent]) {
			uint32_t name = profile_name_of(at->name);
			bool is_module = profile_host_is_module(profile, name);
			if (profile_kind_of(at->name) == PROFILE_PYTHON) {
				if (!frame.module && is_module)
					frame.module = name;
				if (!frame.python && !is_module && !is_library(profile, name))
					frame.python = name;
			}
			if (at->parent == PROFILE_NONE)
				break;
		}
	return row_at(profile, ops, profile_host_row_name(profile, host->name), by_of(ops, host, &frame));
}

uint32_t profile_host_at(const struct profile_track *track, int64_t at_ns, bool with_python)
{
	uint32_t low = 0, high = track->host_count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (track->hosts[middle].start_ns <= at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	uint32_t at = low ? low - 1 : PROFILE_NONE;
	while (at != PROFILE_NONE &&
		(profile_host_end(&track->hosts[at]) < at_ns ||
			(!with_python && profile_kind_of(track->hosts[at].name) == PROFILE_PYTHON)))
		at = track->hosts[at].parent;
	return at;
}

uint32_t profile_host_line(const struct profile *profile, const struct profile_track *track, uint32_t host)
{
	for (; host != PROFILE_NONE; host = track->hosts[host].parent) {
		uint32_t name = profile_name_of(track->hosts[host].name);
		if (profile_kind_of(track->hosts[host].name) == PROFILE_PYTHON && !is_library(profile, name))
			return name;
	}
	return 0;
}

void profile_ops_release(struct profile_ops *ops)
{
	free(ops->rows);
	profile_table_free(ops->index);
	*ops = (struct profile_ops){ 0 };
}
