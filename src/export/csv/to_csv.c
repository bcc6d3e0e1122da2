/* --to=csv: a row for each finished batch, with phases as columns. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/formats/cells.h"
#include "src/export/figures/gpu_batch.h"
#include "src/export/figures/scope.h"
#include "src/export/finished.h"
#include "src/export/wide.h"

enum { KNOWN_MAX = 512 };

/* Caches the column of a rank's name, so that it is searched by text only once. */
struct known {
	unsigned rank;
	uint32_t name, parent;
	unsigned column;
};

struct table {
	struct wide *wide;
	struct finished *finished;
	size_t known_count;
	struct known known[KNOWN_MAX];
};

/* The input of a row. */
struct row {
	const struct export_scene *scene;
	const struct run *run;
	const struct track *track;
	const struct batch *batch;
	const struct evidence *evidence; /* all NAN without evidence */
	const struct explanation *why;   /* NULL: not flagged */
};

static const char *cause(const struct row *row)
{
	return row->why && row->why->cause_count ? row->why->causes[0].what : NULL;
}

static double cause_share(const struct row *row)
{
	return row->why && row->why->cause_count ? row->why->causes[0].share_ratio : NAN;
}

static double epoch_of(const struct batch *batch)
{
	return batch->epoch_ordinal && batch->epoch != EPOCH_UNKNOWN ? (double)batch->epoch : NAN;
}

/* The columns that every table has; TEXT, TIME and INTEGER are types. */
#define BATCH (row->batch)
#define COLUMNS(TEXT, INTEGER, TIME, NUMBER) \
	TEXT(run, row->run->name) \
	TEXT(rank, row->run->rank) \
	INTEGER(pid, row->run->pid) \
	TEXT(mode, scope_mode_name(row->run, row->track->mode)) \
	NUMBER(epoch, epoch_of(BATCH)) \
	INTEGER(index, (int64_t)BATCH->index) \
	INTEGER(ordinal, (int64_t)BATCH->ordinal) \
	INTEGER(begin_ns, scene_realtime_ns(row->scene, BATCH->begin_ns)) \
	TIME(begin, scene_realtime_ns(row->scene, BATCH->begin_ns)) \
	NUMBER(batch_s, BATCH->batch_s) \
	NUMBER(step_s, BATCH->step_s) \
	NUMBER(samples, BATCH->samples) \
	NUMBER(loss, BATCH->loss) \
	TEXT(kind, track_kind_name(row->run, row->track, BATCH->kind)) \
	NUMBER(resident_bytes, BATCH->resident_bytes) \
	NUMBER(allocated_bytes, BATCH->allocated_bytes) \
	NUMBER(cpu_s, row->evidence->cpu_s) \
	NUMBER(run_queue_wait_s, row->evidence->run_queue_wait_s) \
	NUMBER(minor_faults, row->evidence->minor_faults) \
	NUMBER(major_faults, row->evidence->major_faults) \
	NUMBER(voluntary_switches, row->evidence->voluntary_switches) \
	NUMBER(involuntary_switches, row->evidence->involuntary_switches) \
	NUMBER(blocks_read, row->evidence->blocks_read) \
	INTEGER(warmup, BATCH->is_warmup) \
	INTEGER(flagged, BATCH->is_flagged) \
	NUMBER(usual_s, BATCH->median_s) \
	TEXT(cause, cause(row)) \
	NUMBER(cause_share_ratio, cause_share(row))

enum {
#define COLUMN_ID(name, value) COLUMN_##name,
	COLUMNS(COLUMN_ID, COLUMN_ID, COLUMN_ID, COLUMN_ID)
#undef COLUMN_ID
};

static void close_table(void *state)
{
	struct table *table = state;
	if (!table)
		return;
	wide_free(table->wide);
	finished_free(table->finished);
	free(table);
}

static void *open_table(const struct export_scene *scene)
{
	static const char *const names[] = {
#define COLUMN_NAME(name, value) #name,
		COLUMNS(COLUMN_NAME, COLUMN_NAME, COLUMN_NAME, COLUMN_NAME)
#undef COLUMN_NAME
	};
	(void)scene;
	struct table *table = calloc(1, sizeof *table);
	if (!table)
		return NULL;
	table->wide = wide_new();
	table->finished = finished_new();
	if (!table->wide || !table->finished) {
		close_table(table);
		return NULL;
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		wide_column(table->wide, names[i]);
	return table;
}

static unsigned column_of(
	struct table *table, const struct finished_batch *written, uint32_t name, uint32_t parent, const char *text)
{
	for (size_t i = 0; i < table->known_count; i++) {
		const struct known *known = &table->known[i];
		if (known->rank == written->rank && known->name == name && known->parent == parent)
			return known->column;
	}
	unsigned column = wide_column(table->wide, text);
	if (table->known_count < KNOWN_MAX)
		table->known[table->known_count++] = (struct known){ written->rank, name, parent, column };
	return column;
}

static void add_phases(struct table *table, const struct finished_batch *written, bool is_outermost)
{
	char path[PHASE_PATH_SIZE], name[PHASE_PATH_SIZE + 16];
	for (unsigned i = 0; i < written->batch->phase_count; i++) {
		const struct phase_time *phase = &written->batch->phases[i];
		if ((phase->parent == NAME_NONE) != is_outermost)
			continue;
		snprintf(name, sizeof name, "phase.%s_s", phase_path(written->run, phase, path));
		cell_float(wide_cell(table->wide, column_of(table, written, phase->name, phase->parent, name)), phase->seconds);
	}
}

static void add_figures(struct table *table, const struct finished_batch *written)
{
	const struct batch *batch = written->batch;
	char name[300];
	for (unsigned i = 0; i < batch->figure_count; i++) {
		snprintf(name, sizeof name, "figure.%s", run_name(written->run, batch->figures[i].name));
		cell_float(wide_cell(table->wide, column_of(table, written, batch->figures[i].name, UINT32_MAX, name)),
			batch->figures[i].value);
	}
}

static void add_gpus(struct table *table, const struct export_scene *scene, const struct finished_batch *written)
{
	double values[GPU_BATCH_COUNT];
	char name[64];
	if (!gpu_batch_figures(scene, written, values))
		return;
	for (size_t i = 0; i < GPU_BATCH_COUNT; i++) {
		if (isnan(values[i]))
			continue;
		snprintf(name, sizeof name, "gpu.%s", gpu_batch_names[i]);
		cell_number(wide_cell(table->wide, wide_column(table->wide, name)), values[i]);
	}
}

static void add_row(struct table *table, const struct export_scene *scene, const struct finished_batch *written)
{
	static const struct evidence none = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
	struct explanation room;
	const struct row whole = { scene, written->run, written->track, written->batch,
		written->batch->has_evidence ? &written->batch->evidence : &none, finished_explain(written, scene, &room) },
					 *row = &whole;
#define CELL(name) wide_cell(table->wide, COLUMN_##name)
#define ADD_TEXT(name, value) cell_text(CELL(name), value);
#define ADD_INTEGER(name, value) buffer_printf(CELL(name), "%" PRId64, (int64_t)(value));
#define ADD_TIME(name, value) cell_time(CELL(name), value, 9);
#define ADD_NUMBER(name, value) cell_number(CELL(name), value);
	COLUMNS(ADD_TEXT, ADD_INTEGER, ADD_TIME, ADD_NUMBER)
#undef CELL
#undef ADD_TEXT
#undef ADD_INTEGER
#undef ADD_TIME
#undef ADD_NUMBER
	/* Prefixed, so that no phase is mistaken for a figure; a phase within another follows it. */
	add_phases(table, written, true);
	add_phases(table, written, false);
	add_figures(table, written);
	add_gpus(table, scene, written);
	wide_end_row(table->wide);
}

static void write_one(struct table *table, const struct export_scene *scene, bool is_end)
{
	struct finished_batch written;
	while (finished_next(table->finished, scene, is_end, &written))
		add_row(table, scene, &written);
}

static void add_set(void *state, const struct export_scene *scene, const struct sample_set *set)
{
	(void)set;
	write_one(state, scene, false);
}

static void end_table(void *state, const struct export_scene *scene)
{
	struct table *table = state;
	write_one(table, scene, true);
	wide_write(table->wide, scene);
}

const struct exporter csv_exporter = {
	.name = "csv",
	.help = "a row a batch: step, phases, loss, memory, evidence, cause",
	.open = open_table,
	.add = add_set,
	.end = end_table,
	.close = close_table,
};
