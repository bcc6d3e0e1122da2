/* Checks which figures of the target the model has after a few readings, and what kind of process the target is. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/base/text.h"
#include "src/doctor/doctor.h"
#include "src/model/code/code_advice.h"
#include "src/model/collectives/ras_judge.h"
#include "src/model/machine/processes.h"
#include "src/model/model.h"
#include "src/model/run/refusals.h"
#include "src/model/run/steps/tracks.h"
#include "src/model/workers/workers_shown.h"

enum { MAPS_SIZE = 256 * 1024 };

/* The reason of a missing figure that the screen shows too; NULL if no source gave one. */
static const struct missing *why_missing(const struct model *model, const char *figure)
{
	for (size_t i = 0; i < model->missing_count; i++)
		if (strcmp(model->missing[i].figure, figure) == 0)
			return &model->missing[i];
	return NULL;
}

/* -- figures of the target and of its cgroup -- */

static const struct figure_row {
	const char *name;
	enum metric metric;
	const char *figure; /* its name in struct missing */
	bool is_essential;
	/* the texts of ok and missing; the latter and the remedy if no source gave a reason (NULL: doctor_access_remedy) */
	const char *is_there, *is_not, *remedy;
} figure_rows[] = {
	{ "CPU", METRIC_PROCESS_CPU_USER, "CPU", true, "CPU time, state, threads", "cannot read /proc/PID/stat", "" },
	{ "memory", METRIC_PROCESS_RESIDENT, "memory", true, "resident set and its peak", "cannot read /proc/PID/status",
		"" },
	{ "memory by kind", METRIC_PROCESS_ANONYMOUS, "memory", false, "anonymous, file, shared, swapped out",
		"the kernel does not show kinds of memory", "use kernel 4.5 or newer" },
	{ "disk I/O", METRIC_PROCESS_READ, "disk I/O", false, "bytes read from and written to disks",
		"cannot read /proc/PID/io", NULL },
	{ "CPU wait", METRIC_PROCESS_RUN_QUEUE_WAIT, "run-queue wait", false, "of its main thread",
		"the kernel does not count it", "boot a kernel with CONFIG_SCHED_INFO" },
	{ "disk wait", METRIC_PROCESS_DISK_WAIT, "disk wait", false, "of all its threads", "the kernel does not count it",
		"sudo sysctl kernel.task_delayacct=1, before the run starts" },
	{ "page faults", METRIC_PROCESS_MAJOR_FAULTS, "faults", false, "minor and major", "cannot read /proc/PID/stat",
		"" },
	{ "descriptors", METRIC_PROCESS_DESCRIPTORS, "descriptors", false, "number of open files",
		"cannot read /proc/PID/fd", "" },
};

static void say_missing(struct doctor *doctor, const struct model *model, const struct figure_row *row)
{
	const struct missing *missing = why_missing(model, row->figure);
	if (missing)
		doctor_say(doctor, FINDING_MISSING, missing->remedy, "%s", missing->text);
	else
		doctor_say(doctor, FINDING_MISSING, row->remedy ? row->remedy : doctor_access_remedy(), "%s", row->is_not);
}

static void check_figures(struct doctor *doctor, const struct model *model)
{
	const struct process *target = model_target(model);
	for (size_t i = 0; i < sizeof figure_rows / sizeof *figure_rows; i++) {
		const struct figure_row *row = &figure_rows[i];
		doctor_row(doctor, row->name, row->is_essential);
		if (target && !isnan(target->now[row->metric]))
			doctor_say(doctor, FINDING_OK, NULL, "%s", row->is_there);
		else
			say_missing(doctor, model, row);
	}
}

static void check_cgroup(struct doctor *doctor, const struct model *model)
{
	const struct system *system = &model->system;
	const struct missing *missing = why_missing(model, "cgroup");
	double memory = system->now[METRIC_CGROUP_MEMORY], limit = system->now[METRIC_CGROUP_MEMORY_LIMIT],
		   cpus = system->now[METRIC_CGROUP_CPU_LIMIT];
	char text[NUMBER_SIZE], has_cpus[64] = "no CPU limit";
	doctor_row(doctor, "cgroup", false);
	if (cpus > 0)
		snprintf(has_cpus, sizeof has_cpus, "at most %.4g CPUs", cpus);
	if (!(memory > 0))
		doctor_say(doctor, FINDING_MISSING, missing ? missing->remedy : "", "%s",
			missing ? missing->text : "it shows no memory");
	else if (limit > 0)
		doctor_say(doctor, FINDING_OK, NULL, "at most %s of memory, %s%s", format_bytes(text, limit), has_cpus,
			system->owns_cgroup ? "; not shared with other processes" : "");
	else
		doctor_say(doctor, FINDING_OK, NULL, "no memory limit, %s%s", has_cpus,
			system->owns_cgroup ? "; not shared with other processes" : "");
}

/* -- its instrumentation -- */

static void check_refused(struct doctor *doctor, const struct run *run)
{
	if (!run_refused_gaps(run))
		return;
	doctor_row(doctor, "refused calls", false);
	doctor_say(doctor, FINDING_MISSING, run_refused_remedy(run), "%" PRIu64 "%s%s: no figure includes their events",
		run_refused_gaps(run), run_refused_why(run)[0] ? ", mostly because " : "", run_refused_why(run));
}

static void check_region(struct doctor *doctor, const struct model *model)
{
	const struct missing *missing = why_missing(model, "region");
	char advice[256];
	code_write_advice(model, advice, sizeof advice);
	doctor_row(doctor, "batches", false);
	if (model->run_count == 0) {
		bool is_refused = missing && missing->remedy[0] && !missing->is_mere_absence;
		doctor_say(doctor, FINDING_MISSING, is_refused ? missing->remedy : advice, "%s%s%s",
			missing ? missing->text : "no instrumentation", is_refused ? "" : ", and ",
			is_refused ? "" : code_why_no_steps(model));
		return;
	}
	const struct run *run = &model->runs[0];
	const char *framework = run_meta(run, "framework");
	char more[48] = "", with[96] = "";
	if (run->is_counted) {
		char remedy[320];
		snprintf(remedy, sizeof remedy, "for phases and causes: %s", advice);
		doctor_say(
			doctor, FINDING_OK, remedy, "no instrumentation: steps inferred from `%.60s`", run_inferred(run).what);
		return;
	}
	if (model->run_count > 1)
		snprintf(more, sizeof more, ", and %u more", model->run_count - 1);
	if (framework)
		snprintf(with, sizeof with, " (%.80s)", framework);
	doctor_say(doctor, FINDING_OK, NULL, "instrumented: run %.60s%s, ABI %s%s", run->name, with, run->abi, more);
	check_refused(doctor, run);
	doctor_row(doctor, "epochs", false);
	if (run->epoch_count)
		doctor_say(doctor, FINDING_OK, NULL, "%zu seen", run->epoch_count);
	else
		doctor_say(doctor, FINDING_MISSING, "pmtop.epoch() around each epoch (pmtop_epoch_begin in C)",
			"no epochs: pmtop needs longer to distinguish a memory leak from a cache");
	doctor_row(doctor, "batch evidence", false);
	const struct track *track = run_main(run);
	const struct batch *newest = track->end > track->first ? track_batch(track, track->end - 1) : NULL;
	const struct batch *batch = newest && newest->end_ns ? newest
		: track->end > track->first + 1                  ? track_batch(track, track->end - 2)
														 : NULL;
	if (!batch)
		doctor_say(doctor, FINDING_OFF, NULL, "no batch has ended yet");
	else if (batch->has_evidence)
		doctor_say(doctor, FINDING_OK, NULL, "CPU time, faults, switches and waits of each batch");
	else
		doctor_say(doctor, FINDING_MISSING, "set the option evidence in the program (man pmtop.h)",
			"no CPU time, faults and waits of each batch");
}

static void check_code(struct doctor *doctor, const struct model *model)
{
	const struct missing *missing = why_missing(model, "stacks");
	int group = code_main_group(model);
	doctor_row(doctor, "Python stacks", false);
	if (group >= 0)
		doctor_say(doctor, FINDING_OK, NULL, "Python %s, sampled %.0f times a second", model->code.groups[group].python,
			model->code.groups[group].hz);
	else
		doctor_say(doctor, FINDING_OFF, missing ? missing->remedy : NULL, "%s",
			missing ? missing->text : "no Python process found");
}

static void check_ras(struct doctor *doctor, const struct model *model)
{
	const struct missing *missing = why_missing(model, "NCCL RAS");
	int world = ras_world(model->ras);
	doctor_row(doctor, "NCCL RAS", false);
	if (missing)
		doctor_say(doctor, FINDING_MISSING, missing->remedy, "%s", missing->text);
	else if (world >= 0)
		doctor_say(doctor, FINDING_OK, NULL, "NCCL %s: %u ranks on %zu hosts", model->ras->version,
			(unsigned)model->ras->groups[world].size, ras_hosts(&model->ras->groups[world]));
	else
		doctor_say(doctor, FINDING_OFF, NULL, "%s",
			model->ras ? "NCCL has no communicators yet" : "no process with NCCL's RAS (NCCL 2.24 and newer)");
}

static void check_workers(struct doctor *doctor, const struct model *model)
{
	struct worker_group_now workers;
	model_worker_group_now(model, model->run_count ? 0 : -1, &workers);
	doctor_row(doctor, "DataLoader workers", false);
	if (workers.count > 0 && model->run_count == 0 && workers.published == 0)
		doctor_say(doctor, FINDING_OK, NULL, "%u child processes", workers.count);
	else if (workers.count == 0)
		doctor_say(doctor, FINDING_OFF, NULL, "none found");
	else if (workers.published == 0)
		doctor_say(doctor, FINDING_OFF, "call pmtop.torch.instrument() before the DataLoader is created",
			"%u, not instrumented: state and I/O only, no items", workers.count);
	else
		doctor_say(doctor, FINDING_OK, NULL, "%u, %u instrumented", workers.count, workers.published);
}

static void check_allocator(struct doctor *doctor, const struct model *model)
{
	struct allocator allocator = { NAN, NAN, NAN };
	doctor_row(doctor, "GPU allocator", false);
	if (model->run_count)
		allocator = run_allocator(&model->runs[0]);
	if (!isnan(allocator.allocated_bytes) || !isnan(allocator.reserved_bytes))
		doctor_say(doctor, FINDING_OK, NULL, "PyTorch's allocated and reserved memory");
	else
		doctor_say(doctor, FINDING_OFF, NULL, "the run has no gauge cuda.allocated_bytes");
}

/* -- GPUs and counters -- */

static void check_gpu_use(struct doctor *doctor, const struct model *model)
{
	const struct missing *hidden = why_missing(model, "GPU processes");
	const struct gpus *gpus = &model->gpus;
	unsigned ours = 0, inferred = 0;
	double bytes = 0;
	char list[64] = "", text[NUMBER_SIZE];
	for (size_t i = 0; i < gpus->count; i++) {
		const struct gpu *gpu = &gpus->gpus[i];
		if (!gpu->is_ours)
			continue;
		ours++;
		inferred += gpu->is_ours_by_place;
		bytes += gpu->run_memory_bytes;
		size_t used = strlen(list);
		if (used + 8 < sizeof list)
			snprintf(list + used, sizeof list - used, "%s%u", used ? ", " : "", gpu->index);
	}
	doctor_row(doctor, "GPUs", false);
	if (gpus->count == 0)
		doctor_say(doctor, FINDING_OFF, why_missing(model, "gpu") ? why_missing(model, "gpu")->remedy : NULL, "%s",
			why_missing(model, "gpu") ? why_missing(model, "gpu")->text : "no GPU found");
	else if (ours && inferred)
		doctor_say(doctor, FINDING_MISSING, hidden ? hidden->remedy : "", "%s, inferred from its environment: %s", list,
			hidden ? hidden->text : "the driver does not list it");
	else if (ours)
		doctor_say(
			doctor, FINDING_OK, NULL, "%s, %s of memory according to the driver", list, format_bytes(text, bytes));
	else if (hidden)
		doctor_say(doctor, FINDING_MISSING, hidden->remedy, "%s", hidden->text);
	else
		doctor_say(doctor, FINDING_OFF, NULL, "the driver lists none of its processes (%zu GPU%s here)", gpus->count,
			gpus->count == 1 ? "" : "s");
}

static void check_counts(struct doctor *doctor, const struct model *model)
{
	const struct missing *missing = why_missing(model, "counters");
	doctor_row(doctor, "CPU counters", false);
	if (model->perf.event_count > 0 && perf_find(&model->perf, PERF_ROLE_CYCLES))
		doctor_say(doctor, FINDING_OK, NULL, "cycles and others of each thread");
	else if (model->perf.event_count == 0 && !doctor->settings->counters_always)
		doctor_say(doctor, FINDING_OFF, "open view 9, or start with --counters", "counted only while view 9 is open");
	else if (missing)
		doctor_say(doctor, FINDING_MISSING, missing->remedy, "%s", missing->text);
	else if (model->perf.event_count > 0)
		doctor_say(doctor, FINDING_OK, NULL, "software counters only: CPU time, faults, switches");
	else
		doctor_say(doctor, FINDING_MISSING, NULL, "no counter, and no reason given");
}

/* -- the process -- */

static void read_link(pid_t pid, const char *what, char *out, size_t size)
{
	char path[64], target[512];
	if (pid)
		snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, what);
	else
		snprintf(path, sizeof path, "/proc/self/%s", what);
	ssize_t length = readlink(path, target, sizeof target);
	text_clean(out, size, target, length > 0 ? (size_t)length : 0);
}

static void check_namespaces(struct doctor *doctor, pid_t pid)
{
	static const struct {
		const char *file, *name;
	} spaces[] = { { "ns/pid", "processes" }, { "ns/mnt", "files" }, { "ns/user", "users" }, { "ns/time", "time" } };
	char others[96] = "";
	bool is_denied = false;
	doctor_row(doctor, "namespaces", false);
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
		char its[128], ours[128];
		read_link(pid, spaces[i].file, its, sizeof its);
		read_link(0, spaces[i].file, ours, sizeof ours);
		is_denied |= !its[0] && ours[0];
		if (its[0] && strcmp(its, ours) != 0)
			snprintf(
				others + strlen(others), sizeof others - strlen(others), "%s%s", others[0] ? ", " : "", spaces[i].name);
	}
	if (is_denied)
		doctor_say(doctor, FINDING_MISSING, doctor_access_remedy(), "no permission to read them");
	else if (others[0])
		doctor_say(doctor, FINDING_OK, NULL, "in a container (%s): read through /proc/%d/root", others, (int)pid);
	else
		doctor_say(doctor, FINDING_OK, NULL, "the same as pmtop's");
}

/* "3.11" from "…/python3.11" or "…/libpython3.11.so.1.0". */
static bool python_version(const char *text, char *out, size_t size)
{
	for (const char *at = text; (at = strstr(at, "python3.")); at++) {
		size_t digits = strspn(at + 8, "0123456789");
		if (digits > 0 && digits < 4 && (at[8 + digits] == '\0' || strchr(" \n./\"", at[8 + digits]))) {
			snprintf(out, size, "3.%.*s", (int)digits, at + 8);
			return true;
		}
	}
	return false;
}

static void say_python(struct doctor *doctor, const struct model *model, const char *program, const char *maps)
{
	char version[16] = "";
	bool is_python = python_version(program, version, sizeof version) || python_version(maps, version, sizeof version);
	if (!program[0] && !maps[0])
		doctor_say(doctor, FINDING_MISSING, doctor_access_remedy(), "no permission to read its program");
	else if (!is_python)
		doctor_say(doctor, FINDING_OFF, NULL, "%.160s is not Python", program[0] ? program : "its program");
	else if (strstr(maps, "/pmtop/_pmtop"))
		doctor_say(doctor, FINDING_OK, NULL, "%s, with the package pmtop", version);
	else if (model->run_count)
		doctor_say(doctor, FINDING_OK, NULL, "%s", version);
	else
		doctor_say(doctor, FINDING_OFF, "pip install pmtop", "%s, without the package pmtop", version);
}

/* Copies the value of a variable of an environment, as /proc/PID/environ has it. */
static bool find_variable(const char *environment, size_t length, const char *name, char *out, size_t size)
{
	size_t name_length = strlen(name);
	for (const char *at = environment; at < environment + length; at += strlen(at) + 1) {
		if (strncmp(at, name, name_length) == 0 && at[name_length] == '=') {
			text_clean(out, size, at + name_length + 1, strlen(at + name_length + 1));
			return true;
		}
	}
	return false;
}

/* What pmtop's hooks have instrumented, by launch mode or `pmtop instrument`; "" = nothing yet. */
static const char *instrumented(const struct model *model, pid_t pid)
{
	for (const struct run *run = model->runs; run < model->runs + model->run_count; run++)
		if (run->is_used && run->pid == pid && run_meta(run, "instrumented"))
			return run_meta(run, "instrumented");
	return "";
}

static void check_launch(struct doctor *doctor, const struct model *model, pid_t pid)
{
	const char *what = instrumented(model, pid);
	char *environment = calloc(1, MAPS_SIZE), path[64], report[8], python_path[160] = "";
	size_t length = 0;
	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	bool is_read = environment && file_read(AT_FDCWD, path, environment, MAPS_SIZE, &length) == STATUS_OK;
	doctor_row(doctor, "launch mode", false);
	if (!is_read)
		doctor_say(doctor, FINDING_MISSING, doctor_access_remedy(), "no permission to read its environment");
	else if (!find_variable(environment, length, "PMTOP_LAUNCH", report, sizeof report))
		doctor_say(doctor, FINDING_OFF, "start it by pmtop -- COMMAND, which instruments PyTorch, Keras and Lightning",
			"not started by pmtop%s%s", *what ? "; pmtop instrument PID instrumented " : "", what);
	else if (find_variable(environment, length, "PYTHONPATH", python_path, sizeof python_path))
		doctor_say(doctor, FINDING_OK, NULL, "started by pmtop, %s%s: its PYTHONPATH begins with %.*s",
			*what ? "which instrumented " : "which has instrumented nothing yet", what, (int)strcspn(python_path, ":"),
			python_path);
	else
		doctor_say(doctor, FINDING_MISSING, NULL, "started by pmtop, but without its PYTHONPATH");
	free(environment);
}

static void check_python(struct doctor *doctor, const struct model *model, pid_t pid)
{
	char *maps = calloc(1, MAPS_SIZE), path[64], program[512];
	size_t length;
	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	if (maps && file_read(AT_FDCWD, path, maps, MAPS_SIZE, &length) != STATUS_OK)
		maps[0] = '\0';
	read_link(pid, "exe", program, sizeof program);
	doctor_row(doctor, "Python", false);
	say_python(doctor, model, program, maps ? maps : "");
	free(maps);
}

/* Adds a row for each missing figure of the screen that has no row yet. */
static void add_the_rest(struct doctor *doctor, const struct model *model)
{
	static const char *const printed[] = {
		"region",
		"cgroup",
		"NCCL RAS",
		"GPU processes",
		"counters",
		"gpu",
		/* in the groups of the machine */
		"CPU energy",
		"temperatures",
		"CPU throttle counts",
		"CPU clock",
	};
	for (size_t i = 0; i < model->missing_count; i++) {
		const struct missing *missing = &model->missing[i];
		bool is_printed = false;
		for (size_t k = 0; k < sizeof printed / sizeof *printed; k++)
			is_printed |= strcmp(missing->figure, printed[k]) == 0;
		for (size_t k = 0; k < sizeof figure_rows / sizeof *figure_rows; k++)
			is_printed |= strcmp(missing->figure, figure_rows[k].figure) == 0;
		if (is_printed)
			continue;
		doctor_row(doctor, missing->figure, false);
		doctor_say(doctor, FINDING_MISSING, missing->remedy, "%s", missing->text);
	}
}

void doctor_check_process(struct doctor *doctor)
{
	const struct model *model = doctor->model;
	pid_t pid = model->target_pid;
	if (pid)
		snprintf(doctor->process, sizeof doctor->process, "process %d, %.120s", (int)pid, model->command);
	else
		snprintf(
			doctor->process, sizeof doctor->process, "run %.120s (ended)", model->run_count ? model->runs[0].name : "");
	doctor->group = doctor->process;
	check_region(doctor, model);
	check_code(doctor, model);
	check_allocator(doctor, model);
	if (pid) {
		check_ras(doctor, model);
		check_workers(doctor, model);
		check_figures(doctor, model);
		check_cgroup(doctor, model);
		check_gpu_use(doctor, model);
		check_counts(doctor, model);
		check_namespaces(doctor, pid);
		check_python(doctor, model, pid);
		check_launch(doctor, model, pid);
		doctor_check_traces(doctor);
	}
	add_the_rest(doctor, model);
}
