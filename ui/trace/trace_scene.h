/* trace_scene.h: what the screen of `pmtop trace` shows: the ranks' analyses, the chosen rank, the open tab, and the
 * pages that Enter opened on top of it.
 *
 * A tab is one `struct trace_tab` in ui/trace/tabs and one line in TRACE_TABS. Most are a table (trace_table.h). The
 * screen shows results of src/trace and judges nothing. */
#ifndef PMTOP_UI_TRACE_TRACE_SCENE_H
#define PMTOP_UI_TRACE_TRACE_SCENE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/trace/analysis/profile_analysis.h"
#include "src/trace/analysis/profile_streams.h"
#include "src/trace/output/profile_figures.h"
#include "src/trace/output/profile_view.h"
#include "ui/core/canvas.h"
#include "ui/core/keys.h"
#include "ui/trace/trace_page.h"
#include "ui/trace/trace_table.h"

enum { TRACE_PAGES_MAX = 16, TRACE_WHY_SIZE = 400 };

#define TRACE_TABS(X) \
	X(overview) \
	X(operators) \
	X(kernels) \
	X(copies) \
	X(gaps) \
	X(memory) \
	X(modules) \
	X(streams) \
	X(ranks)

enum trace_tab_id {
#define TRACE_TAB_ID(name) TRACE_TAB_##name,
	TRACE_TABS(TRACE_TAB_ID)
#undef TRACE_TAB_ID
		TRACE_TAB_COUNT
};

struct trace_scene {
	struct profile_analysis *const *ranks;
	size_t rank_count, rank;           /* the shown one */
	enum profile_sort sort;            /* of the operators, at first */
	enum profile_group group;          /* of the operators of each rank that is shown */
	uint32_t limit;                    /* rows a table; 0 = all */
	struct profile_analysis *analysis; /* of the rank */
	struct profile_figures figures;    /* of the rank */
	struct profile_streams streams;    /* of the rank */
	double self_cpu_s;                 /* of the rank: the sum over its operators */
	double self_gpu_s, missing_gpu_s;  /* of the rank: of all work on GPUs; of what belongs to no operator */
	enum trace_tab_id tab;
	struct trace_list lists[TRACE_TAB_COUNT]; /* the tabs' tables; state of tabs without one */
	struct trace_list tops[2];                /* of the overview: operators, kernels */
	struct trace_page pages[TRACE_PAGES_MAX]; /* the last one is shown */
	unsigned page_count;
	uint32_t device;                                       /* of the memory tab */
	enum trace_tab_id go_to;                               /* the tab to open after this key; TRACE_TAB_COUNT = none */
	size_t go_to_rank;                                     /* and the rank; SIZE_MAX = none */
	const struct profile_rule *rules[PROFILE_FIGURES_MAX]; /* whose conditions hold */
	int rule_count;
	char message[160]; /* in the last line until the next key */
};

struct trace_tab {
	const char *name, *short_name;
	const char *keys;                /* hints for the last line */
	const struct trace_table *table; /* NULL: `draw` and `key` do all */
	/* Why there is nothing to show, and what would record it; NULL: there is something. */
	const char *(*why_empty)(const struct trace_scene *scene, char out[TRACE_WHY_SIZE]);
	/* NULL: the table fills the tab. */
	void (*draw)(struct trace_scene *scene, struct canvas *canvas, struct rect rect);
	/* False: not for this tab. NULL: the table's keys only. */
	bool (*key)(struct trace_scene *scene, struct key_event event);
};

#define DECLARE_TRACE_TAB(name) extern const struct trace_tab name##_trace_tab;
TRACE_TABS(DECLARE_TRACE_TAB)
#undef DECLARE_TRACE_TAB

/* A new page on top of what is shown; NULL: too many, which the message says. */
struct trace_page *trace_scene_push(struct trace_scene *scene, const char *title);
/* A name of the trace, with its kind, as tables and pages show it; "" for 0. */
const char *trace_scene_label(const struct trace_scene *scene, uint32_t name, char *out, size_t size);
/* The first GPU of the rank; NULL: no GPU work in the trace. */
const struct profile_gpu *trace_scene_gpu(const struct trace_scene *scene);
/* Groups the operators of the rank by scene->group, if they are not. */
void trace_scene_regroup(struct trace_scene *scene);
/* From the first to the last event of the rank's trace. */
double trace_scene_window_s(const struct trace_scene *scene);

#endif
