/* --to=jsonl: one object per line, each with "type" and "time_ns" (of the event, or its begin): run, batch, epoch,
 * warning, pattern, mark, gpu, gpu_event, end. A rank's batches and epochs are in order; other lines come when pmtop
 * learns of them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/formats/cells.h"
#include "src/export/figures/gpu_batch.h"
#include "src/export/figures/patterns.h"
#include "src/export/figures/scope.h"
#include "src/export/finished.h"
#include "src/export/json/json_events.h"
#include "src/export/json/json_gpu.h"

struct written_alert {
	const char *rule;
	unsigned run;
	uint32_t subject;
	int64_t since_ns;
	bool is_raised;
};
struct written_run {
	char uuid[33];
	uint64_t marks; /* written, or dropped before they were */
	size_t pattern_count;
	struct {
		enum pattern_kind kind;
		int64_t since_ns;
	} patterns[PATTERNS_MAX];
};

struct written {
	struct finished *finished;
	size_t alert_count;
	struct written_alert alerts[ALERTS_MAX * 4];
	struct written_run runs[MODEL_RUNS_MAX];
	uint64_t happenings; /* written events of GPUs */
	size_t gpu_count;
	struct {
		int32_t instance;
		bool is_lost;
	} gpus[GPUS_MAX];
};

static void close_lines(void *state)
{
	struct written *written = state;
	if (written)
		finished_free(written->finished);
	free(written);
}

static void *open_lines(const struct export_scene *scene)
{
	struct written *written = calloc(1, sizeof *written);
	(void)scene;
	if (written)
		written->finished = finished_new();
	if (written && written->finished)
		return written;
	close_lines(written);
	return NULL;
}

/* -- members of every line -- */

static void write_time(struct json *json, const char *key, const char *key_ns, int64_t realtime_ns)
{
	char text[40];
	struct buffer iso = BUFFER_INIT;
	cell_time(&iso, realtime_ns, 9);
	snprintf(text, sizeof text, "%s", iso.data ? iso.data : "");
	buffer_release(&iso);
	json_integer(json, key_ns, realtime_ns);
	json_text(json, key, text);
}

/* `run` NULL: belongs to no run. */
static void begin_line(
	struct json *json, const struct export_scene *scene, const char *type, int64_t time_ns, const struct run *run)
{
	*json = (struct json){ .out = scene->out };
	json_open_object(json, NULL);
	json_text(json, "type", type);
	write_time(json, "time", "time_ns", scene_realtime_ns(scene, time_ns));
	if (!run)
		return;
	json_text(json, "run", run->name);
	json_text(json, "rank", run->rank[0] ? run->rank : NULL);
	json_integer(json, "pid", run->pid);
}

static void end_line(struct json *json)
{
	json_close_object(json);
	buffer_puts(json->out, "\n");
}

/* -- batches and epochs -- */

static void write_phases(struct json *json, const struct run *run, const struct batch *batch)
{
	json_open_array(json, "phases");
	for (unsigned i = 0; i < batch->phase_count; i++) {
		const struct phase_time *phase = &batch->phases[i];
		json_open_object(json, NULL);
		json_text(json, "name", run_name(run, phase->name));
		json_text(json, "parent", phase->parent == NAME_NONE ? NULL : run_name(run, phase->parent));
		json_number(json, "seconds", (double)phase->seconds);
		json_number(json, "cpu_s", (double)phase->cpu_s);
		json_number(json, "memory_bytes", (double)phase->memory_bytes);
		json_close_object(json);
	}
	json_close_array(json);
}

static void write_evidence(struct json *json, const struct batch *batch)
{
	const struct evidence *evidence = &batch->evidence;
	if (!batch->has_evidence)
		return;
	json_open_object(json, "evidence");
	json_number(json, "cpu_s", evidence->cpu_s);
	json_number(json, "run_queue_wait_s", evidence->run_queue_wait_s);
	json_number(json, "minor_faults", evidence->minor_faults);
	json_number(json, "major_faults", evidence->major_faults);
	json_number(json, "voluntary_switches", evidence->voluntary_switches);
	json_number(json, "involuntary_switches", evidence->involuntary_switches);
	json_number(json, "blocks_read", evidence->blocks_read);
	json_close_object(json);
}

static void write_figures(struct json *json, const struct run *run, const struct batch *batch)
{
	if (!batch->figure_count)
		return;
	json_open_object(json, "figures");
	for (unsigned i = 0; i < batch->figure_count; i++)
		json_number(json, run_name(run, batch->figures[i].name), (double)batch->figures[i].value);
	json_close_object(json);
}

static void write_gpus(struct json *json, const struct export_scene *scene, const struct finished_batch *written)
{
	double values[GPU_BATCH_COUNT];
	if (!gpu_batch_figures(scene, written, values))
		return;
	json_open_object(json, "gpu");
	for (size_t i = 0; i < GPU_BATCH_COUNT; i++)
		json_number(json, gpu_batch_names[i], values[i]);
	json_close_object(json);
}

static void write_batch(const struct export_scene *scene, const struct finished_batch *written)
{
	const struct batch *batch = written->batch;
	struct explanation room;
	const struct explanation *why = finished_explain(written, scene, &room);
	struct json json;
	begin_line(&json, scene, "batch", batch->begin_ns, written->run);
	write_time(&json, "end", "end_ns", scene_realtime_ns(scene, batch->end_ns));
	json_text(&json, "mode", scope_mode_name(written->run, written->track->mode));
	if (batch->epoch_ordinal)
		json_epoch_index(&json, "epoch", batch->epoch);
	json_unsigned(&json, "index", batch->index);
	json_unsigned(&json, "ordinal", batch->ordinal);
	json_text(&json, "kind", track_kind_name(written->run, written->track, batch->kind));
	json_number(&json, "batch_s", batch->batch_s);
	json_number(&json, "step_s", batch->step_s);
	json_number(&json, "samples", batch->samples);
	json_number(&json, "loss", batch->loss);
	json_number(&json, "resident_bytes", batch->resident_bytes);
	json_number(&json, "allocated_bytes", batch->allocated_bytes);
	write_phases(&json, written->run, batch);
	write_evidence(&json, batch);
	write_figures(&json, written->run, batch);
	write_gpus(&json, scene, written);
	json_bool(&json, "warmup", batch->is_warmup);
	json_bool(&json, "flagged", batch->is_flagged);
	json_number(&json, "usual_s", batch->median_s);
	if (why)
		json_causes(&json, written->run, why);
	end_line(&json);
}

static void write_epoch(const struct export_scene *scene, const struct run *run, const struct epoch *epoch)
{
	struct json json;
	begin_line(&json, scene, "epoch", epoch->begin_ns, run);
	write_time(&json, "end", "end_ns", scene_realtime_ns(scene, epoch->end_ns));
	json_text(&json, "mode", scope_mode_name(run, epoch->mode));
	json_epoch_index(&json, "index", epoch->index);
	json_epoch_index(&json, "ordinal", epoch->index == EPOCH_UNKNOWN ? EPOCH_UNKNOWN : epoch->ordinal);
	json_epoch_figures(&json, run, epoch);
	end_line(&json);
}

/* An epoch follows its batches and precedes those of the next. */
static void write_finished(struct written *written, const struct export_scene *scene, bool is_end)
{
	struct finished_batch batch;
	do {
		const struct epoch *epoch;
		unsigned rank;
		while ((epoch = finished_epoch(written->finished, scene, &rank)))
			write_epoch(scene, &scene->model->runs[rank], epoch);
		if (!finished_next(written->finished, scene, is_end, &batch))
			return;
		write_batch(scene, &batch);
	} while (true);
}

/* -- warnings, patterns, marks, runs -- */

static struct written_alert *find_alert(struct written *written, const struct alert *alert)
{
	for (size_t i = 0; i < written->alert_count; i++) {
		struct written_alert *one = &written->alerts[i];
		if (one->run == alert->run && one->subject == alert->subject && strcmp(one->rule, alert->rule) == 0)
			return one;
	}
	if (written->alert_count == sizeof written->alerts / sizeof *written->alerts)
		return NULL;
	written->alerts[written->alert_count] =
		(struct written_alert){ .rule = alert->rule, .run = alert->run, .subject = alert->subject };
	return &written->alerts[written->alert_count++];
}

static void write_alert(const struct export_scene *scene, const struct alert *alert, bool is_raised)
{
	const struct run *run = alert->run < scene->model->run_count ? &scene->model->runs[alert->run] : NULL;
	int64_t time_ns = is_raised ? alert->since_ns : alert->cleared_ns;
	struct json json;
	if (!scene_covers(scene, time_ns))
		return;
	begin_line(&json, scene, "warning", time_ns, run);
	json_text(&json, "state", is_raised ? "raised" : "cleared");
	json_alert(&json, alert);
	json_integer(&json, "since_ns", scene_realtime_ns(scene, alert->since_ns));
	end_line(&json);
}

static void write_alerts(struct written *written, const struct export_scene *scene)
{
	for (size_t i = 0; i < scene->alerts->count; i++) {
		const struct alert *alert = &scene->alerts->list[i];
		struct written_alert *before = find_alert(written, alert);
		if (!before)
			continue;
		bool is_new = before->since_ns != alert->since_ns;
		if (is_new)
			write_alert(scene, alert, true);
		if (!alert->is_raised && (is_new || before->is_raised))
			write_alert(scene, alert, false);
		before->since_ns = alert->since_ns;
		before->is_raised = alert->is_raised;
	}
}

static void write_patterns(struct written_run *written, const struct export_scene *scene, unsigned rank)
{
	const struct patterns *patterns = alerts_patterns(scene->alerts, rank);
	const struct run *run = &scene->model->runs[rank];
	const struct written_run before = *written;
	struct json json;
	written->pattern_count = 0;
	for (size_t i = 0; patterns && i < patterns->count; i++) {
		const struct pattern *pattern = &patterns->list[i];
		bool is_written = false;
		for (size_t k = 0; k < before.pattern_count; k++)
			is_written |= before.patterns[k].kind == pattern->kind && before.patterns[k].since_ns == pattern->since_ns;
		if (!is_written && scene_covers(scene, pattern->since_ns)) {
			char words[PATTERN_WORDS_SIZE];
			begin_line(&json, scene, "pattern", pattern->since_ns, run);
			json_text(&json, "message", pattern_words(pattern, run, words, sizeof words));
			pattern_as_json(&json, run, pattern, scene->realtime_offset_ns);
			end_line(&json);
		}
		written->patterns[written->pattern_count].kind = pattern->kind;
		written->patterns[written->pattern_count++].since_ns = pattern->since_ns;
	}
}

static void write_marks(struct written_run *written, const struct export_scene *scene, const struct run *run)
{
	struct json json;
	for (size_t i = 0; i < run->mark_count; i++) {
		if (run->marks_dropped + i < written->marks || !scene_covers(scene, run->marks[i].time_ns))
			continue;
		begin_line(&json, scene, "mark", run->marks[i].time_ns, run);
		json_text(&json, "text", run->marks[i].text);
		end_line(&json);
	}
	written->marks = run->marks_dropped + run->mark_count;
}

/* When the run is first seen, even before --since, because later lines refer to it. */
static void write_run(const struct export_scene *scene, const struct run *run)
{
	struct json json;
	begin_line(&json, scene, "run", run->start_ns, run);
	json_text(&json, "world", run->world[0] ? run->world : NULL);
	json_text(&json, "host", scene->host[0] ? scene->host : NULL);
	json_text(&json, "uuid", run->uuid);
	json_open_object(&json, "meta");
	for (size_t i = 0; i < run->meta_count; i++)
		json_text(&json, run->meta[i].key, run->meta[i].value);
	json_close_object(&json);
	end_line(&json);
}

/* -- GPUs -- */

/* A GPU that is new, lost or back. */
static bool is_news(struct written *written, const struct gpu *gpu)
{
	bool is_lost = gpu->lost[0] != '\0', was_lost;
	size_t at = 0;
	while (at < written->gpu_count && written->gpus[at].instance != gpu->instance)
		at++;
	if (at == GPUS_MAX)
		return false;
	was_lost = at < written->gpu_count && written->gpus[at].is_lost;
	bool is_new = at == written->gpu_count;
	written->gpu_count += is_new;
	written->gpus[at].instance = gpu->instance;
	written->gpus[at].is_lost = is_lost;
	return is_new || was_lost != is_lost;
}

static void write_gpu_events(struct written *written, const struct export_scene *scene)
{
	const struct gpus *gpus = &scene->model->gpus;
	struct json json;
	for (size_t i = 0; i < gpus->count; i++) {
		const struct gpu *gpu = &gpus->gpus[i];
		if (!is_news(written, gpu))
			continue;
		begin_line(&json, scene, "gpu", scene->model->now_ns, NULL);
		json_gpu_identity(&json, scene->model, gpu);
		json_text(&json, "driver", gpu->driver[0] ? gpu->driver : NULL);
		json_text(&json, "lost", gpu->lost[0] ? gpu->lost : NULL);
		end_line(&json);
	}
	uint64_t first = gpus->happening_count > GPU_EVENTS_RETAINED ? gpus->happening_count - GPU_EVENTS_RETAINED : 0;
	for (uint64_t i = written->happenings > first ? written->happenings : first; i < gpus->happening_count; i++) {
		const struct gpu_happening *happening = &gpus->happenings[i % GPU_EVENTS_RETAINED];
		const struct gpu *gpu = model_gpu(scene->model, happening->instance);
		if (!scene_covers(scene, happening->time_ns))
			continue;
		begin_line(&json, scene, "gpu_event", happening->time_ns, NULL);
		if (gpu)
			json_gpu_identity(&json, scene->model, gpu);
		if (happening->code)
			json_unsigned(&json, "code", happening->code);
		json_text(&json, "text", happening->text);
		end_line(&json);
	}
	written->happenings = gpus->happening_count;
}

static void write_all(struct written *written, const struct export_scene *scene, bool is_end)
{
	for (unsigned rank = 0; rank < scene->model->run_count; rank++) {
		const struct run *run = &scene->model->runs[rank];
		struct written_run *before = &written->runs[rank];
		if (!run->is_used)
			continue;
		if (strncmp(before->uuid, run->uuid, sizeof before->uuid) != 0) {
			*before = (struct written_run){ .marks = 0 };
			snprintf(before->uuid, sizeof before->uuid, "%s", run->uuid);
			write_run(scene, run);
		}
		write_marks(before, scene, run);
		write_patterns(before, scene, rank);
	}
	write_gpu_events(written, scene);
	write_finished(written, scene, is_end);
	write_alerts(written, scene);
}

static void add_set(void *state, const struct export_scene *scene, const struct sample_set *set)
{
	(void)set;
	write_all(state, scene, false);
}

static void end_lines(void *state, const struct export_scene *scene)
{
	struct json json;
	write_all(state, scene, true);
	for (unsigned rank = 0; rank < scene->model->run_count; rank++) {
		const struct run *run = &scene->model->runs[rank];
		if (!run->is_used)
			continue;
		begin_line(&json, scene, "end", scene->model->now_ns, run);
		json_text(&json, "ended", run->ended[0] ? run->ended : NULL);
		json_unsigned(&json, "batches", run_main(run)->count);
		json_unsigned(&json, "lost_events", run->lost_events);
		json_unsigned(&json, "before_attach_events", run->before_attach_events);
		json_unsigned(&json, "refused_events", run->refused_events);
		if (scene->model->damaged_blocks || scene->model->damaged_bytes) {
			json_unsigned(&json, "damaged_blocks", scene->model->damaged_blocks);
			json_unsigned(&json, "damaged_bytes", scene->model->damaged_bytes);
		}
		end_line(&json);
	}
}

const struct exporter jsonl_exporter = {
	.name = "jsonl",
	.help = "an object a line: batches with causes, epochs, warnings, patterns, marks, GPUs",
	.open = open_lines,
	.add = add_set,
	.end = end_lines,
	.close = close_lines,
};
