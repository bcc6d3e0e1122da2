/* panels.h: the panels that the overview is made of, and that other views show larger. Each draws itself into any
 * rect. */
#ifndef PMTOP_UI_VIEWS_OVERVIEW_PANELS_H
#define PMTOP_UI_VIEWS_OVERVIEW_PANELS_H

#include "ui/widgets/view.h"

/* Which of a view's scales belongs to which plot. */
enum { SCALE_STEPS, SCALE_MEMORY, SCALE_CPU, SCALE_ALLOCATOR };

/* Step times with median, p95 band, flags and the focused batch; notes in the state where the plot is. */
void panel_steps(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect);
/* Where a step goes: a bar, share and seconds for each phase, nested ones under their parent as far as there is
 * room. */
void panel_where(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect);
/* The tree's and the target's resident set over time, slope, peak, verdict. */
void panel_memory(struct scene *scene, struct canvas *canvas, struct rect rect, int zoom);
/* The plot alone. */
void panel_memory_plot(struct scene *scene, struct canvas *canvas, struct rect rect, int zoom);
/* What memory does, who grows and when it is full, in one line. */
struct line;
void memory_verdict_line(const struct memory *memory, struct line *line);
/* What the framework's allocator holds on the GPU, over time; in one row its figures. */
void panel_allocator(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect, int zoom);
bool has_allocator(const struct run *run); /* false also for NULL */
/* What batches were told later, by clocks of their own; how many rows it wants of so many: 0 where there is nothing. */
int panel_figures_height(const struct run *run, const struct canvas *canvas, int height);
void panel_figures(const struct run *run, struct canvas *canvas, struct rect rect);
/* Requests, where the run's mode is inference; how many rows it wants of so many: 0 where there are none. */
int panel_requests_height(const struct scene *scene, const struct canvas *canvas, int height);
void panel_requests(const struct scene *scene, struct canvas *canvas, struct rect rect);
/* The target's CPU use over time. */
void panel_cpu(struct scene *scene, struct canvas *canvas, struct rect rect, int zoom);
/* One line in words: CPU, waiting, reading, workers. */
void panel_process_line(const struct scene *scene, struct canvas *canvas, struct rect row);
/* One line of the machine: CPU and the run's share of it, waiting, memory, the busiest disk, throttling; marked where a
 * warning stands. */
void panel_system_line(const struct scene *scene, struct canvas *canvas, struct rect row);
/* Raised warnings, each with its first advice. */
void panel_warnings(const struct scene *scene, struct canvas *canvas, struct rect rect);
/* Each epoch with its batches, newest first. */
void panel_epochs(const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect);
/* The ranks of the shown run beside each other, and what sets them apart; in one row that alone. How many rows it wants
 * of so many: 0 where there are not several. */
int panel_ranks_height(const struct scene *scene, const struct canvas *canvas, int height);
void panel_ranks(const struct scene *scene, struct canvas *canvas, struct rect rect);

/* Which lines of Python the time goes to, in short; how many rows it wants of so many: 0 where none is known. */
int panel_code_height(const struct scene *scene, const struct canvas *canvas, int height);
void panel_code(const struct scene *scene, struct canvas *canvas, struct rect rect);
/* Where a step of a run goes that publishes nothing, by looks at its stack. */
void panel_where_seen(const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect);

enum { PROCESS_ROWS_MAX = 512 };
/* The processes of the tree that are shown: all that live, and what has gone lately. */
size_t process_rows(const struct scene *scene, const struct process *rows[PROCESS_ROWS_MAX]);
/* They as a table; with `state` a row is selected, and NULL none. */
void process_table(const struct scene *scene, struct canvas *canvas, struct rect rect, struct view_state *state);
/* "running", "waiting for disk". */
const char *process_state_words(double state);

#endif
