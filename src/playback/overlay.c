#include "src/playback/overlay.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/base/thread.h"
#include "src/model/ranks/rank_places.h"
#include "src/model/ranks/ranks.h"
#include "src/model/run/steps/tracks.h"
#include "src/playback/player.h"

/* STEPS_MAX: 16 MB; of longer runs only the first batches are drawn. */
enum { STEPS_MAX = 1 << 22, READ_MS = 150, SAMPLES_MAX = 3 };

struct steps {
	size_t count, room;
	float *list;
};

struct overlay {
	struct screen *screen;
	struct model_options options;
	struct earlier earlier;
	struct steps steps;            /* the main thread's copy */
	char path[EARLIER_TYPED_SIZE]; /* the last file, offered again at the next prompt */
	bool has_thread;
	pthread_t thread;
	/* used by the thread only */
	struct player *player;
	struct model *model;
	int run;
	unsigned main_track;
	uint64_t next;
	int64_t begin_ns, end_ns;
	/* shared */
	atomic_bool is_stopping;
	pthread_mutex_t lock;
	struct steps found;
	bool is_new, is_whole; /* is_new: the steps found before are of another mode, so drop them */
	double done_ratio;
};

/* -- steps -- */

static bool steps_put(struct steps *steps, uint64_t ordinal, float step_s)
{
	if (ordinal >= STEPS_MAX)
		return false;
	if (ordinal >= steps->room) {
		size_t room = steps->room ? steps->room : 1024;
		while (room <= ordinal)
			room *= 2;
		float *list = realloc(steps->list, room * sizeof *list);
		if (!list)
			return false;
		steps->list = list;
		steps->room = room;
	}
	while (steps->count < ordinal)
		steps->list[steps->count++] = NAN;
	steps->list[ordinal] = step_s;
	steps->count = steps->count > ordinal ? steps->count : (size_t)ordinal + 1;
	return true;
}

static void steps_release(struct steps *steps)
{
	free(steps->list);
	*steps = (struct steps){ 0 };
}

/* -- the thread -- */

static void note_steps(struct overlay *overlay)
{
	int index = overlay->run >= 0 ? overlay->run : ranks_first(overlay->model, NULL, NULL);
	if (index < 0)
		return;
	const struct run *run = &overlay->model->runs[index];
	const struct track *track = run_main(run);
	if (overlay->run < 0 && track->end > 0) {
		overlay->run = index;
		overlay->main_track = run->main_track;
	}
	pthread_mutex_lock(&overlay->lock);
	if (run->main_track != overlay->main_track) {
		overlay->main_track = run->main_track;
		overlay->next = 0;
		overlay->found.count = 0;
		overlay->is_new = true;
	}
	for (overlay->next = overlay->next < track->first ? track->first : overlay->next; overlay->next < track->end;
		 overlay->next++) {
		const struct batch *batch = track_batch(track, overlay->next);
		if (batch && isnan(batch->step_s) && overlay->next + 1 == track->end)
			break;
		if (batch && !isnan(batch->step_s) && !steps_put(&overlay->found, overlay->next, (float)batch->step_s))
			break;
	}
	pthread_mutex_unlock(&overlay->lock);
}

static void emit_done(struct overlay *overlay, int64_t at_ns)
{
	double length_ns = (double)(overlay->end_ns - overlay->begin_ns);
	pthread_mutex_lock(&overlay->lock);
	overlay->done_ratio = length_ns > 0 ? fmin(fmax((double)(at_ns - overlay->begin_ns) / length_ns, 0), 1) : 0;
	pthread_mutex_unlock(&overlay->lock);
}

static void *read_all(void *argument)
{
	struct overlay *overlay = argument;
	struct sample_set set = SAMPLE_SET_INIT;
	int64_t next_ns;
	/* A recording that is still being written is read to its present end. */
	for (int refreshes = 0; !atomic_load(&overlay->is_stopping) && refreshes < SAMPLES_MAX;) {
		if (!player_next_ns(overlay->player, &next_ns)) {
			if (player_has_ended(overlay->player))
				break;
			nanosleep(&(struct timespec){ .tv_nsec = 50 * NS_PER_MS }, NULL);
			refreshes++;
			continue;
		}
		if (!player_take(overlay->player, &set))
			continue;
		refreshes = 0;
		model_apply(overlay->model, &set);
		note_steps(overlay);
		emit_done(overlay, set.time_ns);
	}
	sample_set_release(&set);
	pthread_mutex_lock(&overlay->lock);
	overlay->is_whole = true;
	pthread_mutex_unlock(&overlay->lock);
	return NULL;
}

/* -- main thread -- */

static void end_thread(struct overlay *overlay)
{
	if (overlay->has_thread)
		pthread_join(overlay->thread, NULL);
	overlay->has_thread = false;
	player_close(overlay->player);
	model_free(overlay->model);
	overlay->player = NULL;
	overlay->model = NULL;
}

static void take_away(struct overlay *overlay)
{
	atomic_store(&overlay->is_stopping, true);
	end_thread(overlay);
	steps_release(&overlay->found);
	overlay->steps.count = 0;
	overlay->earlier.is_shown = overlay->earlier.is_reading = false;
	overlay->earlier.count = 0;
}

struct overlay *overlay_new(struct screen *screen, const struct model_options *options)
{
	struct overlay *overlay = calloc(1, sizeof *overlay);
	if (!overlay)
		return NULL;
	overlay->screen = screen;
	overlay->options = *options;
	pthread_mutex_init(&overlay->lock, NULL);
	screen_set_earlier(screen, &overlay->earlier);
	return overlay;
}

void overlay_free(struct overlay *overlay)
{
	if (!overlay)
		return;
	take_away(overlay);
	steps_release(&overlay->steps);
	pthread_mutex_destroy(&overlay->lock);
	free(overlay);
}

enum status overlay_open(struct overlay *overlay, const char *path, struct reason *why_not)
{
	const char *slash = strrchr(path, '/');
	struct player *player;
	take_away(overlay);
	if (strcmp(path, "-") == 0)
		return reason_set(
			why_not, STATUS_INVALID, "give the name of a recording", "an overlay cannot be read from a pipe");
	enum status status = player_open(path, 0, &player, why_not);
	if (status != STATUS_OK)
		return status;
	overlay->player = player;
	overlay->model = model_new(&overlay->options);
	overlay->run = -1;
	overlay->main_track = 0;
	overlay->next = 0;
	overlay->is_new = overlay->is_whole = false;
	overlay->done_ratio = 0;
	if (!player_span(player, &overlay->begin_ns, &overlay->end_ns))
		overlay->begin_ns = overlay->end_ns = 0;
	atomic_store(&overlay->is_stopping, false);
	overlay->has_thread = overlay->model && thread_start(&overlay->thread, read_all, overlay) == 0;
	if (!overlay->has_thread) {
		end_thread(overlay);
		return reason_set(why_not, STATUS_NO_MEMORY, "close some programs", "cannot read %s: out of memory", path);
	}
	snprintf(overlay->path, sizeof overlay->path, "%s", path);
	text_clean(overlay->earlier.name, sizeof overlay->earlier.name, slash ? slash + 1 : path,
		strlen(slash ? slash + 1 : path));
	overlay->earlier.is_shown = overlay->earlier.is_reading = true;
	overlay->earlier.done_ratio = 0;
	return STATUS_OK;
}

bool overlay_read(struct overlay *overlay)
{
	struct earlier *earlier = &overlay->earlier;
	if (!earlier->is_reading)
		return false;
	pthread_mutex_lock(&overlay->lock);
	if (overlay->is_new)
		overlay->steps.count = 0;
	overlay->is_new = false;
	for (size_t i = overlay->steps.count; i < overlay->found.count; i++)
		if (!steps_put(&overlay->steps, i, overlay->found.list[i]))
			break;
	earlier->done_ratio = overlay->done_ratio;
	earlier->is_reading = !overlay->is_whole;
	pthread_mutex_unlock(&overlay->lock);
	earlier->steps_s = overlay->steps.list;
	earlier->count = overlay->steps.count;
	if (!earlier->is_reading)
		end_thread(overlay);
	return true;
}

const struct earlier *overlay_earlier(const struct overlay *overlay) { return &overlay->earlier; }

int overlay_wait_ms(const struct overlay *overlay) { return overlay->earlier.is_reading ? READ_MS : -1; }

void overlay_finish(struct overlay *overlay)
{
	if (!overlay->has_thread)
		return;
	pthread_join(overlay->thread, NULL);
	overlay->has_thread = false;
	overlay_read(overlay);
}

/* -- keys -- */

static void open_typed(struct overlay *overlay)
{
	struct reason why = { "", "" };
	char message[160];
	if (!overlay->earlier.typed[0])
		return;
	if (overlay_open(overlay, overlay->earlier.typed, &why) == STATUS_OK)
		return;
	snprintf(message, sizeof message, "no overlay: %.100s%s%.40s", why.text, why.remedy[0] ? ": " : "", why.remedy);
	screen_message(overlay->screen, message);
}

bool overlay_type(struct overlay *overlay, struct key_event event)
{
	struct earlier *earlier = &overlay->earlier;
	size_t length = strlen(earlier->typed);
	char bytes[4];
	if (!earlier->is_typing || event.key == KEY_NOTHING || event.key == KEY_WINDOW || event.key == KEY_HANGUP)
		return false;
	screen_redraw(overlay->screen);
	if (event.key == KEY_RETURN || event.key == KEY_ESC) {
		earlier->is_typing = false;
		if (event.key == KEY_RETURN)
			open_typed(overlay);
	} else if (event.key == KEY_ERASE || event.key == 8) {
		while (length > 0 && (earlier->typed[--length] & 0xc0) == 0x80)
			continue;
		earlier->typed[length] = '\0';
	} else if (event.key == 'U' - '@') {
		earlier->typed[0] = '\0';
	} else if (event.key >= ' ' && event.key < KEY_ARROW_UP) {
		size_t size = utf8_encode((uint32_t)event.key, bytes);
		if (length + size < sizeof earlier->typed) {
			memcpy(earlier->typed + length, bytes, size);
			earlier->typed[length + size] = '\0';
		}
	}
	return true;
}

bool overlay_key(struct overlay *overlay, struct key_event event)
{
	if (event.key != 'o' || screen_is_typing(overlay->screen))
		return false;
	screen_message(overlay->screen, "");
	if (overlay->earlier.is_shown) {
		take_away(overlay);
		return true;
	}
	snprintf(overlay->earlier.typed, sizeof overlay->earlier.typed, "%s", overlay->path);
	overlay->earlier.is_typing = true;
	return true;
}
