/* How DataLoader workers spend their time: on the CPU or waiting for the disk. From the notes of
 * batch_window_notes.c. */
#include "src/model/workers/workers_load.h"

#include <math.h>

#include "src/model/batch_window/batch_window_private.h"
#include "src/model/workers/workers_shown.h"

#define WINDOW_NS (10 * NS_PER_S)
#define KNOWN_MIN_S 2.0

struct sums {
	double cpu_s, disk_s, queue_s, read_bytes, seconds;
	unsigned known;
};

static void add_worker(const struct model *model, const struct process *process, struct sums *sums)
{
	const struct watched *watched = model->priv->pasts[process - model->processes].watched;
	if (!watched || process->is_gone)
		return;
	int64_t to_ns = watched->on_disk.last_ns, from_ns = to_ns - WINDOW_NS,
			first_ns = readings_first_ns(&watched->on_disk);
	from_ns = from_ns > first_ns ? from_ns : first_ns;
	double seconds = seconds_between(from_ns, to_ns);
	if (seconds < KNOWN_MIN_S || model->now_ns - to_ns > WINDOW_NS)
		return;
	sums->known++;
	sums->seconds += seconds;
	sums->disk_s += readings_estimate(&watched->on_disk, from_ns, to_ns);
	sums->cpu_s += 1e-9 *
		(readings_estimate(&watched->slots[SLOT_PROCESS_CPU_USER], from_ns, to_ns) +
			readings_estimate(&watched->slots[SLOT_PROCESS_CPU_SYSTEM], from_ns, to_ns));
	sums->queue_s += 1e-9 * readings_estimate(&watched->slots[SLOT_PROCESS_RUN_QUEUE_WAIT], from_ns, to_ns);
	sums->read_bytes += readings_estimate(&watched->slots[SLOT_PROCESS_READ], from_ns, to_ns);
}

void model_worker_group_load(const struct model *model, int run, struct worker_group_load *out)
{
	size_t count;
	struct sums sums = { .known = 0 };
	const struct worker_shown *shown = model->priv ? model_workers(model, run, &count) : NULL;
	*out =
		(struct worker_group_load){ .cpu_ratio = NAN, .disk_ratio = NAN, .queue_ratio = NAN, .read_bytes_per_s = NAN };
	for (size_t i = 0; shown && i < count; i++)
		if (shown[i].process)
			add_worker(model, shown[i].process, &sums);
	if (sums.known == 0)
		return;
	out->known = sums.known;
	out->cpu_ratio = sums.cpu_s / sums.seconds;
	out->disk_ratio = sums.disk_s / sums.seconds;
	out->queue_ratio = sums.queue_s / sums.seconds;
	out->read_bytes_per_s = sums.read_bytes / sums.seconds * sums.known;
}
