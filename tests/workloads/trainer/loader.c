#include "loader.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "digits.h"
#include "noise.h"

/* What the trainer sends to a worker: it waits for the worker's next batch; it is done with one. */
enum { ASKED = 'a', FREED = 'f' };

bool loader_is_planted(const struct loader_plan *plan, uint64_t batch)
{
	return plan->slow_every && (batch + 1) % plan->slow_every == 0;
}

/* Must be loaded when the trainer asks for it, not before. */
static bool is_planted(const struct loader_plan *plan, uint64_t batch)
{
	return loader_is_planted(plan, batch) || faults_wait_for(plan->faults, batch);
}

/* -- one batch -- */

static unsigned slot_of(const struct loader *loader, uint64_t batch)
{
	unsigned workers = loader->plan.workers;

	return workers ? (unsigned)(batch % workers) * LOADER_PREFETCH + (unsigned)(batch / workers % LOADER_PREFETCH) : 0;
}

static float *slot_inputs(const struct loader *loader, unsigned slot)
{
	return (float *)(void *)(loader->memory + slot * loader->slot_size);
}

static uint8_t *slot_labels(const struct loader *loader, unsigned slot)
{
	return loader->memory + slot * loader->slot_size +
		sizeof(float) * DIGITS_PIXELS * faults_samples_max(loader->plan.faults, loader->plan.batch_size);
}

/* Brightness and grain, so that no two readings of a record are alike. */
static void augment(uint8_t pixels[DIGITS_PIXELS], uint64_t *noise)
{
	unsigned gain = 12 + noise_below(noise, 5);

	for (unsigned i = 0; i < DIGITS_PIXELS; i++) {
		unsigned value = pixels[i] * gain / 16 + noise_below(noise, 2);

		pixels[i] = (uint8_t)(value > 15 ? 15 : value);
	}
}

static void collate(const uint8_t pixels[DIGITS_PIXELS], float *input)
{
	for (unsigned i = 0; i < DIGITS_PIXELS; i++)
		input[i] = ((float)pixels[i] - 3.0f) / 4.0f;
}

static bool decode_for(int fd, int64_t duration_ns)
{
	uint8_t record[DIGITS_RECORD], pixels[DIGITS_PIXELS];
	int64_t end_ns = now_ns() + duration_ns;

	for (unsigned index = 0; now_ns() < end_ns; index = (index + 1) % DIGITS_TRAIN) {
		if (!digits_read(fd, index, record))
			return false;
		digits_decode(record, pixels);
	}
	return true;
}

/* `worker`: its number; −1: the trainer. */
static bool load(const struct loader *loader, struct pmtop *pm, uint64_t batch, int worker)
{
	const struct loader_plan *plan = &loader->plan;
	unsigned slot = slot_of(loader, batch), samples = faults_samples(plan->faults, batch, plan->batch_size);
	uint8_t(*records)[DIGITS_RECORD] = malloc(samples * sizeof *records);
	uint8_t(*pixels)[DIGITS_PIXELS] = malloc(samples * sizeof *pixels);
	uint64_t noise = plan->seed ^ (batch + 1) * 0xd1342543de82ef95u;
	bool good = records && pixels;

	pmtop_span_begin(pm, "read");
	for (unsigned i = 0; good && i < samples; i++)
		good = digits_read(plan->fd, noise_below(&noise, DIGITS_TRAIN), records[i]);
	pmtop_span_end(pm);
	pmtop_span_begin(pm, "decode");
	for (unsigned i = 0; good && i < samples; i++)
		slot_labels(loader, slot)[i] = digits_decode(records[i], pixels[i]);
	if (good && loader_is_planted(plan, batch))
		good = decode_for(plan->fd, plan->slow_ns);
	faults_load(plan->faults, batch, worker);
	pmtop_span_end(pm);
	pmtop_span_begin(pm, "collate");
	for (unsigned i = 0; good && i < samples; i++) {
		augment(pixels[i], &noise);
		collate(pixels[i], slot_inputs(loader, slot) + (size_t)i * DIGITS_PIXELS);
	}
	pmtop_span_end(pm);
	free(pixels);
	free(records);
	return good;
}

/* -- a worker -- */

static struct pmtop *publish_worker(const struct loader *loader, unsigned number)
{
	const struct pmtop_options options = { .size = sizeof options,
		.lanes = 2,
		.slots = 256,
		.totals = 16,
		.names = 64,
		.history = 64,
		.epochs = 8,
		.directory = "" };
	struct pmtop *pm;
	char text[24];

	if (loader->plan.is_quiet)
		return NULL;
	snprintf(text, sizeof text, "worker %u", number);
	pm = pmtop_open(text, &options);
	pmtop_count(pm, "samples", 0);
	pmtop_meta(pm, "between", "idle");
	snprintf(text, sizeof text, "%u", number);
	pmtop_meta(pm, "worker.id", text);
	snprintf(text, sizeof text, "%u", loader->plan.workers);
	pmtop_meta(pm, "worker.count", text);
	/* Last: whoever reads it finds the rest. */
	pmtop_meta(pm, "role", "worker");
	return pm;
}

static bool fetch(const struct loader *loader, struct pmtop *pm, uint64_t batch, uint64_t mine, unsigned number)
{
	unsigned samples = faults_samples(loader->plan.faults, batch, loader->plan.batch_size);
	bool good;

	pmtop_batch_begin(pm, mine);
	good = load(loader, pm, batch, (int)number);
	pmtop_batch_samples(pm, samples);
	pmtop_count(pm, "samples", samples);
	pmtop_batch_end(pm, NAN);
	return good;
}

/* Loads every batch that falls to worker `number`; ends when the trainer is gone. */
static void worker_run(const struct loader *loader, struct pmtop *pm, unsigned number, int ask, int ready)
{
	const struct loader_plan *plan = &loader->plan;
	uint64_t asked = 0, freed = 0, mine = 0;

	for (uint64_t batch = number; batch < plan->batches; batch += plan->workers, mine++) {
		/* A planted batch is slow for as long as it says, however far ahead this worker is. */
		while (freed + LOADER_PREFETCH <= mine || (is_planted(plan, batch) && asked <= mine)) {
			char message;

			if (read(ask, &message, 1) != 1)
				return;
			asked += message == ASKED;
			freed += message == FREED;
		}
		if (!fetch(loader, pm, batch, mine, number) || write(ready, "", 1) != 1)
			return;
	}
}

static bool worker_fork(struct loader *loader, unsigned number)
{
	struct worker *worker = &loader->workers[number];
	int ask[2], ready[2];

	if (pipe(ask) != 0)
		return false;
	if (pipe(ready) != 0) {
		close(ask[0]);
		close(ask[1]);
		return false;
	}
	worker->pid = fork();
	if (worker->pid == 0) {
		char name[24];
		struct pmtop *pm;

		signal(SIGINT, SIG_IGN);
		signal(SIGTERM, SIG_DFL);
		for (unsigned i = 0; i < number; i++) {
			close(loader->workers[i].ask);
			close(loader->workers[i].ready);
		}
		close(ask[1]);
		close(ready[0]);
		snprintf(name, sizeof name, "loader %u", number);
		prctl(PR_SET_NAME, name);
		pm = publish_worker(loader, number);
		worker_run(loader, pm, number, ask[0], ready[1]);
		pmtop_close(pm);
		_exit(0);
	}
	close(ask[0]);
	close(ready[1]);
	worker->ask = ask[1];
	worker->ready = ready[0];
	return worker->pid > 0;
}

/* -- the trainer's side -- */

bool loader_start(struct loader *loader, const struct loader_plan *plan)
{
	void *memory;

	signal(SIGPIPE, SIG_IGN);
	*loader = (struct loader){ .plan = *plan };
	loader->slot_size =
		(faults_samples_max(plan->faults, plan->batch_size) * (DIGITS_PIXELS * sizeof(float) + 1) + 63) & ~(size_t)63;
	loader->slots = plan->workers ? plan->workers * LOADER_PREFETCH : 1;
	memory = mmap(NULL, loader->slots * loader->slot_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	loader->memory = memory;
	for (unsigned i = 0; i < plan->workers; i++)
		if (!worker_fork(loader, i))
			return false;
	return true;
}

/* A worker that finds its pipes closed ends by itself, in good order; one that is stopped, or at it for long, is made
 * to. */
static void end_worker(const struct worker *worker)
{
	int64_t patience_ns = now_ns() + 500000000;
	pid_t ended;

	while ((ended = waitpid(worker->pid, NULL, WNOHANG)) == 0 && now_ns() < patience_ns)
		sleep_until(now_ns() + 2000000);
	if (ended != 0)
		return;
	kill(worker->pid, SIGKILL);
	waitpid(worker->pid, NULL, 0);
}

void loader_stop(struct loader *loader)
{
	for (unsigned i = 0; i < loader->plan.workers; i++) {
		struct worker *worker = &loader->workers[i];

		if (worker->pid <= 0)
			continue;
		close(worker->ask);
		close(worker->ready);
	}
	for (unsigned i = 0; i < loader->plan.workers; i++)
		if (loader->workers[i].pid > 0)
			end_worker(&loader->workers[i]);
	if (loader->plan.fd >= 0)
		close(loader->plan.fd);
	if (loader->memory)
		munmap(loader->memory, loader->slots * loader->slot_size);
}

/* A worker that has loaded its last batch is gone, though its batches are still here. SIGPIPE is ignored. */
static bool send_message(const struct worker *worker, char message)
{
	return write(worker->ask, &message, 1) == 1 || errno == EPIPE;
}

static bool await(const struct loader *loader, uint64_t batch)
{
	const struct worker *worker = &loader->workers[batch % loader->plan.workers];
	char message;

	return send_message(worker, ASKED) && read(worker->ready, &message, 1) == 1;
}

pid_t loader_worker(const struct loader *loader, uint64_t batch)
{
	return loader->plan.workers ? loader->workers[batch % loader->plan.workers].pid : 0;
}

bool loader_next(struct loader *loader, struct pmtop *pm, struct minibatch *out)
{
	uint64_t batch = loader->next++;
	unsigned slot = slot_of(loader, batch);
	bool good;

	if (loader->plan.workers) {
		if (batch > 0)
			send_message(&loader->workers[(batch - 1) % loader->plan.workers], FREED);
		pmtop_span_begin(pm, "wait");
		good = await(loader, batch);
		pmtop_span_end(pm);
	} else {
		good = load(loader, pm, batch, -1);
	}
	*out = (struct minibatch){ faults_samples(loader->plan.faults, batch, loader->plan.batch_size),
		slot_inputs(loader, slot), slot_labels(loader, slot) };
	return good;
}

bool loader_validation(int fd, unsigned first, unsigned samples, float *inputs, uint8_t *labels)
{
	uint8_t record[DIGITS_RECORD], pixels[DIGITS_PIXELS];

	for (unsigned i = 0; i < samples; i++) {
		if (!digits_read(fd, DIGITS_TRAIN + first + i, record))
			return false;
		labels[i] = digits_decode(record, pixels);
		collate(pixels, inputs + (size_t)i * DIGITS_PIXELS);
	}
	return true;
}
