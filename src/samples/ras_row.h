/* ras_row.h: one rank of a communicator, as NCCL's RAS service reports it. Part of RECORD_RAS_GROUP (sample_set.h). */
#ifndef PMTOP_SAMPLES_RAS_ROW_H
#define PMTOP_SAMPLES_RAS_ROW_H

#include <stdint.h>

/* What NCCL says of a rank. LEFT: its process answers, but is no member of the communicator (any more). */
enum ras_state { RAS_RUNNING, RAS_UNRESPONSIVE, RAS_DEAD, RAS_LEFT, RAS_ABORTED, RAS_FAILED, RAS_STATES };

/* Collectives that NCCL counts, as it names them; OTHER: all with other names. */
#define RAS_OPS(X) \
	X(BROADCAST, "Broadcast") \
	X(REDUCE, "Reduce") \
	X(ALL_GATHER, "AllGather") \
	X(REDUCE_SCATTER, "ReduceScatter") \
	X(ALL_REDUCE, "AllReduce") \
	X(OTHER, "other")
enum ras_op {
#define RAS_OP_NUMBER(name, text) RAS_OP_##name,
	RAS_OPS(RAS_OP_NUMBER)
#undef RAS_OP_NUMBER
		RAS_OP_COUNT
};

/* One rank of a communicator. */
struct ras_row {
	int32_t rank;                  /* in the communicator */
	int32_t pid;                   /* in its own pid namespace, on its host; −1 = unknown */
	int32_t gpu;                   /* CUDA's number of the device, in its process; −1 = unknown */
	uint32_t state, error;         /* enum ras_state; ncclResult_t of an asynchronous error, 0 = none */
	const char *host;              /* an address, as NCCL writes it */
	uint64_t counts[RAS_OP_COUNT]; /* collectives launched */
};

#endif
