#include "src/model/gpus/gpus_placement.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/model/gpus/gpus_private.h"
#include "src/model/gpus/gpus_runs.h"

/* -- GPUs by number -- */

/* The vendor that the numbers in an environment refer to: the first present of these, else the first GPU's. */
static const char *numbered_vendor(const struct model *model)
{
	static const char *const preferred[] = { "NVIDIA", "AMD" };
	for (size_t k = 0; k < sizeof preferred / sizeof *preferred; k++)
		for (size_t i = 0; i < model->gpus.count; i++)
			if (strcasecmp(model->gpus.gpus[i].vendor, preferred[k]) == 0)
				return preferred[k];
	return model->gpus.count ? model->gpus.gpus[0].vendor : "";
}

/* A GPU with parts (MIG) is used through its first part. */
static size_t first_part(const struct model *model, size_t gpu)
{
	const struct gpus *gpus = &model->gpus;
	return gpu + 1 < gpus->count && gpus->gpus[gpu + 1].parent == gpus->gpus[gpu].instance ? gpu + 1 : gpu;
}

/* −1: none. */
static int gpu_numbered(const struct model *model, unsigned long number)
{
	const char *vendor = numbered_vendor(model);
	const struct gpus *gpus = &model->gpus;
	for (size_t i = 0; i < gpus->count; i++) {
		if (gpus->gpus[i].parent >= 0 || gpus->gpus[i].index != number || strcasecmp(gpus->gpus[i].vendor, vendor) != 0)
			continue;
		return (int)first_part(model, i);
	}
	return -1;
}

/* Accepts a prefix of the UUID, as drivers do. The older name of a part, MIG-GPU-…/1/0, identifies only its GPU. */
static int gpu_called(const struct model *model, const char *text, size_t length)
{
	static const char of_gpu[] = "MIG-GPU-";
	if (length > sizeof of_gpu - 1 && strncasecmp(text, of_gpu, sizeof of_gpu - 1) == 0) {
		const char *slash = memchr(text, '/', length);
		length = (slash ? (size_t)(slash - text) : length) - 4;
		text += 4;
	}
	for (size_t i = 0; i < model->gpus.count; i++)
		if (model->gpus.gpus[i].uuid[0] && strlen(model->gpus.gpus[i].uuid) >= length &&
			strncasecmp(model->gpus.gpus[i].uuid, text, length) == 0)
			return (int)i;
	return -1;
}

/* -- selected devices -- */

/* Devices selected by a process's environment and a run's meta. */
struct placement {
	int32_t local_rank;            /* −1: not set */
	const char *visible;           /* NULL: not set */
	long device;                   /* number of "cuda:1"; −1: not set */
	int uuid_gpu;                  /* the GPU with the published UUID; −1: not published, or unknown */
	bool is_on_cpu, has_allocator; /* has_allocator: it publishes GPU memory, so it uses a GPU */
};

struct choice {
	size_t count;
	int gpus[GPUS_MAX];
};

static void choose(struct choice *choice, int gpu)
{
	for (size_t i = 0; i < choice->count; i++)
		if (choice->gpus[i] == gpu)
			return;
	if (choice->count < GPUS_MAX)
		choice->gpus[choice->count++] = gpu;
}

static void choose_all(const struct model *model, struct choice *choice)
{
	const char *vendor = numbered_vendor(model);
	for (size_t i = 0; i < model->gpus.count; i++)
		if (model->gpus.gpus[i].parent < 0 && strcasecmp(model->gpus.gpus[i].vendor, vendor) == 0)
			choose(choice, gpu_numbered(model, model->gpus.gpus[i].index));
}

/* "2,0", "GPU-8932f937,GPU-…", "MIG-…", "0.1": stops at the first invalid entry, as drivers do; "", "-1" and
 * "NoDevFiles" select none. */
static void choose_visible(const struct model *model, const char *text, struct choice *choice)
{
	while (*text) {
		text += strspn(text, " ");
		size_t length = strcspn(text, ",");
		int gpu;
		if (length == 3 && strncasecmp(text, "all", 3) == 0) {
			choose_all(model, choice);
			return;
		}
		gpu = isdigit((unsigned char)*text) ? gpu_numbered(model, strtoul(text, NULL, 10))
			: length > 4                    ? gpu_called(model, text, length)
											: -1;
		if (gpu < 0)
			return;
		choose(choice, gpu);
		text += length;
		text += *text == ',';
	}
}

static uint64_t gpus_of_placement(const struct model *model, const struct placement *placement)
{
	struct choice choice = { .count = 0 };
	long number = placement->device >= 0 ? placement->device : placement->local_rank;
	uint64_t bits = 0;
	if (placement->uuid_gpu >= 0)
		return gpu_bit(placement->uuid_gpu);
	if (placement->is_on_cpu || (!placement->visible && number < 0 && !placement->has_allocator))
		return 0;
	if (placement->visible)
		choose_visible(model, placement->visible, &choice);
	else
		choose_all(model, &choice);
	if (number >= 0 && choice.count == 1)
		return gpu_bit(choice.gpus[0]);
	if (number >= 0)
		return (size_t)number < choice.count ? gpu_bit(choice.gpus[number]) : 0;
	if (!placement->visible)
		return choice.count ? gpu_bit(choice.gpus[0]) : 0;
	for (size_t i = 0; i < choice.count; i++)
		bits |= gpu_bit(choice.gpus[i]);
	return bits;
}

static bool placement_of_process(const struct process *process, struct placement *out)
{
	*out = (struct placement){ .local_rank = -1, .device = -1, .uuid_gpu = -1 };
	if (!process)
		return false;
	out->local_rank = process->local_rank;
	out->visible = process->has_visible_devices ? process->visible_devices : NULL;
	return out->local_rank >= 0 || out->visible;
}

static long number_of(const char *text)
{
	char *end;
	long number = text && isdigit((unsigned char)*text) ? strtol(text, &end, 10) : -1;
	return number >= 0 && *end == '\0' && number < INT32_MAX ? number : -1;
}

/* "cuda:1", "hip:0", "xpu:2", "cpu"; other texts are names of GPUs, which do not identify a device. */
static void read_device(const char *text, struct placement *out)
{
	const char *colon = text ? strchr(text, ':') : NULL;
	if (colon)
		out->device = number_of(colon + 1);
	out->is_on_cpu = text && strcmp(text, "cpu") == 0;
}

/* A complete UUID in the form of CUDA, without the driver's prefix GPU- or MIG-. −1: no such GPU. */
static int gpu_of_uuid(const struct model *model, const char *text)
{
	for (size_t i = 0; text && i < model->gpus.count; i++) {
		const char *uuid = model->gpus.gpus[i].uuid, *dash = strchr(uuid, '-');
		if (dash && (strcasecmp(dash + 1, text) == 0 || strcasecmp(uuid, text) == 0))
			return (int)first_part(model, i);
	}
	return -1;
}

/* Uses the run's meta for what the process's environment does not contain. */
static void placement_of_run(const struct model *model, const struct run *run, struct placement *out)
{
	static const char *const keys[] = { "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
		"ZE_AFFINITY_MASK" };
	placement_of_process(gpus_find_process(model, run->pid), out);
	for (size_t i = 0; i < sizeof keys / sizeof *keys && !out->visible; i++)
		out->visible = run_meta(run, keys[i]);
	if (out->local_rank < 0)
		out->local_rank = (int32_t)number_of(run_meta(run, "LOCAL_RANK"));
	read_device(run_meta(run, "device"), out);
	out->uuid_gpu = gpu_of_uuid(model, run_meta(run, "gpu.uuid"));
	out->has_allocator = run_is_on_gpu(run);
}

uint64_t gpus_by_run_placement(const struct model *model, const struct run *run)
{
	struct placement placement;
	placement_of_run(model, run, &placement);
	return gpus_of_placement(model, &placement);
}

uint64_t gpus_by_all_placements(const struct model *model)
{
	struct placement placement;
	uint64_t bits = 0;
	for (unsigned i = 0; i < model->run_count; i++)
		if (model->runs[i].is_used && model->runs[i].is_live)
			bits |= gpus_by_run_placement(model, &model->runs[i]);
	for (size_t i = 0; i < model->process_count; i++)
		if (!model->processes[i].is_gone && !gpus_run_of_pid(model, model->processes[i].pid) &&
			placement_of_process(&model->processes[i], &placement))
			bits |= gpus_of_placement(model, &placement);
	return bits;
}
