#include "src/trace/analysis/profile_analysis.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/trace/analysis/profile_modules.h"
#include "src/trace/analysis/profile_strays.h"
#include "src/trace/analysis/profile_waits.h"
#include "src/trace/reading/profile_foreign.h"
#include "src/trace/reading/profile_order.h"
#include "src/trace/reading/profile_progress.h"
#include "src/trace/reading/profile_read.h"

static enum status analyse(struct profile_analysis *analysis, struct reason *why_not)
{
	struct profile *profile = &analysis->profile;
	/* No event: an empty window. */
	if (profile->start_ns > profile->end_ns)
		profile->start_ns = profile->end_ns = profile->allocation_count ? profile->allocations[0].at_ns : 0;
	if (!profile->no_memory && profile_foreign_convert(profile))
		profile_strays_drop(profile);
	else
		profile->no_memory = true;
	if (profile->no_memory || !profile_order(profile) ||
		!profile_host_nest(profile, &analysis->ops, &analysis->waits) ||
		!profile_device_join(profile, &analysis->ops) || !profile_modules_order(profile, &analysis->ops) ||
		!profile_idle_find(profile, &analysis->waits, &analysis->idle) ||
		!profile_memory_find(profile, &analysis->memories))
		return reason_set(why_not, STATUS_NO_MEMORY, "use a machine with more memory, or profile fewer steps",
			"out of memory after %" PRIu64 " events", profile->event_count);
	return STATUS_OK;
}

static bool start(struct profile_analysis *analysis, enum profile_group group)
{
	*analysis = (struct profile_analysis){ .ops.group = group };
	return profile_init(&analysis->profile);
}

static enum status finish(struct profile_analysis *analysis, enum status status,
	const struct profile_progress *progress, struct reason *why_not)
{
	if (profile_progress_is_stopped(progress))
		status = reason_set(why_not, STATUS_END, NULL, "reading was stopped");
	if (status == STATUS_OK)
		status = analyse(analysis, why_not);
	if (status != STATUS_OK)
		profile_analysis_release(analysis);
	return status;
}

enum status profile_analyse(struct profile_analysis *analysis, const char *path, enum profile_group group,
	struct profile_progress *progress, struct reason *why_not)
{
	enum status status = start(analysis, group) ? profile_read(&analysis->profile, path, progress, why_not)
												: reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	snprintf(analysis->path, sizeof analysis->path, "%s", path);
	return finish(analysis, status, progress, why_not);
}

enum status profile_analyse_memory(struct profile_analysis *analysis, const void *bytes, size_t length,
	enum profile_group group, struct reason *why_not)
{
	enum status status = start(analysis, group) ? profile_read_memory(&analysis->profile, bytes, length, why_not)
												: reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	return finish(analysis, status, NULL, why_not);
}

bool profile_analysis_regroup(struct profile_analysis *analysis, enum profile_group group)
{
	struct profile *profile = &analysis->profile;
	profile_ops_release(&analysis->ops);
	analysis->ops.group = group;
	analysis->waits.count = 0;
	for (uint32_t i = 0; i < profile->kernel_count; i++) {
		struct profile_kernel *kernel = &profile->kernels[i];
		kernel->delay_ns = kernel->op_ns = 0;
		kernel->delay_count = kernel->op = 0;
	}
	return profile_host_nest(profile, &analysis->ops, &analysis->waits) &&
		profile_waits_flatten(profile, &analysis->waits) && profile_device_join(profile, &analysis->ops) &&
		profile_modules_order(profile, &analysis->ops);
}

void profile_analysis_release(struct profile_analysis *analysis)
{
	profile_ops_release(&analysis->ops);
	free(analysis->waits.rows);
	profile_idle_release(&analysis->idle);
	profile_release(&analysis->profile);
}

static void say(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Behind what is said already. */
static void say(char *out, size_t size, const char *format, ...)
{
	size_t length = strlen(out);
	va_list arguments;
	if (length && length + 2 < size)
		length += (size_t)snprintf(out + length, size - length, "; ");
	va_start(arguments, format);
	vsnprintf(out + length, size - length, format, arguments);
	va_end(arguments);
}

/* Events of a whole trace that no figure counts. */
static void say_left_out(const struct profile *profile, char *out, size_t size)
{
	const struct {
		uint64_t count;
		const char *which;
	} rows[] = { { profile->ignored_count, "without a valid time" },
		{ profile->unpaired_count, "without a begin or an end" },
		{ profile->stray_count, "far outside the time of all others" },
		{ profile->untracked_count, "of threads beyond the first 65,536" } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].count)
			say(out, size, "%" PRIu64 " event%s %s %s left out", rows[i].count, rows[i].count == 1 ? "" : "s",
				rows[i].which, rows[i].count == 1 ? "is" : "are");
}

const char *profile_analysis_loss(const struct profile_analysis *analysis, char *out, size_t size)
{
	const struct profile *profile = &analysis->profile;
	const char *of_what = profile->is_compressed ? " of the decompressed text" : "", *why = profile->why_cut.text;
	out[0] = '\0';
	if (profile->is_cut) {
		say(out, size,
			"the trace ends early, at byte %" PRIu64 "%s%s%s%s: figures are of the %" PRIu64
			" events before; profile again, or copy the whole file",
			profile->cut_offset, of_what, why[0] ? " (" : "", why, why[0] ? ")" : "", profile->event_count);
		return out;
	}
	if (profile->damaged_count)
		say(out, size,
			"%" PRIu64 " damaged part%s skipped, the first at byte %" PRIu64
			": figures lack those events; copy the file again",
			profile->damaged_count, profile->damaged_count == 1 ? "" : "s", profile->damaged_offset);
	else if (why[0])
		say(out, size, "%s: figures may be wrong; copy the file again", why);
	if (profile->has_skewed_clock)
		say(out, size, "the GPU's clock differs from the CPU's: idle causes and launch delays are unknown");
	say_left_out(profile, out, size);
	if (analysis->idle.streams_left_out)
		say(out, size, "GPUs beyond the first %d (%" PRIu32 " stream%s) are left out", PROFILE_GPUS_MAX,
			analysis->idle.streams_left_out, analysis->idle.streams_left_out == 1 ? "" : "s");
	if (profile->has_more)
		say(out, size, "the trace ends at byte %" PRIu64 "%s: the rest of the file is left out", profile->end_offset,
			of_what);
	return out;
}
