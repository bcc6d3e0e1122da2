#include "src/commands/trace/trace_inset.h"

#include <math.h>
#include <stdio.h>

#include "src/base/thread.h"
#include "ui/trace/trace_reading.h"

static void *read_ranks(void *context)
{
	trace_ranks_read(context);
	return NULL;
}

enum status trace_inset_open(
	struct trace_inset *inset, struct trace_ranks *ranks, enum profile_sort sort, struct reason *why_not)
{
	*inset = (struct trace_inset){ .ranks = ranks, .sort = sort };
	if (thread_start(&inset->reader, read_ranks, ranks) == 0)
		return STATUS_OK;
	inset->ranks = NULL;
	return reason_set(why_not, STATUS_NO_MEMORY, "close some programs", "cannot start a thread");
}

static void draw_reading(const struct trace_ranks *ranks, struct canvas *canvas)
{
	double done = (double)atomic_load(&ranks->progress.done_bytes),
		   size = (double)atomic_load(&ranks->progress.size_bytes);
	size_t at = atomic_load(&ranks->at);
	struct trace_reading reading = { ranks->files.paths[at], at + 1, ranks->files.count, size > 0 ? done / size : NAN };
	trace_reading_draw(&reading, canvas);
}

void trace_inset_draw(struct trace_inset *inset, struct canvas *canvas)
{
	if (inset->screen)
		trace_screen_draw(inset->screen, canvas);
	else
		draw_reading(inset->ranks, canvas);
}

bool trace_inset_key(struct trace_inset *inset, struct key_event event, const struct canvas *canvas)
{
	if (inset->screen)
		return trace_screen_key(inset->screen, event, canvas);
	return event.key != 'q' && event.key != KEY_HANGUP;
}

bool trace_inset_is_reading(const struct trace_inset *inset) { return inset->ranks && !inset->screen; }

bool trace_inset_step(struct trace_inset *inset)
{
	const struct trace_ranks *ranks = inset->ranks;
	char text[160];
	if (!trace_inset_is_reading(inset) || !atomic_load(&ranks->is_done))
		return true;
	inset->screen = ranks->count ? trace_screen_new(ranks->rows, ranks->count, inset->sort) : NULL;
	if (!inset->screen)
		return false;
	snprintf(text, sizeof text, "%zu of %zu traces could not be read: the reasons follow when you quit",
		ranks->failure_count, ranks->files.count);
	if (ranks->failure_count)
		trace_screen_message(inset->screen, text);
	return true;
}

void trace_inset_close(struct trace_inset *inset)
{
	if (!inset->ranks)
		return;
	atomic_store(&inset->ranks->progress.is_stopped, true);
	pthread_join(inset->reader, NULL);
	trace_screen_free(inset->screen);
	*inset = (struct trace_inset){ 0 };
}
