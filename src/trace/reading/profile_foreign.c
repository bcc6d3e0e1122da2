#include "src/trace/reading/profile_foreign.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/trace/reading/profile_order.h"

/* What a process is. */
enum process_kind { PROCESS_HOST, PROCESS_DEVICE, PROCESS_COLLECTIVES, PROCESS_DERIVED };

/* `mark`: a part of its name; '$' at its beginning: the whole name. A number behind it is the device's; without one,
 * devices are counted in the order of the file. */
static const struct process_row {
	const char *mark;
	enum process_kind kind;
} process_rows[] = {
	/* TensorFlow's timeline: what the executor does for a device, "/job:localhost/replica:0/task:0/device:GPU:0" */
	{ "/job:", PROCESS_HOST },
	{ "/device:GPU:", PROCESS_DEVICE },
	{ "/device:TPU:", PROCESS_DEVICE },
	{ "/gpu:", PROCESS_DEVICE },
	/* torch_npu and msprof */
	{ "$Ascend Hardware", PROCESS_DEVICE },
	{ "$HCCL", PROCESS_COLLECTIVES },
	{ "$Communication", PROCESS_COLLECTIVES },
	{ "$Overlap Analysis", PROCESS_DERIVED },
};

/* Lines of a device, the finest last: of one device only the finest lines count, the others repeat them. */
enum line_kind { LINE_REPEATS, LINE_STEPS, LINE_OTHER, LINE_OPS, LINE_STREAM };

static const struct line_row {
	const char *begin;
	enum line_kind kind;
} line_rows[] = {
	{ "Stream", LINE_STREAM },
	{ "XLA Ops", LINE_OPS },
	{ "Steps", LINE_STEPS },
	{ "Step Trace", LINE_REPEATS },
	{ "XLA Modules", LINE_REPEATS },
	{ "Modules", LINE_REPEATS },
	{ "Async XLA Ops", LINE_REPEATS },
	{ "Framework", LINE_REPEATS },
	{ "TensorFlow", LINE_REPEATS },
	{ "Name Scope", LINE_REPEATS },
	{ "Source", LINE_REPEATS },
	{ "Host Offload", LINE_REPEATS },
	{ "XLA TraceMe", LINE_REPEATS },
	{ "Launch Stats", LINE_REPEATS },
	/* parts of a collective */
	{ "Plane", LINE_REPEATS },
};

struct process {
	int64_t pid;
	uint32_t pid_name;
	enum process_kind kind;
	int32_t device;
	enum line_kind finest;
};

struct processes {
	struct process *rows;
	uint32_t count, capacity;
	int32_t unnumbered[PROCESS_DERIVED + 1]; /* devices without a number so far, by kind */
	bool has_device;
};

static enum line_kind line_of(const struct profile *profile, const struct profile_track *track)
{
	for (size_t i = 0; i < sizeof line_rows / sizeof *line_rows; i++)
		if (profile_names_begin(&profile->names, track->thread, line_rows[i].begin))
			return line_rows[i].kind;
	return LINE_OTHER;
}

/* The number at the beginning of a text; -1: none. */
static int32_t number_at(struct profile_slice text)
{
	int32_t number = 0;
	size_t digits = 0;
	for (; digits < text.length && digits < 6 && text.text[digits] >= '0' && text.text[digits] <= '9'; digits++)
		number = number * 10 + (text.text[digits] - '0');
	return digits ? number : -1;
}

/* What follows a part of the text; without text: it is not there. */
static struct profile_slice behind(struct profile_slice text, const char *part)
{
	size_t length = strlen(part);
	const char *at = text.length ? memmem(text.text, text.length, part, length) : NULL;
	return at ? (struct profile_slice){ at + length, text.length - (size_t)(at + length - text.text) }
			  : (struct profile_slice){ 0 };
}

/* TensorFlow's timeline has all kernels in /stream:all and all copies in /memcpy; the other streams repeat them. */
static bool repeats_others(struct profile_slice rest)
{
	struct profile_slice stream = behind(rest, "/stream:");
	return (stream.text && (stream.length < 3 || memcmp(stream.text, "all", 3) != 0)) || behind(rest, "/sync").text;
}

static void judge_process(const struct profile *profile, uint32_t name, struct processes *all, struct process *process)
{
	struct profile_slice text = profile_names_text(&profile->names, name);
	for (size_t i = 0; i < sizeof process_rows / sizeof *process_rows; i++) {
		const struct process_row *row = &process_rows[i];
		bool is_whole = row->mark[0] == '$';
		struct profile_slice rest = behind(text, row->mark + is_whole);
		if (!rest.text || (is_whole && text.length != strlen(row->mark + 1)))
			continue;
		if (row->kind == PROCESS_HOST)
			return;
		int32_t number = is_whole ? all->unnumbered[row->kind]++ : number_at(rest);
		if (number < 0)
			continue;
		process->kind = repeats_others(rest) ? PROCESS_DERIVED : row->kind;
		process->device = number;
		all->has_device |= row->kind == PROCESS_DEVICE;
		return;
	}
}

static struct process *process_of(struct processes *all, const struct profile_track *track)
{
	for (uint32_t i = 0; i < all->count; i++)
		if (all->rows[i].pid == track->pid && all->rows[i].pid_name == track->pid_name)
			return &all->rows[i];
	return NULL;
}

/* Processes that have a name, which stands on any of their tracks. */
static bool find_processes(struct profile *profile, struct processes *all)
{
	for (uint32_t i = 0; i < profile->track_count; i++) {
		const struct profile_track *track = &profile->tracks[i];
		if (!track->process || process_of(all, track))
			continue;
		if (!profile_grow(profile, &all->rows, &all->capacity, all->count, sizeof *all->rows))
			return false;
		struct process *process = &all->rows[all->count++];
		*process = (struct process){ .pid = track->pid, .pid_name = track->pid_name };
		judge_process(profile, track->process, all, process);
	}
	for (uint32_t i = 0; i < profile->track_count; i++) {
		struct process *process = process_of(all, &profile->tracks[i]);
		enum line_kind line = line_of(profile, &profile->tracks[i]);
		if (process && profile->tracks[i].host_count && line > process->finest)
			process->finest = line;
	}
	return true;
}

/* -- one line -- */

static const struct direction_row {
	const char *part, *name;
} direction_rows[] = { { "H2D", "HtoD" }, { "D2H", "DtoH" }, { "D2D", "DtoD" }, { "P2P", "PtoP" } };

/* "kind_src:pageable kind_dst:device size:4096": the kind as Kineto writes it. */
static void memory_kind(struct profile_slice details, const char *key, char out[16])
{
	struct profile_slice kind = behind(details, key);
	size_t length = 0;
	for (; length < kind.length && length < 15 && kind.text[length] != ' '; length++)
		out[length] = kind.text[length];
	out[length] = '\0';
	if (out[0] >= 'a' && out[0] <= 'z')
		out[0] = (char)(out[0] - 'a' + 'A');
}

/* "MemcpyH2D" as Kineto names it, so that all else knows its direction and kinds of memory. */
static uint32_t copy_name(struct profile *profile, uint32_t name, struct profile_slice details)
{
	char from[16], to[16], text[64];
	memory_kind(details, "kind_src:", from);
	memory_kind(details, "kind_dst:", to);
	for (size_t i = 0; i < sizeof direction_rows / sizeof *direction_rows && from[0] && to[0]; i++)
		if (profile_names_contain(&profile->names, name, direction_rows[i].part)) {
			int length = snprintf(text, sizeof text, "Memcpy %s (%s -> %s)", direction_rows[i].name, from, to);
			return profile_names_add(&profile->names, (struct profile_slice){ text, (size_t)length });
		}
	return name;
}

static bool add_copy(struct profile *profile, const struct profile_host *host, uint32_t *name)
{
	struct profile_slice details = profile_names_text(&profile->names, host->shape), size = behind(details, "size:");
	const char *end = size.text ? memchr(size.text, ' ', size.length) : NULL;
	int64_t bytes;
	if (end)
		size.length = (size_t)(end - size.text);
	bool has_bytes = token_whole(size, &bytes) && bytes >= 0;
	*name = copy_name(profile, *name, details);
	struct profile_copy *copy = profile_copy_of(profile, *name);
	if (!copy)
		return false;
	copy->count++;
	copy->total_ns += host->duration_ns;
	copy->bytes += has_bytes ? (uint64_t)bytes : 0;
	copy->bytes_count += has_bytes;
	return true;
}

/* "regs:32 static_shared:0 dynamic_shared:0 grid:8,1,1 block:128,1,1 occ_pct:50" */
static bool add_kernel(struct profile *profile, const struct profile_host *host, uint32_t name, int64_t own_ns)
{
	struct profile_slice details = profile_names_text(&profile->names, host->shape);
	int32_t registers = number_at(behind(details, "regs:")), occupancy = number_at(behind(details, "occ_pct:"));
	struct profile_kernel *kernel = profile_kernel_of(profile, name);
	if (!kernel)
		return false;
	kernel->count++;
	kernel->total_ns += own_ns;
	kernel->min_ns = own_ns < kernel->min_ns ? own_ns : kernel->min_ns;
	kernel->max_ns = own_ns > kernel->max_ns ? own_ns : kernel->max_ns;
	if (registers > 0)
		kernel->registers = (uint32_t)registers;
	if (occupancy > 0 && occupancy <= 100) {
		kernel->occupancy_ns += (double)own_ns;
		kernel->occupancy_sum += (double)own_ns * occupancy / 100;
	}
	return true;
}

/* Time in which a stream waits for another is no work. */
static bool is_wait(const struct profile *profile, uint32_t name)
{
	static const char *const waits[] = { "EVENT_WAIT", "EVENT_RECORD", "NOTIFY_WAIT", "NOTIFY_RECORD", "Notify_Wait",
		"Notify_Record", "STREAM_WAIT" };
	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
		if (profile_names_begin(&profile->names, name, waits[i]))
			return true;
	return false;
}

static bool is_copy(const struct profile *profile, uint32_t name)
{
	/* of CUDA, ROCm, Ascend */
	static const char *const begins[] = { "Memcpy", "CopyDeviceTo", "CopyHostTo", "MEMCPY" };
	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
		if (profile_names_begin(&profile->names, name, begins[i]))
			return true;
	return profile_names_contain(&profile->names, name, "emcpy");
}

static bool add_work(
	struct profile *profile, struct profile_track *track, const struct profile_host *host, int64_t own_ns)
{
	uint32_t name = profile_name_of(host->name);
	enum profile_kind kind = PROFILE_KERNEL;
	/* TensorFlow's timeline knows what the kernel computes, not what it is called. */
	if (host->parent && profile_names_begin(&profile->names, name, "unknown"))
		name = host->parent;
	if (is_wait(profile, name))
		return true;
	if (is_copy(profile, name))
		kind = PROFILE_COPY;
	else if (profile_names_begin(&profile->names, name, "Memset"))
		kind = PROFILE_SET;
	if (kind == PROFILE_KERNEL ? !add_kernel(profile, host, name, own_ns) : !add_copy(profile, host, &name))
		return false;
	struct profile_work *work = profile_add_work(profile, track);
	/* Of a Python function the reader did not, for it may have begun long before. */
	profile_widen(profile, host->start_ns, host->start_ns + host->duration_ns);
	if (work)
		*work = (struct profile_work){ .start_ns = host->start_ns,
			.duration_ns = host->duration_ns,
			.name = name | (uint32_t)kind << PROFILE_NAME_BITS,
			.correlation = host->link,
			.op = own_ns == host->duration_ns ? host->parent : 0 };
	return work;
}

/* Of an event of a device: its time without the events within it, and the one around it. */
struct own {
	int64_t ns;
	uint32_t around;
};

/* A loop of XLA is around the operations that it repeats. */
static void find_own(const struct profile_track *track, struct own *own)
{
	const struct profile_host *hosts = track->hosts;
	uint32_t around = PROFILE_NONE;
	for (uint32_t i = 0; i < track->host_count; i++) {
		int64_t end_ns = profile_host_end(&hosts[i]);
		while (around != PROFILE_NONE &&
			(hosts[i].start_ns >= profile_host_end(&hosts[around]) || end_ns > profile_host_end(&hosts[around])))
			around = own[around].around;
		own[i] = (struct own){ hosts[i].duration_ns, around };
		if (around != PROFILE_NONE)
			own[around].ns -= hosts[i].duration_ns;
		around = i;
	}
}

static void drop_hosts(struct profile_track *track)
{
	free(track->hosts);
	track->hosts = NULL;
	track->host_count = track->host_capacity = 0;
}

static bool convert_track(struct profile *profile, struct profile_track *track, int32_t device)
{
	struct own *own = malloc((track->host_count + 1) * sizeof *own);
	bool is_good = own && profile_order_track(track);
	if (is_good)
		find_own(track, own);
	for (uint32_t i = 0; i < track->host_count && is_good; i++)
		is_good = add_work(profile, track, &track->hosts[i], own[i].ns);
	track->device = device;
	track->has_runtime = false;
	drop_hosts(track);
	free(own);
	return is_good;
}

/* A device's line of steps is nearer to the truth than the host's marks, as the host runs ahead. */
static void take_steps(struct profile *profile, const struct profile_track *track)
{
	profile->step_count = 0;
	for (uint32_t i = 0; i < track->host_count; i++) {
		const struct profile_host *host = &track->hosts[i];
		int64_t number;
		if (token_whole(profile_names_text(&profile->names, profile_name_of(host->name)), &number))
			profile_add_step(profile, host->start_ns, host->duration_ns, number);
	}
}

static bool convert_line(struct profile *profile, struct profile_track *track, const struct process *process)
{
	enum line_kind line = line_of(profile, track);
	if (process->kind == PROCESS_DEVICE && line == LINE_STEPS && !profile->has_device_steps) {
		take_steps(profile, track);
		profile->has_device_steps = profile->step_count > 0;
	}
	bool is_work = process->kind != PROCESS_DERIVED && line >= LINE_OTHER && line == process->finest;
	if (is_work)
		return convert_track(profile, track, process->device);
	drop_hosts(track);
	return true;
}

bool profile_foreign_convert(struct profile *profile)
{
	struct processes all = { 0 };
	for (uint32_t i = 0; i < profile->track_count; i++)
		if (profile->tracks[i].work_count)
			return true; /* Kineto's */
	bool is_good = find_processes(profile, &all);
	for (uint32_t i = 0; i < profile->track_count && is_good && all.has_device; i++) {
		struct profile_track *track = &profile->tracks[i];
		const struct process *process = track->host_count ? process_of(&all, track) : NULL;
		if (process && process->kind != PROCESS_HOST)
			is_good = convert_line(profile, track, process);
	}
	free(all.rows);
	return is_good;
}
