#include "src/trace/reading/profile_foreign.h"

#include <stdlib.h>

/* The number behind a "/device:GPU:" (or TPU); -1: no device. */
static int32_t device_number(const struct profile_names *names, uint32_t process)
{
	static const char *const marks[] = { "/device:GPU:", "/device:TPU:", "/gpu:" };
	struct profile_slice text = profile_names_text(names, process);
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		const char *at = memmem(text.text, text.length, marks[i], strlen(marks[i]));
		const char *digit = at ? at + strlen(marks[i]) : NULL;
		int32_t number = 0, digits = 0;
		for (; digit && digit < text.text + text.length && *digit >= '0' && *digit <= '9' && digits < 6; digits++)
			number = number * 10 + (*digit++ - '0');
		if (digits)
			return number;
	}
	return -1;
}

/* The process's name may stand on another track of it. */
static uint32_t process_of(const struct profile *profile, const struct profile_track *track)
{
	for (uint32_t i = 0; i < profile->track_count; i++)
		if (profile->tracks[i].process && profile->tracks[i].pid == track->pid &&
			profile->tracks[i].pid_name == track->pid_name)
			return profile->tracks[i].process;
	return 0;
}

static bool is_work_line(const struct profile_names *names, uint32_t thread)
{
	static const char *const coarse[] = { "Steps", "XLA Modules", "Modules", "Framework", "TensorFlow", "Name Scope",
		"Source", "Host Offload", "XLA TraceMe" };
	for (size_t i = 0; i < sizeof coarse / sizeof *coarse; i++)
		if (profile_names_begin(names, thread, coarse[i]))
			return false;
	return true;
}

static bool convert_track(struct profile *profile, struct profile_track *track, int32_t device)
{
	for (uint32_t i = 0; i < track->host_count && is_work_line(&profile->names, track->thread); i++) {
		const struct profile_host *host = &track->hosts[i];
		uint32_t name = profile_name_of(host->name);
		bool is_copy = profile_names_contain(&profile->names, name, "emcpy");
		struct profile_work *work = profile_add_work(profile, track);
		struct profile_kernel *kernel = is_copy ? NULL : profile_kernel_of(profile, name);
		struct profile_copy *copy = is_copy ? profile_copy_of(profile, name) : NULL;
		if (!work || (!is_copy && !kernel))
			return false;
		*work = (struct profile_work){ .start_ns = host->start_ns,
			.duration_ns = host->duration_ns,
			.name = name | (uint32_t)(is_copy ? PROFILE_COPY : PROFILE_KERNEL) << PROFILE_NAME_BITS };
		if (kernel) {
			kernel->count++;
			kernel->total_ns += host->duration_ns;
			kernel->min_ns = host->duration_ns < kernel->min_ns ? host->duration_ns : kernel->min_ns;
			kernel->max_ns = host->duration_ns > kernel->max_ns ? host->duration_ns : kernel->max_ns;
		} else if (copy) {
			copy->count++;
			copy->total_ns += host->duration_ns;
		}
	}
	track->device = device;
	free(track->hosts);
	track->hosts = NULL;
	track->host_count = track->host_capacity = 0;
	return true;
}

bool profile_foreign_convert(struct profile *profile)
{
	for (uint32_t i = 0; i < profile->track_count; i++)
		if (profile->tracks[i].work_count)
			return true; /* Kineto's */
	bool has_device = false;
	for (uint32_t i = 0; i < profile->track_count; i++)
		has_device |= device_number(&profile->names, profile->tracks[i].process) >= 0;
	for (uint32_t i = 0; i < profile->track_count && has_device; i++) {
		struct profile_track *track = &profile->tracks[i];
		int32_t device = track->host_count ? device_number(&profile->names, process_of(profile, track)) : -1;
		if (device >= 0 && !convert_track(profile, track, device))
			return false;
	}
	return true;
}
