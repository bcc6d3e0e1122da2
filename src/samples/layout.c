#include "src/samples/layout.h"

#define COUNT_OF_FIELDS(...) (sizeof((const struct field[]){ __VA_ARGS__ }) / sizeof(struct field))
#define LAYOUT(type, ...) \
	{ \
		sizeof(type), COUNT_OF_FIELDS(__VA_ARGS__), { __VA_ARGS__ } \
	}
#define IN(type, kind, member) \
	{ \
		FIELD_##kind, offsetof(type, member), 0, NULL \
	}
#define ROWS_IN(type, member, number, layout) \
	{ \
		FIELD_ROWS, offsetof(type, member), offsetof(type, number), &layout \
	}
#define PART_IN(type, member, layout) \
	{ \
		FIELD_PART, offsetof(type, member), 0, &layout \
	}

#define STATE(kind, member) IN(struct run_state, kind, member)
static const struct layout state_layout = LAYOUT(struct run_state, STATE(U32, mode), STATE(U32, epochs_planned),
	STATE(U64, batches_per_epoch), STATE(U64, samples_per_batch), STATE(FLAG, in_epoch), STATE(FLAG, in_batch),
	STATE(FLAG, is_ended), STATE(U32, epoch_index), STATE(U32, epochs_begun), STATE(TIME, epoch_begin_ns),
	STATE(U64, batch_index), STATE(U64, batches_in_epoch), STATE(TIME, batch_begin_ns), STATE(DOUBLE, loss));

#define TOTAL(kind, member) IN(struct total_row, kind, member)
static const struct layout total_layout = LAYOUT(struct total_row, TOTAL(U32, kind), TOTAL(U32, mode), TOTAL(U32, name),
	TOTAL(U32, parent), TOTAL(U32, depth), TOTAL(U64, upto), TOTAL(U64, count), TOTAL(DOUBLE, total_s),
	TOTAL(DOUBLE, self_s), TOTAL(DOUBLE, min_s), TOTAL(DOUBLE, max_s), TOTAL(DOUBLE, last_s), TOTAL(DOUBLE, squares_s2),
	TOTAL(DOUBLE, cpu_s), TOTAL(DOUBLE, memory_bytes), TOTAL(FLAG, has_histogram), TOTAL(OWN_COUNTS, histogram));

#define BIN(kind, member) IN(struct history_row, kind, member)
static const struct layout history_layout = LAYOUT(struct history_row, BIN(U64, first), BIN(U64, count),
	BIN(DOUBLE, sum_s), BIN(DOUBLE, min_s), BIN(DOUBLE, max_s), BIN(TIME, begin_ns));

#define EPOCH(kind, member) IN(struct epoch_row, kind, member)
static const struct layout epoch_layout =
	LAYOUT(struct epoch_row, EPOCH(U32, index), EPOCH(U32, mode), EPOCH(TIME, begin_ns), EPOCH(TIME, end_ns),
		EPOCH(U64, batches), EPOCH(DOUBLE, sum_s), EPOCH(DOUBLE, min_s), EPOCH(DOUBLE, max_s));

#define EVIDENCE(member) IN(struct evidence, DOUBLE, member)
static const struct layout evidence_layout =
	LAYOUT(struct evidence, EVIDENCE(cpu_s), EVIDENCE(run_queue_wait_s), EVIDENCE(minor_faults), EVIDENCE(major_faults),
		EVIDENCE(voluntary_switches), EVIDENCE(involuntary_switches), EVIDENCE(blocks_read), EVIDENCE(samples));

#define SPAN(kind, member) IN(struct worker_span, kind, member)
static const struct layout worker_span_layout =
	LAYOUT(struct worker_span, SPAN(TEXT, name), SPAN(U64, count), SPAN(DOUBLE, total_s));

#define WORKER(kind, member) IN(struct worker_row, kind, member)
static const struct layout worker_layout = LAYOUT(struct worker_row, WORKER(I32, pid), WORKER(U32, id),
	WORKER(U32, count), WORKER(TIME, start_ns), WORKER(TIME, fetch_begin_ns), WORKER(U64, fetches), WORKER(U64, failed),
	WORKER(DOUBLE, items), WORKER(DOUBLE, total_s), WORKER(DOUBLE, min_s), WORKER(DOUBLE, max_s),
	WORKER(COUNTS, histogram), ROWS_IN(struct worker_row, spans, span_count, worker_span_layout));

#define GPU(kind, member) IN(struct gpu_row, kind, member)
static const struct layout gpu_layout = LAYOUT(struct gpu_row, GPU(I32, instance), GPU(I32, parent), GPU(U32, index),
	GPU(TEXT, vendor), GPU(TEXT, name), GPU(TEXT, uuid), GPU(TEXT, pci), GPU(TEXT, driver), GPU(TEXT, lost));

#define GPU_PROCESS(kind, member) IN(struct gpu_process_row, kind, member)
static const struct layout gpu_process_layout =
	LAYOUT(struct gpu_process_row, GPU_PROCESS(I32, pid), GPU_PROCESS(U32, kind), GPU_PROCESS(TEXT, command),
		GPU_PROCESS(DOUBLE, memory_bytes), GPU_PROCESS(DOUBLE, busy_ratio));

#define LOOP(kind, member) IN(struct loop_row, kind, member)
static const struct layout loop_layout = LAYOUT(struct loop_row, LOOP(TEXT, text), LOOP(TEXT, file), LOOP(U32, line),
	LOOP(DOUBLE, per_s), LOOP(U64, position), LOOP(U64, length), LOOP(FLAG, is_counted));

#define COLLECTIVE(kind, member) IN(struct collective_row, kind, member)
static const struct layout collective_layout = LAYOUT(struct collective_row, COLLECTIVE(U32, group),
	COLLECTIVE(U32, op), COLLECTIVE(U64, sequence), COLLECTIVE(TIME, entered_ns));

#define RAS_ROW(kind, member) IN(struct ras_row, kind, member)
#define RAS_COUNT(name, text) RAS_ROW(U64, counts[RAS_OP_##name]),
static const struct layout ras_layout = LAYOUT(struct ras_row, RAS_OPS(RAS_COUNT) RAS_ROW(I32, rank), RAS_ROW(I32, pid),
	RAS_ROW(I32, gpu), RAS_ROW(U32, state), RAS_ROW(U32, error), RAS_ROW(TEXT, host));

#define OF(kind, member) IN(struct record, kind, member)
#define RECORD(...) LAYOUT(struct record, __VA_ARGS__)
#define PROCESS \
	RECORD(OF(I32, process.pid), OF(I32, process.parent), OF(U64, process.start_ticks), OF(TEXT, process.command), \
		OF(FLAG, process.is_target))
#define SPAN_RECORD \
	RECORD(OF(U32, span.name), OF(I64, span.duration_ns), OF(U32, span.parent), OF(U32, span.depth), \
		{ FIELD_SELF, offsetof(struct record, span.self_s), offsetof(struct record, span.duration_ns), NULL }, \
		OF(FLOAT, span.cpu_s), OF(FLOAT, span.memory_bytes))

const struct layout record_layouts[RECORD_KIND_COUNT] = {
	[RECORD_FIGURE] = RECORD(OF(METRIC, figure.metric), OF(INSTANCE, figure.instance), OF(DOUBLE, figure.value)),
	[RECORD_MISSING] = RECORD(OF(TEXT, missing.figure), OF(TEXT, missing.text), OF(TEXT, missing.remedy)),
	[RECORD_INSTANCE] = RECORD(OF(U32, instance.metric), OF(I32, instance.instance), OF(TEXT, instance.name)),
	[RECORD_PROCESS_SEEN] = PROCESS,
	[RECORD_PROCESS_GONE] = PROCESS,
	[RECORD_PROCESS_REPLACED] = PROCESS,
	[RECORD_PROCESS_WAIT] = RECORD(OF(I32, wait.pid), OF(TEXT, wait.text)),
	[RECORD_RUN_OPENED] = RECORD(OF(I32, opened.pid), OF(I32, opened.inner_pid), OF(TEXT, opened.name),
		OF(TEXT, opened.uuid), OF(TEXT, opened.abi), OF(TIME, opened.start_ns), OF(FLAG, opened.is_live)),
	[RECORD_RUN_CLOSED] = RECORD(OF(TEXT, text)),
	[RECORD_NAME] = RECORD(OF(U32, name.id), OF(TEXT, name.text)),
	[RECORD_META] = RECORD(OF(TEXT, meta.key), OF(TEXT, meta.value)),
	[RECORD_STATE] = RECORD(PART_IN(struct record, state, state_layout)),
	[RECORD_TOTAL] = RECORD(PART_IN(struct record, total, total_layout)),
	[RECORD_HISTORY] = RECORD(ROWS_IN(struct record, history.rows, history.count, history_layout)),
	[RECORD_EPOCHS] = RECORD(
		ROWS_IN(struct record, epochs.rows, epochs.count, epoch_layout), OF(U64, epochs.dropped), OF(U64, epochs.upto)),
	[RECORD_COUNTER] = RECORD(OF(U32, counter.name), OF(DOUBLE, counter.total)),
	[RECORD_OPEN_SPAN] = SPAN_RECORD,
	[RECORD_OPEN_SPANS_NONE] = RECORD(OF(U64, lost.count)),
	[RECORD_LOST] = RECORD(OF(U64, lost.count)),
	[RECORD_BEFORE_ATTACH] = RECORD(OF(U64, lost.count)),
	[RECORD_REFUSED] = RECORD(OF(U64, lost.count)),
	[RECORD_FLAG] = RECORD(OF(U32, flag.mode), OF(U64, flag.ordinal), OF(FLAG, flag.is_flagged)),
	[RECORD_WORKER] = RECORD(PART_IN(struct record, worker, worker_layout)),
	[RECORD_WORKER_GONE] = RECORD(OF(TEXT, text)),
	[RECORD_EPOCH_BEGIN] = RECORD(OF(U32, epoch.index)),
	[RECORD_EPOCH_END] = RECORD(OF(U32, epoch.index)),
	[RECORD_BATCH_BEGIN] = RECORD(OF(U64, batch.index), OF(U64, batch.number)),
	[RECORD_BATCH_END] = RECORD(OF(U64, batch.index), OF(U64, batch.number), OF(DOUBLE, batch.loss),
		OF(TIME, batch.begin_ns), OF(U32, batch.kind)),
	[RECORD_EVIDENCE] = RECORD(PART_IN(struct record, evidence, evidence_layout)),
	[RECORD_SPAN] = SPAN_RECORD,
	[RECORD_GAUGE] = RECORD(OF(U32, gauge.name), OF(DOUBLE, gauge.value)),
	[RECORD_BATCH_FIGURE] =
		RECORD(OF(U64, batch_figure.number), OF(U32, batch_figure.name), OF(DOUBLE, batch_figure.value)),
	[RECORD_MARK] = RECORD(OF(TEXT, text)),
	[RECORD_MODE] = RECORD(OF(U32, mode.name)),
	[RECORD_GPU] = RECORD(PART_IN(struct record, gpu, gpu_layout)),
	[RECORD_GPU_PROCESSES] = RECORD(OF(I32, gpu_processes.gpu),
		ROWS_IN(struct record, gpu_processes.rows, gpu_processes.count, gpu_process_layout)),
	[RECORD_GPU_EVENT] = RECORD(OF(I32, gpu_event.gpu), OF(U32, gpu_event.code), OF(TEXT, gpu_event.text)),
	[RECORD_PROCESS_PLACE] =
		RECORD(OF(I32, placement.pid), OF(I32, placement.local_rank), OF(TEXT, placement.visible_devices)),
	[RECORD_PERF_EVENT] = RECORD(OF(U32, perf_event.event), OF(U32, perf_event.role), OF(TEXT, perf_event.name)),
	[RECORD_CODE_GROUP] = RECORD(OF(U32, code_group.id), OF(I32, code_group.pid), OF(FLAG, code_group.is_workers),
		OF(TEXT, code_group.python), OF(U64, code_group.samples), OF(U64, code_group.partial),
		OF(DOUBLE, code_group.hz), OF(U64, code_group.total_ns)),
	[RECORD_CODE] = RECORD(OF(U32, code.id), OF(FLAG, code.is_own), OF(TEXT, code.function), OF(TEXT, code.file)),
	[RECORD_CODE_NODE] = RECORD(OF(U32, code_node.id), OF(U32, code_node.parent), OF(U32, code_node.group),
		OF(U32, code_node.code), OF(U32, code_node.line), OF(TEXT, code_node.text), OF(FLAG, code_node.is_no_grad)),
	[RECORD_CODE_TIME] = RECORD(OF(U32, code_time.id), OF(U64, code_time.total_ns)),
	[RECORD_CODE_SAMPLES] =
		RECORD(OF(U32, code_samples.node), OF(U32, code_samples.count), OF(TIME, code_samples.begin_ns)),
	[RECORD_CODE_THREAD] = RECORD(OF(U32, code_thread.id), OF(U32, code_thread.group), OF(I32, code_thread.tid),
		OF(U32, code_thread.state), OF(U32, code_thread.node), OF(TEXT, code_thread.name), OF(U64, code_thread.samples),
		OF(U64, code_thread.busy), OF(U64, code_thread.waits), OF(FLAG, code_thread.is_gone)),
	[RECORD_CODE_GIL_WAITS] = RECORD(OF(U32, code_gil_waits.group), OF(U32, code_gil_waits.thread),
		OF(U32, code_gil_waits.node), OF(U32, code_gil_waits.count), OF(TIME, code_gil_waits.begin_ns)),
	[RECORD_LOOPS] = RECORD(
		OF(I32, loops.pid), OF(FLAG, loops.is_chosen), ROWS_IN(struct record, loops.rows, loops.count, loop_layout)),
	[RECORD_COLLECTIVE_RANK] = RECORD(OF(I32, collective_rank.pid), OF(I32, collective_rank.rank),
		OF(U32, collective_rank.world_size), OF(TEXT, collective_rank.job), OF(FLAG, collective_rank.is_gone)),
	[RECORD_COLLECTIVE_GROUP] = RECORD(OF(U32, collective_group.id), OF(TEXT, collective_group.name),
		OF(TEXT, collective_group.description), OF(TEXT, collective_group.job), OF(FLAG, collective_group.is_device)),
	[RECORD_COLLECTIVE_OP] =
		RECORD(OF(U32, collective_op.id), OF(TEXT, collective_op.name), OF(TEXT, collective_op.sizes)),
	[RECORD_COLLECTIVE_STATE] = RECORD(OF(I32, collective_state.pid), OF(U32, collective_state.group),
		OF(I64, collective_state.enqueued), OF(I64, collective_state.started), OF(I64, collective_state.completed)),
	[RECORD_COLLECTIVES] = RECORD(OF(I32, collectives.pid), OF(U32, collectives.state), OF(U64, collectives.skipped),
		ROWS_IN(struct record, collectives.rows, collectives.count, collective_layout),
		OF(DOUBLE, collectives.throttled_s), OF(U64, collectives.switches)),
	[RECORD_RAS] = RECORD(OF(I32, ras.pid), OF(TEXT, ras.version), OF(TEXT, ras.host), OF(DOUBLE, ras.collection_s),
		OF(U32, ras.timeouts), OF(U32, ras.left_out)),
	[RECORD_RAS_GROUP] = RECORD(OF(U64, ras_group.hash), OF(U32, ras_group.size), OF(U32, ras_group.left_out),
		ROWS_IN(struct record, ras_group.rows, ras_group.count, ras_layout)),
	[RECORD_PERF_COUNT] = RECORD(OF(I32, perf_count.pid), OF(U32, perf_count.event), OF(DOUBLE, perf_count.value),
		OF(DOUBLE, perf_count.counted_ratio)),
};
