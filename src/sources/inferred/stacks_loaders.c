#include "src/sources/inferred/stacks_loaders.h"

#include "src/base/clock.h"

/* A loop whose iterator is not in a local variable is found only by sampling it while it fetches. */
#define BOOST_NS (30 * NS_PER_S)

void stacks_runs_release(struct stacks_runs *runs)
{
	for (unsigned i = 0; i < runs->count; i++)
		stacks_steps_free(runs->list[i]);
	runs->count = 0;
}

void stacks_runs_emit(struct stacks_runs *runs, bool again, bool has_ended, int64_t now_ns, struct sample_set *out)
{
	for (unsigned i = 0; i < runs->count; i++) {
		if (has_ended)
			stacks_steps_end(runs->list[i], now_ns);
		stacks_steps_emit(runs->list[i], again, now_ns, out);
	}
}

void stacks_loaders_note(
	struct stacks_loaders *loaders, const struct py_sampler *sampler, const struct py_sample *sample, int64_t now_ns)
{
	struct reason why;
	if (!loaders->is_tried && py_counter_open(py_sampler_process(sampler), &loaders->counter, &why) != STATUS_OK)
		loaders->counter = NULL;
	if (!loaders->is_tried && loaders->counter)
		loaders->boost_until_ns = now_ns + BOOST_NS;
	loaders->is_tried = true;
	if (!loaders->counter || !py_counter_note(loaders->counter, sample, now_ns))
		return;
	loaders->poll_ns = loaders->poll_ns == INT64_MAX ? now_ns : loaders->poll_ns;
	loaders->boost_until_ns = 0;
}

void stacks_loaders_poll(struct stacks_loaders *loaders, struct stacks_lines *lines, struct stacks_owner *owner,
	int64_t now_ns, struct stacks_polled *out)
{
	bool is_any_left = false;
	out->count = 0;
	stacks_owner_note_user(owner);
	enum status status = py_counter_poll(loaders->counter, now_ns, &out->counted, &out->count);
	for (size_t i = 0; i < out->count; i++) {
		const struct py_counted *counted = &out->counted[i];
		out->texts[i] = counted->line > 0 ? stacks_lines_text(lines, owner, counted->file, counted->line) : NULL;
		is_any_left |= !counted->is_over;
	}
	is_any_left = is_any_left && status == STATUS_OK;
	loaders->poll_ns = is_any_left ? now_ns : INT64_MAX;
	if (!is_any_left)
		loaders->boost_until_ns = now_ns + BOOST_NS;
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
	loaders->counter = NULL;
	loaders->is_tried = false;
	loaders->poll_ns = INT64_MAX;
}
