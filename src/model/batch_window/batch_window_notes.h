/* batch_window_notes.h: notes what happens while the latest batches run. */
#ifndef PMTOP_MODEL_BATCH_WINDOW_BATCH_WINDOW_NOTES_H
#define PMTOP_MODEL_BATCH_WINDOW_BATCH_WINDOW_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/model/batch_window/batch_window_private.h"
#include "src/samples/metric.h"

struct model;
struct process;
struct process_past;
struct record;
struct worker_retained;

extern const enum metric watched_metrics[SLOT_COUNT];

/* Is this process a DataLoader worker? *id: UINT32_MAX = unknown. */
bool batch_window_is_worker(const struct model *model, const struct process *process, uint32_t *id);
/* The baseline of this worker's fetch time, and the minimum of a long fetch. */
void batch_window_baseline_fetch(
	const struct model *model, const struct worker_retained *retained, double *baseline_s, double *long_s);
void model_init_batch_windows(struct model *model);
void model_free_batch_windows(struct model *model);

/* A counter of the machine grew; NAN = by an unknown amount. */
void model_note_growth(struct model *model, enum metric metric, int32_t instance, int64_t time_ns, double growth);
/* The same for a process; its state; its start and end. */
void model_note_process_growth(struct model *model, size_t process, enum metric metric, int64_t time_ns, double growth);
void model_note_state(struct model *model, size_t process, int64_t time_ns);
void model_note_process_came(struct model *model, size_t process, int64_t time_ns);
void model_note_process_went(struct model *model, size_t process, int64_t time_ns);
void model_forget_watched(struct model *model, struct process_past *past);

/* Call before model_take_worker and model_lose_worker. */
void model_note_worker(struct model *model, const struct record *record);
/* An event that happened between two readings. */
void model_note_moment(struct model *model, enum window_event_kind kind, int64_t from_ns, int64_t to_ns, int32_t pid,
	double value, const char *text);

#endif
