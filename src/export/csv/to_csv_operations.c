/* --to=csv-operations: the table AGGREGATE STATISTICS for all modes and ranks. */
#include <inttypes.h>
#include <stdio.h>

#include "src/base/formats/cells.h"
#include "src/export/exporter.h"
#include "src/export/figures/scope.h"

/* It has no state; NULL would mean failure. */
static void *open_table(const struct export_scene *scene)
{
	static char none;
	(void)scene;
	return &none;
}

static void close_table(void *state) { (void)state; }

/* "data/decode/read": rows are sorted depth first, after their parents. */
enum { DEPTHS_MAX = 16, PATH_SIZE = 1024 };
struct path {
	const struct operation *above[DEPTHS_MAX];
};

static const char *path_of(
	struct path *path, const struct run *run, const struct operation *operation, char out[PATH_SIZE])
{
	size_t used = 0;
	unsigned depth = operation->depth < DEPTHS_MAX ? operation->depth : DEPTHS_MAX - 1;
	path->above[depth] = operation;
	out[0] = '\0';
	for (unsigned i = 0; i <= depth && used < PATH_SIZE; i++)
		if (path->above[i])
			used += (size_t)snprintf(
				out + used, PATH_SIZE - used, "%s%s", used ? "/" : "", run_name(run, path->above[i]->name));
	return out;
}

static void add_row(struct buffer *out, const struct run *run, const struct operation *operation, const char *path)
{
	const double figures[] = { operation->total_s, operation->self_s, operation->mean_s, operation->min_s,
		operation->max_s, operation->p50_s, operation->p95_s, operation->last_s, operation->cpu_s,
		operation->memory_bytes, operation->share_ratio };
	cell_text(out, run->name);
	buffer_puts(out, ",");
	cell_text(out, run->rank);
	buffer_printf(out, ",%d,", (int)run->pid);
	cell_text(out, scope_mode_name(run, operation->mode));
	buffer_puts(out, ",");
	cell_text(out, run_name(run, operation->name));
	buffer_puts(out, ",");
	cell_text(out, path);
	buffer_printf(out, ",%u,%" PRIu64, operation->depth, operation->count);
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
		buffer_puts(out, ",");
		cell_number(out, figures[i]);
	}
	buffer_puts(out, "\n");
}

static void end_table(void *state, const struct export_scene *scene)
{
	char text[PATH_SIZE];
	(void)state;
	buffer_puts(scene->out,
		"run,rank,pid,mode,operation,path,depth,count,total_s,self_s,mean_s,min_s,max_s,p50_s,p95_s,last_s,cpu_s,"
		"memory_bytes,share_ratio\n");
	for (unsigned i = 0; i < scene->model->run_count; i++) {
		const struct run *run = &scene->model->runs[i];
		struct path path = { .above = { NULL } };
		for (size_t k = 0; run->is_used && k < run->operation_count; k++) {
			const char *name = path_of(&path, run, &run->operations[k], text);
			if (run->operations[k].count)
				add_row(scene->out, run, &run->operations[k], name);
		}
	}
}

const struct exporter csv_operations_exporter = {
	.name = "csv-operations",
	.help = "a row an operation: count, total, mean, p95, CPU, share",
	.open = open_table,
	.end = end_table,
	.close = close_table,
};
