#include "src/sources/inferred/stacks_loaders.h"

#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/inferred/stacks_steps_emit.h"
#include "src/sources/inferred/stacks_training.h"

/* A loop whose iterator is not in a local variable is found only by sampling it while it fetches. */
#define BOOST_NS (30 * NS_PER_S)
#define AWAIT_NS (NS_PER_S / 2)
#define EPOCH_WAIT_NS (3 * NS_PER_S)

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
	loaders->loops = loaders->counter ? stacks_loops_new(py_sampler_process(sampler), loaders->wanted) : NULL;
	if (loaders->counter)
		loaders->boost_until_ns = now_ns + BOOST_NS;
}

/* Backward or the optimizer runs: the newest function around it that has a DataLoader loop trains. */
static void note_training(struct stacks_trained *trained, const struct py_sample *sample)
{
	bool is_optimizer;
	int frame = stacks_training_frame(sample, &is_optimizer);
	for (size_t i = frame < 0 ? sample->count : (size_t)frame; i < sample->count; i++)
		for (size_t k = 0; k < trained->known_count; k++) {
			const char *function = sample->sites[i].known->code.function;
			if (strcmp(trained->known[k], function) != 0)
				continue;
			for (size_t n = 0; n < trained->count; n++)
				if (strcmp(trained->functions[n], function) == 0)
					return;
			if (trained->count < sizeof trained->functions / sizeof *trained->functions)
				snprintf(trained->functions[trained->count++], PY_FUNCTION_SIZE, "%s", function);
			return;
		}
}

static bool trains(const struct stacks_trained *trained, const char *function)
{
	for (size_t i = 0; i < trained->count; i++)
		if (*function && strcmp(trained->functions[i], function) == 0)
			return true;
	return false;
}

static void note_function(struct stacks_trained *trained, const char *function)
{
	for (size_t i = 0; i < trained->known_count; i++)
		if (strcmp(trained->known[i], function) == 0)
			return;
	if (*function && trained->known_count < sizeof trained->known / sizeof *trained->known)
		snprintf(trained->known[trained->known_count++], PY_FUNCTION_SIZE, "%s", function);
}

/* Whether a loop that is no DataLoader's is known to train, and runs. */
static bool loop_trains(const struct stacks_loaders *loaders)
{
	struct stacks_counted_loop loop;
	return stacks_loops_is_running(loaders->loops) && stacks_loops_chosen(loaders->loops, &loop) &&
		(loop.has_training || loaders->wanted);
}

void stacks_loaders_note(struct stacks_loaders *loaders, const struct py_sampler *sampler,
	const struct py_sample *sample, struct stacks_lines *lines, struct stacks_owner *owner, int64_t now_ns)
{
	open_process(loaders, sampler, now_ns);
	if (!loaders->counter)
		return;
	bool is_new = py_counter_note(loaders->counter, sample, now_ns) && !loop_trains(loaders);
	bool has_loader = !loaders->wanted && (is_new || loaders->has_loader);
	struct stacks_counted_loop loop;
	note_training(&loaders->trained, sample);
	if (loaders->loops)
		stacks_loops_note(loaders->loops, sample, lines, owner, has_loader, now_ns);
	if (!has_loader && !(loaders->loops && stacks_loops_chosen(loaders->loops, &loop)))
		return;
	loaders->poll_ns = loaders->poll_ns == INT64_MAX ? now_ns : loaders->poll_ns;
	loaders->boost_until_ns = has_loader || stacks_loops_is_running(loaders->loops) ? 0 : loaders->boost_until_ns;
}

/* The epoch that a loop around the DataLoader's counts. Without one, each pass is an epoch. */
static void add_epoch(struct stacks_loaders *loaders, struct py_counted *counted)
{
	struct stacks_epoch epoch;
	if (loaders->loops && *counted->function && !counted->evaluates &&
		stacks_loops_epoch(loaders->loops, counted->function, counted->line, &epoch)) {
		counted->epoch = epoch.number;
		counted->epochs = epoch.count;
	}
}

static bool poll_loader(struct stacks_loaders *loaders, int64_t now_ns, struct stacks_polled *out)
{
	const struct py_counted *counted = NULL;
	bool is_any_left = false;
	size_t count = 0;
	loaders->has_validation = false;
	enum status status = py_counter_poll(loaders->counter, now_ns, &counted, &count);
	for (size_t i = 0; i < count && !loaders->wanted; i++) {
		struct py_counted *copy = &out->counted[out->count++];
		*copy = counted[i];
		note_function(&loaders->trained, copy->function);
		copy->trains = trains(&loaders->trained, copy->function);
		copy->evaluates = !copy->trains && loop_trains(loaders);
		add_epoch(loaders, copy);
		is_any_left |= !copy->is_over && !copy->evaluates;
		loaders->has_validation |= !copy->is_over && copy->evaluates;
	}
	return is_any_left && status == STATUS_OK;
}

static void poll_loops(struct stacks_loaders *loaders, int64_t now_ns, struct stacks_polled *out)
{
	const struct py_counted *counted;
	struct stacks_counted_loop loop;
	if (loaders->has_loader)
		stacks_loops_stop(loaders->loops);
	if (!stacks_loops_chosen(loaders->loops, &loop) || !stacks_loops_poll(loaders->loops, now_ns, &counted))
		return;
	out->counted[out->count++] = *counted;
	size_t length = strlen(loop.text);
	snprintf(out->what.text, sizeof out->what.text, "%.*s", (int)(length - (length && loop.text[length - 1] == ':')),
		length           ? loop.text
			: *loop.name ? loop.name
						 : "loop");
	snprintf(out->what.file, sizeof out->what.file, "%s", loop.file);
	out->what.line = loop.line;
	out->what.is_certain = loop.is_certain;
}

void stacks_loaders_poll(struct stacks_loaders *loaders, struct stacks_lines *lines, struct stacks_owner *owner,
	int64_t now_ns, struct stacks_polled *out)
{
	out->count = 0;
	out->what = (struct stacks_what){ .is_certain = true };
	stacks_owner_note_user(owner);
	loaders->has_loader = poll_loader(loaders, now_ns, out);
	for (size_t i = 0; i < out->count; i++) {
		const struct py_counted *counted = &out->counted[i];
		out->texts[i] = counted->line > 0 ? stacks_lines_text(lines, owner, counted->file, counted->line) : NULL;
		if (!*out->what.file) {
			snprintf(out->what.file, sizeof out->what.file, "%s", counted->file);
			out->what.line = counted->line;
		}
	}
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
		stacks_loops_reads_closely(loaders->loops, now_ns);
}

bool stacks_loaders_is_stalled(const struct stacks_loaders *loaders, int64_t now_ns)
{
	return loaders->poll_ns != INT64_MAX && loaders->steps && stacks_steps_is_stalled(loaders->steps, now_ns);
}

/* pmtop was started during a pass: which epoch it is in is known once the loop around it was read. */
static bool awaits_epoch(const struct stacks_polled *polled)
{
	const struct py_counted *first = &polled->counted[0];
	return first->yielded > 1 && first->epoch == 0 && first->epoch_key == 0;
}

void stacks_loaders_take(struct stacks_loaders *loaders, struct stacks_runs *runs, const struct stacks_polled *polled,
	pid_t pid, uint64_t start_ticks, const char *name, int64_t now_ns)
{
	if (!loaders->steps && polled->count > 0 && runs->count < STACKS_RUNS_MAX) {
		loaders->steps = stacks_steps_new(runs->count, pid, start_ticks, name);
		if (loaders->steps)
			runs->list[runs->count++] = loaders->steps;
		if (loaders->steps && loaders->loops && awaits_epoch(polled)) {
			stacks_steps_await_epoch(loaders->steps, now_ns + EPOCH_WAIT_NS);
			stacks_loops_await_epoch(loaders->loops, now_ns + EPOCH_WAIT_NS);
		}
	}
	if (!loaders->steps) {
		loaders->poll_ns = INT64_MAX;
		return;
	}
	if (polled->count > 0)
		stacks_steps_describe(loaders->steps, &polled->what);
	stacks_steps_take(loaders->steps, polled->counted, polled->count, polled->texts, now_ns);
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
