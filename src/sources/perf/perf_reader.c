#include "src/sources/perf/perf_reader.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "src/base/clock.h"
#include "src/sources/choices.h"
#include "src/sources/perf/perf_events.h"
#include "src/sources/perf/perf_threads.h"
#include "src/sources/perf/perf_traffic.h"
#include "src/sources/target/target.h"

/* How often new threads are searched for, and refused counters tried again. More threads than THREADS_OFTEN_MAX are
 * read less often. */
#define SCAN_NS (900 * NS_PER_MS)
#define RETRY_NS (30 * NS_PER_S)
enum { THREADS_OFTEN_MAX = 256 };
/* Descriptors reserved for the tree's files and the rest of the program. */
enum { DESCRIPTORS_WANTED = 65536, DESCRIPTORS_SPARED = 2048 };

#define LEFT_OUT "counters of some threads"
#define DENIED "counters of some processes"
#define TRAFFIC "memory traffic"

struct perf_reader {
	struct target *target;
	const struct perf_opener *opener;
	struct perf_plan plan;
	struct perf_threads *threads; /* NULL: nothing is counted */
	struct perf_traffic *traffic; /* NULL: not counted */
	unsigned traffic_event;
	bool has_emitted_unwanted;
	int64_t scan_next_ns, retry_next_ns, read_next_ns;
	struct perf_left_out emitted;
	bool has_emitted_no_turn[PERF_EVENTS_MAX];
};

struct perf_reader *perf_reader_new(struct target *target, const struct perf_opener *opener)
{
	struct perf_reader *reader = calloc(1, sizeof *reader);
	if (!reader)
		return NULL;
	reader->target = target;
	reader->opener = opener;
	reader->retry_next_ns = INT64_MIN;
	return reader;
}

static void stop(struct perf_reader *reader)
{
	perf_threads_free(reader->threads);
	perf_traffic_close(reader->traffic);
	reader->threads = NULL;
	reader->traffic = NULL;
}

void perf_reader_free(struct perf_reader *reader)
{
	if (reader)
		stop(reader);
	free(reader);
}

/* -- what is emitted -- */

void perf_reader_emit_all(const struct perf_reader *reader, int64_t now_ns, struct sample_set *out)
{
	for (unsigned i = 0; reader->threads && i < reader->plan.event_count; i++) {
		const struct plan_event *event = &reader->plan.events[i];
		struct record *record = sample_set_add(out, RECORD_PERF_EVENT, 0, now_ns);
		if (!record)
			return;
		record->perf_event.event = i;
		record->perf_event.role = event->role;
		record->perf_event.name = sample_set_text(out, event->name, strlen(event->name));
	}
}

static void emit_plan_missing(
	const struct perf_reader *reader, bool are_withdrawn, struct sample_set *out, int64_t now_ns)
{
	for (unsigned i = 0; i < reader->plan.missing_count; i++) {
		const struct plan_missing *missing = &reader->plan.missing[i];
		sample_set_missing(out, now_ns, missing->figure, are_withdrawn ? NULL : missing->reason.text,
			are_withdrawn ? NULL : missing->reason.remedy);
	}
}

static void emit_count(
	struct sample_set *out, int64_t now_ns, int32_t instance, unsigned event, double value, double counted_ratio)
{
	struct record *record = sample_set_add(out, RECORD_PERF_COUNT, 0, now_ns);
	if (!record)
		return;
	record->perf_count.pid = instance;
	record->perf_count.event = event;
	record->perf_count.value = value;
	record->perf_count.counted_ratio = counted_ratio;
}

static void emit_counts(const struct perf_reader *reader, struct sample_set *out, int64_t now_ns)
{
	double value, ratio;
	int socket;
	for (size_t process = 0; process < perf_threads_processes(reader->threads); process++)
		for (unsigned event = 0; event < reader->plan.event_count; event++)
			if (perf_threads_sum(reader->threads, process, event, &value, &ratio))
				emit_count(out, now_ns, perf_threads_pid(reader->threads, process), event, value, ratio);
	for (size_t i = 0; reader->traffic && i < perf_traffic_sockets(reader->traffic); i++)
		if (perf_traffic_sum(reader->traffic, i, &socket, &value, &ratio))
			emit_count(out, now_ns, socket, reader->traffic_event, value, ratio);
}

static void emit_left_out(struct perf_reader *reader, struct sample_set *out, int64_t now_ns)
{
	struct perf_left_out left = reader->threads ? perf_threads_left_out(reader->threads) : (struct perf_left_out){ 0 };
	char text[160];
	unsigned threads = left.threads_too_many + left.threads_no_descriptor;
	if (threads != reader->emitted.threads_too_many + reader->emitted.threads_no_descriptor) {
		snprintf(text, sizeof text, "%u threads are not counted (%s): the sums are too low", threads,
			left.threads_no_descriptor ? "no file descriptor left" : "there are too many");
		sample_set_missing(out, now_ns, LEFT_OUT, threads ? text : NULL,
			!threads ? NULL
				: left.threads_no_descriptor
				? "raise the hard limit (ulimit -Hn), or choose fewer events (counters: events:)"
				: "");
	}
	if (left.processes_denied != reader->emitted.processes_denied) {
		snprintf(text, sizeof text, "no permission to count %u processes (%s), such as %d", left.processes_denied,
			perf_errno_name(left.denied_error), (int)left.denied_pid);
		sample_set_missing(out, now_ns, DENIED, left.processes_denied ? text : NULL,
			left.processes_denied ? "run pmtop as their user or as root, or sudo setcap cap_perfmon=ep on pmtop"
								  : NULL);
	}
	reader->emitted = left;
}

/* A permanent user of a counter (the kernel's NMI watchdog) can leave too few for a group. */
static void emit_no_turn(struct perf_reader *reader, struct sample_set *out, int64_t now_ns)
{
	for (unsigned i = 0; i < reader->plan.event_count; i++) {
		bool is_so = reader->threads && perf_threads_never_had_turn(reader->threads, i);
		if (is_so == reader->has_emitted_no_turn[i])
			continue;
		reader->has_emitted_no_turn[i] = is_so;
		sample_set_missing(out, now_ns, reader->plan.events[i].name,
			is_so ? "not counted: the CPU's counters were never free for it" : NULL,
			is_so ? "sudo sysctl kernel.nmi_watchdog=0, end other profilers, or choose fewer events (counters: events:)"
				  : NULL);
	}
}

/* -- start -- */

/* Raises the limit of open files as far as allowed; returns how many of them counters may use. The target learns the
 * new limit too. */
static unsigned make_room(struct target *target)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return DESCRIPTORS_SPARED;
	rlim_t wanted = limit.rlim_max < DESCRIPTORS_WANTED ? limit.rlim_max : DESCRIPTORS_WANTED;
	if (limit.rlim_cur < wanted) {
		limit.rlim_cur = wanted;
		setrlimit(RLIMIT_NOFILE, &limit);
		getrlimit(RLIMIT_NOFILE, &limit);
	}
	unsigned max = limit.rlim_cur < INT_MAX ? (unsigned)limit.rlim_cur : INT_MAX;
	if (target->descriptors < (int)max)
		target->descriptors = (int)max;
	return max > 2 * DESCRIPTORS_SPARED ? max - DESCRIPTORS_SPARED : max / 2;
}

static void begin_traffic(struct perf_reader *reader, const struct plan_machine *machine)
{
	const char *sys_root = source_choices(reader->target)->sys_root;
	struct reason reason = { "", "" };
	reader->traffic = perf_traffic_open(reader->opener, machine, sys_root ? sys_root : "/sys", &reason);
	reader->traffic_event = reader->plan.event_count;
	if (reader->traffic && perf_plan_add_event(&reader->plan, PERF_ROLE_MEMORY_BYTES, TRAFFIC))
		return;
	perf_traffic_close(reader->traffic);
	reader->traffic = NULL;
	if (reason.text[0])
		perf_plan_add_missing(&reader->plan, TRAFFIC, &reason);
}

static void begin(struct perf_reader *reader, struct sample_set *out, int64_t now_ns)
{
	struct plan_machine machine;
	emit_plan_missing(reader, true, out, now_ns);
	plan_machine_read(reader->target->proc_root, &machine);
	perf_plan_make(&reader->plan, reader->opener, &machine, source_choices(reader->target));
	reader->retry_next_ns = now_ns + RETRY_NS;
	if (!reader->plan.is_refused) {
		begin_traffic(reader, &machine);
		reader->threads = perf_threads_new(&reader->plan, reader->opener, make_room(reader->target));
	}
	emit_plan_missing(reader, false, out, now_ns);
	if (!reader->threads) {
		perf_traffic_close(reader->traffic);
		reader->traffic = NULL;
		return;
	}
	reader->scan_next_ns = reader->read_next_ns = INT64_MIN;
	perf_reader_emit_all(reader, now_ns, out);
}

/* -- the source -- */

static void read_all(struct perf_reader *reader, struct sample_set *out, int64_t now_ns)
{
	bool is_over = reader->target->has_ended;
	if (now_ns < reader->read_next_ns && !is_over)
		return;
	if (now_ns >= reader->scan_next_ns || is_over) {
		perf_threads_scan(reader->threads, reader->target);
		reader->scan_next_ns = now_ns + SCAN_NS;
	}
	perf_threads_read(reader->threads);
	if (reader->traffic)
		perf_traffic_read(reader->traffic);
	emit_counts(reader, out, now_ns);
	perf_threads_forget_gone(reader->threads);
	emit_left_out(reader, out, now_ns);
	emit_no_turn(reader, out, now_ns);
	reader->read_next_ns = perf_threads_count(reader->threads) > THREADS_OFTEN_MAX ? reader->scan_next_ns : INT64_MIN;
}

static void switch_off(struct perf_reader *reader, struct sample_set *out, int64_t now_ns)
{
	if (reader->has_emitted_unwanted)
		return;
	stop(reader);
	emit_left_out(reader, out, now_ns);
	emit_no_turn(reader, out, now_ns);
	emit_plan_missing(reader, true, out, now_ns);
	reader->plan.missing_count = 0;
	sample_set_missing(out, now_ns, "counters", "off until requested", "open view 9, or start with --counters");
	reader->has_emitted_unwanted = true;
	reader->retry_next_ns = INT64_MIN;
}

enum status perf_reader_read(struct perf_reader *reader, int64_t now_ns, struct sample_set *out)
{
	const struct target *target = reader->target;
	if (target->pid == 0 || (target->has_ended && !reader->threads))
		return STATUS_END;
	if (!source_choices(target)->wants_counters) {
		switch_off(reader, out, now_ns);
		return target->has_ended ? STATUS_END : STATUS_OK;
	}
	if (reader->has_emitted_unwanted)
		sample_set_missing(out, now_ns, "counters", NULL, NULL);
	reader->has_emitted_unwanted = false;
	if (!reader->threads && now_ns >= reader->retry_next_ns)
		begin(reader, out, now_ns);
	if (reader->threads)
		read_all(reader, out, now_ns);
	return target->has_ended ? STATUS_END : STATUS_OK;
}
