/* traced.h: steps that PyTorch traces on pmtop's request are slower for a known reason: the model and the recording
 * learn when that is, as METRIC_PROCESS_TRACED of the process. (With the Python package the program itself gives such
 * steps their kind.) */
#ifndef PMTOP_SESSION_ASKING_TRACED_H
#define PMTOP_SESSION_ASKING_TRACED_H

#include "src/profiling/live_request.h"
#include "src/samples/sample_set.h"

struct traced {
	int32_t pid; /* of the process that is traced; 0 = none */
};

/* Adds the figure to the next set, as its first record: the batches in it are judged by it. */
void traced_add(struct traced *traced, const struct live_request *request, int64_t now_ns, struct sample_set *set);

#endif
