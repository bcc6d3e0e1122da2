#include "src/sources/inferred/steps/stacks_steps_life.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/sources/inferred/steps/stacks_steps_emit.h"
#include "src/sources/inferred/steps/stacks_steps_private.h"

enum { FIRST_RUN = 255, RUNS_MAX = 64 };

static void forget_paces(struct stacks_steps *steps)
{
	for (int mode = 0; mode < MODES; mode++)
		steps->paces[mode] = (struct pace){ .step_s = (double)NAN };
}

struct stacks_steps *stacks_steps_new(unsigned number, pid_t pid, uint64_t start_ticks, const char *name)
{
	struct stacks_steps *steps = number < RUNS_MAX ? calloc(1, sizeof *steps) : NULL;
	if (!steps)
		return NULL;
	steps->run = (uint8_t)(FIRST_RUN - number);
	steps->pid = pid;
	steps->mode = MODE_TRAIN;
	forget_paces(steps);
	steps->state = (struct run_state){ .mode = MODE_TRAIN, .loss = (double)NAN };
	snprintf(steps->name, sizeof steps->name, "%s", name);
	snprintf(
		steps->uuid, sizeof steps->uuid, "%016llx%016llx", (unsigned long long)pid, (unsigned long long)start_ticks);
	return steps;
}

void stacks_steps_begin_anew(struct stacks_steps *steps, const struct stacks_what *what)
{
	struct stacks_steps before = *steps;
	if (before.is_ended)
		return;
	*steps = (struct stacks_steps){ .run = before.run,
		.pid = before.pid,
		.mode = MODE_TRAIN,
		.state = { .mode = MODE_TRAIN, .loss = (double)NAN },
		.job = before.job,
		.is_elsewhere = before.is_elsewhere,
		.replaces = before.is_emitted || before.replaces,
		.events = before.events,
		.event_room = before.event_room };
	forget_paces(steps);
	memcpy(steps->name, before.name, sizeof steps->name);
	memcpy(steps->uuid, before.uuid, sizeof steps->uuid);
	stacks_steps_describe(steps, what);
}

void stacks_steps_withdraw(struct stacks_steps *steps)
{
	const struct stacks_what what = { 0 };
	bool is_emitted = steps->is_emitted || steps->is_withdrawn;
	stacks_steps_begin_anew(steps, &what);
	steps->replaces = false;
	steps->is_withdrawn = is_emitted && !steps->is_ended;
}

void stacks_steps_free(struct stacks_steps *steps)
{
	free(steps ? steps->events : NULL);
	free(steps);
}
