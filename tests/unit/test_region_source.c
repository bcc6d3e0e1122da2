#define PMTOP_IMPLEMENTATION
#include "src/region/pmtop.h"

#include <check.h>
#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "src/base/clock.h"
#include "src/sources/source.h"
#include "src/sources/target/target.h"
#include "tests/support/children.h"
#include "tests/support/run_account.h"
#include "tests/support/sets.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"

static struct target target;
static struct reason reason;
static struct sample_set set;
static struct run_account account, other = { .run = 1 };
static void *state;
static int64_t later_ns; /* added to the clock instead of waiting */

static void open_source(pid_t pid)
{
	ck_assert_int_eq(target_open(&target, pid, "/proc", &reason), STATUS_OK);
	ck_assert_int_eq(region_source.open(&target, &state, &reason), STATUS_OK);
}

static enum status read_source(void)
{
	sample_set_clear(&set);
	target_refresh(&target);
	enum status status = region_source.read(state, clock_monotonic_ns() + later_ns, &set);
	run_account_apply(&account, &set);
	run_account_apply(&other, &set);
	ck_assert_msg(!account.wrong[0], "%s", account.wrong);
	ck_assert_msg(!other.wrong[0], "%s", other.wrong);
	return status;
}

/* As after a pause longer than the interval of searches for a region. */
static enum status read_source_later(void)
{
	later_ns += 60 * NS_PER_S;
	return read_source();
}

static void close_source(void)
{
	region_source.close(state);
	sample_set_release(&set);
	target_close(&target);
}

static void kill_and_close(struct child *child)
{
	child_kill(child);
	while (read_source() == STATUS_OK)
		;
	close_source();
}

/* Removes the region of a killed process. */
static char *left_region(pid_t pid)
{
	char pattern[64];
	glob_t found;
	snprintf(pattern, sizeof pattern, "/dev/shm/pmtop.*.%d.*", (int)pid);
	char *path = glob(pattern, 0, NULL, &found) == 0 ? strdup(found.gl_pathv[0]) : NULL;
	globfree(&found);
	return path;
}

static void remove_left_region(pid_t pid)
{
	char *path = left_region(pid);
	if (path)
		unlink(path);
	free(path);
}

/* -- publishers -- */

static void publish_batches(struct pmtop *pm, uint64_t first, uint64_t count)
{
	for (uint64_t i = first; i < first + count; i++) {
		pmtop_batch_begin(pm, i);
		PMTOP_SPAN(pm, "data")
		PMTOP_SPAN(pm, "decode");
		PMTOP_SPAN(pm, "forward");
		pmtop_batch_end(pm, 1.0 / (double)(i + 1));
	}
}

/* Opens at once; then publishes `batches` more at each release. */
struct plan {
	uint64_t first, then;
	uint32_t lanes, slots;
};

static void train_body(void *argument, int in, int out)
{
	const struct plan *plan = argument;
	struct pmtop_options options = { .slots = plan->slots, .lanes = plan->lanes };
	struct pmtop *pm = pmtop_open("resnet", &options);
	pmtop_plan(pm, 3, 100, 32);
	pmtop_meta(pm, "RANK", "0");
	pmtop_mode(pm, "train");
	pmtop_epoch_begin(pm, 7);
	publish_batches(pm, 0, plan->first);
	for (uint64_t next = plan->first;; next += plan->then) {
		child_ready(out);
		child_wait(in);
		publish_batches(pm, next, plan->then);
	}
}

static struct child start_training(struct plan *plan)
{
	struct child child = child_start(train_body, plan);
	child_await(&child);
	return child;
}

static void go_on(struct child *child)
{
	child_release(child);
	child_await(child);
}

static void ck_counts(uint64_t batches)
{
	ck_assert_uint_eq(run_account_count(&account, TOTAL_BATCH, NULL), batches);
	ck_assert_uint_eq(run_account_count(&account, TOTAL_SPAN, "data"), batches);
	ck_assert_uint_eq(run_account_count(&account, TOTAL_SPAN, "decode"), batches);
	ck_assert_uint_eq(run_account_count(&account, TOTAL_SPAN, "forward"), batches);
	ck_assert_uint_eq(run_account_count_mode(&account, TOTAL_BATCH, "train"), batches);
}

/* -- emitted records -- */

START_TEST(a_run_is_emitted_from_its_start)
{
	struct plan plan = { 10, 25, 0, 0 };
	struct child child = start_training(&plan);
	open_source(child.pid);
	ck_assert_int_eq(read_source(), STATUS_OK);
	ck_assert_uint_eq(account.opened, 1);
	ck_assert_str_eq(account.run_name, "resnet");
	ck_assert_int_eq(account.pid, child.pid);
	ck_assert_int_eq(account.inner_pid, child.pid);
	ck_assert_uint_eq(strlen(account.uuid), 32);
	ck_assert_str_eq(account.last_meta, "RANK=0");
	ck_assert_uint_eq(account.state.epochs_planned, 3);
	ck_assert_uint_eq(account.state.batches_per_epoch, 100);
	ck_assert_uint_eq(account.state.samples_per_batch, 32);
	ck_assert_uint_eq(account.state.epoch_index, 7);
	ck_assert(account.state.in_epoch);
	ck_assert_uint_eq(account.state.batches_in_epoch, 10);
	ck_assert_double_eq(account.state.loss, 0.1);
	ck_assert_uint_eq(account.batch_ends, 10);
	ck_assert_uint_eq(account.histories_emitted, 1);
	ck_assert_uint_eq(account.epochs_emitted, 1);
	ck_counts(10);
	for (int i = 1; i <= 4; i++) {
		go_on(&child);
		read_source();
		ck_counts(10 + (uint64_t)i * 25);
		ck_assert_uint_eq(account.batch_ends, 10 + (uint64_t)i * 25);
	}
	ck_assert_uint_eq(account.lost + account.before, 0);
	ck_assert_uint_eq(account.histories_emitted, 1);
	/* Nothing new: no record. */
	read_source();
	ck_assert_uint_eq(set.count, 0);
	kill_and_close(&child);
	remove_left_region(child.pid);
}
END_TEST

/* The slot of lane 0 that would be written next, in a mapping of the region's file. */
static uint32_t *next_sequence_of(const char *path, uint32_t *beginning)
{
	struct pmtop_section sections[PMTOP_SECTION_TYPES] = { { 0 } };
	int fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	unsigned char *base = mmap(NULL, PMTOP_HEADER_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(base, MAP_FAILED);
	const struct pmtop_header *header = (const void *)base;
	size_t size = header->file_size;
	for (uint32_t i = 0; i < header->section_count; i++)
		sections[header->sections[i].type] = header->sections[i];
	munmap(base, PMTOP_HEADER_SIZE);
	base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(base, MAP_FAILED);
	close(fd);
	const struct pmtop_lane *lane = (const void *)(base + sections[PMTOP_SECTION_LANES].offset);
	struct pmtop_slot *slots = (void *)(base + sections[PMTOP_SECTION_SLOTS].offset);
	uint64_t per_lane = sections[PMTOP_SECTION_SLOTS].count / sections[PMTOP_SECTION_LANES].count;
	*beginning = (uint32_t)(2 * lane->head + 1);
	return &slots[lane->head % per_lane].sequence;
}

/* Fault 31 of tests/README.md. */
START_TEST(a_record_in_progress_is_reported_when_it_stalls_and_not_waited_for)
{
	struct plan plan = { 10, 25, 0, 0 };
	struct child child = start_training(&plan);
	open_source(child.pid);
	read_source();
	char *path = left_region(child.pid);
	uint32_t begun, *sequence = next_sequence_of(path, &begun), whole = *sequence;
	*sequence = begun;
	read_source();
	ck_assert_uint_eq(set.count, 0);
	read_source();
	ck_assert_uint_eq(set.count, 1);
	ck_assert_int_eq(set.records[0].kind, RECORD_MISSING);
	ck_assert_str_eq(set.records[0].missing.figure, "events");
	ck_assert_ptr_nonnull(strstr(set.records[0].missing.text, "1 record half written"));
	read_source();
	ck_assert_uint_eq(set.count, 0);
	*sequence = whole;
	read_source();
	ck_assert_uint_eq(set.count, 1);
	ck_assert_ptr_null(set.records[0].missing.text);
	free(path);
	kill_and_close(&child);
	remove_left_region(child.pid);
}
END_TEST

START_TEST(late_attach_knows_exact_counts)
{
	struct plan plan = { 5000, 10, 0, 256 };
	struct child child = start_training(&plan);
	open_source(child.pid);
	read_source();
	ck_counts(5000);
	ck_assert_uint_lt(account.batch_ends, 256);
	ck_assert_uint_gt(account.before, 0);
	ck_assert_uint_eq(account.lost, 0);
	/* The step of a batch is known when the next one begins. */
	ck_assert_uint_eq(account.history_batches, 4999);
	ck_assert_uint_eq(account.before, account.next_sequence[0] - account.events);
	go_on(&child);
	read_source();
	ck_counts(5010);
	kill_and_close(&child);
	remove_left_region(child.pid);
}
END_TEST

START_TEST(lapped_reader_counts_what_it_lost_and_keeps_exact_totals)
{
	struct plan plan = { 20, 20000, 0, 256 };
	struct child child = start_training(&plan);
	open_source(child.pid);
	read_source();
	ck_counts(20);
	for (uint64_t i = 1; i <= 3; i++) {
		uint64_t lost = account.lost;
		go_on(&child);
		read_source();
		ck_counts(20 + i * 20000);
		ck_assert_uint_gt(account.lost, lost);
		ck_assert_uint_eq(account.events + account.lost, account.next_sequence[0]);
		ck_assert_uint_eq(account.histories_emitted, 1 + (unsigned)i);
	}
	/* Events without a loss are added to those totals. */
	ck_assert_uint_eq(account.before, 0);
	kill_and_close(&child);
	remove_left_region(child.pid);
}
END_TEST

enum { BEHIND_MAX = 50 };

static void fast_body(void *argument, int in, int out)
{
	struct pmtop_options options = { .slots = 1024 };
	uint64_t *published = argument;
	struct pmtop *pm = pmtop_open("fast", &options);
	pmtop_mode(pm, "train");
	child_ready(out);
	fcntl(in, F_SETFL, O_NONBLOCK);
	char byte;
	while (read(in, &byte, 1) != 1) {
		publish_batches(pm, *published, 50);
		*published += 50;
	}
	child_ready(out);
	pause();
}

START_TEST(counts_are_exact_under_a_writer_at_full_speed)
{
	uint64_t *published = mmap(NULL, sizeof *published, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct child child = child_start(fast_body, published);
	child_await(&child);
	open_source(child.pid);
	/* A total that is constantly written has no consistent copy at some readings: then the earlier one remains. */
	for (int i = 0, behind = 0; i < 3000; i++) {
		uint64_t before = *published;
		read_source();
		behind = run_account_count(&account, TOTAL_BATCH, NULL) + 1 < before ? behind + 1 : 0;
		ck_assert_int_lt(behind, BEHIND_MAX);
	}
	child_release(&child);
	child_await(&child);
	read_source();
	read_source();
	ck_counts(*published);
	ck_assert_uint_eq(account.events + account.lost + account.before, account.next_sequence[0]);
	ck_assert_uint_gt(*published, 1000);
	kill_and_close(&child);
	remove_left_region(child.pid);
}
END_TEST

/* -- threads -- */

enum { THREADS = 4, SPANS = 200 };

static void *thread_body(void *argument)
{
	struct pmtop *pm = argument;
	for (int i = 0; i < SPANS; i++)
		PMTOP_SPAN(pm, "load")
	sched_yield();
	return NULL;
}

static void threads_body(void *argument, int in, int out)
{
	(void)argument;
	struct pmtop *pm = pmtop_open("threads", NULL);
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread_body, pm);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	child_ready(out);
	child_wait(in);
}

START_TEST(lanes_are_merged_by_time)
{
	struct child child = child_start(threads_body, NULL);
	child_await(&child);
	open_source(child.pid);
	read_source(); /* run_account_apply checks the order */
	ck_assert_uint_eq(run_account_count(&account, TOTAL_SPAN, "load"), THREADS * SPANS);
	ck_assert_uint_eq(account.events, THREADS * SPANS);
	kill_and_close(&child);
	remove_left_region(child.pid);
}
END_TEST

/* -- all kinds of events -- */

static void kinds_body(void *argument, int in, int out)
{
	(void)argument;
	struct pmtop *pm = pmtop_open("kinds \x1b[2J", NULL);
	pmtop_mode(pm, "train");
	pmtop_epoch_begin(pm, 3);
	for (int i = 0; i < 3; i++) {
		pmtop_batch_begin(pm, 40 + (uint64_t)i);
		PMTOP_SPAN_NOTING(pm, "forward", PMTOP_NOTE_CPU | PMTOP_NOTE_MEMORY)
		for (int64_t end_ns = clock_monotonic_ns() + NS_PER_MS; clock_monotonic_ns() < end_ns;)
			;
		pmtop_batch_end(pm, i ? (double)NAN : 0.5);
	}
	pmtop_epoch_end(pm);
	pmtop_gauge(pm, "learning rate", 0.25);
	pmtop_count(pm, "samples", 96);
	pmtop_mark(pm, "saved \x1b]52;c;x\x07");
	pmtop_meta(pm, "model", "evil\xc2\x9bname");
	pmtop_span_begin(pm, "validation");
	pmtop_span_begin(pm, "data");
	child_ready(out);
	child_wait(in);
	pmtop_span_end(pm);
	pmtop_span_end(pm);
	pmtop_meta(pm, "model", "other");
	child_ready(out);
	child_wait(in);
}

START_TEST(every_kind_of_event_becomes_its_record)
{
	int64_t before_ns = clock_monotonic_ns();
	struct child child = child_start(kinds_body, NULL);
	child_await(&child);
	open_source(child.pid);
	read_source();
	ck_assert_str_eq(account.run_name, "kinds ^[[2J");
	ck_assert_str_eq(account.last_mark, "saved ^[]52;c;x^G");
	ck_assert_str_eq(account.last_meta, "model=evil<U+009B>name");
	ck_assert_double_eq(account.last_gauge, 0.25);
	ck_assert_double_eq(account.last_counter, 96);
	ck_assert_uint_eq(account.open_spans, 2);
	const struct record *epoch = set_record(&set, RECORD_EPOCH_BEGIN, 0), *end = set_record(&set, RECORD_EPOCH_END, 0);
	ck_assert_uint_eq(epoch->epoch.index, 3);
	ck_assert_uint_eq(end->epoch.index, 3);
	const struct record *batch = set_record(&set, RECORD_BATCH_END, 0);
	ck_assert_uint_eq(batch->batch.index, 40);
	ck_assert_double_eq(batch->batch.loss, 0.5);
	ck_assert_int_eq(batch->batch.begin_ns, set_record(&set, RECORD_BATCH_BEGIN, 0)->time_ns);
	ck_assert_int_gt(batch->batch.begin_ns, before_ns);
	ck_assert_int_ge(batch->time_ns - batch->batch.begin_ns, NS_PER_MS);
	ck_assert(isnan(set_record(&set, RECORD_BATCH_END, 1)->batch.loss));
	const struct record *evidence = set_record(&set, RECORD_EVIDENCE, 1);
	ck_assert_ptr_nonnull(evidence);
	ck_assert_double_gt(evidence->evidence->cpu_s, 0);
	ck_assert(isnan(evidence->evidence->samples) || evidence->evidence->samples > 0);
	const struct record *span = set_record(&set, RECORD_SPAN, 0);
	ck_assert_int_ge(span->span.duration_ns, NS_PER_MS);
	ck_assert_float_ge(span->span.cpu_s, 0);
	ck_assert_float_ge(span->span.self_s, 1e-3f);
	ck_assert(!isnan(span->span.memory_bytes));
	const struct record *open = set_record(&set, RECORD_OPEN_SPAN, 1);
	ck_assert_str_eq(account.name[open->span.name], "data");
	ck_assert_str_eq(account.name[open->span.parent], "validation");
	ck_assert_int_ge(open->span.duration_ns, 0);
	go_on(&child);
	read_source();
	ck_assert_uint_eq(account.open_spans, 0);
	ck_assert_uint_eq(set_count(&set, RECORD_META), 1);
	ck_assert_str_eq(account.last_meta, "model=other");
	kill_and_close(&child);
	remove_left_region(child.pid);
}
END_TEST

/* Events of mode train in the ring are emitted as such, though the run is in validation at attach. */
static void modes_body(void *argument, int in, int out)
{
	(void)argument;
	struct pmtop_options options = { .slots = 256 };
	struct pmtop *pm = pmtop_open("modes", &options);
	pmtop_mode(pm, "train");
	publish_batches(pm, 0, 500);
	pmtop_mode(pm, "validation");
	publish_batches(pm, 0, 5);
	child_ready(out);
	child_wait(in);
}

START_TEST(events_keep_their_mode_where_its_change_is_gone)
{
	struct child child = child_start(modes_body, NULL);
	child_await(&child);
	open_source(child.pid);
	read_source();
	ck_assert_uint_eq(run_account_count_mode(&account, TOTAL_BATCH, "train"), 500);
	ck_assert_uint_eq(run_account_count_mode(&account, TOTAL_BATCH, "validation"), 5);
	const struct record *mode = set_record(&set, RECORD_MODE, 0);
	ck_assert_uint_eq(mode->mode.name, 0);
	ck_assert_str_eq(account.name[account.mode], "validation");
	kill_and_close(&child);
	remove_left_region(child.pid);
}
END_TEST

/* -- runs come and go -- */

static void open_later_body(void *argument, int in, int out)
{
	(void)argument;
	child_ready(out);
	for (int i = 0;; i++) {
		child_wait(in);
		struct pmtop *pm = pmtop_open(i ? "second" : "first", NULL);
		publish_batches(pm, 0, 3);
		child_ready(out);
		child_wait(in);
		publish_batches(pm, 3, 2);
		pmtop_close(pm);
		child_ready(out);
	}
}

static size_t virtual_bytes(void)
{
	size_t pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	ck_assert_int_eq(fscanf(file, "%zu", &pages), 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Opens a region of another size than its virtual memory had, or in the place of as much memory. */
static void open_in_place_body(void *is_in_place, int in, int out)
{
	struct pmtop *pm = pmtop_open("tried", NULL);
	size_t with = virtual_bytes();
	pmtop_close(pm);
	size_t region_bytes = with - virtual_bytes();
	void *place = mmap(NULL, region_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	child_ready(out);
	child_wait(in);
	if (*(const bool *)is_in_place)
		munmap(place, region_bytes);
	pmtop_open("opened", NULL);
	child_ready(out);
	child_wait(in);
}

static void map_library_body(void *path, int in, int out)
{
	int fd = open(path, O_RDONLY);
	mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	child_ready(out);
	child_wait(in);
}

/* The mapped libraries show which line brings steps. */
START_TEST(without_a_region_the_remedy_is_that_of_the_framework)
{
	char folder[] = "/tmp/pmtop-advice-XXXXXX", path[128], command[400];
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/site-packages/jaxlib/_jax.so", folder);
	snprintf(command, sizeof command, "mkdir -p %s/site-packages/jaxlib && echo library > %s", folder, path);
	ck_assert_int_eq(system(command), 0);
	struct child child = child_start(map_library_body, path);
	child_await(&child);
	open_source(child.pid);
	read_source();
	const struct record *missing = set_missing(&set, "region");
	ck_assert_ptr_nonnull(missing);
	ck_assert_str_eq(missing->missing.text, "no instrumentation");
	ck_assert_str_eq(
		missing->missing.remedy, "with JAX, import pmtop.jax and write train_step = pmtop.jax.step(train_step)");
	kill_and_close(&child);
	snprintf(command, sizeof command, "rm -r %s", folder);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(a_region_is_searched_for_until_found_and_again_after_its_end)
{
	struct child child = child_start(open_later_body, NULL);
	child_await(&child);
	open_source(child.pid);
	read_source();
	const struct record *missing = set_missing(&set, "region");
	ck_assert_ptr_nonnull(missing);
	ck_assert_str_eq(missing->missing.text, "no instrumentation");
	ck_assert_ptr_nonnull(strstr(missing->missing.remedy, "pmtop.h"));
	read_source_later();
	ck_assert_uint_eq(set_count(&set, RECORD_MISSING), 0);
	for (unsigned i = 0; i < 2; i++) {
		go_on(&child);
		read_source_later();
		ck_assert_uint_eq(account.opened, i + 1);
		ck_assert_str_eq(account.run_name, i ? "second" : "first");
		ck_assert_ptr_null(set_missing(&set, "region")->missing.text);
		/* It is closed and its file is unlinked: its last events are still emitted. */
		go_on(&child);
		read_source();
		ck_assert_uint_eq(account.batch_ends, 5);
		ck_assert_uint_eq(account.closed, i + 1);
		ck_assert_str_eq(account.why, "ended");
		ck_assert_ptr_nonnull(set_missing(&set, "region")->missing.text);
	}
	ck_assert_uint_eq(other.opened, 0);
	kill_and_close(&child);
}
END_TEST

START_TEST(a_process_whose_virtual_memory_keeps_its_size_is_searched_rarely)
{
	for (int i = 0; i < 2; i++) {
		bool is_in_place = i > 0;
		account = (struct run_account){ 0 };
		struct child child = child_start(open_in_place_body, &is_in_place);
		child_await(&child);
		open_source(child.pid);
		read_source();
		later_ns += 6 * NS_PER_S;
		read_source();
		go_on(&child);
		later_ns += 4 * NS_PER_S;
		read_source();
		ck_assert_uint_eq(account.opened, !is_in_place);
		read_source_later();
		ck_assert_uint_eq(account.opened, 1);
		ck_assert_str_eq(account.run_name, "opened");
		kill_and_close(&child);
		remove_left_region(child.pid);
	}
}
END_TEST

START_TEST(a_killed_run_is_emitted_to_its_last_event)
{
	struct plan plan = { 10, 25, 0, 0 };
	struct child child = start_training(&plan);
	open_source(child.pid);
	read_source();
	go_on(&child);
	child_kill(&child);
	ck_assert_int_eq(read_source(), STATUS_END);
	ck_counts(35);
	ck_assert_uint_eq(account.closed, 1);
	ck_assert_str_eq(account.why, "killed or crashed: its last events were read");
	ck_assert(!account.state.is_ended);
	close_source();

	/* -s: the file that it stored. */
	char *path = left_region(child.pid);
	ck_assert_ptr_nonnull(path);
	account = (struct run_account){ 0 };
	ck_assert_int_eq(target_open(&target, 0, "/proc", &reason), STATUS_OK);
	target.region_path = path;
	target.uid = geteuid();
	ck_assert_int_eq(region_source.open(&target, &state, &reason), STATUS_OK);
	ck_assert_int_eq(read_source(), STATUS_END);
	ck_counts(35);
	ck_assert_str_eq(account.run_name, "resnet");
	ck_assert_uint_eq(account.closed, 1);
	close_source();

	unlink(path);
	ck_assert_int_eq(target_open(&target, 0, "/proc", &reason), STATUS_OK);
	target.region_path = path;
	ck_assert_int_eq(region_source.open(&target, &state, &reason), STATUS_OK);
	ck_assert_int_eq(read_source(), STATUS_END);
	ck_assert_str_eq(set_missing(&set, "region")->missing.text, "the region's file was deleted");
	close_source();
	free(path);
}
END_TEST

static void exec_body(void *argument, int in, int out)
{
	char numbers[2][16];
	struct pmtop *pm = pmtop_open("before", NULL);
	publish_batches(pm, 0, 3);
	child_ready(out);
	child_wait(in);
	publish_batches(pm, 3, 1);
	snprintf(numbers[0], sizeof numbers[0], "%d", in);
	snprintf(numbers[1], sizeof numbers[1], "%d", out);
	execl("/proc/self/exe", "program", "--publish", argument, numbers[0], numbers[1], (char *)NULL);
}

static int publish_after_exec(char **arguments)
{
	struct pmtop *pm = pmtop_open(arguments[0], NULL);
	publish_batches(pm, 0, 7);
	child_ready(atoi(arguments[2]));
	child_wait(atoi(arguments[1]));
	return 0;
}

START_TEST(exec_closes_the_run_and_the_next_one_is_found)
{
	static char name[] = "after";
	struct child child = child_start(exec_body, name);
	child_await(&child);
	open_source(child.pid);
	read_source();
	ck_assert_str_eq(account.run_name, "before");
	go_on(&child);
	read_source();
	/* The old run is emitted to its end, the new one is another run. */
	ck_assert_uint_eq(account.closed, 1);
	ck_assert_str_eq(account.why, "process called exec");
	ck_assert_uint_eq(account.batch_ends, 4);
	ck_assert_str_eq(other.run_name, "after");
	ck_assert_uint_eq(other.batch_ends, 7);
	child_kill(&child);
	while (read_source() == STATUS_OK)
		;
	close_source();
	remove_left_region(child.pid);
	remove_left_region(child.pid);
}
END_TEST

static void ranks_body(void *argument, int in, int out)
{
	pid_t *pids = argument;
	for (int rank = 0; rank < 2; rank++) {
		if (fork() > 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pids[rank] = getpid();
		struct pmtop *pm = pmtop_open(rank ? "rank one" : "rank zero", NULL);
		publish_batches(pm, 0, 10 + (uint64_t)rank);
		child_ready(out);
		pause();
		_exit(0);
	}
	waitpid(pids[0], NULL, 0);
	child_wait(in);
}

static bool first_has_closed(void *argument)
{
	(void)argument;
	read_source_later();
	return account.closed == 1;
}

START_TEST(regions_of_two_ranks_are_two_runs)
{
	pid_t *pids = mmap(NULL, 2 * sizeof *pids, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct child child = child_start(ranks_body, pids);
	child_await(&child);
	child_await(&child);
	open_source(child.pid);
	read_source();
	ck_assert_uint_eq(account.opened, 1);
	ck_assert_uint_eq(other.opened, 1);
	ck_assert_int_eq(account.pid, pids[0]);
	ck_assert_int_eq(other.pid, pids[1]);
	ck_assert_uint_eq(run_account_count(&account, TOTAL_BATCH, NULL), 10);
	ck_assert_uint_eq(run_account_count(&other, TOTAL_BATCH, NULL), 11);
	/* One is killed: its run is closed, the other continues under its own number. */
	kill(pids[0], SIGKILL);
	ck_assert(wait_until(first_has_closed, NULL, 5));
	ck_assert_uint_eq(other.closed, 0);
	child_release(&child);
	child_collect(&child);
	ck_assert_int_eq(read_source(), STATUS_END);
	ck_assert_uint_eq(account.closed, 1);
	ck_assert_uint_eq(other.closed, 1);
	close_source();
	remove_left_region(pids[0]);
	remove_left_region(pids[1]);
}
END_TEST

/* DataLoader workers inherit the mapping; a worker that publishes gets a region of its own. */
static void workers_body(void *argument, int in, int out)
{
	pid_t *worker = argument;
	struct pmtop *pm = pmtop_open("parent", NULL);
	publish_batches(pm, 0, 5);
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		if (pid > 0) {
			if (i == 0)
				*worker = pid;
			continue;
		}
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (i == 0)
			PMTOP_SPAN(pm, "worker");
		child_ready(out);
		pause();
		_exit(0);
	}
	publish_batches(pm, 5, 5);
	child_ready(out);
	child_wait(in);
}

START_TEST(inherited_mapping_is_not_the_workers_own)
{
	pid_t *worker = mmap(NULL, sizeof *worker, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct child child = child_start(workers_body, worker);
	for (int i = 0; i < 4; i++)
		child_await(&child);
	open_source(child.pid);
	read_source();
	ck_assert_uint_eq(target.member_count, 4);
	ck_assert_uint_eq(set_count(&set, RECORD_RUN_OPENED), 2);
	ck_assert_int_eq(account.pid, child.pid);
	ck_assert_int_eq(other.pid, *worker);
	ck_assert_uint_eq(run_account_count(&account, TOTAL_BATCH, NULL), 10);
	ck_assert_uint_eq(run_account_count(&account, TOTAL_SPAN, "worker"), 0);
	ck_assert_uint_eq(run_account_count(&other, TOTAL_SPAN, "worker"), 1);
	ck_assert_uint_eq(run_account_count(&other, TOTAL_BATCH, NULL), 0);
	ck_assert_uint_eq(account.events, account.next_sequence[0]);
	kill_and_close(&child);
	remove_left_region(child.pid);
	remove_left_region(*worker);
}
END_TEST

/* -- more than a set may hold -- */

enum { MANY_THREADS = 2, MANY_SPANS = 60000 };

static pthread_barrier_t all_have_lanes;

static void *many_body(void *argument)
{
	struct pmtop *pm = argument;
	PMTOP_SPAN(pm, "load");
	/* A lane is reused once its thread has ended: here both threads must have their own. */
	pthread_barrier_wait(&all_have_lanes);
	for (int i = 1; i < MANY_SPANS; i++)
		PMTOP_SPAN(pm, "load");
	return NULL;
}

static void many_events_body(void *argument, int in, int out)
{
	(void)argument;
	struct pmtop_options options = { .lanes = 4, .slots = 65536, .directory = "" };
	struct pmtop *pm = pmtop_open("many", &options);
	pthread_t threads[MANY_THREADS];
	pthread_barrier_init(&all_have_lanes, NULL, MANY_THREADS);
	for (int i = 0; i < MANY_THREADS; i++)
		pthread_create(&threads[i], NULL, many_body, pm);
	for (int i = 0; i < MANY_THREADS; i++)
		pthread_join(threads[i], NULL);
	child_ready(out);
	child_wait(in);
}

START_TEST(one_reading_is_bounded_and_the_rest_follows)
{
	struct child child = child_start(many_events_body, NULL);
	child_await(&child);
	open_source(child.pid);
	read_source();
	uint64_t waiting = MANY_THREADS * MANY_SPANS - account.before;
	ck_assert_uint_gt(waiting, 64 * 1024);
	ck_assert_uint_eq(account.events, 64 * 1024);
	ck_assert_uint_eq(run_account_count(&account, TOTAL_SPAN, "load"), MANY_THREADS * MANY_SPANS);
	/* Also if the process ends in between. */
	child_kill(&child);
	ck_assert_int_eq(read_source(), STATUS_END);
	ck_assert_uint_eq(account.events, waiting);
	ck_assert_uint_eq(run_account_count(&account, TOTAL_SPAN, "load"), MANY_THREADS * MANY_SPANS);
	close_source();
	remove_left_region(child.pid);
}
END_TEST

int main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "--publish") == 0)
		return publish_after_exec(argv + 2);
	Suite *suite = suite_create("region source");
	TCase *all = tcase_create("region");
	tcase_set_timeout(all, 60);
	tcase_add_test(all, a_run_is_emitted_from_its_start);
	tcase_add_test(all, a_record_in_progress_is_reported_when_it_stalls_and_not_waited_for);
	tcase_add_test(all, late_attach_knows_exact_counts);
	tcase_add_test(all, lapped_reader_counts_what_it_lost_and_keeps_exact_totals);
	tcase_add_test(all, counts_are_exact_under_a_writer_at_full_speed);
	tcase_add_test(all, lanes_are_merged_by_time);
	tcase_add_test(all, every_kind_of_event_becomes_its_record);
	tcase_add_test(all, events_keep_their_mode_where_its_change_is_gone);
	tcase_add_test(all, without_a_region_the_remedy_is_that_of_the_framework);
	tcase_add_test(all, a_region_is_searched_for_until_found_and_again_after_its_end);
	tcase_add_test(all, a_process_whose_virtual_memory_keeps_its_size_is_searched_rarely);
	tcase_add_test(all, a_killed_run_is_emitted_to_its_last_event);
	tcase_add_test(all, exec_closes_the_run_and_the_next_one_is_found);
	tcase_add_test(all, regions_of_two_ranks_are_two_runs);
	tcase_add_test(all, inherited_mapping_is_not_the_workers_own);
	tcase_add_test(all, one_reading_is_bounded_and_the_rest_follows);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
