#include "tests/support/random_records.h"

#include <math.h>
#include <stdlib.h>

#include "src/model/run/run.h"

/* xorshift64* (Vigna, 2014). */
static uint64_t random_state;

static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * UINT64_C(0x2545f4914f6cdd1d);
}

uint64_t random_below(uint64_t n) { return (draw() >> 11) % n; }

int64_t random_time(int64_t now_ns, bool is_random)
{
	static const int64_t absurd[] = { 0, -1, 1, INT64_MIN, INT64_MAX, INT64_MIN + 1, INT64_MAX - 1, INT64_C(1) << 62,
		-(INT64_C(1) << 62) };
	if (is_random && random_below(4) == 0)
		return absurd[random_below(sizeof absurd / sizeof *absurd)];
	return now_ns + (int64_t)random_below(200 * NS_PER_MS) -
		(int64_t)random_below(is_random ? 10 * NS_PER_S : 20 * NS_PER_MS);
}

static double draw_number(void)
{
	static const double absurd[] = { 0, -1, 1e300, -1e300, 1e-300, INFINITY, -INFINITY, NAN, 0x1p63, 0x1p64 };
	return random_below(3) == 0 ? absurd[random_below(sizeof absurd / sizeof *absurd)]
								: (double)random_below(1000000) * 1e-3;
}

static uint64_t draw_count(void)
{
	static const uint64_t absurd[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63, UINT64_C(1) << 62,
		UINT32_MAX };
	return random_below(3) == 0 ? absurd[random_below(sizeof absurd / sizeof *absurd)] : random_below(100000);
}

static uint32_t draw_name(void)
{
	static const uint32_t absurd[] = { 0, NAME_UNATTRIBUTED, NAME_BETWEEN, UINT32_MAX, 4096, 4097, 0xffff };
	return random_below(8) == 0 ? absurd[random_below(sizeof absurd / sizeof *absurd)]
								: (uint32_t)random_below(random_below(20) == 0 ? 5000 : 12);
}

static const char *draw_text(struct sample_set *set)
{
	char text[700];
	size_t length = random_below(20) == 0 ? random_below(sizeof text) : random_below(12);
	for (size_t i = 0; i < length; i++)
		text[i] = (char)draw();
	static const char *const known[] = { "train", "validation", "data", "between", "RANK", "" };
	return random_below(2) ? known[random_below(6)] : sample_set_text(set, text, length);
}

static void *zeroed(struct sample_set *set, size_t size)
{
	void *memory = sample_set_allocate(set, size ? size : 1);
	if (!memory)
		abort();
	return memory;
}

static void fill_total(struct sample_set *set, struct record *record)
{
	struct total_row *row = zeroed(set, sizeof *row);
	row->kind = (enum total_kind)random_below(random_below(10) == 0 ? 6 : 3);
	row->mode = draw_name();
	row->name = draw_name();
	row->parent = draw_name();
	row->depth = (uint32_t)draw_count();
	row->upto = draw_count();
	row->count = draw_count();
	row->total_s = draw_number();
	row->self_s = draw_number();
	row->min_s = draw_number();
	row->max_s = draw_number();
	row->last_s = draw_number();
	row->cpu_s = draw_number();
	row->has_histogram = random_below(2) != 0;
	for (int i = 0; i < 4; i++)
		row->histogram[random_below(HISTOGRAM_BUCKETS)] = (uint32_t)draw_count();
	record->total = random_below(50) ? row : NULL;
}

static void fill_history(struct sample_set *set, struct record *record)
{
	size_t count = (size_t)random_below(random_below(20) == 0 ? 5000 : 20);
	struct history_row *rows = zeroed(set, count * sizeof *rows);
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct history_row){ random_below(2) ? i : draw_count(), random_below(2) ? 1 : draw_count(),
			draw_number(), draw_number(), draw_number(), random_time(0, true) };
	record->history.rows = random_below(50) ? rows : NULL;
	record->history.count = count;
}

static void fill_epochs(struct sample_set *set, struct record *record)
{
	size_t count = (size_t)random_below(random_below(20) == 0 ? 3000 : 10);
	struct epoch_row *rows = zeroed(set, count * sizeof *rows);
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct epoch_row){ (uint32_t)draw_count(), draw_name(), random_time(RANDOM_BASE_NS, true),
			random_time(RANDOM_BASE_NS, true), draw_count(), draw_number(), draw_number(), draw_number() };
	record->epochs.rows = rows;
	record->epochs.count = count;
	record->epochs.dropped = draw_count();
}

static void fill_state(struct sample_set *set, struct record *record)
{
	struct run_state *state = zeroed(set, sizeof *state);
	*state = (struct run_state){ .mode = draw_name(),
		.epochs_planned = (uint32_t)draw_count(),
		.batches_per_epoch = draw_count(),
		.samples_per_batch = draw_count(),
		.in_epoch = random_below(2),
		.in_batch = random_below(2),
		.is_ended = random_below(2),
		.epoch_index = (uint32_t)draw_count(),
		.epochs_begun = (uint32_t)draw_count(),
		.epoch_begin_ns = random_time(RANDOM_BASE_NS, true),
		.batch_index = draw_count(),
		.batches_in_epoch = draw_count(),
		.batch_begin_ns = random_time(RANDOM_BASE_NS, true),
		.loss = draw_number() };
	record->state = random_below(50) ? state : NULL;
}

static void fill_evidence(struct sample_set *set, struct record *record)
{
	struct evidence *evidence = zeroed(set, sizeof *evidence);
	*evidence = (struct evidence){ draw_number(), draw_number(), draw_number(), draw_number(), draw_number(),
		draw_number(), draw_number(), draw_number() };
	record->evidence = random_below(50) ? evidence : NULL;
}

static void fill_process(struct sample_set *set, struct record *record)
{
	record->process.pid = (int32_t)random_below(40);
	record->process.parent = (int32_t)draw();
	record->process.start_ticks = random_below(3);
	record->process.command = draw_text(set);
	record->process.is_target = random_below(10) == 0;
}

static void fill_opened(struct sample_set *set, struct record *record)
{
	static const char *const uuids[] = { "a", "b", "c", "d", "", NULL };
	record->opened.pid = (int32_t)random_below(40);
	record->opened.name = random_below(20) ? draw_text(set) : NULL;
	record->opened.uuid = random_below(4) ? draw_text(set) : uuids[random_below(6)];
	record->opened.abi = draw_text(set);
	record->opened.start_ns = random_time(0, true);
	record->opened.is_live = random_below(2);
}

static void fill_gpu(struct sample_set *set, struct record *record)
{
	struct gpu_row *row = zeroed(set, sizeof *row);
	*row = (struct gpu_row){ .instance = (int32_t)(random_below(5) ? random_below(100) : draw()),
		.parent = (int32_t)(random_below(3) ? -1
				: random_below(3)           ? (int64_t)random_below(40)
											: (int64_t)draw()),
		.index = (uint32_t)draw_count(),
		.vendor = random_below(20) ? draw_text(set) : NULL,
		.name = draw_text(set),
		.uuid = random_below(20) ? draw_text(set) : NULL,
		.pci = draw_text(set),
		.driver = draw_text(set),
		.lost = random_below(5) ? NULL : draw_text(set) };
	record->gpu = random_below(50) ? row : NULL;
}

static void fill_gpu_processes(struct sample_set *set, struct record *record)
{
	size_t count = (size_t)random_below(random_below(20) == 0 ? 300 : 6);
	struct gpu_process_row *rows = zeroed(set, count * sizeof *rows);
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct gpu_process_row){ (int32_t)(random_below(4) ? random_below(60) : draw()),
			(uint32_t)draw_count(), random_below(20) ? draw_text(set) : NULL, draw_number(), draw_number() };
	record->gpu_processes.gpu = (int32_t)random_below(100);
	record->gpu_processes.rows = random_below(50) ? rows : NULL;
	record->gpu_processes.count = count;
}

static void fill_loops(struct sample_set *set, struct record *record)
{
	size_t count = (size_t)random_below(random_below(20) == 0 ? 300 : 6);
	struct loop_row *rows = zeroed(set, count * sizeof *rows);
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct loop_row){ random_below(20) ? draw_text(set) : NULL, random_below(20) ? draw_text(set) : NULL,
			(uint32_t)draw_count(), draw_number(), draw_count(), draw_count(), random_below(2) };
	record->loops.pid = (int32_t)random_below(40);
	record->loops.is_chosen = random_below(2);
	record->loops.rows = random_below(50) ? rows : NULL;
	record->loops.count = count;
}

static void fill_placement(struct sample_set *set, struct record *record)
{
	static const char *const devices[] = { "0,1", "", "-1", "GPU-", "MIG-GPU-/1", "all", "3,2,1,0,9", "1.2,,", NULL };
	record->placement.pid = (int32_t)random_below(40);
	record->placement.local_rank = (int32_t)(random_below(3) ? random_below(4) : draw());
	record->placement.visible_devices = random_below(2) ? devices[random_below(9)] : draw_text(set);
}

/* From 1; some refer to nothing. */
static uint32_t draw_id(void) { return (uint32_t)(random_below(10) ? 1 + random_below(8) : draw_count()); }

static void fill_thread(struct sample_set *set, struct record *record)
{
	record->code_thread.id = draw_id();
	record->code_thread.group = draw_id();
	record->code_thread.tid = (int32_t)random_below(40);
	record->code_thread.state = (uint32_t)random_below(256);
	record->code_thread.node = draw_id() - 1;
	record->code_thread.name = random_below(3) ? draw_text(set) : NULL;
	record->code_thread.samples = draw_count();
	record->code_thread.busy = draw_count();
	record->code_thread.waits = draw_count();
	record->code_thread.is_gone = random_below(10) == 0;
}

static void fill_collectives(struct sample_set *set, struct record *record, int64_t now_ns, bool is_random)
{
	size_t count = (size_t)random_below(random_below(20) == 0 ? 300 : 6);
	struct collective_row *rows = zeroed(set, count * sizeof *rows);
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct collective_row){ draw_id() - 1, draw_id() - 1, random_below(4) ? i : draw_count(),
			random_time(now_ns, is_random) };
	record->collectives.pid = (int32_t)random_below(40);
	record->collectives.state = (uint32_t)draw_count();
	record->collectives.throttled_s = (double)draw_count();
	record->collectives.rows = random_below(50) ? rows : NULL;
	record->collectives.count = count;
}

static void fill_ras(struct sample_set *set, struct record *record)
{
	size_t count = random_below(6);
	struct ras_row *rows = zeroed(set, (count + 1) * sizeof *rows);
	for (size_t i = 0; i < count; i++) {
		rows[i] = (struct ras_row){ (int32_t)(random_below(4) ? i : draw()), (int32_t)random_below(40),
			(int32_t)random_below(8), (uint32_t)random_below(8), (uint32_t)random_below(9),
			random_below(8) ? draw_text(set) : NULL, { 0 } };
		for (size_t op = 0; op < RAS_OP_COUNT; op++)
			rows[i].counts[op] = random_below(3) ? random_below(3) : draw_count();
	}
	record->ras_group.hash = random_below(4);
	record->ras_group.size = (uint32_t)(random_below(3) ? count : draw());
	record->ras_group.rows = random_below(50) ? rows : NULL;
	record->ras_group.count = count;
}

static void fill_of_collectives(struct sample_set *set, struct record *record, int64_t now_ns, bool is_random)
{
	switch ((enum record_kind)record->kind) {
	case RECORD_COLLECTIVE_RANK:
		record->collective_rank.pid = (int32_t)random_below(40);
		record->collective_rank.rank = (int32_t)(random_below(3) ? random_below(4) : draw());
		record->collective_rank.job = random_below(2) ? draw_text(set) : NULL;
		record->collective_rank.is_gone = random_below(8) == 0;
		break;
	case RECORD_COLLECTIVE_GROUP:
		record->collective_group.id = draw_id();
		record->collective_group.name = random_below(20) ? draw_text(set) : NULL;
		record->collective_group.description = random_below(2) ? draw_text(set) : NULL;
		break;
	case RECORD_COLLECTIVE_OP:
		record->collective_op.id = draw_id();
		record->collective_op.name = random_below(20) ? draw_text(set) : NULL;
		record->collective_op.sizes = random_below(2) ? draw_text(set) : NULL;
		break;
	case RECORD_COLLECTIVE_STATE:
		record->collective_state.pid = (int32_t)random_below(40);
		record->collective_state.group = draw_id();
		record->collective_state.enqueued = random_below(4) ? (int64_t)random_below(200) : (int64_t)(draw() >> 4);
		record->collective_state.completed = random_below(4) ? (int64_t)random_below(200) : (int64_t)(draw() >> 4);
		break;
	case RECORD_COLLECTIVES: fill_collectives(set, record, now_ns, is_random); break;
	case RECORD_RAS:
		record->ras.version = random_below(20) ? draw_text(set) : NULL;
		record->ras.host = random_below(2) ? draw_text(set) : NULL;
		record->ras.timeouts = (uint32_t)draw_count();
		break;
	case RECORD_RAS_GROUP: fill_ras(set, record); break;
	default: break;
	}
}

/* Records about sampled Python code. */
static void fill_sampled(struct sample_set *set, struct record *record, int64_t now_ns, bool is_random)
{
	switch ((enum record_kind)record->kind) {
	case RECORD_CODE_GROUP:
		record->code_group.id = draw_id();
		record->code_group.pid = (int32_t)random_below(40);
		record->code_group.is_workers = random_below(4) == 0;
		record->code_group.python = "3.11";
		record->code_group.samples = draw_count();
		record->code_group.total_ns = draw_count();
		record->code_group.hz = draw_number();
		break;
	case RECORD_CODE:
		record->code.id = draw_id();
		record->code.is_own = random_below(2);
		record->code.function = draw_text(set);
		record->code.file = draw_text(set);
		break;
	case RECORD_CODE_NODE:
		record->code_node.id = draw_id();
		record->code_node.parent = draw_id() - 1;
		record->code_node.group = draw_id();
		record->code_node.code = draw_id();
		record->code_node.line = (uint32_t)random_below(9);
		record->code_node.text = random_below(2) ? draw_text(set) : NULL;
		break;
	case RECORD_CODE_TIME:
		record->code_time.id = draw_id();
		record->code_time.total_ns = draw_count();
		break;
	case RECORD_CODE_SAMPLES:
		record->code_samples.node = draw_id();
		record->code_samples.count = (uint32_t)draw_count();
		record->code_samples.begin_ns = random_time(now_ns, is_random);
		break;
	case RECORD_CODE_THREAD: fill_thread(set, record); break;
	case RECORD_LOOPS: fill_loops(set, record); break;
	case RECORD_CODE_GIL_WAITS:
		record->code_gil_waits.group = draw_id();
		record->code_gil_waits.thread = draw_id() - 1;
		record->code_gil_waits.node = draw_id() - 1;
		record->code_gil_waits.count = (uint32_t)draw_count();
		record->code_gil_waits.begin_ns = random_time(now_ns, is_random);
		break;
	default: fill_of_collectives(set, record, now_ns, is_random);
	}
}

static void fill(struct sample_set *set, struct record *record, int64_t now_ns, bool is_random)
{
	switch ((enum record_kind)record->kind) {
	case RECORD_FIGURE:
		record->figure.metric = (enum metric)(random_below(20) ? random_below(METRIC_COUNT) : draw());
		record->figure.instance = (int32_t)random_below(40);
		record->figure.value = draw_number();
		break;
	case RECORD_MISSING:
		record->missing.figure = random_below(20) ? draw_text(set) : NULL;
		record->missing.text = random_below(2) ? draw_text(set) : NULL;
		record->missing.remedy = random_below(2) ? draw_text(set) : NULL;
		break;
	case RECORD_PROCESS_SEEN:
	case RECORD_PROCESS_GONE:
	case RECORD_PROCESS_REPLACED: fill_process(set, record); break;
	case RECORD_RUN_OPENED: fill_opened(set, record); break;
	case RECORD_RUN_CLOSED:
	case RECORD_MARK: record->text = random_below(10) ? draw_text(set) : NULL; break;
	case RECORD_NAME:
		record->name.id = draw_name();
		record->name.text = random_below(20) ? draw_text(set) : NULL;
		break;
	case RECORD_META:
		record->meta.key = random_below(20) ? draw_text(set) : NULL;
		record->meta.value = random_below(20) ? draw_text(set) : NULL;
		break;
	case RECORD_STATE: fill_state(set, record); break;
	case RECORD_TOTAL: fill_total(set, record); break;
	case RECORD_HISTORY: fill_history(set, record); break;
	case RECORD_EPOCHS: fill_epochs(set, record); break;
	case RECORD_COUNTER:
	case RECORD_GAUGE:
		record->gauge.name = draw_name();
		record->gauge.value = draw_number();
		break;
	case RECORD_LOST:
	case RECORD_BEFORE_ATTACH:
	case RECORD_REFUSED: record->lost.count = draw_count(); break;
	case RECORD_FLAG:
		record->flag.mode = random_below(3) ? (uint32_t)random_below(3) : draw_name();
		record->flag.ordinal = random_below(4) ? random_below(200) : draw_count();
		record->flag.is_flagged = random_below(2);
		break;
	case RECORD_EPOCH_BEGIN:
	case RECORD_EPOCH_END: record->epoch.index = (uint32_t)draw_count(); break;
	case RECORD_BATCH_BEGIN:
	case RECORD_BATCH_END:
		record->batch.index = draw_count();
		record->batch.loss = draw_number();
		record->batch.begin_ns = random_below(3) ? random_time(now_ns, is_random) : 0;
		record->batch.number = random_below(4) ? random_below(200) : draw_count();
		record->batch.kind = random_below(3) ? (uint32_t)random_below(3) : draw_name();
		break;
	case RECORD_BATCH_FIGURE:
		record->batch_figure.name = draw_name();
		record->batch_figure.number = random_below(4) ? random_below(200) : draw_count();
		record->batch_figure.value = draw_number();
		break;
	case RECORD_EVIDENCE: fill_evidence(set, record); break;
	case RECORD_OPEN_SPAN:
	case RECORD_SPAN:
		record->span.name = draw_name();
		record->span.parent = random_below(2) ? draw_name() : 0;
		record->span.depth = (uint32_t)(random_below(3) ? random_below(4) : draw_count());
		record->span.duration_ns = random_below(4) ? (int64_t)random_below(100 * NS_PER_MS) : random_time(0, true);
		record->span.self_s = (float)draw_number();
		record->span.cpu_s = (float)draw_number();
		record->span.memory_bytes = (float)draw_number();
		break;
	case RECORD_MODE: record->mode.name = draw_name(); break;
	case RECORD_GPU: fill_gpu(set, record); break;
	case RECORD_GPU_PROCESSES: fill_gpu_processes(set, record); break;
	case RECORD_GPU_EVENT:
		record->gpu_event.gpu = (int32_t)random_below(100);
		record->gpu_event.code = (uint32_t)draw_count();
		record->gpu_event.text = random_below(10) ? draw_text(set) : NULL;
		break;
	case RECORD_PROCESS_PLACE: fill_placement(set, record); break;
	default: fill_sampled(set, record, now_ns, is_random);
	}
}

void random_seed(uint64_t seed) { random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1; }

/* Most records are batches and spans; every other kind comes, but rarely. */
static enum record_kind draw_kind(bool is_random)
{
	static const enum record_kind baseline[] = { RECORD_BATCH_BEGIN, RECORD_BATCH_END, RECORD_SPAN, RECORD_SPAN,
		RECORD_SPAN, RECORD_EVIDENCE, RECORD_FIGURE, RECORD_GAUGE, RECORD_BATCH_FIGURE, RECORD_MODE };
	if (!is_random && random_below(40))
		return baseline[random_below(sizeof baseline / sizeof *baseline)];
	return (enum record_kind)random_below(RECORD_KIND_COUNT + 2);
}

uint64_t random_add(struct sample_set *set, uint64_t count, int64_t now_ns, bool is_random, uint64_t *sequence)
{
	for (uint64_t i = 0; i < count; i++) {
		struct record *record = sample_set_add(
			set, draw_kind(is_random), (unsigned)random_below(is_random ? 256 : 3), random_time(now_ns, is_random));
		if (!record)
			abort();
		record->lane = (uint16_t)(random_below(30) ? random_below(3) : draw());
		record->sequence = random_below(30) ? (*sequence)++ : draw_count();
		fill(set, record, now_ns, is_random);
	}
	return count;
}
