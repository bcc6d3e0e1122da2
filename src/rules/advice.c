#include "src/rules/advice.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/base/text.h"

/* -- what a phase is, by its name -- */

static const struct { const char *word; enum phase_kind kind; } kind_words[] = {
	{ "data", PHASE_DATA }, { "dataset", PHASE_DATA }, { "dataloader", PHASE_DATA }, { "dataloading", PHASE_DATA }, { "loader", PHASE_DATA },
	{ "load", PHASE_DATA }, { "loading", PHASE_DATA }, { "fetch", PHASE_DATA }, { "prefetch", PHASE_DATA },
	{ "forward", PHASE_FORWARD }, { "fwd", PHASE_FORWARD },
	{ "backward", PHASE_BACKWARD }, { "bwd", PHASE_BACKWARD }, { "backprop", PHASE_BACKWARD },
	{ "optimizer", PHASE_OPTIMIZER }, { "optimiser", PHASE_OPTIMIZER }, { "optim", PHASE_OPTIMIZER },
};

static enum phase_kind kind_of_word(const char *word, size_t length)
{
	for (size_t i = 0; i < sizeof kind_words / sizeof *kind_words; i++)
		if (strlen(kind_words[i].word) == length && strncasecmp(kind_words[i].word, word, length) == 0)
			return kind_words[i].kind;
	return PHASE_OTHER;
}

enum phase_kind phase_kind(const struct run *run, uint32_t name)
{
	enum phase_kind kind = PHASE_OTHER;
	for (const char *word = run_name(run, name); *word && kind == PHASE_OTHER;) {
		size_t length = 0;
		while (isalnum((unsigned char)word[length]))
			length++;
		kind = kind_of_word(word, length);
		word += length ? length : 1;
	}
	return kind == PHASE_OTHER && name == NAME_BETWEEN ? PHASE_BETWEEN : kind;
}

/* -- the loader's settings, as published -- */

void advise(struct alert *alert, const char *format, ...)
{
	if (alert->advice_count >= ALERT_ADVICE_MAX)
		return;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(alert->advice[alert->advice_count++], sizeof alert->advice[0], format, arguments);
	va_end(arguments);
}

static const char *loader_meta(const struct run *run, const char *key)
{
	char full[48];
	snprintf(full, sizeof full, "loader.%s", key);
	const char *value = run_meta(run, full);
	return value ? value : run_meta(run, key);
}

bool loader_count(const struct run *run, const char *key, long *count)
{
	const char *value = loader_meta(run, key);
	char *end;
	if (!value || !isdigit((unsigned char)*value))
		return false;
	*count = strtol(value, &end, 10);
	return *end == '\0' && *count < 100000;
}

enum { WORKERS_MANY = 16, PREFETCH_MANY = 8 };

#define WORKERS_BUSY 0.9
#define WORKERS_IDLE 0.5
#define FETCH_SLOW_RATIO 3

/* Of slow batches now and then: a fetch that took long holds up the batch that waits for it, however idle the workers are else. */
static bool advise_slow_fetch(const struct model *model, const struct run *run, struct alert *alert)
{
	const struct crew *crew = model_crew(model, (int)(run - model->runs));
	const struct figures *fetch = crew ? &crew->work.fetch : NULL;
	char longest[NUMBER_SIZE], usual[NUMBER_SIZE];
	if (!fetch || !(fetch->max_s > FETCH_SLOW_RATIO * fetch->p50_s))
		return false;
	advise(alert, "a worker's longest fetch took %s, the usual one %s: see what those samples cost to load", format_seconds(longest, fetch->max_s),
	       format_seconds(usual, fetch->p50_s));
	return true;
}

/* What the workers themselves show says more than how many there are. False: nothing. */
static bool advise_crew(const struct model *model, const struct run *run, struct alert *alert)
{
	struct crew_now now;
	model_crew_now(model, (int)(run - model->runs), &now);
	if (isnan(now.busy_ratio) || now.count == 0)
		return false;
	if (now.busy_ratio < WORKERS_IDLE)
		advise(alert, "the workers are idle %.0f %% of the time: not the cause; see how a batch gets from them to here (its size, pin_memory)",
		       (1 - now.busy_ratio) * 100);
	else if (now.busy_ratio > WORKERS_BUSY && now.count < WORKERS_MANY)
		advise(alert, "workers are busy (%.0f %%): try more (num_workers %u → %u)", now.busy_ratio * 100, now.count, now.count * 2);
	else
		return false;
	return true;
}

static void advise_workers(const struct run *run, struct alert *alert)
{
	long workers;
	if (!loader_count(run, "num_workers", &workers))
		advise(alert, "load in worker processes, beside the training (DataLoader: num_workers=4)");
	else if (workers == 0)
		advise(alert, "num_workers is 0: try 4; loading then runs beside the training");
	else if (workers < WORKERS_MANY)
		advise(alert, "num_workers is %ld: try %ld", workers, workers * 2);
	else
		advise(alert, "num_workers is %ld already: look at the storage, and at what each sample costs to prepare", workers);
}

static void advise_pinning(const struct run *run, struct alert *alert)
{
	const char *value = loader_meta(run, "pin_memory");
	if (!value)
		advise(alert, "pinned memory copies faster to a GPU (DataLoader: pin_memory=True)");
	else if (!strcasecmp(value, "false") || !strcmp(value, "0"))
		advise(alert, "pin_memory is off: True copies faster to a GPU");
}

static void advise_prefetching(const struct run *run, struct alert *alert)
{
	long factor;
	if (!loader_count(run, "prefetch_factor", &factor))
		advise(alert, "let each worker load ahead (DataLoader: prefetch_factor=2 or more)");
	else if (factor < PREFETCH_MANY)
		advise(alert, "prefetch_factor is %ld: try %ld", factor, factor < 2 ? 2 : factor * 2);
}

/* -- by kind: guides 000_92dc6d78458fd3fe ("Common Bottlenecks and Solutions") and 003_abe5efb37fba2540 ("Bottleneck Detection") -- */

static const char *const kind_advice[][3] = {
	[PHASE_OTHER] = { "publish spans inside it, to see which part of it takes the time",
	                  "read losses and metrics seldom: each reading waits for the GPU" },
	[PHASE_DATA] = { "prepare expensive augmentations beforehand" },
	[PHASE_FORWARD] = { "use mixed precision (autocast)", "a smaller model: fewer filters or layers, depthwise separable convolutions" },
	[PHASE_BACKWARD] = { "use mixed precision with a gradient scaler", "accumulate gradients over smaller batches" },
	[PHASE_OPTIMIZER] = { "use a fused optimizer, where there is one", "step once for several batches (gradient accumulation)" },
	[PHASE_BETWEEN] = { "publish what runs between the batches as spans, to see what it is", "log and save less often" },
};

void advise_phase(const struct model *model, const struct run *run, enum phase_kind kind, bool is_rare, struct alert *alert)
{
	if (kind == PHASE_DATA) {
		if (is_rare ? !advise_slow_fetch(model, run, alert) : !advise_crew(model, run, alert))
			advise_workers(run, alert);
		advise_pinning(run, alert);
		advise_prefetching(run, alert);
	}
	for (size_t i = 0; kind_advice[kind][i]; i++)
		advise(alert, "%s", kind_advice[kind][i]);
}
