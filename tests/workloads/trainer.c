/* trainer: a training run to watch. Learns to read made-up digits: data from a file (through loader processes),
 * forward, backward, optimizer; after each epoch validation and a checkpoint. Publishes itself through pmtop.h, and can
 * plant faults (--help).
 *
 * options.c  its arguments      digits.c   the data set      loader.c  batches from it
 * network.c  what learns          truth.c    what really happened
 * faults.c   which batches go wrong, and fault_acts.c how: with scratch.c (a file on a disk), cgroup.c, accomplice.c
 * (other processes) */
#define PMTOP_IMPLEMENTATION
#include "pmtop.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trainer/clock.h"
#include "trainer/digits.h"
#include "trainer/faults.h"
#include "trainer/loader.h"
#include "trainer/network.h"
#include "trainer/options.h"
#include "trainer/truth.h"

static const unsigned layer_sizes[NETWORK_LAYERS + 1] = { DIGITS_PIXELS, 64, 32, DIGITS_CLASSES };
static const float learning_rate = 0.03f, momentum = 0.9f;
enum { VALIDATION_BATCH = 128, NOT_HERE = 77 };

/* How the time of a step is shared out, in percent. */
enum { FORWARD_SHARE = 35, BACKWARD_SHARE = 50, OPTIMIZER_SHARE = 15 };

struct trainer {
	struct options options;
	struct pmtop *pm;
	struct network network;
	struct loader loader;
	struct truth truth;
	FILE *checkpoint;
	float *validation_inputs;
	uint8_t validation_labels[VALIDATION_BATCH];
	void *hoard; /* what --leak-mb keeps: blocks that point to the one before */
};

static volatile sig_atomic_t stopping;

static void stop(int signal_number)
{
	(void)signal_number;
	stopping = 1;
}

/* What a phase's length is measured by: where others are made to take the CPU, it is as much work as ever that takes
 * longer. */
static int64_t work_ns(const struct trainer *trainer) { return trainer->options.faults.count ? cpu_ns() : now_ns(); }

static int64_t share_ns(const struct trainer *trainer, int percent)
{
	return (int64_t)(trainer->options.step_ms * 1e4) * percent;
}

/* A bigger batch has so much more work. */
static int64_t batch_share_ns(const struct trainer *trainer, const struct minibatch *batch, int percent)
{
	unsigned size = trainer->loader.plan.batch_size;

	return share_ns(trainer, percent) * (batch->samples > size ? batch->samples : size) / size;
}

static bool is_accumulating(const struct trainer *trainer) { return trainer->options.accumulate > 1; }

static bool is_last(const struct trainer *trainer, uint64_t index)
{
	return index + 1 == (uint64_t)trainer->options.batches;
}

/* -- a step -- */

static double forward(struct trainer *trainer, const struct minibatch *batch, uint64_t ordinal)
{
	int64_t end_ns = work_ns(trainer) + batch_share_ns(trainer, batch, FORWARD_SHARE);
	unsigned correct;

	if (ordinal == 0)
		end_ns += (int64_t)(trainer->options.slow_first_ms * 1e6);
	do
		network_forward(&trainer->network, batch->inputs, batch->samples);
	while (work_ns(trainer) < end_ns && !stopping);
	return network_loss(&trainer->network, batch->labels, batch->samples, &correct);
}

static void hang(void)
{
	while (!stopping)
		sleep(1);
}

static void crash(void)
{
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
}

static void leave(void) { _exit(3); }

/* Faults come in the middle of backward; the truth is written first, for some of them leave no time for it. */
static void misbehave(const struct trainer *trainer, uint64_t ordinal)
{
	const struct {
		double at;
		const char *name;
		void (*now)(void);
	} faults[] = {
		{ trainer->options.hang_at, "hang", hang },
		{ trainer->options.crash_at, "crash", crash },
		{ trainer->options.exit_at, "exit", leave },
	};

	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		if (faults[i].at < 0 || (uint64_t)faults[i].at != ordinal)
			continue;
		truth_write(&trainer->truth, &trainer->options, &trainer->loader.plan, faults[i].name);
		faults[i].now();
	}
}

static void backward(struct trainer *trainer, const struct minibatch *batch, uint64_t ordinal)
{
	int64_t end_ns = work_ns(trainer) + batch_share_ns(trainer, batch, BACKWARD_SHARE);

	misbehave(trainer, ordinal);
	do
		network_backward(&trainer->network, batch->inputs, batch->samples);
	while (work_ns(trainer) < end_ns && !stopping);
}

static void optimizer(struct trainer *trainer)
{
	int64_t end_ns =
		work_ns(trainer) + share_ns(trainer, is_accumulating(trainer) ? 6 * OPTIMIZER_SHARE : OPTIMIZER_SHARE);
	double norm;

	do
		norm = network_gradient_norm(&trainer->network);
	while (work_ns(trainer) < end_ns && !stopping);
	network_update(&trainer->network, norm > 5 ? learning_rate * (float)(5 / norm) : learning_rate, momentum);
	pmtop_gauge(trainer->pm, "gradient_norm", norm);
	pmtop_count(trainer->pm, "optimizer.steps", 1);
}

static void leak(struct trainer *trainer)
{
	size_t size = (size_t)(trainer->options.leak_mb * 1e6);
	void **block = size > sizeof *block ? malloc(size) : NULL;

	if (!block)
		return;
	memset(block, 1, size);
	*block = trainer->hoard;
	trainer->hoard = block;
	trainer->truth.leaked_bytes += size;
}

/* False: no further batch could be had. */
static bool train_batch(struct trainer *trainer, uint64_t index, uint64_t ordinal)
{
	struct pmtop *pm = trainer->pm;
	struct faults *faults = &trainer->options.faults;
	int64_t begin_ns = now_ns();
	struct minibatch batch;
	double loss = NAN;
	bool good = false, steps = (index + 1) % (uint64_t)trainer->options.accumulate == 0 || is_last(trainer, index);

	pmtop_batch_begin(pm, index);
	if (!steps && !trainer->options.quiet_kinds)
		pmtop_batch_kind(pm, "accumulate");
	faults_begin(faults, ordinal);
	faults_at(faults, AT_BATCH, pm, ordinal, 0);
	PMTOP_SPAN(pm, "data")
	{
		faults_at(faults, AT_DATA, pm, ordinal, loader_worker(&trainer->loader, ordinal));
		good = loader_next(&trainer->loader, pm, &batch);
	}
	if (good) {
		if (batch.samples != (unsigned)trainer->options.batch_size)
			pmtop_batch_samples(pm, batch.samples);
		if (is_accumulating(trainer) && is_last(trainer, index))
			pmtop_batch_samples(pm, batch.samples = (batch.samples + 1) / 2);
		PMTOP_SPAN_CPU(pm, "forward")
		{
			loss = forward(trainer, &batch, ordinal);
			faults_at(faults, AT_FORWARD, pm, ordinal, 0);
		}
		PMTOP_SPAN_CPU(pm, "backward")
		backward(trainer, &batch, ordinal);
		if (steps)
			PMTOP_SPAN_CPU(pm, "optimizer")
			{
				optimizer(trainer);
				faults_at(faults, AT_OPTIMIZER, pm, ordinal, 0);
			}
		PMTOP_SPAN_MEMORY(pm, "bookkeeping")
		{
			leak(trainer);
			faults_at(faults, AT_BOOKKEEPING, pm, ordinal, 0);
			pmtop_count(pm, "samples", batch.samples);
		}
		pmtop_batch_end(pm, loss);
		truth_batch(&trainer->truth, (double)(now_ns() - begin_ns) / 1e9, loss);
		faults_at(faults, AT_BETWEEN, pm, ordinal, 0);
	}
	faults_finish(faults, ordinal);
	return good;
}

/* -- an epoch -- */

static bool validate(struct trainer *trainer)
{
	unsigned correct, right = 0;

	pmtop_mode(trainer->pm, "validation");
	for (unsigned first = 0; first < DIGITS_VALIDATION; first += VALIDATION_BATCH) {
		double loss = NAN;
		bool good = false;

		pmtop_batch_begin(trainer->pm, first / VALIDATION_BATCH);
		PMTOP_SPAN(trainer->pm, "data")
		good = loader_validation(
			trainer->loader.plan.fd, first, VALIDATION_BATCH, trainer->validation_inputs, trainer->validation_labels);
		if (!good)
			return false;
		PMTOP_SPAN(trainer->pm, "forward")
		{
			network_forward(&trainer->network, trainer->validation_inputs, VALIDATION_BATCH);
			loss = network_loss(&trainer->network, trainer->validation_labels, VALIDATION_BATCH, &correct);
		}
		pmtop_batch_end(trainer->pm, loss);
		right += correct;
		trainer->truth.validation_batches++;
	}
	trainer->truth.accuracy = (double)right / DIGITS_VALIDATION;
	pmtop_gauge(trainer->pm, "accuracy", trainer->truth.accuracy);
	pmtop_mode(trainer->pm, "train");
	return true;
}

static bool checkpoint(struct trainer *trainer)
{
	bool good = false;

	PMTOP_SPAN(trainer->pm, "checkpoint")
	{
		rewind(trainer->checkpoint);
		good = network_write(&trainer->network, trainer->checkpoint) && fflush(trainer->checkpoint) == 0;
	}
	pmtop_mark(trainer->pm, good ? "checkpoint written" : "checkpoint failed");
	return good;
}

static bool train_epoch(struct trainer *trainer, uint32_t epoch)
{
	uint64_t batches = (uint64_t)trainer->options.batches;
	bool good = true;

	pmtop_epoch_begin(trainer->pm, epoch);
	for (uint64_t i = 0; good && i < batches && !stopping; i++)
		good = train_batch(trainer, i, epoch * batches + i);
	if (good && !stopping)
		good = validate(trainer) && checkpoint(trainer);
	if (!good || stopping)
		return good;
	pmtop_epoch_end(trainer->pm);
	trainer->truth.epochs++;
	printf(
		"epoch %u: loss %.4f, validation accuracy %.3f\n", epoch, trainer->truth.final_loss, trainer->truth.accuracy);
	fflush(stdout);
	return true;
}

/* -- the run -- */

/* Loader workers are forked first: they do not inherit the region. */
static bool prepare(struct trainer *trainer)
{
	const struct options *options = &trainer->options;
	struct loader_plan plan = {
		.seed = (uint64_t)options->seed,
		.batches = (uint64_t)options->epochs * (uint64_t)options->batches,
		.batch_size = (unsigned)options->batch_size,
		.workers = options->workers < LOADER_WORKERS_MAX ? (unsigned)options->workers : LOADER_WORKERS_MAX,
		.slow_every = (uint64_t)options->slow_every,
		.slow_ns = (int64_t)(options->slow_ms * 1e6),
		.faults = &trainer->options.faults,
		.is_quiet = options->quiet_workers,
	};
	unsigned samples_most = faults_samples_max(&options->faults, plan.batch_size),
			 batch_most = samples_most > VALIDATION_BATCH ? samples_most : VALIDATION_BATCH;

	trainer->loader.plan.fd = plan.fd = digits_create(plan.seed);
	trainer->checkpoint = tmpfile();
	trainer->validation_inputs = calloc(VALIDATION_BATCH * DIGITS_PIXELS, sizeof *trainer->validation_inputs);
	return plan.fd >= 0 && trainer->checkpoint && trainer->validation_inputs && truth_init(&trainer->truth, options) &&
		network_init(&trainer->network, layer_sizes, batch_most, plan.seed + 1) &&
		loader_start(&trainer->loader, &plan);
}

/* As launchers set them: the rank, how many there are, and what distinguishes runs. */
static void publish_rank(struct pmtop *pm)
{
	static const char *const keys[] = { "RANK", "LOCAL_RANK", "WORLD_SIZE" };
	const char *run = getenv("PMTOP_RUN_ID"), *launch = getenv("TORCHELASTIC_RUN_ID"), *address = getenv("MASTER_ADDR"),
			   *port = getenv("MASTER_PORT");
	char text[192];

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (getenv(keys[i]))
			pmtop_meta(pm, keys[i], getenv(keys[i]));
	snprintf(text, sizeof text, "%s@%s:%s", launch ? launch : "", address ? address : "", port ? port : "");
	if (run || launch || address)
		pmtop_meta(pm, "run_id", run ? run : text);
}

static void publish(struct trainer *trainer)
{
	const struct options *options = &trainer->options;
	char text[64];

	if (options->no_publish)
		return;
	trainer->pm = pmtop_open(options->name, NULL);
	pmtop_plan(trainer->pm, (uint32_t)options->epochs, (uint64_t)options->batches, (uint64_t)options->batch_size);
	snprintf(text, sizeof text, "mlp %u-%u-%u-%u", layer_sizes[0], layer_sizes[1], layer_sizes[2], layer_sizes[3]);
	pmtop_meta(trainer->pm, "model", text);
	snprintf(text, sizeof text, "%u", trainer->loader.plan.workers);
	pmtop_meta(trainer->pm, "loader.num_workers", text);
	snprintf(text, sizeof text, "%d", LOADER_PREFETCH);
	pmtop_meta(trainer->pm, "loader.prefetch_factor", text);
	snprintf(text, sizeof text, "%u", (unsigned)options->batch_size);
	pmtop_meta(trainer->pm, "batch_size", text);
	snprintf(text, sizeof text, "%u", (unsigned)options->accumulate);
	if (is_accumulating(trainer) && !options->quiet_kinds)
		pmtop_meta(trainer->pm, "accumulation", text);
	publish_rank(trainer->pm);
	pmtop_mode(trainer->pm, "train");
}

static void release(struct trainer *trainer)
{
	pmtop_close(trainer->pm);
	faults_end(&trainer->options.faults);
	loader_stop(&trainer->loader);
	network_release(&trainer->network);
	truth_release(&trainer->truth);
	free(trainer->validation_inputs);
	if (trainer->checkpoint)
		fclose(trainer->checkpoint);
	while (trainer->hoard) {
		void **block = trainer->hoard;

		trainer->hoard = *block;
		free(block);
	}
}

/* Returns why it ended, as the truth calls it. */
static const char *train(struct trainer *trainer)
{
	bool good = true;

	publish(trainer);
	if (trainer->options.wait_for_enter) {
		puts("ready");
		fflush(stdout);
		while (getchar() != '\n' && !feof(stdin) && !stopping)
			;
	}
	for (uint32_t epoch = 0; good && epoch < (uint32_t)trainer->options.epochs && !stopping; epoch++)
		good = train_epoch(trainer, epoch);
	if (stopping)
		return "interrupted";
	if (!good)
		fprintf(stderr, "trainer: no further data: a loader process ended, or a file cannot be read or written\n");
	return good ? "finished" : "failed";
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = stop }; /* without SA_RESTART: a wait for data ends too */
	struct trainer trainer = { .loader.plan.fd = -1 };
	const char *ended = "failed";
	bool is_written = true;

	options_parse(&trainer.options, argc, argv);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	if (!faults_start(&trainer.options.faults, (uint64_t)trainer.options.seed,
			(uint64_t)trainer.options.epochs * (uint64_t)trainer.options.batches, (unsigned)trainer.options.workers)) {
		faults_end(&trainer.options.faults);
		return NOT_HERE;
	}
	if (prepare(&trainer)) {
		ended = train(&trainer);
		is_written = truth_write(&trainer.truth, &trainer.options, &trainer.loader.plan, ended);
	} else {
		perror("trainer");
	}
	release(&trainer);
	return strcmp(ended, "failed") != 0 && is_written ? 0 : 1;
}
