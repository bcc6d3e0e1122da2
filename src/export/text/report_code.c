#include "src/export/text/report_code.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/export/table.h"
#include "src/model/code/code_phases.h"
#include "src/model/code/code_threads.h"

/* A line with fewer samples is not shown: its share would be noise. */
enum { ROWS_MAX = 15, SAMPLES_MIN = 20, SHARE_CELLS = 8 };
#define SHARE_MIN 0.005

static void add_line(struct buffer *out, const struct code *code, const struct code_line *line, double whole_s)
{
	const struct code_name *name = &code->codes[line->code];
	const char *file = code_short_file(name->file), *slash = strrchr(file, '/');
	char location[300], text[NUMBER_SIZE];
	snprintf(location, sizeof location, "%.250s:%u", slash ? slash + 1 : file, line->line);
	table_name(out, 0, location);
	table_right(out, SHARE_CELLS, format_percent(text, line->self.total_s / whole_s));
	table_right(out, SHARE_CELLS, format_percent(text, line->all.total_s / whole_s));
	buffer_printf(out, "  %s\n", line->text ? line->text : name->function);
}

static void add_group(struct buffer *out, const struct model *model, size_t at)
{
	const struct code *code = &model->code;
	const struct code_group *group = &code->groups[at];
	const struct code_line *lines[ROWS_MAX];
	size_t count = code_top_lines(code, at, lines, ROWS_MAX);
	char title[160], samples[NUMBER_SIZE];
	if (!group->is_used || group->samples < SAMPLES_MIN || count == 0)
		return;
	snprintf(title, sizeof title, "YOUR LINES: %sprocess %d (%s stack samples)",
		group->is_workers ? "DataLoader workers of " : "", (int)group->pid,
		format_count(samples, (double)group->samples));
	table_title(out, title);
	table_name(out, 0, "");
	table_right(out, SHARE_CELLS, "Time");
	table_right(out, SHARE_CELLS, "All");
	buffer_puts(out, "\n");
	table_rule(out, '-');
	for (size_t i = 0; i < count && lines[i]->self.total_s >= SHARE_MIN * group->seen.total_s; i++)
		add_line(out, code, lines[i], group->seen.total_s);
	table_rule(out, '=');
	buffer_puts(out, "\n");
}

static void add_thread(struct buffer *out, const struct code *code, const struct code_thread *thread)
{
	const struct code_node *node = thread->node ? &code->nodes[thread->node - 1] : NULL;
	char name[80], text[NUMBER_SIZE];
	if (thread->name)
		snprintf(name, sizeof name, "%.60s", thread->name);
	else
		snprintf(name, sizeof name, "thread %d", (int)thread->tid);
	table_name(out, 0, name);
	table_right(out, SHARE_CELLS, format_percent(text, thread->total.busy / thread->total.all));
	table_right(out, SHARE_CELLS, format_percent(text, thread->total.waits / thread->total.all));
	if (node) {
		const struct code_name *function = &code->codes[node->code];
		const char *file = code_short_file(function->file), *slash = strrchr(file, '/');
		buffer_printf(out, "  %s:%u %s", slash ? slash + 1 : file, (unsigned)node->line,
			node->text ? node->text : function->function);
	}
	buffer_puts(out, "\n");
}

/* Those that ran: their share of the samples, and the line where they ran most. */
static void add_threads(struct buffer *out, const struct model *model, size_t at)
{
	const struct code *code = &model->code;
	struct code_thread threads[ROWS_MAX];
	char title[96];
	size_t count = code_threads_of(model, at, true, threads, ROWS_MAX), shown = 0;
	while (shown < count && threads[shown].total.busy + threads[shown].total.waits > 1)
		shown++;
	if (!code->groups[at].is_used || shown == 0)
		return;
	snprintf(title, sizeof title, "OTHER THREADS: process %d", (int)code->groups[at].pid);
	table_title(out, title);
	table_name(out, 0, "");
	table_right(out, SHARE_CELLS, "Busy");
	table_right(out, SHARE_CELLS, "GIL wait");
	buffer_puts(out, "\n");
	table_rule(out, '-');
	for (size_t i = 0; i < shown; i++)
		add_thread(out, code, &threads[i]);
	table_rule(out, '=');
	buffer_puts(out, "\n");
}

void report_code(struct buffer *out, const struct model *model)
{
	for (size_t i = 0; i < model->code.group_count; i++)
		add_group(out, model, i);
	for (size_t i = 0; i < model->code.group_count; i++)
		add_threads(out, model, i);
}
