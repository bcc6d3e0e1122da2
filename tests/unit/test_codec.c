#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/formats/crc32c.h"
#include "src/samples/codec.h"
#include "src/samples/codec_read.h"
#include "src/samples/codec_write.h"
#include "src/samples/layout.h"
#include "tests/support/suite.h"

/* -- records of every kind with random content, made by hand: a field that a layout forgets is found -- */

static uint64_t seed;

static uint64_t random_bits(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Often 0, else any value. */
static uint64_t number(void) { return random_bits() % 4 ? random_bits() >> random_bits() % 64 : 0; }
static int64_t moment(void) { return (int64_t)(number() >> 3); }
static uint32_t number32(void) { return (uint32_t)number(); }
static bool flag(void) { return random_bits() & 1; }

static double real(void)
{
	switch (random_bits() % 6) {
	case 0: return (double)NAN;
	case 1: return 0;
	case 2: return -0.0;
	case 3: return (double)(int64_t)number();
	case 4: return (double)INFINITY;
	default: return (double)(int64_t)random_bits() * 1e-9;
	}
}

static const char *text(struct sample_set *set)
{
	static const char *const texts[] = { "", "a", "forward", "Überlänge · 日本",
		"a text of more than a few bytes, as reasons and messages are" };
	const char *one = texts[random_bits() % 5];
	return sample_set_text(set, one, strlen(one));
}

static const char *maybe_text(struct sample_set *set) { return flag() ? text(set) : NULL; }

static void fill_counts(uint32_t *counts)
{
	for (uint64_t n = random_bits() % 20; n > 0; n--)
		counts[random_bits() % HISTOGRAM_BUCKETS] = number32();
	counts[flag() ? 0 : HISTOGRAM_BUCKETS - 1] = number32();
}

static void fill_state(struct run_state *state)
{
	*state = (struct run_state){ number32(), number32(), number(), number(), flag(), flag(), flag(), number32(),
		number32(), moment(), number(), number(), moment(), real() };
}

static void fill_total(struct total_row *total)
{
	total->kind = (enum total_kind)(random_bits() % 3);
	total->mode = number32(), total->name = number32(), total->parent = number32(), total->depth = number32();
	total->upto = number(), total->count = number();
	double *const reals[] = { &total->total_s, &total->self_s, &total->min_s, &total->max_s, &total->last_s,
		&total->squares_s2, &total->cpu_s, &total->memory_bytes };
	for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
		*reals[i] = real();
	total->has_histogram = flag();
	fill_counts(total->histogram);
}

static void fill_worker(struct sample_set *set, struct worker_row *worker)
{
	worker->pid = (int32_t)number(), worker->id = number32(), worker->count = number32();
	worker->start_ns = moment(), worker->fetch_begin_ns = moment();
	worker->fetches = number(), worker->failed = number();
	worker->items = real(), worker->total_s = real(), worker->min_s = real(), worker->max_s = real();
	if (flag()) {
		uint32_t *counts = sample_set_allocate(set, HISTOGRAM_BUCKETS * sizeof *counts);
		fill_counts(counts);
		worker->histogram = counts;
	}
	worker->span_count = random_bits() % 3;
	struct worker_span *spans =
		worker->span_count ? sample_set_allocate(set, worker->span_count * sizeof *spans) : NULL;
	for (size_t i = 0; i < worker->span_count; i++)
		spans[i] = (struct worker_span){ text(set), number(), real() };
	worker->spans = spans;
}

static void fill_rows(struct sample_set *set, struct record *record)
{
	size_t count = random_bits() % 4;
	if (record->kind == RECORD_HISTORY) {
		struct history_row *rows = sample_set_allocate(set, count * sizeof *rows);
		for (size_t i = 0; i < count; i++)
			rows[i] = (struct history_row){ number(), number(), real(), real(), real(), moment() };
		record->history.rows = count ? rows : NULL;
		record->history.count = count;
		return;
	}
	struct epoch_row *rows = sample_set_allocate(set, count * sizeof *rows);
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct epoch_row){ number32(), number32(), moment(), moment(), number(), real(), real(), real() };
	record->epochs.rows = count ? rows : NULL;
	record->epochs.count = count;
	record->epochs.dropped = number();
	record->epochs.upto = number();
}

static void fill_gpu(struct sample_set *set, struct record *record)
{
	struct gpu_row *gpu = sample_set_allocate(set, sizeof *gpu);
	gpu->instance = (int32_t)number(), gpu->parent = (int32_t)number(), gpu->index = number32();
	gpu->vendor = text(set), gpu->name = text(set), gpu->uuid = text(set), gpu->pci = text(set),
	gpu->driver = text(set), gpu->lost = maybe_text(set);
	record->gpu = gpu;
}

static void fill_gpu_processes(struct sample_set *set, struct record *record)
{
	size_t count = random_bits() % 4;
	struct gpu_process_row *rows = sample_set_allocate(set, count * sizeof *rows);
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct gpu_process_row){ (int32_t)number(), number32(), text(set), real(), real() };
	record->gpu_processes.gpu = (int32_t)number();
	record->gpu_processes.rows = count ? rows : NULL;
	record->gpu_processes.count = count;
}

static void fill_loops(struct sample_set *set, struct record *record)
{
	size_t count = random_bits() % 4;
	struct loop_row *rows = sample_set_allocate(set, count * sizeof *rows);
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct loop_row){ text(set), maybe_text(set), number32(), real(), number(), number(), flag() };
	record->loops.pid = (int32_t)number(), record->loops.is_chosen = flag();
	record->loops.rows = count ? rows : NULL;
	record->loops.count = count;
}

static void fill_collectives(struct sample_set *set, struct record *record)
{
	size_t count = random_bits() % 4;
	struct collective_row *rows = sample_set_allocate(set, count * sizeof *rows);
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct collective_row){ number32(), number32(), number(), (int64_t)(number() >> 4) };
	record->collectives.pid = (int32_t)number(), record->collectives.state = number32();
	record->collectives.throttled_s = (double)number32();
	record->collectives.skipped = number();
	record->collectives.rows = count ? rows : NULL;
	record->collectives.count = count;
}

static void fill_ras(struct sample_set *set, struct record *record)
{
	size_t count = number32() % 4;
	struct ras_row *rows = sample_set_allocate(set, (count + 1) * sizeof *rows);
	for (size_t i = 0; i < count; i++) {
		rows[i] = (struct ras_row){ .rank = (int32_t)number(), .pid = (int32_t)number(), .gpu = (int32_t)number() };
		rows[i].state = number32(), rows[i].error = number32(), rows[i].host = text(set);
		for (size_t op = 0; op < RAS_OP_COUNT; op++)
			rows[i].counts[op] = number();
	}
	record->ras_group.hash = number(), record->ras_group.size = number32(), record->ras_group.left_out = number32();
	record->ras_group.rows = count ? rows : NULL;
	record->ras_group.count = count;
}

static void fill_of_collectives(struct sample_set *set, struct record *record)
{
	switch ((enum record_kind)record->kind) {
	case RECORD_COLLECTIVE_RANK:
		record->collective_rank.pid = (int32_t)number(), record->collective_rank.rank = (int32_t)number();
		record->collective_rank.world_size = number32(), record->collective_rank.job = maybe_text(set);
		record->collective_rank.is_gone = flag();
		break;
	case RECORD_COLLECTIVE_GROUP:
		record->collective_group.id = number32(), record->collective_group.name = text(set);
		record->collective_group.description = maybe_text(set), record->collective_group.job = maybe_text(set);
		record->collective_group.is_device = flag();
		break;
	case RECORD_COLLECTIVE_OP:
		record->collective_op.id = number32(), record->collective_op.name = text(set);
		record->collective_op.sizes = maybe_text(set);
		break;
	case RECORD_COLLECTIVE_STATE:
		record->collective_state.pid = (int32_t)number(), record->collective_state.group = number32();
		record->collective_state.enqueued = (int64_t)(number() >> 4),
		record->collective_state.started = (int64_t)(number() >> 4);
		record->collective_state.completed = (int64_t)(number() >> 4);
		break;
	default: fill_collectives(set, record);
	}
}

static void fill(struct sample_set *set, struct record *record)
{
	switch ((enum record_kind)record->kind) {
	case RECORD_FIGURE:
		record->figure.metric = (enum metric)(random_bits() % METRIC_COUNT);
		record->figure.instance = (int32_t)number();
		record->figure.value = real();
		break;
	case RECORD_INSTANCE:
		record->instance.metric = (enum metric)(random_bits() % METRIC_COUNT);
		record->instance.instance = (int32_t)number();
		record->instance.name = text(set);
		break;
	case RECORD_MISSING:
		record->missing.figure = text(set);
		record->missing.text = maybe_text(set);
		record->missing.remedy = maybe_text(set);
		break;
	case RECORD_PROCESS_SEEN:
	case RECORD_PROCESS_GONE:
	case RECORD_PROCESS_REPLACED:
		record->process.pid = (int32_t)number();
		record->process.parent = (int32_t)number();
		record->process.start_ticks = number();
		record->process.command = text(set);
		record->process.is_target = flag();
		break;
	case RECORD_PROCESS_WAIT:
		record->wait.pid = (int32_t)number();
		record->wait.text = text(set);
		break;
	case RECORD_RUN_OPENED:
		record->opened.pid = (int32_t)number(), record->opened.inner_pid = (int32_t)number();
		record->opened.name = text(set), record->opened.uuid = text(set), record->opened.abi = text(set);
		record->opened.start_ns = moment();
		record->opened.is_live = flag();
		break;
	case RECORD_RUN_CLOSED:
	case RECORD_WORKER_GONE:
	case RECORD_MARK: record->text = text(set); break;
	case RECORD_NAME: record->name.id = number32(), record->name.text = text(set); break;
	case RECORD_META: record->meta.key = text(set), record->meta.value = text(set); break;
	case RECORD_STATE: {
		struct run_state *state = sample_set_allocate(set, sizeof *state);
		fill_state(state);
		record->state = state;
		break;
	}
	case RECORD_TOTAL: {
		struct total_row *total = sample_set_allocate(set, sizeof *total);
		fill_total(total);
		record->total = total;
		break;
	}
	case RECORD_HISTORY:
	case RECORD_EPOCHS: fill_rows(set, record); break;
	case RECORD_COUNTER: record->counter.name = number32(), record->counter.total = real(); break;
	case RECORD_OPEN_SPANS_NONE:
	case RECORD_LOST:
	case RECORD_BEFORE_ATTACH:
	case RECORD_REFUSED: record->lost.count = number(); break;
	case RECORD_WORKER: {
		struct worker_row *worker = sample_set_allocate(set, sizeof *worker);
		fill_worker(set, worker);
		record->worker = worker;
		break;
	}
	case RECORD_EPOCH_BEGIN:
	case RECORD_EPOCH_END: record->epoch.index = number32(); break;
	case RECORD_BATCH_BEGIN: record->batch.index = number(), record->batch.number = number(); break;
	case RECORD_BATCH_END:
		record->batch.index = number(), record->batch.number = number(), record->batch.loss = real();
		record->batch.begin_ns = moment(), record->batch.kind = number32();
		break;
	case RECORD_EVIDENCE: {
		struct evidence *evidence = sample_set_allocate(set, sizeof *evidence);
		*evidence = (struct evidence){ real(), real(), real(), real(), real(), real(), real(), real() };
		record->evidence = evidence;
		break;
	}
	case RECORD_SPAN:
	case RECORD_OPEN_SPAN:
		record->span.name = number32(), record->span.parent = number32(), record->span.depth = number32();
		record->span.duration_ns = moment();
		record->span.self_s = (float)real(), record->span.cpu_s = (float)real(),
		record->span.memory_bytes = (float)real();
		break;
	case RECORD_FLAG:
		record->flag.mode = number32(), record->flag.ordinal = number(), record->flag.is_flagged = flag();
		break;
	case RECORD_GAUGE: record->gauge.name = number32(), record->gauge.value = real(); break;
	case RECORD_BATCH_FIGURE:
		record->batch_figure.number = number(), record->batch_figure.value = real(),
		record->batch_figure.name = number32();
		break;
	case RECORD_MODE: record->mode.name = number32(); break;
	case RECORD_GPU: fill_gpu(set, record); break;
	case RECORD_GPU_PROCESSES: fill_gpu_processes(set, record); break;
	case RECORD_GPU_EVENT:
		record->gpu_event.gpu = (int32_t)number(), record->gpu_event.code = number32(),
		record->gpu_event.text = text(set);
		break;
	case RECORD_PROCESS_PLACE:
		record->placement.pid = (int32_t)number(), record->placement.local_rank = (int32_t)number(),
		record->placement.visible_devices = maybe_text(set);
		break;
	case RECORD_PERF_EVENT:
		record->perf_event.event = number32(), record->perf_event.role = number32(),
		record->perf_event.name = text(set);
		break;
	case RECORD_PERF_COUNT:
		record->perf_count.pid = (int32_t)number(), record->perf_count.event = number32(),
		record->perf_count.value = real(), record->perf_count.counted_ratio = real();
		break;
	case RECORD_CODE_GROUP:
		record->code_group.id = number32(), record->code_group.pid = (int32_t)number(),
		record->code_group.is_workers = flag();
		record->code_group.python = text(set);
		record->code_group.samples = number(), record->code_group.partial = number(),
		record->code_group.total_ns = number();
		record->code_group.hz = real();
		break;
	case RECORD_CODE:
		record->code.id = number32(), record->code.is_own = flag();
		record->code.function = text(set), record->code.file = text(set);
		break;
	case RECORD_CODE_NODE:
		record->code_node.id = number32(), record->code_node.parent = number32(), record->code_node.group = number32();
		record->code_node.code = number32(), record->code_node.line = number32(),
		record->code_node.text = maybe_text(set);
		record->code_node.is_no_grad = number32() % 2;
		break;
	case RECORD_CODE_SAMPLES:
		record->code_samples.node = number32(), record->code_samples.count = number32();
		record->code_samples.begin_ns = record->time_ns - (int64_t)(number() >> 8);
		break;
	case RECORD_CODE_THREAD:
		record->code_thread.id = number32(), record->code_thread.group = number32();
		record->code_thread.tid = (int32_t)number(), record->code_thread.state = number32();
		record->code_thread.node = number32(), record->code_thread.name = maybe_text(set);
		record->code_thread.samples = number(), record->code_thread.busy = number();
		record->code_thread.waits = number(), record->code_thread.is_gone = flag();
		break;
	case RECORD_LOOPS: fill_loops(set, record); break;
	case RECORD_CODE_GIL_WAITS:
		record->code_gil_waits.group = number32(), record->code_gil_waits.thread = number32();
		record->code_gil_waits.node = number32(), record->code_gil_waits.count = number32();
		record->code_gil_waits.begin_ns = record->time_ns - (int64_t)(number() >> 8);
		break;
	case RECORD_CODE_TIME: record->code_time.id = number32(), record->code_time.total_ns = number(); break;
	case RECORD_COLLECTIVE_RANK:
	case RECORD_COLLECTIVE_GROUP:
	case RECORD_COLLECTIVE_OP:
	case RECORD_COLLECTIVE_STATE:
	case RECORD_COLLECTIVES: fill_of_collectives(set, record); break;
	case RECORD_RAS:
		record->ras.pid = (int32_t)number(), record->ras.version = text(set), record->ras.host = maybe_text(set);
		record->ras.collection_s = (double)number32(), record->ras.timeouts = number32();
		record->ras.left_out = number32();
		break;
	case RECORD_RAS_GROUP: fill_ras(set, record); break;
	case RECORD_KIND_COUNT: break;
	}
}

static void fill_set(struct sample_set *set, size_t count)
{
	sample_set_clear(set);
	set->time_ns = (int64_t)(random_bits() >> 4);
	int64_t time_ns = set->time_ns;
	for (size_t i = 0; i < count; i++) {
		time_ns += flag() ? (int64_t)(number() >> 8) - (int64_t)(number() >> 8) : 0;
		struct record *record = sample_set_add(
			set, (enum record_kind)(random_bits() % RECORD_KIND_COUNT), (unsigned)(random_bits() % 3), time_ns);
		record->lane = (uint16_t)(flag() ? 0 : number());
		record->sequence = record->kind >= RECORD_EPOCH_BEGIN ? flag() ? i : number() : flag() ? 0 : number();
		fill(set, record);
	}
}

/* -- equality, by the tables: what a layout holds is compared field by field, and what it does not would be seen as a
 * difference in bytes -- */

static bool is_same_struct(const struct layout *layout, const char *a, const char *b);

static bool is_same_field(const struct field *field, const char *a, const char *b)
{
	static const size_t sizes[] = { [FIELD_U8] = 1,
		[FIELD_U16] = 2,
		[FIELD_U32] = 4,
		[FIELD_U64] = 8,
		[FIELD_I32] = 4,
		[FIELD_I64] = 8,
		[FIELD_TIME] = 8,
		[FIELD_DOUBLE] = 8,
		[FIELD_FLOAT] = 4,
		[FIELD_SELF] = 4,
		[FIELD_FLAG] = 1,
		[FIELD_OWN_COUNTS] = HISTOGRAM_BUCKETS * 4 };
	const char *left, *right;
	double numbers[2];
	float singles[2];
	size_t counts[2] = { 1, 1 };
	a += field->offset, b += field->offset;
	memcpy(&left, a, sizeof left);
	memcpy(&right, b, sizeof right);
	switch (field->type) {
	case FIELD_DOUBLE:
		memcpy(&numbers[0], a, 8), memcpy(&numbers[1], b, 8);
		return (isnan(numbers[0]) && isnan(numbers[1])) || memcmp(a, b, 8) == 0;
	case FIELD_FLOAT:
	case FIELD_SELF:
		memcpy(&singles[0], a, 4), memcpy(&singles[1], b, 4);
		return (isnan(singles[0]) && isnan(singles[1])) || memcmp(a, b, 4) == 0;
	case FIELD_TEXT: return (!left && !right) || (left && right && strcmp(left, right) == 0);
	case FIELD_COUNTS: return (!left && !right) || (left && right && memcmp(left, right, HISTOGRAM_BUCKETS * 4) == 0);
	case FIELD_ROWS:
		memcpy(&counts[0], a - field->offset + field->count_offset, sizeof counts[0]);
		memcpy(&counts[1], b - field->offset + field->count_offset, sizeof counts[1]);
		if (counts[0] != counts[1])
			return false;
		for (size_t i = 0; i < counts[0]; i++)
			if (!is_same_struct(field->part, left + i * field->part->size, right + i * field->part->size))
				return false;
		return true;
	case FIELD_PART: return left && right && is_same_struct(field->part, left, right);
	default: return memcmp(a, b, sizes[field->type]) == 0;
	}
}

static bool is_same_struct(const struct layout *layout, const char *a, const char *b)
{
	for (size_t i = 0; i < layout->count; i++)
		if (!is_same_field(&layout->fields[i], a, b))
			return false;
	return true;
}

static void ck_same(const struct sample_set *a, const struct sample_set *b)
{
	ck_assert_uint_eq(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		const struct record *left = &a->records[i], *right = &b->records[i];
		ck_assert_msg(left->kind == right->kind && left->run == right->run && left->lane == right->lane &&
				left->sequence == right->sequence && left->time_ns == right->time_ns &&
				is_same_struct(&record_layouts[left->kind], (const char *)left, (const char *)right),
			"record %zu (%s) came back otherwise", i, record_kind_name((enum record_kind)left->kind));
	}
}

/* -- tests -- */

static struct sample_set set, back;
static struct buffer bytes;
static struct codec_numbers own;

static void setup(void)
{
	seed = 88172645463325252u;
	codec_own_numbers(&own);
}

static void teardown(void)
{
	sample_set_release(&set);
	sample_set_release(&back);
	buffer_release(&bytes);
}

static bool read_back(size_t length)
{
	uint64_t unknown = 0;
	sample_set_clear(&back);
	bool is_whole = codec_read((const unsigned char *)bytes.data, length, &own, set.time_ns, &back, &unknown);
	ck_assert_uint_eq(unknown, 0);
	return is_whole;
}

START_TEST(every_kind_comes_back_as_it_was)
{
	for (int round = 0; round < 300; round++) {
		fill_set(&set, 200);
		buffer_clear(&bytes);
		ck_assert_uint_eq(codec_write(&set, 0, SIZE_MAX, &bytes), set.count);
		ck_assert(read_back(bytes.length));
		ck_same(&set, &back);
	}
}
END_TEST

/* The fields cover the size of each union member: no field was added without its layout. */
START_TEST(every_kind_has_a_layout)
{
	for (size_t i = 0; i < RECORD_KIND_COUNT; i++)
		ck_assert_msg(record_layouts[i].count > 0, "%s has none", record_kind_name((enum record_kind)i));
}
END_TEST

START_TEST(records_written_in_parts_are_read_in_parts)
{
	fill_set(&set, 500);
	size_t parts = 0;
	uint64_t unknown = 0;
	sample_set_clear(&back);
	for (size_t from = 0; from < set.count; parts++) {
		buffer_clear(&bytes);
		from = codec_write(&set, from, 1000, &bytes);
		ck_assert(codec_read((const unsigned char *)bytes.data, bytes.length, &own, set.time_ns, &back, &unknown));
	}
	ck_assert_uint_gt(parts, 5);
	ck_same(&set, &back);
}
END_TEST

START_TEST(truncated_bytes_are_reported_and_earlier_records_remain)
{
	fill_set(&set, 20);
	buffer_clear(&bytes);
	codec_write(&set, 0, SIZE_MAX, &bytes);
	for (size_t length = 0; length < bytes.length; length++) {
		unsigned char *copy = malloc(length ? length : 1);
		uint64_t unknown = 0;
		memcpy(copy, bytes.data, length);
		sample_set_clear(&back);
		bool is_whole = codec_read(copy, length, &own, set.time_ns, &back, &unknown);
		ck_assert_uint_lt(back.count, set.count);
		ck_assert(!is_whole || length == 0 || back.count > 0);
		free(copy);
	}
}
END_TEST

/* Random bytes: only the sanitizers and the bounds can fail here. */
START_TEST(noise_is_survived)
{
	for (int round = 0; round < 3000; round++) {
		uint64_t unknown = 0;
		fill_set(&set, 10);
		buffer_clear(&bytes);
		codec_write(&set, 0, SIZE_MAX, &bytes);
		unsigned char *copy = malloc(bytes.length);
		memcpy(copy, bytes.data, bytes.length);
		for (uint64_t flips = 1 + random_bits() % 8; flips > 0; flips--)
			copy[random_bits() % bytes.length] = (unsigned char)random_bits();
		sample_set_clear(&back);
		codec_read(copy, bytes.length, &own, set.time_ns, &back, &unknown);
		ck_assert_uint_le(back.count, bytes.length);
		free(copy);
	}
}
END_TEST

/* Another version has other kinds and metrics, in another order. */
START_TEST(numbers_go_by_names_and_the_unknown_is_stepped_over)
{
	struct codec_numbers theirs;
	struct buffer names = BUFFER_INIT;
	uint64_t unknown = 0;
	codec_write_numbers(&names);
	ck_assert(codec_read_numbers((const unsigned char *)names.data, names.length, &theirs));
	ck_assert_int_eq(memcmp(&theirs, &own, sizeof own), 0);
	char *gauge = memmem(names.data, names.length, "GAUGE", 5),
		 *cpus = memmem(names.data, names.length, "system.cpus", 11);
	*gauge = 'X';
	*cpus = 'X';
	ck_assert(codec_read_numbers((const unsigned char *)names.data, names.length, &theirs));
	ck_assert_int_eq(theirs.kinds[RECORD_GAUGE], -1);
	ck_assert_int_eq(theirs.metrics[METRIC_SYSTEM_CPUS], -1);
	set.time_ns = 1000;
	struct record *record = sample_set_add(&set, RECORD_BATCH_BEGIN, 1, 1100);
	record->sequence = 7;
	record = sample_set_add(&set, RECORD_GAUGE, 1, 1200);
	record->sequence = 8;
	sample_set_figure(&set, 1300, METRIC_SYSTEM_CPUS, 0, 2);
	sample_set_figure(&set, 1300, METRIC_SYSTEM_LOAD, 0, 3);
	record = sample_set_add(&set, RECORD_BATCH_END, 1, 1400);
	record->sequence = 9;
	codec_write(&set, 0, SIZE_MAX, &bytes);
	ck_assert(codec_read((const unsigned char *)bytes.data, bytes.length, &theirs, set.time_ns, &back, &unknown));
	ck_assert_uint_eq(unknown, 2);
	ck_assert_uint_eq(back.count, 3);
	ck_assert_int_eq(back.records[1].figure.metric, METRIC_SYSTEM_LOAD);
	ck_assert_uint_eq(back.records[2].sequence, 9);
	ck_assert_int_eq(back.records[2].time_ns, 1400);
	buffer_release(&names);
}
END_TEST

START_TEST(an_event_takes_few_bytes)
{
	set.time_ns = 5000000000;
	for (uint64_t i = 0; i < 1000; i++) {
		struct record *record =
			sample_set_add(&set, RECORD_SPAN, 0, 5000000000 + (int64_t)(i * 3000000 + i % 7 * 1311));
		record->sequence = i;
		record->span.name = 1 + (uint32_t)(i % 6);
		record->span.duration_ns = (int64_t)(2000000 + i % 11 * 1111);
		record->span.self_s = (float)((double)record->span.duration_ns * 1e-9);
		record->span.cpu_s = record->span.memory_bytes = NAN;
	}
	codec_write(&set, 0, SIZE_MAX, &bytes);
	ck_assert_uint_lt(bytes.length, 14 * set.count);
}
END_TEST

START_TEST(crc_is_the_castagnoli_one)
{
	/* RFC 3720, appendix B.4. */
	unsigned char block[32];
	ck_assert_uint_eq(crc32c(0, "123456789", 9), 0xe3069283);
	memset(block, 0, sizeof block);
	ck_assert_uint_eq(crc32c(0, block, sizeof block), 0x8a9136aa);
	memset(block, 0xff, sizeof block);
	ck_assert_uint_eq(crc32c(0, block, sizeof block), 0x62a8ab43);
	for (unsigned char i = 0; i < 32; i++)
		block[i] = i;
	ck_assert_uint_eq(crc32c(0, block, sizeof block), 0x46dd794e);
	ck_assert_uint_eq(crc32c(crc32c(0, block, 13), block + 13, 19), 0x46dd794e);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("codec");
	TCase *tests = tcase_create("codec");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, every_kind_comes_back_as_it_was);
	tcase_add_test(tests, every_kind_has_a_layout);
	tcase_add_test(tests, records_written_in_parts_are_read_in_parts);
	tcase_add_test(tests, truncated_bytes_are_reported_and_earlier_records_remain);
	tcase_add_test(tests, noise_is_survived);
	tcase_add_test(tests, numbers_go_by_names_and_the_unknown_is_stepped_over);
	tcase_add_test(tests, an_event_takes_few_bytes);
	tcase_add_test(tests, crc_is_the_castagnoli_one);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
