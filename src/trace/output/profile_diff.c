#include "src/trace/output/profile_diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/formats/json.h"
#include "src/base/text.h"
#include "src/trace/output/profile_shorten.h"
#include "src/trace/output/profile_text.h"

enum { ROWS_DEFAULT = 12 };

/* Seconds in A and B; NAN = not in that trace. */
struct pair {
	char *name;
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

/* -- steps -- */

/* 0 = unknown. From one optimizer step to the next is not the whole trace. */
static uint32_t steps_of(const struct profile_analysis *of)
{
	return of->idle.steps_are_inferred ? 0 : of->idle.step_count;
}

static bool is_by_step(const struct profile_analysis *a, const struct profile_analysis *b)
{
	return steps_of(a) && steps_of(b);
}

/* -- figures of the whole trace -- */

static double gpus_mean(const struct profile_analysis *of, bool is_busy)
{
	double sum = 0;
	for (uint32_t i = 0; i < of->idle.gpu_count; i++)
		sum += (double)(is_busy ? of->idle.gpus[i].busy_ns : of->idle.gpus[i].idle_ns);
	return of->idle.gpu_count ? sum / of->idle.gpu_count / 1e9 : NAN;
}

static double busy(const struct profile_analysis *of) { return gpus_mean(of, true); }
static double idle(const struct profile_analysis *of) { return gpus_mean(of, false); }

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
	bool is_sum; /* divided by steps */
} wholes[] = { { "step, mean", "step_mean_s", step_mean, false }, { "window", "window_s", window, true },
	{ "GPU busy", "gpu_busy_s", busy, true }, { "GPU idle", "gpu_idle_s", idle, true } };

static double whole_of(const struct whole *whole, const struct profile_analysis *of, bool by_step)
{
	return whole->of(of) / (by_step && whole->is_sum ? steps_of(of) : 1);
}

/* -- operators and kernels, by name -- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct pair *)a)->name, ((const struct pair *)b)->name);
}

/* Rows of one name, one of A and one of B, become one. */
static void join(struct pairs *pairs)
{
	size_t out = 0;
	if (!pairs->count)
		return;
	qsort(pairs->rows, pairs->count, sizeof *pairs->rows, by_name);
	for (size_t i = 0; i < pairs->count; i++) {
		struct pair *last = out ? &pairs->rows[out - 1] : NULL, *row = &pairs->rows[i];
		if (last && strcmp(last->name, row->name) == 0) {
			last->a = isnan(last->a) ? row->a : isnan(row->a) ? last->a : last->a + row->a;
			last->b = isnan(last->b) ? row->b : isnan(row->b) ? last->b : last->b + row->b;
			last->a_count += row->a_count;
			last->b_count += row->b_count;
			free(row->name);
		} else {
			pairs->rows[out++] = *row;
		}
	}
	pairs->count = out;
	qsort(pairs->rows, out, sizeof *pairs->rows, by_change);
}

static void release(struct pairs *pairs)
{
	for (size_t i = 0; i < pairs->count; i++)
		free(pairs->rows[i].name);
	free(pairs->rows);
	*pairs = (struct pairs){ 0 };
}

/* One of the two traces. */
struct side {
	const struct profile_analysis *of;
	bool is_b, has_gpu; /* has_gpu: both have */
	double steps;       /* by which times are divided */
};

static struct side side_of(const struct profile_analysis *const both[2], bool is_b)
{
	const struct profile_analysis *of = both[is_b];
	return (struct side){ of, is_b, both[0]->idle.gpu_count && both[1]->idle.gpu_count,
		is_by_step(both[0], both[1]) ? steps_of(of) : 1 };
}

/* False: no memory. */
static bool add(struct pairs *pairs, const struct side *side, uint32_t name, int64_t ns, uint64_t count)
{
	struct pair *row = &pairs->rows[pairs->count];
	double s = (double)ns / 1e9 / side->steps;
	*row = (struct pair){ .name = profile_names_copy(&side->of->profile.names, name),
		.a = side->is_b ? NAN : s,
		.b = side->is_b ? s : NAN,
		.a_count = side->is_b ? 0 : count,
		.b_count = side->is_b ? count : 0 };
	pairs->count += row->name != NULL;
	return row->name;
}

static uint32_t count_ops(const struct profile_analysis *of) { return of->ops.count; }

static bool add_op(struct pairs *pairs, const struct side *side, uint32_t i)
{
	const struct profile_op *op = &side->of->ops.rows[i];
	return !op->count || profile_kind_of(op->name) > PROFILE_ANNOTATION ||
		add(pairs, side, profile_name_of(op->name), side->has_gpu ? op->gpu_self_ns : op->self_ns, op->count);
}

static uint32_t count_kernels(const struct profile_analysis *of) { return of->profile.kernel_count; }

static bool add_kernel(struct pairs *pairs, const struct side *side, uint32_t i)
{
	const struct profile_kernel *kernel = &side->of->profile.kernels[i];
	return add(pairs, side, kernel->name, kernel->total_ns, kernel->count);
}

static const struct table {
	const char *key, *title[2]; /* title: of self CPU time, of GPU time */
	uint32_t (*count)(const struct profile_analysis *of);
	bool (*add)(struct pairs *pairs, const struct side *side, uint32_t i);
} tables[] = {
	{ "operators", { "OPERATORS, self CPU time", "OPERATORS, self GPU time" }, count_ops, add_op },
	{ "kernels", { "KERNELS, total time", "KERNELS, total time" }, count_kernels, add_kernel },
};

/* False: no memory, and nothing to release. */
static bool find_pairs(
	const struct table *table, const struct profile_analysis *a, const struct profile_analysis *b, struct pairs *pairs)
{
	const struct profile_analysis *const both[] = { a, b };
	*pairs = (struct pairs){ .rows = calloc((size_t)table->count(a) + table->count(b) + 1, sizeof(struct pair)) };
	bool is_good = pairs->rows;
	for (int k = 0; k < 2 && is_good; k++) {
		struct side side = side_of(both, k == 1);
		for (uint32_t i = 0; i < table->count(both[k]) && is_good; i++)
			is_good = table->add(pairs, &side, i);
	}
	if (is_good)
		join(pairs);
	else
		release(pairs);
	return is_good;
}

/* -- text -- */

static void print_row(struct buffer *out, const char *name, const struct pair *pair, int width)
{
	char number[NUMBER_SIZE];
	double difference = change(pair);
	profile_cell(out, name, width - 41);
	profile_cell(out, format_seconds(number, pair->a), -9);
	profile_cell(out, format_seconds(number, pair->b), -9);
	profile_change_cells(out, difference, format_seconds(number, fabs(difference)), isnan(pair->b) ? NAN : pair->a,
		isnan(pair->a)       ? "new"
			: isnan(pair->b) ? "gone"
							 : "–");
}

/* Those that changed. */
static void print_pairs(struct buffer *out, const struct pairs *pairs, const struct profile_view *view)
{
	size_t limit = view->limit ? view->limit : ROWS_DEFAULT, changed = 0, shown;
	struct profile_short_names names;
	while (changed < pairs->count && change(&pairs->rows[changed]) != 0)
		changed++;
	shown = changed < limit ? changed : limit;
	if (!shown) {
		buffer_puts(out, "Nothing changed.\n");
		return;
	}
	if (!profile_short_names_make(&names, shown)) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < shown; i++)
		snprintf(names.whole[i], sizeof names.whole[i], "%s", pairs->rows[i].name);
	profile_short_names_cut(&names, (size_t)(view->width - 41));
	for (size_t i = 0; i < shown; i++)
		print_row(out, names.shown[i], &pairs->rows[i], view->width);
	profile_short_names_free(&names);
	if (changed > shown)
		buffer_printf(out, "  … %zu more (--json has all)\n", changed - shown);
}

static void print_table(struct buffer *out, const struct table *table, const struct profile_analysis *a,
	const struct profile_analysis *b, const struct profile_view *view)
{
	struct pairs pairs;
	char heading[80];
	if (!find_pairs(table, a, b, &pairs)) {
		out->failed = true;
		return;
	}
	snprintf(heading, sizeof heading, "%s%s, by change", table->title[a->idle.gpu_count && b->idle.gpu_count],
		is_by_step(a, b) ? " per step" : "");
	if (pairs.count) {
		profile_heading(out, view, heading);
		print_pairs(out, &pairs, view);
	}
	release(&pairs);
}

static void print_head(struct buffer *out, const char *label, const struct profile_analysis *of)
{
	char text[400];
	text_clean(text, sizeof text, of->path, strlen(of->path));
	buffer_printf(out, "%s %s\n", label, text);
	if (profile_analysis_loss(of, text, sizeof text)[0])
		buffer_printf(out, "! %s\n", text);
}

/* What the figures are divided by. */
static void print_steps(struct buffer *out, const struct profile_analysis *a, const struct profile_analysis *b)
{
	if (is_by_step(a, b))
		buffer_printf(out, "Figures are per step: A has %" PRIu32 ", B has %" PRIu32 ".\n", steps_of(a), steps_of(b));
	else
		buffer_printf(out, "Figures are totals: %s no marked steps.\n",
			steps_of(a)       ? "B has"
				: steps_of(b) ? "A has"
							  : "the traces have");
}

void profile_diff_as_text(struct buffer *out, const struct profile_analysis *a, const struct profile_analysis *b,
	const struct profile_view *view)
{
	bool by_step = is_by_step(a, b);
	print_head(out, "A", a);
	print_head(out, "B", b);
	print_steps(out, a, b);
	buffer_puts(out, "\n");
	profile_cell(out, "", view->width - 41);
	buffer_puts(out, "        A         B      B − A   change\n");
	for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
		struct pair pair = { .a = whole_of(&wholes[i], a, by_step), .b = whole_of(&wholes[i], b, by_step) };
		if (!isnan(pair.a) || !isnan(pair.b))
			print_row(out, wholes[i].name, &pair, view->width);
	}
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		print_table(out, &tables[i], a, b, view);
}

/* -- JSON -- */

static void add_table(
	struct json *json, const struct table *table, const struct profile_analysis *a, const struct profile_analysis *b)
{
	struct pairs pairs;
	if (!find_pairs(table, a, b, &pairs)) {
		json->out->failed = true;
		return;
	}
	json_open_array(json, table->key);
	for (size_t i = 0; i < pairs.count; i++) {
		const struct pair *pair = &pairs.rows[i];
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
	release(&pairs);
}

static void add_side(struct json *json, const char *key, const struct profile_analysis *of, bool by_step)
{
	char loss[400];
	json_open_object(json, key);
	json_text(json, "file", of->path);
	json_text(json, "loss", profile_analysis_loss(of, loss, sizeof loss)[0] ? loss : NULL);
	if (steps_of(of))
		json_unsigned(json, "steps", steps_of(of));
	for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
		json_number(json, wholes[i].key, whole_of(&wholes[i], of, by_step));
	json_close_object(json);
}

void profile_diff_as_json(struct buffer *out, const struct profile_analysis *a, const struct profile_analysis *b,
	const struct profile_view *view)
{
	struct json json = { .out = out };
	(void)view;
	json_open_object(&json, NULL);
	json_bool(&json, "is_per_step", is_by_step(a, b));
	add_side(&json, "a", a, is_by_step(a, b));
	add_side(&json, "b", b, is_by_step(a, b));
	json_text(&json, "operators_by", a->idle.gpu_count && b->idle.gpu_count ? "self_gpu_s" : "self_cpu_s");
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		add_table(&json, &tables[i], a, b);
	json_close_object(&json);
	buffer_puts(out, "\n");
}
