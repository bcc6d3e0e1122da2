/* run_requests.h: the requests of an inference server, from its spans or its batches. */
#ifndef PMTOP_MODEL_RUN_STEPS_RUN_REQUESTS_H
#define PMTOP_MODEL_RUN_STEPS_RUN_REQUESTS_H

#include "src/model/run/run_private.h"

void run_note_span(struct run *run, const struct record *span);
void run_note_batch(struct run *run, const struct lane *lane, uint32_t mode, const struct record *end);

#endif
