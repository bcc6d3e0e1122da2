/* panels.h: the panels of the overview, which other views show larger. Each draws itself into any rect.
 *
 * The `_height` functions return how many of `height` rows a panel wants; 0 if it has nothing to show. */
#ifndef PMTOP_UI_VIEWS_OVERVIEW_PANELS_H
#define PMTOP_UI_VIEWS_OVERVIEW_PANELS_H

#include "ui/widgets/view.h"

/* The scale of each plot in a view. */
enum { SCALE_STEPS, SCALE_MEMORY, SCALE_CPU, SCALE_ALLOCATOR };

/* Step times with median, p95 band, flags and the selected batch; stores the plot's position in the state. */
void panel_steps(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect);
/* Where a step goes: a bar, share and seconds for each phase; nested phases under their parent if there is room. */
void panel_where(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect);
/* Resident memory of all processes and of the target over time, slope, peak, trend. */
void panel_memory(struct scene *scene, struct canvas *canvas, struct rect rect, int zoom);
/* The plot alone. */
void panel_memory_plot(struct scene *scene, struct canvas *canvas, struct rect rect, int zoom);
/* The GPU memory that the framework's allocator holds, over time; in one row only its figures. */
void panel_allocator(struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect, int zoom);
/* Figures that the program reported after their batch. */
int panel_figures_height(const struct run *run, const struct canvas *canvas, int height);
void panel_figures(const struct run *run, struct canvas *canvas, struct rect rect);
/* Requests of a run whose mode is inference. */
int panel_requests_height(const struct scene *scene, const struct canvas *canvas, int height);
void panel_requests(const struct scene *scene, struct canvas *canvas, struct rect rect);
/* The target's CPU use over time. */
void panel_cpu(struct scene *scene, struct canvas *canvas, struct rect rect, int zoom);
/* CPU use, CPU wait, reads and workers in one line. */
void panel_process_line(const struct scene *scene, struct canvas *canvas, struct rect row);
/* The machine in one line: CPU and the run's share of it, I/O wait, memory, the busiest disk, throttling. Figures
 * with a raised warning are marked. */
void panel_system_line(const struct scene *scene, struct canvas *canvas, struct rect row);
/* Raised warnings, each with its first advice. */
void panel_warnings(const struct scene *scene, struct canvas *canvas, struct rect rect);
/* Each epoch with its batches, newest first. */
void panel_epochs(const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect);
/* The ranks of the shown run side by side, and how they differ; in one row only the latter. */
int panel_ranks_height(const struct scene *scene, const struct canvas *canvas, int height);
void panel_ranks(const struct scene *scene, struct canvas *canvas, struct rect rect);

/* Of a run without progress: the line of Python in which each of its processes is. */
int panel_stall_height(const struct scene *scene, const struct run *run, const struct canvas *canvas, int height);
void panel_stall(const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect);
/* The Python lines that take the most time. */
int panel_code_height(const struct scene *scene, const struct canvas *canvas, int height);
void panel_code(const struct scene *scene, struct canvas *canvas, struct rect rect);
/* Where a step goes, by stack samples, for a run without instrumentation. */
void panel_where_sampled(const struct scene *scene, const struct run *run, struct canvas *canvas, struct rect rect);

enum { PROCESS_ROWS_MAX = 512 };

#endif
