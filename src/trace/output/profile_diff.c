#include "src/trace/output/profile_diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/formats/json.h"
#include "src/base/text.h"
#include "src/trace/output/profile_text.h"

enum { NAME_SIZE = 1024, ROWS_DEFAULT = 12 };

/* Seconds in A and B; NAN = not in that trace. */
struct pair {
	char name[NAME_SIZE];
	double a, b;
	uint64_t a_count, b_count;
};

struct pairs {
	struct pair *rows;
	size_t count;
};

static double change(const struct pair *pair)
{
	return (isnan(pair->b) ? 0 : pair->b) - (isnan(pair->a) ? 0 : pair->a);
}

static int by_change(const void *a, const void *b)
{
	double x = fabs(change(a)), y = fabs(change(b));
	return x != y ? (x < y ? 1 : -1) : strcmp(((const struct pair *)a)->name, ((const struct pair *)b)->name);
}

/* -- figures of the whole trace -- */

static double busy(const struct profile_analysis *of)
{
	return of->idle.gpu_count ? (double)of->idle.gpus[0].busy_ns / 1e9 : NAN;
}

static double idle(const struct profile_analysis *of)
{
	return of->idle.gpu_count ? (double)of->idle.gpus[0].idle_ns / 1e9 : NAN;
}

static double window(const struct profile_analysis *of)
{
	return of->profile.end_ns > of->profile.start_ns ? ((double)of->profile.end_ns - (double)of->profile.start_ns) / 1e9
													 : NAN;
}

static double step_mean(const struct profile_analysis *of)
{
	double sum = 0;
	for (uint32_t i = 0; i < of->idle.step_count; i++)
		sum += (double)of->idle.steps[i].duration_ns;
	return of->idle.step_count ? sum / of->idle.step_count / 1e9 : NAN;
}

static const struct whole {
	const char *name, *key;
	double (*of)(const struct profile_analysis *of);
} wholes[] = { { "step, mean", "step_mean_s", step_mean }, { "window", "window_s", window },
	{ "GPU busy", "gpu_busy_s", busy }, { "GPU idle", "gpu_idle_s", idle } };

/* -- operators and kernels, by name -- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct pair *)a)->name, ((const struct pair *)b)->name);
}

/* Rows of one name, one of A and one of B, become one. */
static void join(struct pairs *pairs)
{
	size_t out = 0;
	qsort(pairs->rows, pairs->count, sizeof *pairs->rows, by_name);
	for (size_t i = 0; i < pairs->count; i++) {
		struct pair *last = out ? &pairs->rows[out - 1] : NULL, *row = &pairs->rows[i];
		if (last && strcmp(last->name, row->name) == 0) {
			last->a = isnan(last->a) ? row->a : isnan(row->a) ? last->a : last->a + row->a;
			last->b = isnan(last->b) ? row->b : isnan(row->b) ? last->b : last->b + row->b;
			last->a_count += row->a_count;
			last->b_count += row->b_count;
		} else {
			pairs->rows[out++] = *row;
		}
	}
	pairs->count = out;
	if (out)
		qsort(pairs->rows, out, sizeof *pairs->rows, by_change);
}

static void add(
	struct pairs *pairs, const struct profile_names *names, uint32_t name, double s, uint64_t count, bool is_b)
{
	struct pair *row = &pairs->rows[pairs->count++];
	*row = (struct pair){
		.a = is_b ? NAN : s, .b = is_b ? s : NAN, .a_count = is_b ? 0 : count, .b_count = is_b ? count : 0
	};
	profile_names_show(names, name, row->name, sizeof row->name);
}

static struct pairs ops_of(const struct profile_analysis *a, const struct profile_analysis *b)
{
	const struct profile_analysis *both[] = { a, b };
	bool has_gpu = a->idle.gpu_count && b->idle.gpu_count;
	struct pairs pairs = { .rows = calloc((size_t)a->ops.count + b->ops.count + 1, sizeof(struct pair)) };
	for (int i = 0; i < 2 && pairs.rows; i++)
		for (uint32_t k = 0; k < both[i]->ops.count; k++) {
			const struct profile_op *op = &both[i]->ops.rows[k];
			if (op->count && profile_kind_of(op->name) <= PROFILE_ANNOTATION)
				add(&pairs, &both[i]->profile.names, profile_name_of(op->name),
					(double)(has_gpu ? op->gpu_self_ns : op->self_ns) / 1e9, op->count, i == 1);
		}
	if (pairs.rows)
		join(&pairs);
	return pairs;
}

static struct pairs kernels_of(const struct profile_analysis *a, const struct profile_analysis *b)
{
	const struct profile_analysis *both[] = { a, b };
	struct pairs pairs = { .rows = calloc(
							   (size_t)a->profile.kernel_count + b->profile.kernel_count + 1, sizeof(struct pair)) };
	for (int i = 0; i < 2 && pairs.rows; i++)
		for (uint32_t k = 0; k < both[i]->profile.kernel_count; k++) {
			const struct profile_kernel *kernel = &both[i]->profile.kernels[k];
			add(&pairs, &both[i]->profile.names, kernel->name, (double)kernel->total_ns / 1e9, kernel->count, i == 1);
		}
	if (pairs.rows)
		join(&pairs);
	return pairs;
}

/* -- text -- */

static void print_row(struct buffer *out, const struct pair *pair, int width)
{
	char number[NUMBER_SIZE];
	double difference = change(pair);
	profile_cell(out, pair->name, width - 41);
	profile_cell(out, format_seconds(number, pair->a), -9);
	profile_cell(out, format_seconds(number, pair->b), -9);
	profile_change_cells(out, difference, format_seconds(number, fabs(difference)), isnan(pair->b) ? NAN : pair->a,
		isnan(pair->a)       ? "new"
			: isnan(pair->b) ? "gone"
							 : "–");
}

static void print_pairs(
	struct buffer *out, const char *heading, const struct pairs *pairs, const struct profile_view *view)
{
	size_t limit = view->limit ? view->limit : ROWS_DEFAULT;
	if (!pairs->count)
		return;
	profile_heading(out, view, heading);
	for (size_t i = 0; i < pairs->count && i < limit; i++)
		print_row(out, &pairs->rows[i], view->width);
	if (pairs->count > limit)
		buffer_printf(out, "  … %zu more (--json has all)\n", pairs->count - limit);
}

void profile_diff_as_text(struct buffer *out, const struct profile_analysis *a, const struct profile_analysis *b,
	const struct profile_view *view)
{
	bool has_gpu = a->idle.gpu_count && b->idle.gpu_count;
	char path[300];
	text_clean(path, sizeof path, a->path, strlen(a->path));
	buffer_printf(out, "A %s\n", path);
	text_clean(path, sizeof path, b->path, strlen(b->path));
	buffer_printf(out, "B %s\n\n", path);
	profile_cell(out, "", view->width - 41);
	buffer_puts(out, "        A         B      B − A   change\n");
	for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
		struct pair pair = { .a = wholes[i].of(a), .b = wholes[i].of(b) };
		snprintf(pair.name, sizeof pair.name, "%s", wholes[i].name);
		if (!isnan(pair.a) || !isnan(pair.b))
			print_row(out, &pair, view->width);
	}
	struct pairs ops = ops_of(a, b), kernels = kernels_of(a, b);
	out->failed |= !ops.rows || !kernels.rows;
	print_pairs(
		out, has_gpu ? "OPERATORS, self GPU time, by change" : "OPERATORS, self CPU time, by change", &ops, view);
	print_pairs(out, "KERNELS, total time, by change", &kernels, view);
	free(ops.rows);
	free(kernels.rows);
}

/* -- JSON -- */

static void add_pairs(struct json *json, const char *key, const struct pairs *pairs)
{
	json_open_array(json, key);
	for (size_t i = 0; i < pairs->count; i++) {
		const struct pair *pair = &pairs->rows[i];
		json_open_object(json, NULL);
		json_text(json, "name", pair->name);
		json_number(json, "a_s", pair->a);
		json_number(json, "b_s", pair->b);
		json_number(json, "change_s", change(pair));
		json_unsigned(json, "a_count", pair->a_count);
		json_unsigned(json, "b_count", pair->b_count);
		json_close_object(json);
	}
	json_close_array(json);
}

void profile_diff_as_json(struct buffer *out, const struct profile_analysis *a, const struct profile_analysis *b,
	const struct profile_view *view)
{
	struct json json = { .out = out };
	const struct profile_analysis *both[] = { a, b };
	(void)view;
	json_open_object(&json, NULL);
	for (int i = 0; i < 2; i++) {
		json_open_object(&json, i ? "b" : "a");
		json_text(&json, "file", both[i]->path);
		for (size_t k = 0; k < sizeof wholes / sizeof *wholes; k++)
			json_number(&json, wholes[k].key, wholes[k].of(both[i]));
		json_close_object(&json);
	}
	struct pairs ops = ops_of(a, b), kernels = kernels_of(a, b);
	out->failed |= !ops.rows || !kernels.rows;
	json_text(&json, "operators_by", a->idle.gpu_count && b->idle.gpu_count ? "self_gpu_s" : "self_cpu_s");
	add_pairs(&json, "operators", &ops);
	add_pairs(&json, "kernels", &kernels);
	json_close_object(&json);
	buffer_puts(out, "\n");
	free(ops.rows);
	free(kernels.rows);
}
