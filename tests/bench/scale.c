/* scale: what a refresh costs the model, the rules and the screen once a run is long or has many names, by an injected
 * clock; for bench_scale.py.
 *
 *   scale batches N...   after N batches            scale names N...   with N names of spans
 *   scale hours N...     after N hours of all figures of a node with two GPUs, ten batches a second
 *
 * For each N, in rising order: a line `N CPU_US RESIDENT_BYTES`, the CPU time of a refresh and the memory of this
 * process. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "src/model/model.h"
#include "src/rules/alerts.h"
#include "src/sources/synthetic/synthetic.h"
#include "ui/screen.h"

enum {
	WIDTH = 120,
	HEIGHT = 40,
	REFRESHES = 100,
	BATCHES = 10,
	FORWARD_BATCHES = 5000,
	SPANS = 4,
	EPOCH_BATCHES = 1000
};
#define START_NS (INT64_C(100000) * NS_PER_S)
#define STEP_NS (50 * NS_PER_S / 1000)
#define REFRESH_NS (NS_PER_S / 2)
#define FORWARD_NS (5 * NS_PER_S)

struct trial {
	struct settings settings;
	struct model *model;
	struct alerts alerts;
	struct screen *screen;
	struct canvas canvas;
	struct sample_set set;
	int64_t now_ns;
	struct synthetic *synthetic; /* of `hours` */
	uint64_t batches, sequence;
	uint32_t names, next_name; /* those of spans: ids 1 to names */
};

static void die(const char *what)
{
	fprintf(stderr, "scale: %s\n", what);
	exit(1);
}

static void trial_open(struct trial *trial)
{
	struct model_options options;
	*trial = (struct trial){ .now_ns = START_NS };
	settings_default(&trial->settings);
	model_options_default(&options);
	trial->model = model_new(&options);
	if (!trial->model || !canvas_resize(&trial->canvas, WIDTH, HEIGHT))
		die("out of memory");
	alerts_update(&trial->alerts, trial->model, &trial->settings);
	trial->screen = screen_new(trial->model, &trial->alerts, &trial->settings);
	if (!trial->screen)
		die("out of memory");
}

static void trial_close(struct trial *trial)
{
	screen_free(trial->screen);
	alerts_release(&trial->alerts);
	sample_set_release(&trial->set);
	canvas_release(&trial->canvas);
	model_free(trial->model);
	synthetic_free(trial->synthetic);
}

static struct record *add(struct trial *trial, enum record_kind kind, unsigned run)
{
	struct record *record = sample_set_add(&trial->set, kind, run, trial->now_ns);
	if (!record)
		die("out of memory");
	return record;
}

static struct record *add_event(struct trial *trial, enum record_kind kind)
{
	struct record *record = add(trial, kind, 1);
	record->sequence = trial->sequence++;
	return record;
}

static void emit_opened(struct trial *trial, uint32_t names)
{
	char text[32];
	struct record *opened = add(trial, RECORD_RUN_OPENED, 1);
	opened->opened.pid = opened->opened.inner_pid = SYNTHETIC_PID;
	opened->opened.name = "synthetic scale";
	opened->opened.uuid = "00000000000000000000000000000000";
	opened->opened.abi = "1.0";
	opened->opened.start_ns = START_NS;
	opened->opened.is_live = true;
	for (trial->names = 0; trial->names < names;) {
		struct record *name = add(trial, RECORD_NAME, 1);
		name->name.id = ++trial->names;
		name->name.text =
			sample_set_text(&trial->set, text, (size_t)snprintf(text, sizeof text, "span %x", name->name.id));
	}
}

static void emit_span(struct trial *trial, int64_t duration_ns)
{
	struct record *record = add_event(trial, RECORD_SPAN);
	record->span.name = 1 + trial->next_name++ % trial->names;
	record->span.parent = record->span.depth = 0;
	record->span.duration_ns = duration_ns;
	record->span.self_s = (float)duration_ns * 1e-9f;
	record->span.cpu_s = record->span.memory_bytes = NAN;
}

/* Times vary by a tenth, and every 97th batch takes twice as long. */
static void emit_batch(struct trial *trial)
{
	uint64_t number = trial->batches++, index = number % EPOCH_BATCHES;
	int64_t step_ns = STEP_NS * (int64_t)(95 + number * 7919 % 10) / 100 * (number % 97 == 96 ? 2 : 1);
	if (index == 0 && number)
		add_event(trial, RECORD_EPOCH_END)->epoch.index = (uint32_t)(number / EPOCH_BATCHES - 1);
	if (index == 0)
		add_event(trial, RECORD_EPOCH_BEGIN)->epoch.index = (uint32_t)(number / EPOCH_BATCHES);
	struct record *begin = add_event(trial, RECORD_BATCH_BEGIN);
	begin->batch.index = index;
	begin->batch.number = number;
	int64_t begin_ns = trial->now_ns;
	for (int i = 0; i < SPANS; i++) {
		trial->now_ns += step_ns / (SPANS + 1);
		emit_span(trial, step_ns / (SPANS + 1));
	}
	trial->now_ns = begin_ns + step_ns;
	struct record *end = add_event(trial, RECORD_BATCH_END);
	end->batch.index = index;
	end->batch.number = number;
	end->batch.loss = 1;
	end->batch.begin_ns = begin_ns;
	end->batch.kind = 0;
}

/* One reading: of the synthetic node up to the next time, or so many batches. */
static void read_next(struct trial *trial, int64_t period_ns, unsigned batches)
{
	sample_set_clear(&trial->set);
	trial->set.source = "synthetic";
	if (trial->synthetic) {
		trial->now_ns += period_ns;
		synthetic_emit(trial->synthetic, trial->now_ns, &trial->set);
	} else {
		if (!trial->batches)
			emit_opened(trial, trial->names);
		for (unsigned i = 0; i < batches; i++)
			emit_batch(trial);
	}
	trial->set.time_ns = trial->now_ns;
	model_apply(trial->model, &trial->set);
	explain_flagged(trial->model);
	alerts_update(&trial->alerts, trial->model, &trial->settings);
}

static double resident_bytes(void)
{
	unsigned long resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	if (!file || fscanf(file, "%*u %lu", &resident) != 1)
		die("/proc/self/statm cannot be read");
	fclose(file);
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void measure(struct trial *trial, const char *size)
{
	double took_us[REFRESHES];
	for (int i = 0; i < REFRESHES; i++) {
		int64_t from_ns = clock_process_cpu_ns();
		read_next(trial, REFRESH_NS, BATCHES);
		screen_draw(trial->screen, &trial->canvas, trial->now_ns, REFRESH_NS);
		took_us[i] = (double)(clock_process_cpu_ns() - from_ns) * 1e-3;
	}
	qsort(took_us, REFRESHES, sizeof *took_us, compare);
	printf("%s %.1f %.0f\n", size, took_us[REFRESHES / 2], resident_bytes());
	fflush(stdout);
}

static void long_runs(int count, char **sizes, bool is_hours)
{
	struct trial trial;
	struct reason why = { "", "" };
	trial_open(&trial);
	trial.names = SPANS;
	if (is_hours && synthetic_new("clean", START_NS, &trial.synthetic, &why) != STATUS_OK)
		die(why.text);
	for (int i = 0; i < count; i++) {
		double size = strtod(sizes[i], NULL);
		while (is_hours ? seconds_between(START_NS, trial.now_ns) < size * 3600 : (double)trial.batches < size)
			read_next(&trial, FORWARD_NS, FORWARD_BATCHES);
		measure(&trial, sizes[i]);
	}
	trial_close(&trial);
}

static void many_names(int count, char **sizes)
{
	for (int i = 0; i < count; i++) {
		struct trial trial;
		trial_open(&trial);
		trial.names = (uint32_t)strtoul(sizes[i], NULL, 10);
		while (trial.next_name < trial.names)
			read_next(&trial, FORWARD_NS, BATCHES);
		measure(&trial, sizes[i]);
		trial_close(&trial);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3 || !strstr("batches hours names", argv[1])) {
		fputs("usage: scale batches|hours|names N...\n", stderr);
		return 2;
	}
	if (!strcmp(argv[1], "names"))
		many_names(argc - 2, argv + 2);
	else
		long_runs(argc - 2, argv + 2, !strcmp(argv[1], "hours"));
	return 0;
}
