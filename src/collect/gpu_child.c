/* Reads the GPUs in a child pmtop: if a driver hangs or crashes, only the child is lost, and it is restarted. */
#include <stdio.h>

#include "src/base/clock.h"
#include "src/collect/child.h"
#include "src/sources/choices.h"
#include "src/sources/gpu/gpu.h"
#include "src/sources/target/target.h"

/* Without persistence mode, the NVIDIA driver takes seconds per GPU to start. Later it answers several times a second,
 * or never. */
#define START_NS (60 * NS_PER_S)
#define SILENCE_NS (10 * NS_PER_S)

enum { WORDS_MAX = 12, PID_SIZE = 16 };

/* The state of the source if the run has ended: no child is started, and nothing is reported as missing. */
static char no_child;

static enum status open_gpu(struct target *target, void **state, struct reason *why_not)
{
	const struct source_choices *choices = source_choices(target);
	char pid[PID_SIZE];
	const char *words[WORDS_MAX] = { choices->program, "collect", "--only=gpu", "-d", "0.25", "-p", pid };
	size_t count = 7;
	if (target->pid == 0 || target->has_ended) {
		*state = &no_child;
		return STATUS_OK;
	}
	if (!choices->program)
		return reason_set(why_not, STATUS_NOT_FOUND, NULL, "this program does not read GPUs");
	if (!gpu_is_expected(choices))
		return gpu_none_expected(choices, why_not);
	snprintf(pid, sizeof pid, "%d", (int)target->pid);
	if (choices->no_nvml)
		words[count++] = "--no-nvml";
	if (choices->config) {
		words[count++] = "--config";
		words[count++] = choices->config;
	}
	/* start_program takes the type of main's argv, but does not change the words. */
	struct child_command command = {
		.name = "the GPU reader",
		.figure = "gpu",
		.words = (char *const *)words,
		.silence_ns = choices->gpu_silence_ns ? choices->gpu_silence_ns : SILENCE_NS,
		.start_ns = choices->gpu_silence_ns ? choices->gpu_silence_ns : START_NS,
	};
	return child_open(&command, target, state, why_not);
}

static enum status read_gpu(void *state, int64_t now_ns, struct sample_set *out)
{
	return state == &no_child ? STATUS_END : child_read(state, now_ns, out);
}

static void close_gpu(void *state)
{
	if (state != &no_child)
		child_close(state);
}

const struct source gpu_source = {
	.name = "gpu", .is_awaited = true, .open = open_gpu, .read = read_gpu, .explain = child_explain, .close = close_gpu
};
