#include "src/sources/gpu/drm/drm_gpus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/gpu/drm/pci_names.h"

#define PROCESSES_NS (2 * NS_PER_S)
#define PAUSE_MAX_NS (10 * NS_PER_S)
/* A device suspends some seconds after its last access (amdgpu: 5 s), and reading counts as access. */
#define IDLE_AFTER_NS (10 * NS_PER_S)
#define IDLE_PAUSE_NS (15 * NS_PER_S)

/* Readings take at most 1/SHARE of the time. */
enum { SHARE_FIGURES = 20, SHARE_PROCESSES = 50, LINK_TURNS = 4 };

static const char *const missing_figures[MISSING_COUNT] = {
#define DRM_MISSING_FIGURE(id, figure, metric) [MISSING_##id] = figure,
	DRM_MISSING(DRM_MISSING_FIGURE)
#undef DRM_MISSING_FIGURE
		[MISSING_PROCESSES] = "GPU processes",
};

static const enum metric missing_metrics[] = {
#define DRM_MISSING_METRIC(id, figure, metric) [MISSING_##id] = metric,
	DRM_MISSING(DRM_MISSING_METRIC)
#undef DRM_MISSING_METRIC
};

/* -- opening -- */

static void first_refresh(const struct source_choices *choices, struct drm_gpu *gpu)
{
	snprintf(gpu->version, sizeof gpu->version, "%s", gpu->device.driver);
	snprintf(gpu->vendor, sizeof gpu->vendor, "%s", gpu->device.driver);
	bool is_named = !choices->sys_root && gpu->device.model &&
		pci_name(NULL, gpu->device.maker, gpu->device.model, gpu->name, sizeof gpu->name);
	if (gpu->device.model && !is_named)
		snprintf(gpu->name, sizeof gpu->name, "device %04x:%04x", (unsigned)(gpu->device.maker & 0xffff),
			(unsigned)(gpu->device.model & 0xffff));
	else if (!is_named)
		snprintf(gpu->name, sizeof gpu->name, "%s", gpu->device.driver);
	gpu->busy_ratio = NAN;
	if (gpu->device.pci[0])
		drm_link_refresh(gpu->device.folder, &gpu->link);
}

enum status drm_gpus_open(const struct drm_family *family, struct target *target, int32_t first_instance, void **state,
	struct reason *why_not)
{
	struct drm_device devices[DRM_DEVICES_MAX];
	const struct source_choices *choices = source_choices(target);
	size_t count = drm_devices_find(choices, true, family->is_mine, devices, DRM_DEVICES_MAX);
	if (count == 0)
		return reason_set(why_not, STATUS_NOT_FOUND, NULL, "%s", family->none);
	struct drm_gpus *all = calloc(1, sizeof *all);
	if (!all)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	*all = (struct drm_gpus){ .family = family, .target = target, .choices = choices, .next_processes_ns = INT64_MIN };
	all->gpus = calloc(count, sizeof *all->gpus);
	all->tree = fdinfo_tree_new(target);
	bool is_good = all->gpus && all->tree;
	for (size_t i = 0; is_good && i < count; i++) {
		struct drm_gpu *gpu = &all->gpus[all->count++];
		gpu->device = devices[i];
		gpu->index = (uint32_t)i;
		gpu->instance = first_instance + (int32_t)i;
		gpu->next_ns = INT64_MIN;
		gpu->own = calloc(1, family->own_size);
		is_good = gpu->own != NULL;
		first_refresh(choices, gpu);
	}
	if (!is_good) {
		drm_gpus_close(all);
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	}
	*state = all;
	return STATUS_OK;
}

void drm_gpus_close(void *state)
{
	struct drm_gpus *all = state;
	for (size_t i = 0; i < all->count; i++) {
		if (all->family->close && all->gpus[i].own)
			all->family->close(&all->gpus[i]);
		free(all->gpus[i].own);
	}
	fdinfo_tree_free(all->tree);
	free(all->gpus);
	free(all);
}

/* -- one device -- */

static const char *copy_text(struct sample_set *out, const char *text)
{
	return sample_set_text(out, text, strlen(text));
}

static void emit_gpu(const struct drm_gpu *gpu, int64_t now_ns, struct sample_set *out)
{
	struct gpu_row *row = sample_set_allocate(out, sizeof *row);
	struct record *record = row ? sample_set_add(out, RECORD_GPU, 0, now_ns) : NULL;
	if (!record)
		return;
	*row = (struct gpu_row){ .instance = gpu->instance,
		.parent = -1,
		.index = gpu->index,
		.vendor = copy_text(out, gpu->vendor),
		.name = copy_text(out, gpu->name),
		.uuid = copy_text(out, gpu->uuid),
		.pci = copy_text(out, gpu->device.pci),
		.driver = copy_text(out, gpu->version),
		.lost = gpu->is_lost ? "it is gone: its driver was unbound, or it was unplugged" : NULL };
	record->gpu = row;
}

bool drm_has_figure(const struct sample_set *set, size_t from, enum metric metric, int32_t instance)
{
	for (; from < set->count; from++) {
		const struct record *record = &set->records[from];
		if (record->kind == RECORD_FIGURE && record->figure.metric == metric && record->figure.instance == instance)
			return true;
	}
	return false;
}

/* Updates the device's state. Whether it can be read now. */
static bool update_state(struct drm_gpus *all, struct drm_gpu *gpu)
{
	bool is_lost = access(gpu->device.folder, F_OK) != 0, is_asleep = !is_lost && drm_device_is_asleep(&gpu->device);
	gpu->is_emitted &= is_lost == gpu->is_lost;
	gpu->is_read &= !is_lost;
	gpu->is_lost = is_lost;
	gpu->is_asleep = is_asleep;
	if (is_lost || is_asleep)
		return false;
	if (!gpu->is_read) {
		drm_device_version(all->choices, &gpu->device, gpu->version, sizeof gpu->version);
		gpu_hwmon_refresh(gpu->device.folder, &gpu->hwmon);
		all->family->refresh(all, gpu);
		gpu->is_read = true;
		gpu->is_emitted = false;
	}
	return true;
}

static void note_figures(struct drm_gpu *gpu, const struct sample_set *out, size_t from)
{
	for (size_t missing = 0; missing < sizeof missing_metrics / sizeof *missing_metrics; missing++)
		gpu->has[missing] = drm_has_figure(out, from, missing_metrics[missing], gpu->instance);
}

static void note_use(struct drm_gpu *gpu, int64_t now_ns)
{
	char text[16];
	bool is_used = gpu->row_count > 0 || gpu->busy_ratio > 0 ||
		!sys_text(gpu->device.folder, "power/control", text, sizeof text) || strcmp(text, "auto") != 0;
	if (is_used || gpu->used_ns == 0)
		gpu->used_ns = now_ns;
	gpu->is_resting = now_ns - gpu->used_ns >= IDLE_AFTER_NS;
}

static void read_gpu(struct drm_gpus *all, struct drm_gpu *gpu, int64_t now_ns, struct sample_set *out)
{
	bool is_readable = update_state(all, gpu);
	if (gpu->is_silent && gpu->row_count == 0 && !gpu->is_emitted)
		return;
	if (!gpu->is_emitted)
		emit_gpu(gpu, now_ns, out);
	gpu->is_emitted = true;
	if (!is_readable)
		memset(gpu->has, 0, sizeof gpu->has);
	bool is_due = now_ns >= gpu->next_ns || (gpu->is_resting && gpu->row_count > 0);
	if (!is_readable || !is_due)
		return;
	int64_t begin_ns = clock_monotonic_ns();
	size_t from = out->count;
	gpu_hwmon_emit(&gpu->hwmon, gpu->instance, now_ns, out);
	if (gpu->turn++ % LINK_TURNS == 0)
		drm_link_emit(&gpu->link, gpu->instance, now_ns, out);
	all->family->emit(all, gpu, now_ns, out);
	int64_t took_ns = clock_monotonic_ns() - begin_ns;
	gpu->reading_ns += took_ns;
	note_use(gpu, now_ns);
	gpu->next_ns = now_ns +
		(gpu->is_resting                                 ? IDLE_PAUSE_NS
				: took_ns * SHARE_FIGURES < PAUSE_MAX_NS ? took_ns * SHARE_FIGURES
														 : PAUSE_MAX_NS);
	sample_set_figure(out, now_ns, METRIC_GPU_READING, gpu->instance, (double)gpu->reading_ns);
	note_figures(gpu, out, from);
}

/* -- processes -- */

struct gpu_process_row *drm_gpu_row(struct drm_gpu *gpu, int32_t pid)
{
	for (size_t i = 0; i < gpu->row_count; i++)
		if (gpu->rows[i].pid == pid)
			return &gpu->rows[i];
	if (gpu->row_count == DRM_ROWS_MAX)
		return NULL;
	gpu->commands[gpu->row_count][0] = '\0';
	struct gpu_process_row *row = &gpu->rows[gpu->row_count];
	*row = (struct gpu_process_row){
		.pid = pid, .command = gpu->commands[gpu->row_count++], .memory_bytes = NAN, .busy_ratio = NAN
	};
	return row;
}

static void take_uses(struct drm_gpus *all, size_t index)
{
	struct fdinfo_use uses[DRM_ROWS_MAX];
	struct drm_gpu *gpu = &all->gpus[index];
	gpu->row_count = 0;
	size_t count = fdinfo_tree_uses(all->tree, index, uses, DRM_ROWS_MAX);
	for (size_t i = 0; i < count; i++) {
		struct gpu_process_row *row = drm_gpu_row(gpu, uses[i].pid);
		double own = uses[i].own_bytes, machine = uses[i].machine_bytes;
		row->kind = uses[i].kind;
		row->busy_ratio = uses[i].busy_ratio;
		row->memory_bytes = isnan(own) ? machine : gpu->is_unified && !isnan(machine) ? own + machine : own;
	}
}

static void emit_rows(const struct drm_gpu *gpu, int64_t now_ns, struct sample_set *out)
{
	struct gpu_process_row *rows = sample_set_allocate(out, (gpu->row_count ? gpu->row_count : 1) * sizeof *rows);
	struct record *record = rows ? sample_set_add(out, RECORD_GPU_PROCESSES, 0, now_ns) : NULL;
	if (!record)
		return;
	for (size_t i = 0; i < gpu->row_count; i++) {
		rows[i] = gpu->rows[i];
		rows[i].command = copy_text(out, gpu->rows[i].command);
	}
	record->gpu_processes.gpu = gpu->instance;
	record->gpu_processes.rows = rows;
	record->gpu_processes.count = gpu->row_count;
}

static void read_processes(struct drm_gpus *all, int64_t now_ns, struct sample_set *out)
{
	const struct drm_device *devices[DRM_DEVICES_MAX];
	struct reason why;
	for (size_t i = 0; i < all->count; i++)
		devices[i] = &all->gpus[i].device;
	int64_t begin_ns = clock_monotonic_ns();
	fdinfo_tree_read(all->tree, devices, all->count, now_ns);
	all->hidden = (struct reason){ "", "" };
	bool is_hidden = fdinfo_tree_why(all->tree, &why);
	for (size_t i = 0; i < all->count; i++) {
		struct drm_gpu *gpu = &all->gpus[i];
		take_uses(all, i);
		if (all->family->emit_processes && !gpu->is_lost && !gpu->is_asleep)
			all->family->emit_processes(all, gpu, now_ns, out);
		bool is_known = gpu->row_count > 0 || gpu->has_emitted_rows || !is_hidden;
		if (gpu->is_emitted && is_known)
			emit_rows(gpu, now_ns, out);
		gpu->has_emitted_rows |= gpu->is_emitted && is_known;
	}
	if (is_hidden)
		all->hidden = why;
	int64_t pause_ns = (clock_monotonic_ns() - begin_ns) * SHARE_PROCESSES;
	pause_ns = pause_ns < PROCESSES_NS ? PROCESSES_NS : pause_ns < PAUSE_MAX_NS ? pause_ns : PAUSE_MAX_NS;
	all->next_processes_ns = now_ns + pause_ns;
}

/* -- what is missing -- */

static void explain(const struct drm_gpus *all, const struct drm_gpu *gpu, enum drm_missing missing, struct reason *out)
{
	*out = (struct reason){ "", "" };
	if (gpu->is_asleep)
		reason_set(out, STATUS_OK, NULL, "the GPU is suspended (runtime power management): reading would wake it");
	else
		all->family->explain(gpu, missing, out);
}

/* With several GPUs, the reason names the first one that misses the figure. */
static void find_missing(const struct drm_gpus *all, enum drm_missing missing, struct reason *out)
{
	struct reason why;
	*out = (struct reason){ "", "" };
	for (size_t i = 0; i < all->count && !out->text[0]; i++) {
		const struct drm_gpu *gpu = &all->gpus[i];
		if (gpu->has[missing] || gpu->is_lost || !gpu->is_emitted || (gpu->is_aside && gpu->row_count == 0))
			continue;
		explain(all, gpu, missing, &why);
		if (!why.text[0])
			continue;
		if (all->count > 1)
			reason_set(out, STATUS_OK, why.remedy, "GPU %s: %.180s", gpu->device.pci[0] ? gpu->device.pci : gpu->name,
				why.text);
		else
			*out = why;
	}
}

static void emit_missing(struct drm_gpus *all, int64_t now_ns, struct sample_set *out)
{
	for (int missing = 0; missing < MISSING_COUNT; missing++) {
		struct reason why = all->hidden;
		if (missing != MISSING_PROCESSES)
			find_missing(all, (enum drm_missing)missing, &why);
		if (strcmp(why.text, all->emitted[missing]) == 0)
			continue;
		memcpy(all->emitted[missing], why.text, sizeof why.text);
		sample_set_missing(
			out, now_ns, missing_figures[missing], why.text[0] ? why.text : NULL, why.text[0] ? why.remedy : NULL);
	}
}

/* -- the reading -- */

enum status drm_gpus_read(void *state, int64_t now_ns, struct sample_set *out)
{
	struct drm_gpus *all = state;
	for (size_t i = 0; i < all->count; i++)
		read_gpu(all, &all->gpus[i], now_ns, out);
	if (now_ns >= all->next_processes_ns)
		read_processes(all, now_ns, out);
	emit_missing(all, now_ns, out);
	return STATUS_OK;
}

void drm_gpus_emit_all(void *state, int64_t now_ns, struct sample_set *out)
{
	struct drm_gpus *all = state;
	for (size_t i = 0; i < all->count; i++) {
		if (all->gpus[i].is_emitted)
			emit_gpu(&all->gpus[i], now_ns, out);
		if (all->gpus[i].has_emitted_rows)
			emit_rows(&all->gpus[i], now_ns, out);
	}
}
