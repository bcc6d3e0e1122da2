#include "src/export/trace/trace_write.h"

#include <math.h>
#include <string.h>

#include "src/export/trace/trace_private.h"
#include "src/export/trace/trace_tracks.h"

/* -- a slice's notes -- */

static struct trace_note *add_note(struct trace_slice *slice, const char *key, enum trace_note_kind kind)
{
	if (slice->note_count == TRACE_NOTES_MAX)
		return NULL;
	slice->notes[slice->note_count] = (struct trace_note){ .key = key, .kind = kind };
	return &slice->notes[slice->note_count++];
}

void note_text(struct trace_slice *slice, const char *key, const char *text)
{
	struct trace_note *note = text && text[0] ? add_note(slice, key, NOTE_TEXT) : NULL;
	if (note)
		note->text = text;
}

void note_number(struct trace_slice *slice, const char *key, double number)
{
	struct trace_note *note = isfinite(number) ? add_note(slice, key, NOTE_NUMBER) : NULL;
	if (note)
		note->number = number;
}

void note_count(struct trace_slice *slice, const char *key, uint64_t count)
{
	struct trace_note *note = add_note(slice, key, NOTE_COUNT);
	if (note)
		note->count = count;
}

void note_true(struct trace_slice *slice, const char *key, bool is_true)
{
	if (is_true)
		add_note(slice, key, NOTE_TRUE);
}

/* -- within the limits -- */

static bool is_inside(const struct export_scene *scene, int64_t begin_ns, int64_t end_ns)
{
	if (begin_ns >= scene->since_ns)
		return begin_ns < scene->until_ns;
	return end_ns > scene->since_ns;
}

static int64_t cut_end(const struct export_scene *scene, int64_t end_ns)
{
	return end_ns < scene->until_ns ? end_ns : scene->until_ns;
}

bool trace_begin(struct trace *trace, struct trace_slice *slice)
{
	const struct export_scene *scene = trace->scene;
	if (!slice->track || !is_inside(scene, slice->begin_ns, slice->end_ns))
		return false;
	note_text(slice, "cut",
		slice->begin_ns < scene->since_ns     ? "its begin lies before --since"
			: slice->end_ns > scene->until_ns ? "its end lies behind --until"
											  : NULL);
	if (slice->begin_ns < scene->since_ns)
		slice->begin_ns = scene->since_ns;
	slice->end_ns = cut_end(scene, slice->end_ns);
	trace->format->begin(trace->writer, scene->out, slice);
	return true;
}

void trace_close(struct trace *trace, const struct trace_track *track, int64_t end_ns)
{
	trace->format->end(trace->writer, trace->scene->out, track, cut_end(trace->scene, end_ns));
}

void trace_slice(struct trace *trace, struct trace_slice *slice)
{
	if (trace_begin(trace, slice))
		trace_close(trace, slice->track, slice->end_ns);
}

void trace_instant(struct trace *trace, struct trace_slice *slice)
{
	if (slice->track && scene_covers(trace->scene, slice->begin_ns))
		trace->format->instant(trace->writer, trace->scene->out, slice);
}

void trace_counter(struct trace *trace, struct trace_track **track, struct trace_process *process, const char *name,
	enum trace_unit unit, int64_t time_ns, double value)
{
	if (!isfinite(value) || !scene_covers(trace->scene, time_ns))
		return;
	if (!*track)
		*track = trace_track(trace, TRACE_COUNTER, unit, process, name, 100);
	if (*track)
		trace->format->counter(trace->writer, trace->scene->out, *track, time_ns, value);
}
