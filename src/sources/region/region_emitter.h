/* region_emitter.h: emits the contents of a region as records: names before their use, texts cleaned, times
 * converted to pmtop's clock. */
#ifndef PMTOP_SOURCES_REGION_REGION_EMITTER_H
#define PMTOP_SOURCES_REGION_REGION_EMITTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "src/region/reader.h"
#include "src/samples/sample_set.h"

struct region_emitter {
	struct region *region;
	unsigned run;
	int64_t offset_ns; /* to be added to the writer's times */
	uint32_t names_emitted;
	uint32_t mode;          /* of the last event */
	struct sample_set *out; /* of this reading, as is now_ns */
	int64_t now_ns;
};

/* NULL when out of memory. */
struct record *emitter_add(struct region_emitter *emitter, enum record_kind kind, int64_t time_ns);
/* Emits all names in the region; emitter_name: those up to `id`. Each name is emitted once. */
void emitter_names(struct region_emitter *emitter);
void emitter_name(struct region_emitter *emitter, uint32_t id);
/* `pid`: as pmtop sees it; 0 = unknown */
void emitter_opened(struct region_emitter *emitter, const struct region_identity *identity, pid_t pid, bool is_live);
/* LOST, BEFORE_ATTACH, REFUSED, OPEN_SPANS_NONE. */
void emitter_count(struct region_emitter *emitter, enum record_kind kind, uint32_t lane, uint64_t count);
void emitter_state(struct region_emitter *emitter, const struct region_state *state);
void emitter_total(struct region_emitter *emitter, const struct region_total *total);
void emitter_history(struct region_emitter *emitter, const struct region_bin *bins, size_t count);
void emitter_epochs(
	struct region_emitter *emitter, const struct region_epoch *epochs, size_t count, uint64_t dropped, uint64_t upto);
/* Emits spans[depth] of a lane's open spans. */
void emitter_open_span(
	struct region_emitter *emitter, uint32_t lane, const struct region_open_span *spans, size_t depth);
/* Emits a MODE first if the event's batch has another mode than the last one emitted. Skips an event of an unknown
 * type. */
void emitter_event(struct region_emitter *emitter, const struct region_event *event);

#endif
