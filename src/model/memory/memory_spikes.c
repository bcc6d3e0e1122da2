#include "src/model/memory/memory_spikes.h"
#include "src/model/memory/memory_parts.h"
#include "src/model/model_private.h"

enum { TIMES = sizeof((struct memory_spikes *)0)->times_ns / sizeof(int64_t), BASELINE_MIN = 8 };
#define SPIKE_RATIO 0.25
#define SPIKE_MIN_BYTES 100e6
#define SPIKE_MAX_NS (10 * NS_PER_S)
#define RECENT_NS (300 * NS_PER_S)

static void add_spike(struct model *model, int64_t time_ns, double bytes)
{
	struct memory_spikes *spikes = &model->priv->spikes;
	spikes->times_ns[spikes->count++ % TIMES] = time_ns;
	model->memory.spike_bytes = bytes;
	model->memory.spike_ns = time_ns;
}

static void count_recent(struct model *model)
{
	const struct memory_spikes *spikes = &model->priv->spikes;
	model->memory.spikes = 0;
	for (uint64_t i = 0; i < spikes->count && i < TIMES; i++)
		model->memory.spikes += spikes->times_ns[i] > model->now_ns - RECENT_NS;
}

static double threshold(double baseline_bytes) { return fmax(SPIKE_RATIO * baseline_bytes, SPIKE_MIN_BYTES); }

/* The kernel's peak (VmHWM) rose above all readings: the memory was used and freed between two readings. */
static bool saw_kernel_spike(const struct model *model, double baseline_bytes, double *height)
{
	const struct memory_spikes *spikes = &model->priv->spikes;
	double before = spikes->peak_bytes, peak = model->memory.peak_rss_bytes, now = model->memory.rss_bytes;
	*height = peak - now;
	return before > 0 && peak > before && *height > threshold(baseline_bytes);
}

void memory_watch_spikes(struct model *model, bool is_warm)
{
	struct memory_spikes *spikes = &model->priv->spikes;
	const struct memory_trend *trend = &model->priv->trend;
	double now = memory_retained(&trend->now, (struct memory_basis){ PART_ANONYMOUS, PART_SHARED, PART_FILE }), height;
	double baseline = spikes->since_ns ? spikes->baseline_bytes : rolling_median(spikes->baseline);
	bool is_known = is_warm && rolling_count(spikes->baseline) >= BASELINE_MIN && !isnan(now);
	if (!is_known) {
		spikes->since_ns = 0;
	} else if (spikes->since_ns && now < baseline + 0.5 * (spikes->high_bytes - baseline)) {
		add_spike(model, spikes->since_ns, spikes->high_bytes - baseline);
		spikes->since_ns = 0;
	} else if (spikes->since_ns && model->now_ns - spikes->since_ns > SPIKE_MAX_NS) {
		spikes->since_ns = 0; /* it lasts: a step, not a spike */
		rolling_clear(spikes->baseline);
	} else if (spikes->since_ns) {
		spikes->high_bytes = fmax(spikes->high_bytes, now);
	} else if (now - baseline > threshold(baseline)) {
		spikes->since_ns = model->now_ns;
		spikes->baseline_bytes = baseline;
		spikes->high_bytes = now;
	} else if (saw_kernel_spike(model, baseline, &height)) {
		add_spike(model, model->now_ns, height);
	}
	spikes->peak_bytes = model->memory.peak_rss_bytes;
	if (!spikes->since_ns)
		rolling_push(spikes->baseline, now);
	count_recent(model);
}
