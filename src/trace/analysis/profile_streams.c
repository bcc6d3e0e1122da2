#include "src/trace/analysis/profile_streams.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/trace/store/profile_kinds.h"

/* Until when work of a kind lasts so far. */
struct ends {
	int64_t kernel_ns, copy_ns, communication_ns;
};

/* What the work adds to a union. */
static void extend(const struct profile_work *work, int64_t *end_ns, int64_t *length_ns)
{
	int64_t from = work->start_ns > *end_ns ? work->start_ns : *end_ns, to = profile_work_end(work);
	if (to <= from)
		return;
	*length_ns += to - from;
	*end_ns = to;
}

static void add_work(
	struct profile *profile, struct profile_stream *stream, struct ends *ends, const struct profile_work *work)
{
	enum profile_kind kind = profile_kind_of(work->name);
	if (kind != PROFILE_KERNEL) {
		stream->copy_count++;
		extend(work, &ends->copy_ns, &stream->copy_ns);
		return;
	}
	stream->kernel_count++;
	if (profile_name_traits(&profile->names, profile_name_of(work->name)) & TRAIT_COMMUNICATION)
		extend(work, &ends->communication_ns, &stream->communication_ns);
	else
		extend(work, &ends->kernel_ns, &stream->kernel_ns);
}

static void fill(struct profile *profile, struct profile_stream *stream)
{
	int64_t busy_end = profile->start_ns;
	struct ends ends = { busy_end, busy_end, busy_end };
	for (uint32_t i = 0; i < stream->track->work_count; i++) {
		const struct profile_work *work = &stream->track->works[i];
		int64_t from = work->start_ns > busy_end ? work->start_ns : busy_end, to = profile_work_end(work);
		add_work(profile, stream, &ends, work);
		if (to <= from)
			continue;
		stream->busy_ns += to - from;
		profile_curve_add(profile, stream->busy_curve_ns, from, to);
		busy_end = to;
	}
}

bool profile_streams_find(struct profile *profile, struct profile_streams *streams)
{
	uint32_t count = 0;
	*streams = (struct profile_streams){ 0 };
	for (uint32_t i = 0; i < profile->track_count; i++)
		count += profile->tracks[i].work_count > 0;
	streams->left_out = count > PROFILE_STREAMS_MAX ? count - PROFILE_STREAMS_MAX : 0;
	count -= streams->left_out;
	if (count && !(streams->rows = calloc(count, sizeof *streams->rows)))
		return false;
	for (uint32_t i = 0; i < profile->track_count && streams->count < count; i++) {
		if (!profile->tracks[i].work_count)
			continue;
		streams->rows[streams->count].track = &profile->tracks[i];
		fill(profile, &streams->rows[streams->count++]);
	}
	return true;
}

void profile_streams_release(struct profile_streams *streams)
{
	free(streams->rows);
	*streams = (struct profile_streams){ 0 };
}

const char *profile_stream_label(
	const struct profile *profile, const struct profile_track *track, char *out, size_t size)
{
	uint32_t name = track->thread ? track->thread : track->tid_name;
	snprintf(out, size, "stream %" PRId64, track->tid);
	if (name)
		profile_names_show(&profile->names, name, out, size);
	/* Kineto writes "stream 7 ". */
	for (size_t length = strlen(out); length && out[length - 1] == ' ';)
		out[--length] = '\0';
	return out;
}
