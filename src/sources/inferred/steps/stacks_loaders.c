#include "src/sources/inferred/steps/stacks_loaders.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/inferred/steps/stacks_steps_emit.h"
#include "src/sources/inferred/steps/stacks_steps_life.h"
#include "src/sources/inferred/steps/stacks_loops_epoch.h"
#include "src/sources/inferred/steps/stacks_loops_fetch.h"
#include "src/sources/inferred/steps/stacks_training.h"
#include "src/sources/inferred/steps/stacks_loops_loss.h"
#include "src/sources/inferred/steps/stacks_loops_why.h"

/* A loop whose iterator is not in a local variable is found only by sampling it while it fetches. */
#define BOOST_NS (30 * NS_PER_S)
#define AWAIT_NS (NS_PER_S / 2)
#define QUIET_MIN_NS (60 * NS_PER_MS)
#define QUIET_MAX_NS (2 * NS_PER_S)
#define QUIET_STEPS 1.5
#define EPOCH_WAIT_NS (3 * NS_PER_S)
#define LOSS_NS (NS_PER_S / 5)
/* So long a loop may show the steps of a program that calls next() for its batches: passes of the loader need not be
 * its epochs. */
#define LOOP_WAIT_NS (9 * NS_PER_S)
/* The epoch of a pass that is no longer new is read again only so often. */
#define EPOCH_AGAIN_NS (1 * NS_PER_S)
/* Training that was sampled so long before the first pass was found is that of passes before it. */
#define MISSED_NS (1 * NS_PER_S)
#define PASSES_KEY 2

void stacks_runs_release(struct stacks_runs *runs)
{
	for (unsigned i = 0; i < runs->count; i++)
		stacks_steps_free(runs->list[i]);
	runs->count = 0;
}

void stacks_runs_emit(struct stacks_runs *runs, bool again, bool has_ended, int64_t now_ns, struct sample_set *out)
{
	for (unsigned i = 0; i < runs->count; i++) {
		if (has_ended && !stacks_steps_is_elsewhere(runs->list[i]))
			stacks_steps_end(runs->list[i], now_ns);
		stacks_steps_emit(runs->list[i], again, now_ns, out);
	}
}

static void open_process(struct stacks_loaders *loaders, const struct py_sampler *sampler, int64_t now_ns)
{
	struct reason why;
	if (loaders->is_tried)
		return;
	loaders->is_tried = true;
	if (py_counter_open(py_sampler_process(sampler), &loaders->counter, &why) != STATUS_OK)
		loaders->counter = NULL;
	loaders->loops = loaders->counter
		? stacks_loops_new(py_sampler_process(sampler), loaders->wanted, loaders->is_from_start)
		: NULL;
	if (loaders->counter)
		loaders->boost_until_ns = now_ns + BOOST_NS;
}

/* Whether a loop that is no DataLoader's is known to train. */
static bool has_loop(const struct stacks_loaders *loaders)
{
	struct stacks_counted_loop loop;
	return loaders->loops && stacks_loops_chosen(loaders->loops, &loop) && (loop.has_training || loaders->wanted);
}

/* And runs. */
static bool loop_trains(const struct stacks_loaders *loaders)
{
	return has_loop(loaders) && stacks_loops_is_running(loaders->loops);
}

/* Whether these batches are the steps, unless a loop is found. */
static bool has_steps(struct stacks_loaders *loaders, const struct py_counted *counted, int64_t now_ns)
{
	if (counted->serial == loaders->spanning)
		return !has_loop(loaders) && now_ns - loaders->spanning_ns >= LOOP_WAIT_NS;
	if (stacks_loops_is_recut(loaders->loops, counted))
		return false;
	if (!stacks_loops_calls_next(loaders->loops, counted))
		return true;
	loaders->called_ns = loaders->called_ns ? loaders->called_ns : now_ns;
	return now_ns - loaders->called_ns >= LOOP_WAIT_NS && !has_loop(loaders) &&
		!stacks_loops_fetches(loaders->loops, counted);
}

/* Whether next() is known to fetch the batches of one of these passes, and the loop in which it does is not found yet.
 */
static bool is_loop_awaited(
	const struct stacks_loaders *loaders, const struct py_counted *counted, size_t count, int64_t now_ns)
{
	if (!loaders->called_ns || now_ns - loaders->called_ns >= LOOP_WAIT_NS || has_loop(loaders))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!counted[i].is_over && counted[i].ip && stacks_loops_calls_next(loaders->loops, &counted[i]))
			return true;
	return false;
}

/* Until that loop is found, a pass of another loader may validate within a step. */
static void leave_undecided(struct py_counted *counted)
{
	if (counted->trains || counted->evaluates)
		return;
	counted->is_undecided = !counted->is_over;
	counted->is_unknown = counted->is_over;
}

static bool have_steps(struct stacks_loaders *loaders, const struct py_counted *live, size_t count, int64_t now_ns)
{
	for (size_t i = 0; i < count; i++)
		if (has_steps(loaders, &live[i], now_ns))
			return true;
	return count == 0;
}

static const struct py_counted *find_live(const struct py_counted *live, size_t count, uint64_t serial)
{
	for (size_t i = 0; i < count; i++)
		if (live[i].serial == serial)
			return &live[i];
	return NULL;
}

/* `pass`: NULL = none. */
static void note_loss(struct stacks_loaders *loaders, const struct py_process *process, const struct py_sample *sample,
	const struct py_counted *pass, int64_t now_ns)
{
	char functions[STACKS_KNOWN_MAX][PY_FUNCTION_SIZE];
	struct py_counted known = pass ? *pass : (struct py_counted){ .serial = 0 };
	double loss;
	known.trains = pass && pass->serial == loaders->training_serial;
	if (!loaders->loops || now_ns - loaders->loss_ns < LOSS_NS)
		return;
	loaders->loss_ns = now_ns;
	size_t count = stacks_evidence_trainers(&loaders->evidence, functions);
	if (stacks_loops_loss(loaders->loops, process, sample, pass ? &known : NULL,
			(const char(*)[PY_FUNCTION_SIZE])functions, count, &loss))
		loaders->loss = loss;
}

/* Another loop may have been chosen since. */
static void take_choice(struct stacks_loaders *loaders, int64_t now_ns)
{
	const char *wanted = loaders->choices->loop;
	if (wanted == loaders->wanted || !loaders->loops)
		return;
	loaders->wanted = wanted;
	loaders->has_loader = false;
	loaders->is_other = true;
	loaders->poll_ns = now_ns;
	stacks_loops_choose(loaders->loops, wanted);
}

void stacks_loaders_list(const struct stacks_loaders *loaders, int32_t pid, struct stacks_found *out)
{
	int32_t wanted = loaders->choices->wants_loops_of;
	if (wanted == 0)
		out->pid = 0;
	else if (loaders->loops && (wanted == pid || (wanted == LOOPS_OF_ANY && (!out->count || out->pid == pid))))
		stacks_loops_list(loaders->loops, pid, out);
}

/* One function may run both: run_epoch(batches, is_training). */
static void note_loop_evidence(struct stacks_loaders *loaders, const struct py_sample *sample, int64_t now_ns)
{
	struct py_counted pass;
	if (has_loop(loaders) && stacks_loops_live(loaders->loops, sample, now_ns, &pass))
		stacks_evidence_note(&loaders->evidence, sample, &pass, 1, now_ns);
}

static bool is_quiet(const struct stacks_loaders *loaders, int64_t now_ns)
{
	return loaders->quiet_ns && now_ns < loaders->quiet_ns + QUIET_MAX_NS;
}

void stacks_loaders_note(struct stacks_loaders *loaders, const struct py_sampler *sampler,
	const struct py_sample *sample, struct stacks_lines *lines, struct stacks_owner *owner, int64_t now_ns)
{
	open_process(loaders, sampler, now_ns);
	if (!loaders->counter)
		return;
	take_choice(loaders, now_ns);
	if (is_quiet(loaders, now_ns))
		py_counter_search_soon(loaders->counter);
	struct stacks_counted_loop loop;
	const struct py_counted *live;
	bool is_found = py_counter_note(loaders->counter, sample, now_ns);
	size_t count = py_counter_live(loaders->counter, now_ns, &live);
	bool is_optimizer, trains = stacks_training_frame(sample, &is_optimizer) >= 0;
	loaders->trained_ns = trains && count == 0 && !loaders->trained_ns ? now_ns : loaders->trained_ns;
	bool is_new = is_found && !loop_trains(loaders) && have_steps(loaders, live, count, now_ns);
	bool has_loader = !loaders->wanted && (is_new || loaders->has_loader);
	stacks_evidence_note(&loaders->evidence, sample, live, count, now_ns);
	const struct py_counted *training = find_live(live, count, loaders->training_serial);
	if (training && training->serial != loaders->spanning && loaders->loops)
		stacks_loops_note_loader(loaders->loops, training, sample);
	note_loop_evidence(loaders, sample, now_ns);
	if (loaders->loops)
		stacks_loops_note(loaders->loops, sample, lines, owner, has_loader, now_ns);
	loaders->is_other |= loaders->loops && stacks_loops_is_other(loaders->loops);
	if (!has_loader && !(loaders->loops && stacks_loops_chosen(loaders->loops, &loop)))
		return;
	const struct py_counted *likely = training ? training : find_live(live, count, loaders->likely_serial);
	note_loss(loaders, py_sampler_process(sampler), sample, likely, now_ns);
	loaders->poll_ns = loaders->poll_ns == INT64_MAX ? now_ns : loaders->poll_ns;
	loaders->boost_until_ns = has_loader || stacks_loops_is_running(loaders->loops) ? 0 : loaders->boost_until_ns;
}

/* The loop of epochs of the passes before has ended, and another one may have begun: the next trial, or fold. */
static bool awaits_epoch(struct stacks_loaders *loaders, const struct py_counted *counted, int64_t now_ns)
{
	struct stacks_known_epoch *known = &loaders->epoch;
	if (!known->is_any || counted->is_over)
		return false;
	if (known->awaited != counted->serial) {
		known->awaited = counted->serial;
		known->awaited_ns = now_ns;
		stacks_loops_await_epoch(loaders->loops, now_ns + EPOCH_AGAIN_NS);
	}
	known->is_any = now_ns - known->awaited_ns < EPOCH_AGAIN_NS;
	return known->is_any;
}

/* What was counted of it so far is of no single epoch. `number`: as in stacks_span_note. */
static void note_span(struct stacks_loaders *loaders, const struct py_counted *counted, uint64_t number, int64_t now_ns)
{
	if (counted->serial == loaders->spanning || counted->is_over ||
		!stacks_span_note(&loaders->span, counted, number, stacks_loops_is_behind(loaders->loops, counted)))
		return;
	loaders->spanning = counted->serial;
	loaders->spanning_ns = now_ns;
	stacks_loops_forget_loader(loaders->loops);
}

static struct stacks_epoch_read *find_epoch(struct stacks_known_epoch *known, uint64_t serial)
{
	for (size_t i = 0; i < STACKS_EPOCHS_READ; i++)
		if (known->reads[i].serial == serial)
			return &known->reads[i];
	return NULL;
}

/* `last`: the reading before, NULL = there was none. Reads it unless that is fresh. NULL: unknown now. */
static struct stacks_epoch_read *read_epoch(
	struct stacks_loaders *loaders, const struct py_counted *counted, struct stacks_epoch_read *last, int64_t now_ns)
{
	struct stacks_known_epoch *known = &loaders->epoch;
	struct stacks_epoch_read read = {
		.serial = counted->serial, .read_ns = now_ns, .is_new = now_ns - counted->found_ns < EPOCH_AGAIN_NS
	};
	if (last && !last->is_new && now_ns - last->read_ns < EPOCH_AGAIN_NS)
		return last;
	if (!stacks_loops_epoch(loaders->loops, counted->function, counted->line, &read.epoch))
		return NULL;
	if (!last)
		last = &known->reads[known->next++ % STACKS_EPOCHS_READ];
	*last = read;
	note_span(loaders, counted, read.is_new ? 0 : read.epoch.number, now_ns);
	return last;
}

/* The epoch that a loop around the DataLoader's counts. Without one, each pass is an epoch. When its last batch was
 * fetched, and more so when it is over, the loop may be in the next one. */
static void add_epoch(struct stacks_loaders *loaders, struct py_counted *counted, int64_t now_ns)
{
	struct stacks_known_epoch *known = &loaders->epoch;
	if (!loaders->loops || !*counted->function || counted->evaluates)
		return;
	bool is_complete = counted->length > 0 && counted->yielded >= counted->length;
	struct stacks_epoch_read *read = find_epoch(known, counted->serial);
	if (!counted->is_over && !(is_complete && (read || counted->length > 1)))
		read = read_epoch(loaders, counted, read, now_ns);
	if (!read) {
		counted->awaits_epoch = awaits_epoch(loaders, counted, now_ns);
		return;
	}
	known->is_any = true;
	known->was_ever |= read->epoch.number > 0;
	counted->epoch = read->epoch.number;
	counted->epochs = read->epoch.count;
}

/* Where the program itself calls next(), its epochs need not be the loader's passes. If a loop counts them, a pass of
 * which that was not read in time is another epoch. */
static void forget_passes(struct stacks_loaders *loaders, struct py_counted *counted)
{
	bool is_spanning = counted->serial == loaders->spanning, has_epoch = counted->epoch > 0 || loaders->epoch.was_ever;
	if (!is_spanning && (has_epoch || !counted->code || !stacks_loops_calls_next(loaders->loops, counted)))
		return;
	counted->epoch = counted->epochs = 0;
	counted->length = 0;
	counted->epoch_key = PASSES_KEY;
}

/* Another pass may run, when no batch comes of those that are known. */
static void note_quiet(struct stacks_loaders *loaders, const struct stacks_polled *polled, int64_t now_ns)
{
	double step_s = loaders->steps ? stacks_steps_step_s(loaders->steps) : (double)NAN;
	int64_t newest_ns = 0, wait_ns = isnan(step_s) ? QUIET_MIN_NS : (int64_t)(QUIET_STEPS * step_s * (double)NS_PER_S);
	bool is_complete = true;
	for (size_t i = 0; i < polled->count; i++) {
		const struct py_counted *counted = &polled->counted[i];
		int64_t moved_ns = counted->advanced_ns ? counted->advanced_ns : counted->found_ns;
		if (moved_ns >= newest_ns) {
			newest_ns = moved_ns;
			is_complete = counted->is_over || (counted->length && counted->yielded >= counted->length);
		}
	}
	wait_ns = is_complete ? 0 : wait_ns < QUIET_MIN_NS ? QUIET_MIN_NS : wait_ns;
	loaders->quiet_ns = polled->count > 0 && now_ns - newest_ns >= wait_ns ? newest_ns + wait_ns + 1 : 0;
}

/* What was counted of this pass is no part of what a loop counts. */
static void leave_pass(struct stacks_loaders *loaders, const struct py_counted *counted)
{
	if (!loaders->taken_serial || loaders->taken_serial != counted->serial)
		return;
	loaders->taken_serial = 0;
	loaders->is_taken_for_now = false;
	loaders->is_other = true;
}

static bool poll_loader(struct stacks_loaders *loaders, int64_t now_ns, struct stacks_polled *out)
{
	const struct py_counted *counted = NULL;
	bool is_any_left = false;
	size_t count = 0;
	loaders->has_validation = false;
	loaders->likely_serial = 0;
	enum status status = py_counter_poll(loaders->counter, now_ns, &counted, &count);
	bool is_awaited = is_loop_awaited(loaders, counted, count, now_ns);
	for (size_t i = 0; i < count && !loaders->wanted; i++) {
		if (!has_steps(loaders, &counted[i], now_ns)) {
			leave_pass(loaders, &counted[i]);
			continue;
		}
		struct py_counted *copy = &out->counted[out->count++];
		*copy = counted[i];
		stacks_evidence_judge(&loaders->evidence, copy, now_ns);
		if (is_awaited)
			leave_undecided(copy);
		if (!copy->evaluates) {
			loaders->taken_serial = copy->serial;
			loaders->is_taken_for_now = stacks_loops_calls_next(loaders->loops, copy);
		}
		loaders->training_serial = copy->trains && !copy->is_over ? copy->serial : loaders->training_serial;
		copy->evaluates |= !copy->trains && loop_trains(loaders);
		bool may_train = !copy->is_over && !copy->evaluates && !copy->is_undecided;
		loaders->likely_serial = may_train ? copy->serial : loaders->likely_serial;
		copy->line = copy->line ? copy->line : stacks_loops_line_of(loaders->loops, copy);
		bool is_late = loaders->trained_ns && copy->found_ns - loaders->trained_ns > MISSED_NS;
		copy->is_first = loaders->is_from_start && !is_late;
		copy->is_exhausted = copy->is_over && stacks_loops_is_exhausted(loaders->loops, copy, counted, count);
		add_epoch(loaders, copy, now_ns);
		forget_passes(loaders, copy);
		/* A loop has counted steps during this pass: the batches of the pass are these steps. */
		bool is_training = !copy->evaluates && !copy->is_undecided && !copy->is_unknown;
		loaders->is_other |= is_training && copy->found_ns < loaders->looped_ns;
		is_any_left |= !copy->is_over && !copy->evaluates;
		loaders->has_validation |= !copy->is_over && copy->evaluates;
	}
	stacks_limits_apply(&loaders->limits, loaders->loops, out->counted, out->count);
	stacks_evidence_judge_nested(out->counted, out->count);
	out->count = stacks_companions_remove(&loaders->companions, out->counted, out->count, now_ns);
	note_quiet(loaders, out, now_ns);
	for (size_t i = 0; i < out->count; i++)
		if (loaders->loops && out->counted[i].serial == loaders->taken_serial && !out->counted[i].is_over)
			stacks_whole_poll(&loaders->whole, loaders->loops, &out->counted[i], now_ns);
	return is_any_left && status == STATUS_OK;
}

static void judge_loop(struct stacks_loaders *loaders, struct py_counted *counted, int64_t now_ns)
{
	stacks_evidence_judge_loop(&loaders->evidence, counted, now_ns);
	if (counted->is_over && !counted->trains)
		stacks_loops_set_aside(loaders->loops);
}

static void poll_loops(struct stacks_loaders *loaders, int64_t now_ns, struct stacks_polled *out)
{
	const struct py_counted *counted;
	struct stacks_counted_loop loop;
	if (loaders->has_loader)
		stacks_loops_stop(loaders->loops);
	if (!stacks_loops_chosen(loaders->loops, &loop))
		return;
	size_t count = stacks_loops_poll(loaders->loops, now_ns, &counted);
	loaders->is_withdrawn |= stacks_loops_is_withdrawn(loaders->loops);
	bool is_taken = count > 0 && !(loaders->has_loader && loaders->is_other);
	/* A loader that validates between its passes does not count them. */
	if (is_taken || (loaders->has_validation && !loaders->has_loader))
		stacks_loop_describe(&loop, loaders->wanted != NULL, &out->what);
	if (!is_taken)
		return;
	out->counted[out->count] = *counted;
	if (!loaders->has_loader && counted->yielded > counted->base) {
		loaders->looped_ns = now_ns;
		loaders->is_other |= loaders->is_taken_for_now;
		loaders->is_taken_for_now = false;
	}
	stacks_whole_take(&loaders->whole, loaders->loops);
	if (loop.has_training)
		judge_loop(loaders, &out->counted[out->count], now_ns);
	out->count++;
}

/* Where the batches are fetched that are steps; until that is known, where others are. */
static void note_place(struct stacks_loaders *loaders, const struct py_counted *counted)
{
	if (!*counted->file || (loaders->place.is_of_steps && !counted->trains))
		return;
	loaders->place.is_of_steps = counted->trains;
	snprintf(loaders->place.file, sizeof loaders->place.file, "%s", counted->file);
	loaders->place.line = counted->line;
}

void stacks_loaders_poll(struct stacks_loaders *loaders, struct stacks_lines *lines, struct stacks_owner *owner,
	int64_t now_ns, struct stacks_polled *out)
{
	out->count = 0;
	out->what = (struct stacks_what){ .is_certain = true };
	loaders->has_loader = poll_loader(loaders, now_ns, out);
	for (size_t i = 0; i < out->count; i++) {
		const struct py_counted *counted = &out->counted[i];
		out->texts[i] = counted->line > 0 ? stacks_lines_text(lines, owner, counted->file, counted->line) : NULL;
		note_place(loaders, counted);
	}
	snprintf(out->what.file, sizeof out->what.file, "%s", loaders->place.file);
	out->what.line = loaders->place.line;
	if (loaders->loops)
		poll_loops(loaders, now_ns, out);
	bool is_any_left = loaders->has_loader || loaders->has_validation || stacks_loops_is_running(loaders->loops);
	loaders->poll_ns = is_any_left ? now_ns : INT64_MAX;
	if (is_any_left)
		return;
	loaders->boost_until_ns = now_ns + BOOST_NS;
	loaders->awaits_until_ns = out->count > 0 ? now_ns + AWAIT_NS : 0;
}

bool stacks_loaders_awaits(const struct stacks_loaders *loaders, int64_t now_ns)
{
	return (loaders->poll_ns == INT64_MAX && now_ns < loaders->awaits_until_ns) ||
		(loaders->poll_ns != INT64_MAX && (now_ns < loaders->evidence.wanted_until_ns || is_quiet(loaders, now_ns))) ||
		stacks_loops_reads_closely(loaders->loops, now_ns);
}

bool stacks_loaders_is_stalled(const struct stacks_loaders *loaders, int64_t now_ns)
{
	return loaders->poll_ns != INT64_MAX && loaders->steps && stacks_steps_is_stalled(loaders->steps, now_ns);
}

/* pmtop was started during a pass: which epoch it is in is known once the loop around it was read. */
static bool awaits_first_epoch(const struct stacks_polled *polled)
{
	const struct py_counted *first = &polled->counted[0];
	return first->yielded > 1 && first->epoch == 0 && first->epoch_key == 0;
}

/* What follows is another run of the same process. */
static void begin_anew(struct stacks_loaders *loaders)
{
	struct stacks_what what = { .is_chosen = loaders->wanted != NULL };
	snprintf(what.text, sizeof what.text, "%s", loaders->wanted ? loaders->wanted : "loop");
	stacks_steps_begin_anew(loaders->steps, &what);
}

/* Until something is counted again, the steps are unknown, but for the loop that a person chose. */
static void forget_steps(struct stacks_loaders *loaders, bool is_counted)
{
	if (loaders->is_other && (loaders->wanted || is_counted))
		begin_anew(loaders);
	else
		stacks_steps_withdraw(loaders->steps);
	loaders->whole = (struct stacks_whole){ 0 };
	loaders->is_other = loaders->is_withdrawn = loaders->is_begun = false;
	loaders->looped_ns = 0;
}

static void begin_counting(struct stacks_loaders *loaders, const struct stacks_polled *polled, int64_t now_ns)
{
	loaders->is_begun = true;
	if (!loaders->loops || !awaits_first_epoch(polled))
		return;
	stacks_steps_await_epoch(loaders->steps, now_ns + EPOCH_WAIT_NS);
	stacks_loops_await_epoch(loaders->loops, now_ns + EPOCH_WAIT_NS);
}

void stacks_loaders_take(struct stacks_loaders *loaders, struct stacks_runs *runs, const struct stacks_polled *polled,
	pid_t pid, uint64_t start_ticks, const char *name, int64_t now_ns)
{
	if (!loaders->steps && polled->count > 0 && runs->count < STACKS_RUNS_MAX) {
		loaders->steps = stacks_steps_new(runs->count, pid, start_ticks, name);
		if (loaders->steps)
			runs->list[runs->count++] = loaders->steps;
	}
	if (!loaders->steps) {
		loaders->poll_ns = INT64_MAX;
		return;
	}
	if (loaders->is_other || loaders->is_withdrawn)
		forget_steps(loaders, polled->count > 0);
	if (polled->count > 0 && !loaders->is_begun)
		begin_counting(loaders, polled, now_ns);
	if (polled->count > 0)
		stacks_steps_describe(loaders->steps, &polled->what);
	stacks_steps_note_loss(loaders->steps, loaders->loss, loaders->loss_ns);
	stacks_steps_take(loaders->steps, polled->counted, polled->count, polled->texts, now_ns);
	if (loaders->whole.is_new)
		stacks_steps_note_whole(loaders->steps, loaders->whole.done, loaders->whole.planned, loaders->whole.each);
	loaders->whole.is_new = false;
	if (loaders->poll_ns != INT64_MAX)
		loaders->poll_ns = stacks_steps_next_ns(loaders->steps, now_ns);
}

void stacks_loaders_end(struct stacks_loaders *loaders, int64_t now_ns)
{
	if (loaders->steps)
		stacks_steps_end(loaders->steps, now_ns);
	stacks_loaders_close(loaders);
}

void stacks_loaders_close(struct stacks_loaders *loaders)
{
	if (loaders->counter)
		py_counter_close(loaders->counter);
	stacks_loops_free(loaders->loops);
	loaders->counter = NULL;
	loaders->loops = NULL;
	loaders->is_tried = loaders->has_loader = false;
	loaders->poll_ns = INT64_MAX;
}

void stacks_loaders_restart(struct stacks_loaders *loaders)
{
	stacks_loaders_close(loaders);
	loaders->is_other = loaders->steps != NULL;
}

bool stacks_loaders_why(const struct stacks_loaders *loaders, pid_t worker_of, char *out, size_t size)
{
	if (worker_of)
		return snprintf(out, size, "this is a DataLoader worker of process %d: pmtop -p %d", (int)worker_of,
				   (int)worker_of) > 0;
	return loaders->loops && !loaders->has_loader && !loaders->has_validation && !loaders->is_begun &&
		stacks_loops_why(loaders->loops, out, size);
}
