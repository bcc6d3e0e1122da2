#include "tests/support/story_plot.h"

#include <math.h>
#include <string.h>

#include "src/base/clock.h"

double plot_chance(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

static double chance(struct plot *plot) { return plot_chance(&plot->random); }

static struct event *write_event(struct plot *plot, enum record_kind kind)
{
	struct event *event = &plot->events[plot->written % PLOT_EVENTS];
	memset(event, 0, sizeof *event);
	event->record.kind = (uint8_t)kind;
	event->record.run = STORY_RUN;
	event->record.lane = STORY_LANE;
	event->record.sequence = plot->written++;
	event->record.time_ns = plot->emitted_ns;
	return event;
}

static void pass(struct plot *plot, double seconds) { plot->emitted_ns += llround(seconds * 1e9); }

/* Durations that vary a little and are never 0, so that no two events have the same time. */
static double vary(struct plot *plot, double seconds)
{
	return fmax(seconds * (1 + plot->options.jitter_ratio * chance(plot)), 1e-6);
}

static void write_span(
	struct plot *plot, enum story_name name, enum story_name parent, int64_t begin_ns, double inside_s)
{
	struct event *event = write_event(plot, RECORD_SPAN);
	int64_t duration_ns = plot->emitted_ns - begin_ns;
	event->record.span.name = name;
	event->record.span.parent = parent;
	event->record.span.depth = parent != STORY_NO_NAME;
	event->record.span.duration_ns = duration_ns;
	event->record.span.self_s = (float)((double)duration_ns * 1e-9 - inside_s);
	event->record.span.cpu_s = name == STORY_FORWARD ? (float)((double)duration_ns * 0.9e-9) : NAN;
	event->record.span.memory_bytes = NAN;
}

static void phase(struct plot *plot, enum story_name name, enum story_name parent, double seconds)
{
	int64_t begin_ns = plot->emitted_ns;
	pass(plot, seconds);
	write_span(plot, name, parent, begin_ns, 0);
}

static void load_data(struct plot *plot, double step_s, double slow_s)
{
	int64_t begin_ns = plot->emitted_ns;
	double decode_s = vary(plot, 0.2 * step_s) + slow_s, collate_s = vary(plot, 0.1 * step_s);
	phase(plot, STORY_DECODE, STORY_DATA, decode_s);
	phase(plot, STORY_COLLATE, STORY_DATA, collate_s);
	pass(plot, vary(plot, 0.04 * step_s));
	write_span(plot, STORY_DATA, STORY_NO_NAME, begin_ns, decode_s + collate_s);
}

static void begin_batch(struct plot *plot)
{
	struct event *begin = write_event(plot, RECORD_BATCH_BEGIN);
	begin->record.batch.index = plot->batch;
	begin->record.batch.number = plot->number;
}

static void write_batch_end(struct plot *plot, int64_t begin_ns, double loss, double slow_s, enum story_name kind)
{
	struct event *end = write_event(plot, RECORD_BATCH_END);
	double batch_s = seconds_between(begin_ns, plot->emitted_ns);
	end->record.batch.index = plot->batch;
	end->record.batch.number = plot->number++;
	end->record.batch.loss = plot->options.has_device ? (double)NAN : loss;
	end->record.batch.kind = kind;
	end->record.batch.begin_ns = begin_ns;
	if (!plot->options.has_evidence)
		return;
	pass(plot, 2e-6);
	struct event *evidence = write_event(plot, RECORD_EVIDENCE);
	evidence->evidence = (struct evidence){
		.cpu_s = 0.8 * (batch_s - slow_s),
		.run_queue_wait_s = 0.002 * batch_s,
		.minor_faults = floor(100 + 20 * chance(plot)),
		.major_faults = slow_s > 0 ? 1204 : 0,
		.voluntary_switches = slow_s > 0 ? 260 : 12,
		.involuntary_switches = 2,
		.blocks_read = slow_s > 0 ? 5200 : 0,
		.samples = STORY_SAMPLES_PER_BATCH,
	};
}

static void write_gauge(struct plot *plot, enum story_name name, double value)
{
	struct event *gauge = write_event(plot, RECORD_GAUGE);
	gauge->record.gauge.name = name;
	gauge->record.gauge.value = value;
	pass(plot, 1e-6);
}

static void write_allocator(struct plot *plot)
{
	double allocated = 14.4e6 + 8.7e6 * (double)(plot->batch % 4);
	write_gauge(plot, STORY_ALLOCATED, allocated);
	write_gauge(plot, STORY_RESERVED, 3236e6);
	write_gauge(plot, STORY_PEAK, 2880e6);
}

static void write_figure(struct plot *plot, enum story_name name, uint64_t number, double value)
{
	struct event *figure = write_event(plot, RECORD_BATCH_FIGURE);
	figure->record.batch_figure.name = name;
	figure->record.batch_figure.number = number;
	figure->record.batch_figure.value = value;
	pass(plot, 1e-6);
}

/* Of the batch but one before this, if that was in this pass. */
static void write_late(struct plot *plot, double loss)
{
	if (plot->batch >= 2) {
		write_figure(plot, STORY_LOSS, plot->number - 3, plot->losses[0]);
		write_figure(plot, STORY_GPU_FORWARD, plot->number - 3, vary(plot, 0.2 * plot->options.step_s));
	}
	plot->losses[0] = plot->losses[1];
	plot->losses[1] = loss;
}

static void train(struct plot *plot)
{
	const struct story_options *options = &plot->options;
	double step_s = options->step_s, slow_s = 0;
	if (options->slow_every && (plot->trained + 1) % options->slow_every == 0)
		slow_s = options->slow_s;
	int64_t begin_ns = plot->emitted_ns;
	bool steps = !options->accumulate || (plot->batch + 1) % options->accumulate == 0;
	begin_batch(plot);
	if (!options->loads_between)
		load_data(plot, step_s, slow_s);
	phase(plot, STORY_FORWARD, STORY_NO_NAME, vary(plot, 0.22 * step_s) + (plot->trained == 0 ? options->first_s : 0));
	phase(plot, STORY_BACKWARD, STORY_NO_NAME, vary(plot, 0.31 * step_s));
	if (steps)
		phase(plot, STORY_OPTIMIZER, STORY_NO_NAME, vary(plot, (options->accumulate ? 0.64 : 0.08) * step_s));
	pass(plot, vary(plot, 0.03 * step_s));
	double loss = options->loss_first * exp(-options->loss_fall * (double)plot->trained) * (1 + 0.02 * chance(plot));
	if (options->has_device && (plot->trained + 1) % 60 == 0)
		write_event(plot, RECORD_MARK)->record.text = "learning rate lowered";
	if (options->has_device)
		write_allocator(plot);
	write_batch_end(plot, begin_ns, loss, slow_s, steps ? STORY_NO_NAME : STORY_ACCUMULATE);
	if (options->has_device)
		write_late(plot, loss);
	struct event *rate = write_event(plot, RECORD_GAUGE);
	rate->record.gauge.name = STORY_LEARNING_RATE;
	rate->record.gauge.value = 1e-3 * (1 - 0.5 * (double)plot->epoch / options->epochs);
	pass(plot, vary(plot, 0.02 * step_s));
	if (options->loads_between)
		pass(plot, vary(plot, 0.34 * step_s) + slow_s);
	plot->trained++;
	plot->batch++;
}

static void validate(struct plot *plot)
{
	double step_s = 0.5 * plot->options.step_s;
	int64_t begin_ns = plot->emitted_ns;
	begin_batch(plot);
	phase(plot, STORY_DATA, STORY_NO_NAME, vary(plot, 0.5 * step_s));
	phase(plot, STORY_FORWARD, STORY_NO_NAME, vary(plot, 0.4 * step_s));
	pass(plot, vary(plot, 0.05 * step_s));
	write_batch_end(plot, begin_ns, NAN, 0, STORY_NO_NAME);
	pass(plot, vary(plot, 0.05 * step_s));
	plot->batch++;
}

static void write_mode(struct plot *plot, enum story_name mode)
{
	if (!plot->options.has_modes)
		return;
	pass(plot, 1e-5);
	write_event(plot, RECORD_MODE)->record.mode.name = mode;
	pass(plot, 1e-5);
}

static void close_epoch(struct plot *plot)
{
	if (plot->options.checkpoint_s > 0)
		phase(plot, STORY_CHECKPOINT, STORY_NO_NAME, plot->options.checkpoint_s);
	if (plot->options.has_device)
		write_event(plot, RECORD_MARK)->record.text = "checkpoint saved";
	write_mode(plot, STORY_TRAIN);
	write_event(plot, RECORD_EPOCH_END)->record.epoch.index = plot->epoch;
	pass(plot, 1e-4);
	plot->epoch++;
	plot->batch = 0;
}

void plot_write_on(struct plot *plot)
{
	const struct story_options *options = &plot->options;
	switch (plot->chapter) {
	case CHAPTER_OPENING:
		write_mode(plot, STORY_TRAIN);
		plot->chapter = options->epochs ? CHAPTER_EPOCH : CHAPTER_END;
		break;
	case CHAPTER_EPOCH:
		write_event(plot, RECORD_EPOCH_BEGIN)->record.epoch.index = plot->epoch;
		pass(plot, 1e-4);
		plot->chapter = CHAPTER_TRAIN;
		break;
	case CHAPTER_TRAIN:
		train(plot);
		if (plot->batch < options->batches)
			break;
		plot->batch = 0;
		plot->chapter = options->has_modes && options->validation_batches ? CHAPTER_VALIDATION : CHAPTER_CLOSE;
		if (plot->chapter == CHAPTER_VALIDATION)
			write_mode(plot, STORY_VALIDATION);
		break;
	case CHAPTER_VALIDATION:
		validate(plot);
		if (plot->batch == options->validation_batches)
			plot->chapter = CHAPTER_CLOSE;
		break;
	case CHAPTER_CLOSE:
		close_epoch(plot);
		plot->chapter = plot->epoch < options->epochs ? CHAPTER_EPOCH : CHAPTER_END;
		break;
	case CHAPTER_END: break;
	}
}
