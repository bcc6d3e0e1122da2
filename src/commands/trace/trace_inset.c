#include "src/commands/trace/trace_inset.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/new_file.h"
#include "src/base/thread.h"
#include "ui/trace/trace_reading.h"

static void *read_ranks(void *context)
{
	trace_ranks_read(context);
	return NULL;
}

enum status trace_inset_open(
	struct trace_inset *inset, struct trace_ranks *ranks, const struct profile_view *view, struct reason *why_not)
{
	*inset = (struct trace_inset){ .ranks = ranks, .view = *view };
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

/* Into a new file in the working directory. */
static void write_csv(struct trace_screen *screen)
{
	struct buffer csv = BUFFER_INIT;
	char path[80], message[160];
	const char *name;
	if (!trace_screen_write(screen, &csv, &name)) {
		trace_screen_message(screen, "this tab has no table to save");
		buffer_release(&csv);
		return;
	}
	snprintf(path, sizeof path, "pmtop-trace-%s-%lld.csv", name, (long long)(clock_realtime_ns() / NS_PER_MS));
	for (char *c = path; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	int fd = new_file_create(path);
	bool is_written = fd >= 0 && write(fd, csv.data, csv.length) == (ssize_t)csv.length;
	snprintf(message, sizeof message, is_written ? "written: %s" : "not written: %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	buffer_release(&csv);
	trace_screen_message(screen, message);
}

bool trace_inset_key(struct trace_inset *inset, struct key_event event, const struct canvas *canvas)
{
	if (inset->screen) {
		bool goes_on = trace_screen_key(inset->screen, event, canvas);
		if (trace_screen_wants_csv(inset->screen))
			write_csv(inset->screen);
		return goes_on;
	}
	return event.key != 'q' && event.key != KEY_HANGUP;
}

bool trace_inset_is_reading(const struct trace_inset *inset) { return inset->ranks && !inset->screen; }

bool trace_inset_step(struct trace_inset *inset)
{
	const struct trace_ranks *ranks = inset->ranks;
	char text[160];
	if (!trace_inset_is_reading(inset) || !atomic_load(&ranks->is_done))
		return true;
	inset->screen = ranks->count ? trace_screen_new(ranks->rows, ranks->count, &inset->view) : NULL;
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
