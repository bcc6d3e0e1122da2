/* Each cause from figures made by hand; a cause without evidence is not named. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "src/explain/causes/causes.h"
#include "src/explain/causes/causes_words.h"
#include "src/explain/explain.h"
#include "tests/support/suite.h"
#include "tests/unit/hand_run.h"

static struct run run;
static struct batch batch;
static struct baseline baseline;
static struct batch_window batch_window;
static struct explanation why;

static void phase_cpu(
	uint32_t name, uint32_t parent, double this_s, double baseline_s, double this_cpu_s, double baseline_cpu_s)
{
	add_phase(batch.phases, &batch.phase_count, name, parent, this_s);
	batch.phases[batch.phase_count - 1].cpu_s = (float)this_cpu_s;
	if (!isnan(baseline_s)) {
		add_phase(baseline.phases, &baseline.phase_count, name, parent, baseline_s);
		baseline.phases[baseline.phase_count - 1].cpu_s = (float)baseline_cpu_s;
	}
	if (parent == NAME_NONE) {
		batch.step_s = batch.batch_s += this_s;
		baseline.step_s = baseline.batch_s += isnan(baseline_s) ? 0 : baseline_s;
	}
}

static void phase(uint32_t name, uint32_t parent, double this_s, double baseline_s)
{
	phase_cpu(name, parent, this_s, baseline_s, NAN, NAN);
}

/* The median is 0.1 s with 0.08 s on the CPU; the samplers read twice in this batch. */
static void start(void)
{
	hand_run_init(&run);
	run.pid = 100;
	batch = (struct batch){ .step_s = 0, .has_evidence = true, .samples = 32 };
	batch.evidence = (struct evidence){ 0.08, 0.001, 50, 0, 10, 5, 0, 32 };
	baseline = (struct baseline){ .batches = 100 };
	baseline.evidence = batch.evidence;
	batch_window = (struct batch_window){ .from_ns = 0, .to_ns = 600000000, .seconds = 0.6, .readings = 2 };
}

static void explain(void) { explain_batch(&run, &batch, &baseline, &batch_window, &why); }

static struct window_figure *saw(enum metric metric, int32_t instance, double min, double max, double baseline_value)
{
	batch_window.figures[batch_window.figure_count] =
		(struct window_figure){ metric, instance, min, max, baseline_value };
	return &batch_window.figures[batch_window.figure_count++];
}

static void happened(
	enum window_event_kind kind, int32_t pid, uint32_t worker, double value, double baseline_value, const char *text)
{
	struct window_event *event = &batch_window.events[batch_window.event_count++];
	*event = (struct window_event){
		.kind = kind, .pid = pid, .worker = worker, .time_ns = 100000000, .value = value, .baseline = baseline_value
	};
	event->part_ratio = event->busy_ratio = NAN;
	snprintf(event->text, sizeof event->text, "%s", text);
}

static double share_of(enum cause_kind kind)
{
	double share = 0;
	for (size_t i = 0; i < why.cause_count; i++)
		if (why.causes[i].kind == kind)
			share += why.causes[i].share_ratio;
	return share;
}

static void ck_first(const char *what, double share_ratio)
{
	ck_assert_uint_ge(why.cause_count, 1);
	ck_assert_str_eq(why.causes[0].what, what);
	ck_assert_double_eq_tol(why.causes[0].share_ratio, share_ratio, 1e-3);
}

static double evidence(const char *key)
{
	for (size_t i = 0; i < why.causes[0].evidence_count; i++)
		if (strcmp(why.causes[0].evidence[i].key, key) == 0)
			return why.causes[0].evidence[i].this_value;
	return NAN;
}

/* -- the account of the thread's own record -- */

START_TEST(a_wait_in_the_run_queue_is_that_many_seconds)
{
	phase(FORWARD, 0, 0.5, 0.1);
	batch.evidence.run_queue_wait_s = 0.381;
	batch.evidence.involuntary_switches = 90;
	explain();
	ck_first("forward: waiting for a CPU", 0.95);
	ck_assert_double_eq(evidence("run_queue_wait_s"), 0.381);
	ck_assert_double_eq(evidence("involuntary_switches"), 90);
}
END_TEST

START_TEST(time_on_the_CPU_is_more_work)
{
	phase(FORWARD, 0, 0.5, 0.1);
	batch.evidence.cpu_s = 0.48;
	explain();
	ck_first("forward: more CPU work", 1);
}
END_TEST

START_TEST(remaining_time_was_spent_asleep)
{
	phase(FORWARD, 0, 0.5, 0.1);
	explain();
	ck_first("forward: blocked (lock, network, device or timer)", 1);
	ck_assert_double_eq_tol(evidence("asleep_s"), 0.4, 1e-6);
	saw(METRIC_PROCESS_WRITTEN, 100, 0, 2e6, 0.5e6); /* no more than in other batches */
	explain();
	ck_assert_double_eq_tol(share_of(CAUSE_SLEPT), 1, 1e-6);
}
END_TEST

START_TEST(without_a_record_only_the_phase_is_known)
{
	phase(DECODE, DATA, 0.45, 0.05);
	phase(DATA, 0, 0.5, 0.1);
	batch.has_evidence = false;
	explain();
	ck_first("data › decode", 1);
	ck_assert_int_eq(why.causes[0].kind, CAUSE_PHASE);
	batch.has_evidence = true;
	baseline.evidence = (struct evidence){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
	explain();
	ck_first("data › decode", 1);
}
END_TEST

/* A kernel without schedstat: involuntary switches show that it was preempted; without them it may have slept or
 * waited. */
START_TEST(without_the_run_queues_figure_a_sleep_is_not_claimed)
{
	phase(FORWARD, 0, 0.5, 0.1);
	batch.evidence.run_queue_wait_s = NAN;
	explain();
	ck_first("forward", 1);
	batch.evidence.involuntary_switches = 80;
	explain();
	ck_first("forward: descheduled", 1);
}
END_TEST

START_TEST(phases_that_publish_their_CPU_time_keep_it)
{
	phase_cpu(FORWARD, 0, 0.30, 0.10, 0.29, 0.09);
	phase_cpu(BACKWARD, 0, 0.30, 0.10, 0.09, 0.09);
	batch.evidence.cpu_s = 0.28;
	explain();
	ck_assert_uint_eq(why.cause_count, 2);
	ck_assert_double_eq_tol(share_of(CAUSE_MORE_WORK), 0.5, 1e-3);
	ck_assert_double_eq_tol(share_of(CAUSE_SLEPT), 0.5, 1e-3);
	for (size_t i = 0; i < 2; i++)
		ck_assert_uint_eq(why.causes[i].phase, why.causes[i].kind == CAUSE_MORE_WORK ? FORWARD : BACKWARD);
}
END_TEST

START_TEST(one_cause_in_several_phases_is_named_once)
{
	phase(DATA, 0, 0.10, 0.02);
	phase(FORWARD, 0, 0.32, 0.12);
	phase(BACKWARD, 0, 0.42, 0.12);
	batch.evidence.run_queue_wait_s = 0.581;
	explain();
	ck_first("backward, forward: waiting for a CPU", 1);
	ck_assert_uint_eq(why.causes[0].phase, BACKWARD);
	ck_assert_double_eq_tol(why.causes[0].excess_s, 0.58, 1e-6);
}
END_TEST

/* The median is 0.5 s in the run queue for each second on the CPU: that much of the wait comes with the work. */
START_TEST(work_on_contended_CPUs_brings_its_waiting)
{
	phase(FORWARD, 0, 0.5, 0.2);
	baseline.evidence.run_queue_wait_s = 0.04;
	batch.evidence.cpu_s = 0.08 + 0.2;
	batch.evidence.run_queue_wait_s = 0.04 + 0.1;
	explain();
	ck_first("forward: more CPU work", 1);
}
END_TEST

/* A batch's evidence begins at the end of the batch before: earlier time is not part of this batch. */
START_TEST(counts_from_before_the_batch_are_no_cause)
{
	hand.batches[0] = (struct batch){ .number = 0, .ordinal = 0, .step_s = 0.9, .batch_s = 0.1 };
	add_phase(hand.batches[0].phases, &hand.batches[0].phase_count, NAME_BETWEEN, 0, 0.4);
	add_phase(baseline.phases, &baseline.phase_count, NAME_BETWEEN, 0, 0.0);
	phase(FORWARD, 0, 0.5, 0.1);
	batch.number = batch.ordinal = 1;
	batch.evidence.run_queue_wait_s = 0.401;
	hand.batches[1] = batch;
	run.tracks[0].end = 2;
	explain();
	ck_assert_double_eq(share_of(CAUSE_CPU_WAIT), 0);
}
END_TEST

/* Time after a batch's end is in the evidence of the next. */
START_TEST(time_between_batches_has_the_next_ones_record)
{
	phase(FORWARD, 0, 0.1, 0.1);
	phase(NAME_BETWEEN, 0, 0.5, 0.1);
	batch.batch_s = baseline.batch_s = 0.1;
	batch.evidence.cpu_s = 0.9;
	hand.batches[0] = batch;
	hand.batches[1] = (struct batch){
		.number = 1, .ordinal = 1, .has_evidence = true, .batch_s = 0.1, .evidence = baseline.evidence
	};
	hand.batches[1].evidence.run_queue_wait_s = 0.401;
	run.tracks[0].end = 1;
	explain();
	ck_first("between", 1);
	run.tracks[0].end = 2;
	explain();
	ck_first("between: waiting for a CPU", 1);
	hand.batches[1].number = 2; /* batches of another mode are between them */
	explain();
	ck_first("between", 1);
}
END_TEST

/* Forward, which takes 0.4 s longer than usual, lies after the batch; the next one takes next_s. */
static void forward_after_the_batch(double next_s)
{
	phase(FORWARD, 0, 0.5, 0.1);
	batch.batch_s = 0.1;
	batch.phases_behind = 1;
	hand.batches[0] = batch;
	hand.batches[1] = (struct batch){
		.number = 1, .ordinal = 1, .has_evidence = true, .batch_s = next_s, .evidence = baseline.evidence
	};
	run.tracks[0].end = 2;
}

/* So has a phase with the name of one within the batch, as the forwards of an evaluation. */
START_TEST(a_phase_after_the_batch_has_the_next_ones_record)
{
	forward_after_the_batch(0.1);
	hand.batches[1].evidence.cpu_s += 0.4;
	explain();
	ck_first("forward: more CPU work", 1);
	batch.phases_behind = 0;
	explain();
	ck_first("forward: blocked (lock, network, device or timer)", 1);
}
END_TEST

/* The next batch is slow too, and shares the record: its CPU time and run-queue wait may be of either. */
START_TEST(a_record_of_two_slow_steps_shows_no_sleep)
{
	forward_after_the_batch(0.7);
	explain();
	ck_assert_double_eq_tol(share_of(CAUSE_SLEPT), 1, 1e-6);
	hand.batches[1].evidence.cpu_s += 0.35;
	hand.batches[1].evidence.run_queue_wait_s += 0.25;
	explain();
	ck_assert_double_eq_tol(share_of(CAUSE_SLEPT), 0, 1e-6);
}
END_TEST

/* -- reading and writing -- */

START_TEST(reading_explains_as_much_as_it_can_have_taken)
{
	phase(DATA, 0, 0.5, 0.1);
	batch.evidence.blocks_read = 5200;
	batch.evidence.voluntary_switches = 270;
	batch.evidence.major_faults = 3;
	explain();
	ck_first("data: reading from disk", 1);
	ck_assert_double_eq(evidence("blocks_read"), 5200);
	batch.evidence.blocks_read = 8; /* one page: a slow disk reads it in 30 ms, not in 400 */
	batch.evidence.voluntary_switches = 11;
	explain();
	ck_first("data: blocked (lock, network, device or timer)", 0.925);
	ck_assert_double_eq_tol(share_of(CAUSE_DISK_READ), 0.075, 1e-3);
}
END_TEST

START_TEST(major_faults_while_the_machine_swaps_in_are_swapping)
{
	phase(FORWARD, 0, 0.5, 0.1);
	batch.evidence.blocks_read = 5200;
	batch.evidence.major_faults = 600;
	batch.evidence.voluntary_switches = 610;
	saw(METRIC_SYSTEM_SWAP_IN, 0, 5200 * 512, 5200 * 512, 0);
	explain();
	ck_first("forward: swapping", 1);
	batch_window.figures[0].min = batch_window.figures[0].max = 4096; /* most of it came from other reads */
	explain();
	ck_first("forward: reading from disk", 1);
}
END_TEST

START_TEST(writing_is_claimed_where_it_was_seen)
{
	phase(OPTIMIZER, 0, 0.5, 0.1);
	saw(METRIC_PROCESS_WRITTEN, 100, 30e6, 40e6, 0);
	explain();
	ck_first("optimizer: writing to disk", 1);
	/* may have been before or after: then pmtop does not exclude the disk */
	batch_window.figures[0].min = 0;
	explain();
	ck_first("optimizer", 1);
	ck_assert_double_eq(share_of(CAUSE_SLEPT), 0);
	happened(WINDOW_TARGET_ON_DISK, 100, UINT32_MAX, 0.3, 0, "");
	explain();
	ck_first("optimizer: writing to disk", 0.75);
	ck_assert_double_eq(share_of(CAUSE_SLEPT), 0);
	batch_window.figures[0].max = 0; /* on disk, but nothing was written: for what is unknown */
	explain();
	ck_first("optimizer", 1);
}
END_TEST

/* -- on the CPU, for what -- */

START_TEST(many_pages_asked_of_the_kernel_are_allocation)
{
	phase(FORWARD, 0, 0.4, 0.1);
	batch.evidence.cpu_s = 0.38;
	batch.evidence.minor_faults = 65000;
	explain();
	ck_first("forward: allocating memory", (65000 - 50 * 4.75) * 4e-6 / 0.3);
	ck_assert_str_eq(why.causes[0].next,
		"compare its input shapes with other batches: more or longer inputs allocate more; else reuse buffers");
	batch.evidence.minor_faults = 300;
	explain();
	ck_first("forward: more CPU work", 1);
	baseline.evidence.minor_faults = 20000; /* as many more as there was more work */
	batch.evidence.minor_faults = 95000;
	explain();
	ck_first("forward: more CPU work", 1);
}
END_TEST

START_TEST(more_samples_explain_as_much_as_they_cost)
{
	phase(FORWARD, 0, 0.4, 0.2);
	phase(BACKWARD, 0, 0.4, 0.2);
	baseline.evidence.samples = 32;
	batch.samples = 64;
	batch.evidence.cpu_s = 0.48;
	explain();
	ck_first("forward, backward: a larger batch: 64 samples, usually 32", 1);
	ck_assert_double_eq(evidence("samples"), 64);
	batch.samples = 40;
	explain();
	ck_first("forward, backward: more CPU work", 1 - 0.25 * 1.25);
	ck_assert_double_eq_tol(share_of(CAUSE_BIGGER), 0.25 * 1.25, 1e-3);
}
END_TEST

/* -- names -- */

START_TEST(spans_that_say_what_they_are)
{
	static const struct {
		const char *name;
		enum cause_kind kind;
		const char *what;
	} cases[] = {
		{ "gc", CAUSE_GC, "forward: garbage collection" },
		{ "checkpoint", CAUSE_CHECKPOINT, "forward: writing a checkpoint" },
		{ "save_model", CAUSE_CHECKPOINT, "forward: writing a checkpoint" },
		{ "torch.compile", CAUSE_COMPILER, "forward: compiler running" },
		{ "saved_tensors", CAUSE_SLEPT, NULL },
		{ "gcd", CAUSE_SLEPT, NULL },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		start();
		hand.names[20] = cases[i].name;
		phase(20, FORWARD, 0.4, NAN);
		phase(FORWARD, 0, 0.5, 0.1);
		explain();
		ck_assert_msg(why.causes[0].kind == cases[i].kind, "%s: %s", cases[i].name, why.causes[0].what);
		if (cases[i].what)
			ck_first(cases[i].what, 1);
	}
	start();
	phase(CHECKPOINT, 0, 0.5, 0.2); /* every batch has it: its name is no cause */
	explain();
	ck_assert_int_eq(why.causes[0].kind, CAUSE_SLEPT);
}
END_TEST

/* torch.save is a span, but the fsync after it is not. */
START_TEST(unattributed_wait_of_a_checkpoint_step_is_writing)
{
	phase(CHECKPOINT, NAME_BETWEEN, 0.1, NAN);
	phase(NAME_BETWEEN, 0, 0.5, 0.02);
	saw(METRIC_PROCESS_WRITTEN, 100, 0, 16e6, 1e5);
	explain();
	ck_assert_int_eq(why.causes[0].kind, CAUSE_CHECKPOINT);
	ck_assert_double_eq_tol(share_of(CAUSE_CHECKPOINT), 1, 1e-3);
	/* hardly anything was written: the wait may not be the checkpoint's */
	batch_window.figures[0].max = 2e5;
	explain();
	ck_assert_double_le(share_of(CAUSE_CHECKPOINT), 0.25);
}
END_TEST

/* A garbage collection accounts for its CPU time only: the sleep in the data is still a sleep. */
START_TEST(the_CPU_time_of_a_named_span_is_not_counted_again)
{
	phase(EXTRA, FORWARD, 0.4, NAN);
	phase(FORWARD, 0, 0.5, 0.1);
	phase(DATA, 0, 0.3, 0.1);
	batch.evidence.cpu_s = 0.48;
	explain();
	ck_first("forward: garbage collection", 2.0 / 3);
	ck_assert_double_eq_tol(share_of(CAUSE_SLEPT), 1.0 / 3, 1e-3);
}
END_TEST

/* -- workers -- */

static void load_with(const char *workers)
{
	hand_meta(&run, "loader.num_workers", workers);
	phase(DATA, 0, 0.5, 0.1);
}

START_TEST(a_worker_with_a_long_fetch_is_the_cause)
{
	load_with("4");
	happened(WINDOW_WORKER_FETCHED, 203, 3, 0.45, 0.05, "");
	happened(WINDOW_WORKER_FETCHED, 201, 1, 0.06, 0.05, "");
	explain();
	ck_first("data: slow fetch by worker 3", 1);
	ck_assert_double_eq(evidence("fetch_s"), 0.45);
	ck_assert_ptr_nonnull(strstr(why.causes[0].next, "raise num_workers from 4 to 8"));
}
END_TEST

START_TEST(without_worker_records_the_position_is_named)
{
	load_with("4");
	explain();
	ck_first("data", 1);
	ck_assert_int_eq(why.causes[0].kind, CAUSE_PHASE);
	happened(WINDOW_WORKER_FETCHED, 203, 3, 0.06, 0.05, "");
	explain();
	ck_first("data", 1);
}
END_TEST

START_TEST(a_stopped_worker_and_one_on_disk_are_named_before_their_fetch)
{
	load_with("4");
	happened(WINDOW_WORKER_STOPPED, 203, 3, 0.3, 0, "");
	happened(WINDOW_WORKER_FETCHED, 203, 3, 0.45, 0.05, "");
	explain();
	ck_first("data: worker 3 is stopped", 1);
	batch_window.events[0].kind = WINDOW_WORKER_ON_DISK;
	explain();
	ck_first("data: worker 3 waits for the disk", 1);
	batch_window.events[0].value = 0.08; /* a small part of the fetch */
	explain();
	ck_first("data: slow fetch by worker 3", 0.8);
	ck_assert_double_eq_tol(share_of(CAUSE_WORKER_DISK), 0.2, 1e-3);
}
END_TEST

START_TEST(workers_that_wait_for_a_CPU_starve)
{
	load_with("4");
	happened(WINDOW_WORKER_FETCHED, 203, 3, 0.45, 0.05, "");
	saw(METRIC_PROCESS_RUN_QUEUE_WAIT, 203, 0.35e9, 0.5e9, 0.01e9);
	explain();
	ck_first("data: workers wait for a CPU", 0.85);
}
END_TEST

START_TEST(a_worker_that_is_gone_explains_what_is_left)
{
	load_with("4");
	happened(WINDOW_WORKER_WENT, 203, 3, NAN, NAN, "killed");
	explain();
	ck_first("data: worker 3 died", 1);
	batch_window.events[0].worker = UINT32_MAX;
	explain();
	ck_first("data: worker process 203 died", 1);
}
END_TEST

START_TEST(workers_explain_nothing_but_their_data)
{
	hand_meta(&run, "loader.num_workers", "4");
	phase(FORWARD, 0, 0.5, 0.1);
	happened(WINDOW_WORKER_STOPPED, 203, 3, 0.4, 0, "");
	happened(WINDOW_WORKER_FETCHED, 203, 3, 0.45, 0.05, "");
	explain();
	ck_first("forward: blocked (lock, network, device or timer)", 1);
}
END_TEST

START_TEST(without_workers_the_threads_own_record_speaks)
{
	load_with("0");
	explain();
	ck_first("data: blocked (lock, network, device or timer)", 1);
	ck_assert_str_eq(why.causes[0].next, "num_workers=0 loads in the training process: try num_workers=4");
}
END_TEST

/* -- what others do -- */

START_TEST(a_compiler_that_came_explains_the_wait_for_it)
{
	static const struct {
		const char *command;
		bool is_compiler;
	} cases[] = {
		{ "cc1plus", true },
		{ "/usr/bin/x86_64-linux-gnu-gcc-12 -c x.c", true },
		{ "g++", true },
		{ "/usr/local/cuda/bin/ptxas -v", true },
		{ "python3 -m torch._inductor.compile_worker", true },
		{ "clang++-15", true },
		{ "ld", true },
		{ "rsync", false },
		{ "gcc-monitor", false },
		{ "build", false },
		{ "tail", false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		start();
		phase(FORWARD, 0, 0.6, 0.1);
		happened(WINDOW_CHILD_CAME, 300, UINT32_MAX, 0.4, NAN, cases[i].command);
		explain();
		ck_assert_msg(why.causes[0].kind == (cases[i].is_compiler ? CAUSE_COMPILER : CAUSE_SLEPT), "%s: %s",
			cases[i].command, why.causes[0].what);
	}
	happened(WINDOW_CHILD_WENT, 300, UINT32_MAX, NAN, NAN, "tail");
	explain();
	ck_first("forward: waiting for child process tail", 1);
}
END_TEST

START_TEST(a_child_that_takes_the_CPU_is_named)
{
	phase(FORWARD, 0, 0.5, 0.1);
	batch.evidence.run_queue_wait_s = 0.401;
	happened(WINDOW_CHILD_RAN, 300, UINT32_MAX, 0.5, 0.01, "ffmpeg -i x");
	explain();
	ck_first("forward: child process ffmpeg uses the CPU", 1);
	batch_window.events[0].baseline = 0.48; /* as it always does */
	explain();
	ck_first("forward: waiting for a CPU", 1);
}
END_TEST

START_TEST(the_quota_is_named_if_throttling_was_seen_or_is_common)
{
	phase(FORWARD, 0, 0.5, 0.1);
	batch.evidence.run_queue_wait_s = 0.401;
	saw(METRIC_CGROUP_THROTTLED, 0, 0.3e9, 0.5e9, 0);
	explain();
	ck_first("forward: throttled by the CPU quota", 1);
	ck_assert_double_eq_tol(evidence("throttled_s"), 0.3, 1e-9);
	batch_window.figures[0].min = 0;
	/* the wait is in the evidence; readings on both sides of it saw throttling of that size */
	batch_window.readings = 0;
	explain();
	ck_first("forward: throttled by the CPU quota", 1);
	batch_window.figures[0].max = 0.05e9; /* of another size */
	explain();
	ck_first("forward: waiting for a CPU", 1);
	batch_window.figures[0].baseline = 0.25e9;
	explain();
	ck_first("forward: throttled by the CPU quota", 1);
}
END_TEST

START_TEST(stops_suspends_and_stolen_time_take_what_was_seen)
{
	phase(FORWARD, 0, 0.5, 0.1);
	happened(WINDOW_TARGET_STOPPED, 100, UINT32_MAX, 0.38, 0, "");
	explain();
	ck_first("forward: the process was stopped", 0.95);
	batch_window.events[0].kind = WINDOW_SUSPENDED;
	explain();
	ck_first("forward: the machine was suspended", 0.95);
	batch_window.events[0].kind = WINDOW_CLOCK_STEPPED;
	batch_window.events[0].value = -3600;
	explain();
	ck_first("forward: the system clock was set", 1);
	batch_window.event_count = 0;
	saw(METRIC_SYSTEM_CPU_STOLEN, 0, 0.3e9, 0.4e9, 0);
	explain();
	ck_first("forward: descheduled", 0.75);
}
END_TEST

START_TEST(ranks_wait_for_each_other_where_they_exchange)
{
	hand.names[20] = "all_reduce";
	phase(20, BACKWARD, 0.45, 0.05);
	phase(BACKWARD, 0, 0.5, 0.1);
	explain();
	ck_assert_int_eq(why.causes[0].kind, CAUSE_SLEPT);
	snprintf(run.rank, sizeof run.rank, "0");
	snprintf(run.world, sizeof run.world, "8");
	hand_meta(&run, "RANK", "0");
	hand_meta(&run, "WORLD_SIZE", "8");
	explain();
	ck_first("backward › all_reduce: waiting for a slower rank", 1);
}
END_TEST

/* -- what is not claimed -- */

START_TEST(samplers_that_read_nothing_inside_claim_nothing)
{
	phase(FORWARD, 0, 0.5, 0.1);
	batch.evidence.run_queue_wait_s = 0.1;
	saw(METRIC_SYSTEM_CPU_STOLEN, 0, 0.3e9, 0.5e9, 0);
	happened(WINDOW_TARGET_STOPPED, 100, UINT32_MAX, 0.4, 0, "");
	happened(WINDOW_SUSPENDED, 0, UINT32_MAX, 0.4, 0, "");
	happened(WINDOW_CHILD_CAME, 300, UINT32_MAX, 0.4, 0, "cc1plus");
	batch_window.readings = 0;
	explain();
	ck_assert_double_eq_tol(share_of(CAUSE_SLEPT) + share_of(CAUSE_CPU_WAIT), 1, 1e-6);
	saw(METRIC_PROCESS_WRITTEN, 100, 30e6, 40e6, 0);
	explain();
	ck_assert_double_eq(share_of(CAUSE_DISK_WRITE), 0);
	ck_assert_double_eq(share_of(CAUSE_SLEPT), 0);
}
END_TEST

START_TEST(claims_that_contradict_each_other_share_the_excess_once)
{
	load_with("4");
	batch.evidence = (struct evidence){ 9, 9, 9e6, 9e4, 9e4, 9e4, 9e6, 320 };
	batch.samples = 320;
	happened(WINDOW_WORKER_STOPPED, 203, 3, 9, 0, "");
	happened(WINDOW_WORKER_FETCHED, 203, 3, 9, 0.05, "");
	happened(WINDOW_WORKER_WENT, 204, 4, NAN, NAN, "");
	happened(WINDOW_TARGET_STOPPED, 100, UINT32_MAX, 9, 0, "");
	saw(METRIC_CGROUP_THROTTLED, 0, 9e9, 9e9, 0);
	explain();
	ck_first("data: worker 3 is stopped", 1);
	ck_assert_uint_eq(why.cause_count, 1);
}
END_TEST

static double dice(double max)
{
	static const double odd[] = { NAN, INFINITY, -INFINITY, -1, 0, 1e300, -1e300 };
	return rand() % 12 ? max * (double)(rand() % 1000) / 1000 : odd[(size_t)rand() % (sizeof odd / sizeof *odd)];
}

static void roll_evidence(struct evidence *out)
{
	*out = (struct evidence){ dice(1), dice(1), dice(1e5), dice(1e3), dice(1e3), dice(1e3), dice(1e5), dice(100) };
}

static void roll_window(void)
{
	batch_window = (struct batch_window){ .to_ns = 1000000000, .seconds = 1, .readings = (size_t)rand() % 3 };
	for (int i = rand() % 20; i > 0; i--)
		saw((enum metric)(rand() % METRIC_COUNT), rand() % 2 ? 0 : 100 + rand() % 4, dice(1e9), dice(2e9), dice(1e9));
	for (int i = rand() % WINDOW_EVENTS_MAX; i > 0; i--)
		happened((enum window_event_kind)(rand() % (WINDOW_MARKED + 1)), 100 + rand() % 4,
			rand() % 2 ? UINT32_MAX : (uint32_t)rand() % 4, dice(1), dice(0.1),
			rand() % 2 ? "cc1" : "a child with a long command line that goes on and on");
	for (size_t i = 0; i < batch_window.event_count; i++) {
		batch_window.events[i].part_ratio = dice(1);
		batch_window.events[i].busy_ratio = dice(1);
		batch_window.events[i].throttled = (uint32_t)rand() % 256;
	}
	batch_window.event_count =
		batch_window.event_count > WINDOW_EVENTS_MAX ? WINDOW_EVENTS_MAX : batch_window.event_count;
}

static void ck_sound(bool samplers_read)
{
	double sum = 0;
	for (size_t i = 0; i < why.cause_count; i++) {
		const struct cause *cause = &why.causes[i];
		ck_assert_msg(
			cause->share_ratio > 0 && cause->share_ratio <= 1 + 1e-9, "%s: %g", cause->what, cause->share_ratio);
		ck_assert(isfinite(cause->excess_s));
		ck_assert_uint_lt(strlen(cause->next), sizeof cause->next);
		ck_assert(cause->what[0] != '\0');
		if (i > 0)
			ck_assert_double_ge(why.causes[i - 1].share_ratio, cause->share_ratio);
		if (!samplers_read)
			ck_assert_msg(cause->kind != CAUSE_DISK_WRITE && cause->kind != CAUSE_STOPPED &&
					cause->kind != CAUSE_COMPILER && cause->kind != CAUSE_CHILD && cause->kind != CAUSE_SUSPENDED &&
					cause->kind != CAUSE_WORKER_STOPPED,
				"%s", cause->what);
		for (size_t k = 0; k < cause->evidence_count; k++)
			ck_assert(!isnan(cause->evidence[k].this_value));
		sum += cause->share_ratio;
	}
	ck_assert_double_le(sum, 1 + 1e-6);
	ck_assert_double_ge(sum, why.cause_count ? 0.99 : 0);
}

START_TEST(shares_stay_shares_whatever_the_figures_are)
{
	unsigned slow = 0;
	srand(11);
	for (unsigned round = 0; round < 30000; round++) {
		start();
		static const uint32_t names[] = { DATA, FORWARD, BACKWARD, NAME_UNATTRIBUTED, NAME_BETWEEN };
		for (size_t i = 0; i < 5; i++)
			phase_cpu(names[i], 0, fabs(dice(1)) < 10 ? 0.001 * (rand() % 1000) : 0.5,
				rand() % 9 ? 0.001 * (rand() % 400) : NAN, dice(1), dice(1));
		if (rand() % 2)
			phase(EXTRA, FORWARD, 0.3, NAN);
		if (rand() % 2)
			hand_meta(&run, "num_workers", "2");
		roll_evidence(&batch.evidence);
		roll_evidence(&baseline.evidence);
		batch.samples = dice(100);
		roll_window();
		explain_batch(&run, &batch, &baseline, rand() % 4 ? &batch_window : NULL, &why);
		slow += why.cause_count > 0;
		ck_sound(batch_window.readings > 0);
	}
	ck_assert_uint_gt(slow, 15000);
}
END_TEST

START_TEST(kinds_have_names_for_people_and_programs)
{
	for (int kind = 0; kind < CAUSE_COUNT; kind++) {
		ck_assert_msg(cause_kind_id((enum cause_kind)kind) && cause_kind_id((enum cause_kind)kind)[0], "kind %d", kind);
		ck_assert_ptr_nonnull(cause_kind_name((enum cause_kind)kind));
		for (int other = 0; other < kind; other++)
			ck_assert_str_ne(cause_kind_id((enum cause_kind)kind), cause_kind_id((enum cause_kind)other));
	}
}
END_TEST

START_TEST(columns_have_few_words)
{
	char brief[CAUSE_BRIEF_SIZE];
	phase(DECODE, DATA, 0.45, 0.05);
	phase(DATA, 0, 0.5, 0.1);
	explain();
	ck_assert_str_eq(cause_brief(&run, &why.causes[0], brief), "data: blocked");
	batch.has_evidence = false;
	explain();
	ck_assert_str_eq(cause_brief(&run, &why.causes[0], brief), "data › decode");
}
END_TEST

/* -- what else happened -- */

START_TEST(each_figure_has_what_it_explains)
{
	load_with("4");
	phase(FORWARD, 0, 0.5, 0.1);
	batch.evidence.run_queue_wait_s = 0.401;
	happened(WINDOW_WORKER_FETCHED, 201, 1, 0.2, 0.05, "");
	happened(WINDOW_WORKER_FETCHED, 203, 3, 0.45, 0.05, "");
	explain();
	double emitted = 0;
	for (size_t i = 0; i < why.context_count; i++) {
		const struct explain_context *row = &why.context[i];
		emitted += row->explains_ratio;
		if (strcmp(row->what, "worker 3: fetch") == 0 || strcmp(row->what, "run-queue wait") == 0)
			ck_assert_double_eq_tol(row->explains_ratio, 0.5, 1e-3);
		else
			ck_assert_msg(row->explains_ratio == 0, "%s", row->what);
	}
	ck_assert_double_eq_tol(emitted, 1, 1e-3);
}
END_TEST

/* Lists call it at every draw. It takes some µs; the bound leaves room for a loaded machine. */
START_TEST(explaining_is_cheap)
{
	struct timespec begin, end;
	load_with("4");
	phase(FORWARD, 0, 0.5, 0.1);
	phase(BACKWARD, 0, 0.5, 0.1);
	phase(OPTIMIZER, 0, 0.5, 0.1);
	phase(NAME_UNATTRIBUTED, 0, 0.5, 0.1);
	batch.evidence = (struct evidence){ 0.5, 0.5, 1e5, 10, 100, 50, 1e4, 32 };
	for (int i = 0; i < 60; i++)
		saw(METRIC_SYSTEM_LOAD, i, 1, 2, 1);
	for (uint32_t i = 0; i < WINDOW_EVENTS_MAX; i++)
		happened(WINDOW_WORKER_FETCHED, 200 + (int)i, i, 0.1 * i, 0.05, "");
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	for (int i = 0; i < 1000; i++)
		explain();
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	double each_us = ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / 1e6;
	printf("explain_batch: %.1f µs\n", each_us);
	ck_assert_double_lt(each_us, 500);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("causes");
	TCase *tests = tcase_create("causes");
	tcase_add_checked_fixture(tests, start, NULL);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, a_wait_in_the_run_queue_is_that_many_seconds);
	tcase_add_test(tests, time_on_the_CPU_is_more_work);
	tcase_add_test(tests, remaining_time_was_spent_asleep);
	tcase_add_test(tests, without_a_record_only_the_phase_is_known);
	tcase_add_test(tests, without_the_run_queues_figure_a_sleep_is_not_claimed);
	tcase_add_test(tests, phases_that_publish_their_CPU_time_keep_it);
	tcase_add_test(tests, one_cause_in_several_phases_is_named_once);
	tcase_add_test(tests, work_on_contended_CPUs_brings_its_waiting);
	tcase_add_test(tests, counts_from_before_the_batch_are_no_cause);
	tcase_add_test(tests, time_between_batches_has_the_next_ones_record);
	tcase_add_test(tests, a_phase_after_the_batch_has_the_next_ones_record);
	tcase_add_test(tests, a_record_of_two_slow_steps_shows_no_sleep);
	tcase_add_test(tests, reading_explains_as_much_as_it_can_have_taken);
	tcase_add_test(tests, major_faults_while_the_machine_swaps_in_are_swapping);
	tcase_add_test(tests, writing_is_claimed_where_it_was_seen);
	tcase_add_test(tests, many_pages_asked_of_the_kernel_are_allocation);
	tcase_add_test(tests, more_samples_explain_as_much_as_they_cost);
	tcase_add_test(tests, spans_that_say_what_they_are);
	tcase_add_test(tests, unattributed_wait_of_a_checkpoint_step_is_writing);
	tcase_add_test(tests, the_CPU_time_of_a_named_span_is_not_counted_again);
	tcase_add_test(tests, a_worker_with_a_long_fetch_is_the_cause);
	tcase_add_test(tests, without_worker_records_the_position_is_named);
	tcase_add_test(tests, a_stopped_worker_and_one_on_disk_are_named_before_their_fetch);
	tcase_add_test(tests, workers_that_wait_for_a_CPU_starve);
	tcase_add_test(tests, a_worker_that_is_gone_explains_what_is_left);
	tcase_add_test(tests, workers_explain_nothing_but_their_data);
	tcase_add_test(tests, without_workers_the_threads_own_record_speaks);
	tcase_add_test(tests, a_compiler_that_came_explains_the_wait_for_it);
	tcase_add_test(tests, a_child_that_takes_the_CPU_is_named);
	tcase_add_test(tests, the_quota_is_named_if_throttling_was_seen_or_is_common);
	tcase_add_test(tests, stops_suspends_and_stolen_time_take_what_was_seen);
	tcase_add_test(tests, ranks_wait_for_each_other_where_they_exchange);
	tcase_add_test(tests, samplers_that_read_nothing_inside_claim_nothing);
	tcase_add_test(tests, claims_that_contradict_each_other_share_the_excess_once);
	tcase_add_test(tests, shares_stay_shares_whatever_the_figures_are);
	tcase_add_test(tests, kinds_have_names_for_people_and_programs);
	tcase_add_test(tests, columns_have_few_words);
	tcase_add_test(tests, each_figure_has_what_it_explains);
	tcase_add_test(tests, explaining_is_cheap);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
