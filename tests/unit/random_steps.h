/* random_steps.h: seeded step times like those of training runs: heavy tails, autocorrelation, drift, outliers, two
 * modes. */
#ifndef PMTOP_TESTS_WILD_STEPS_H
#define PMTOP_TESTS_WILD_STEPS_H

#include <math.h>
#include <stddef.h>

#include "tests/unit/steps_run.h"

enum { RANDOM_STEPS_MIN = 60, RANDOM_STEPS_MAX = 400 };

/* Parameters that two runs of one program share. */
struct random_program {
	double step_s, noise, memory; /* noise: of the logarithm; memory: its autocorrelation from step to step */
	double outliers, tail;        /* share of the steps; Pareto's exponent of how much longer they take */
	/* every so many-th step is of the slow mode; 0 = at random, with the share below */
	unsigned period;
	double slow_share, slow_ratio;
};

static inline double random_between(struct chance *chance, double low, double high)
{
	return low + (high - low) * chance_even(chance);
}

static inline struct random_program random_program(struct chance *chance)
{
	struct random_program program = { .step_s = exp(random_between(chance, log(0.002), log(2))),
		.noise = random_between(chance, 0.01, 0.06),
		.memory = random_between(chance, 0, 0.7),
		.outliers = random_between(chance, 0, 0.05),
		.tail = random_between(chance, 1.2, 3) };
	double modes = chance_even(chance);
	if (modes < 0.25)
		program = (struct random_program){ program.step_s, program.noise, program.memory, program.outliers,
			program.tail, 2 + (unsigned)(3 * chance_even(chance)), 0, random_between(chance, 1.2, 2) };
	else if (modes < 0.5) {
		program.slow_share = random_between(chance, 0.1, 0.4);
		program.slow_ratio = random_between(chance, 1.2, 1.8);
	}
	return program;
}

/* One run of the program: with its own length, level (half a percent) and drift; every step `ratio` times as long.
 * Fills steps and returns their number. */
static inline size_t random_run(
	const struct random_program *program, struct chance *chance, double ratio, double steps[RANDOM_STEPS_MAX])
{
	size_t count = RANDOM_STEPS_MIN + (size_t)((RANDOM_STEPS_MAX - RANDOM_STEPS_MIN + 1) * chance_even(chance));
	double level = log(program->step_s * ratio) + 0.005 * chance_normal(chance),
		   drift = random_between(chance, -0.02, 0.04);
	double retained = program->noise * chance_normal(chance), fresh = sqrt(1 - program->memory * program->memory);
	for (size_t i = 0; i < count; i++) {
		retained = program->memory * retained + fresh * program->noise * chance_normal(chance);
		double logarithm = level + retained + drift * (double)i / (double)count;
		if (program->period ? i % program->period == 0 : chance_even(chance) < program->slow_share)
			logarithm += log(program->slow_ratio);
		if (chance_even(chance) < program->outliers)
			logarithm += log(fmin(pow(chance_even(chance), -1 / program->tail), 50));
		/* The first steps fill caches and choose kernels. */
		if (i < 3)
			logarithm += log(4.0 - (double)i);
		steps[i] = exp(logarithm);
	}
	return count;
}

#endif
