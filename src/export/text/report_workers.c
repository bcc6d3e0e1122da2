#include "src/export/text/report_workers.h"

#include <inttypes.h>
#include <math.h>

#include "src/base/text.h"

void report_workers(struct buffer *out, const struct model *model, int run)
{
	const struct worker_group *worker_group = model_worker_group(model, run);
	char mean[NUMBER_SIZE], low[NUMBER_SIZE], high[NUMBER_SIZE];
	if (!worker_group)
		return;
	const struct worker_work *work = &worker_group->work;
	buffer_printf(out, "Workers: %" PRIu64 " seen, %" PRIu64 " batches fetched", worker_group->seen, work->fetches);
	if (!isnan(work->item.mean_s))
		buffer_printf(out, ", %.0f samples, %s a sample (p5–p95 %s–%s)", work->items,
			format_seconds(mean, work->item.mean_s), format_seconds(low, work->item_p5_s),
			format_seconds(high, work->item.p95_s));
	for (size_t i = 0; i < work->span_count; i++)
		if (!isnan(work->spans[i].share_ratio))
			buffer_printf(out, ", %s %s", work->spans[i].name, format_percent(low, work->spans[i].share_ratio));
	if (work->failed)
		buffer_printf(out, ", %" PRIu64 " failed", work->failed);
	if (worker_group->died)
		buffer_printf(out, ", %" PRIu64 " died", worker_group->died);
	buffer_puts(out, "\n\n");
}
