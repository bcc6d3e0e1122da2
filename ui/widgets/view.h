/* view.h: one screen. A view draws the scene into a rect of a canvas and handles keys; its only state is `struct
 * view_state`.
 *
 * A new view is one file in ui/views/ and one line in VIEWS. */
#ifndef PMTOP_UI_WIDGETS_VIEW_H
#define PMTOP_UI_WIDGETS_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/model/model.h"
#include "src/rules/alerts.h"
#include "src/settings/settings.h"
#include "ui/core/canvas.h"
#include "ui/core/keys.h"
#include "ui/core/line.h"
#include "ui/core/panes.h"
#include "ui/core/plot.h"
#include "ui/widgets/plots/earlier.h"
#include "ui/widgets/replay_line.h"

/* The user's choices in one view; belongs to the screen, not to the model. */
struct view_state {
	int zoom; /* 0 = the default; + shows less time, − more, down to the whole run */
	int sort; /* column of the view's table */
	bool sort_ascending;
	int row, scroll; /* selected row and first row of a list */
	/* identity of the selected row's subject, for lists whose rows move; 0 = none */
	uint64_t chosen;
	int chosen_for; /* the run that was shown when it was chosen */
	bool is_open;   /* the selected row is expanded */
	struct scale scales[4];
	char search[64];
	struct rect plot, list; /* their last position, for clicks; empty: not drawn */
	size_t plot_columns;
};
#define VIEW_STATES 12

/* The selected batch, the same in every view; of the main track unless another mode is chosen. */
struct focus {
	uint64_t batch;            /* its ordinal in its track; the newest while at_live_end */
	bool at_live_end, is_open; /* open: the batch is explained */
	bool has_mode;
	uint32_t mode;
};
/* The text around the plot of steps; the plot itself changes with each frame. */
struct step_words {
	int64_t made_ns;
	struct line title, shown;
	bool is_shown;
};
/* A batch that the user flagged or unflagged: the run's index, and its mode and ordinal. */
struct hand_flag {
	unsigned run;
	uint32_t mode;
	uint64_t ordinal;
	bool is_flagged;
};

struct snapshot_digest;
struct view;

struct scene {
	struct model *model; /* only model_flag changes it; views never apply sets */
	const struct alerts *alerts;
	const struct settings *settings;
	int run;             /* index into model->runs, −1 = no run */
	int64_t now_ns;      /* model->now_ns, or when it was paused */
	int64_t realtime_ns; /* of now_ns, for clocks on the screen */
	bool is_paused;
	bool is_ascii;                    /* of the canvas */
	const struct replay_line *replay; /* NULL: a live run */
	const struct earlier *earlier;    /* NULL: no overlay is possible */
	bool has_log;                     /* pmtop started the command: key l shows its output */
	bool is_recording;
	double recorded_bytes;                  /* by the current recording */
	char request[96];                       /* for a trace, in the header: "profiling 2/3 steps"; empty: none */
	const struct snapshot_digest *snapshot; /* the newest memory snapshot; NULL: none known */
	bool has_hand_flag;                     /* not yet passed to the caller of screen_take_flag */
	struct hand_flag hand_flag;
	struct focus focus;
	struct view_state *state; /* of the view being drawn */
	struct panes panes;
	struct step_words step_words;
	const struct view *help_of; /* the view whose marks the help shows; NULL: the overview */
	const char *go_to;          /* view to open after this key, by name; NULL = none */
	char message[160];          /* message in the last line until the next key */
};
enum view_need { NEEDS_COUNTERS = 1, NEEDS_STACKS = 2 };

struct view {
	const char *name;       /* "Overview" */
	const char *short_name; /* "Over" */
	char digit;             /* '0' … '9', '?' */
	const char *keys;       /* hints for the last line: "←→ batch  n/N next flagged  …" */
	const char *keys_short; /* under 100 columns */
	unsigned needs;         /* enum view_need: what pmtop samples only for a view that needs it */
	bool can_search;        /* '/' sets state->search; n and N then go through the matches */
	bool (*is_offered)(const struct scene *scene); /* has it a tab? NULL: always. Its digit opens it anyway */
	void (*draw)(struct scene *scene, struct canvas *canvas, struct rect rect);
	/* `rect`: as given to draw. NULL: no keys of its own. */
	bool (*key)(struct scene *scene, struct key_event event, struct rect rect); /* false: not for this view */
	/* Writes the view as CSV (header first; UTF-8; empty for unknown). NULL: nothing to write. */
	void (*write)(const struct scene *scene, struct buffer *out);
};

#define VIEWS(X) \
	X(overview) \
	X(batches) \
	X(operations) \
	X(memory) \
	X(gpu) \
	X(system) \
	X(code) \
	X(warnings) \
	X(counters) \
	X(ranks) \
	X(help)

#define DECLARE_VIEW(name) extern const struct view name##_view;
VIEWS(DECLARE_VIEW)
#undef DECLARE_VIEW

/* The shown run, or NULL. */
const struct run *scene_run(const struct scene *scene);
/* The track of the chosen mode, else the main track. */
const struct track *scene_track(const struct scene *scene, const struct run *run);
/* Whether the focus is on a batch of this track and not at its live end. */
bool scene_has_focus(const struct scene *scene, const struct run *run, const struct track *track);
/* Whether a mode is the track's (no mode counts as "train"). */
bool is_mode_of(const struct run *run, uint32_t mode, const struct track *track);
/* Whether a mode is the main track's (no mode counts as "train"). */
bool is_main_mode(const struct run *run, uint32_t mode);
/* The role of a phase in every view: by its name (data, forward, backward, optimizer, …), else by its position among
 * the run's operations. */
enum role phase_role(const struct run *run, uint32_t name);

#endif
