#include "src/sources/inferred/steps/stacks_evidence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/inferred/steps/stacks_training.h"

/* How likely it is that a pass that trains gets as many samples without training: below it, it validates. A pass that
 * is over gets no further samples. A pass of a loader that is known to train needs more, as does one that was called
 * where others train. */
#define CHANCE_MAX 0.01
#define CHANCE_OVER_MAX 0.25
#define CHANCE_KNOWN_MAX 1e-4
#define CHANCE_CALLED_MAX 1e-3
#define UNDECIDED_NS (3 * NS_PER_S)
#define WANTED_NS (1 * NS_PER_S)
/* Samples of one batch are not independent of each other: more of them count as so many. */
#define FAST_RATIO 0.5
enum { PACE_MIN = 4 };
enum { IN_BATCH_MAX = 8, BATCHES_MIN = 2, SAMPLES_SPARE = 2, LEARNT = 16, SHARED_MIN = 2, PLACED_MIN = 3 };
/* How many batches of two loaders show which of them is read far more seldom, and how much more. */
enum { REGULAR_MIN = 3, SELDOM_MIN = 6, SELDOM_RATIO = 3, APART_MIN = 2 };
/* If training is sampled less often, its absence means little. */
#define TRAINING_RATIO_MIN 0.03

static struct stacks_pass *find_pass(struct stacks_evidence *evidence, uint64_t serial)
{
	for (size_t i = 0; i < evidence->pass_count; i++)
		if (evidence->passes[i].serial == serial)
			return &evidence->passes[i];
	return NULL;
}

/* -- what is known of loaders -- */

/* What is not known yet differs from nothing. A sampler's address may be used again by another loader, at another line.
 */
static bool is_of(const struct stacks_known *known, const struct py_counted *counted)
{
	return known->sampler == counted->sampler &&
		(!*known->function || !*counted->function || strcmp(known->function, counted->function) == 0) &&
		(!known->line || !counted->line || known->line == counted->line);
}

static struct stacks_known *find_known(struct stacks_evidence *evidence, const struct py_counted *counted)
{
	for (size_t i = 0; i < evidence->known_count; i++)
		if (is_of(&evidence->known[i], counted))
			return &evidence->known[i];
	return NULL;
}

/* Serials grow: the lowest is the oldest. */
static struct stacks_pass *get_pass(struct stacks_evidence *evidence, const struct py_counted *counted, int64_t now_ns)
{
	struct stacks_pass *pass = find_pass(evidence, counted->serial);
	if (pass)
		return pass;
	evidence->first_serial = evidence->first_serial ? evidence->first_serial : counted->serial;
	pass = &evidence->passes[0];
	for (size_t i = 1; i < evidence->pass_count; i++)
		if (evidence->passes[i].serial < pass->serial)
			pass = &evidence->passes[i];
	if (evidence->pass_count < STACKS_PASSES_MAX)
		pass = &evidence->passes[evidence->pass_count++];
	const struct stacks_known *known = find_known(evidence, counted);
	*pass = (struct stacks_pass){ .serial = counted->serial,
		.since_ns = now_ns,
		.first = counted->yielded,
		.yielded = counted->yielded,
		.samples = known && known->verdict == STACKS_UNKNOWN ? known->samples : 0 };
	return pass;
}

static struct stacks_known *remember(
	struct stacks_evidence *evidence, const struct py_counted *counted, enum stacks_verdict verdict)
{
	struct stacks_known *known = find_known(evidence, counted);
	if (!known) {
		known = &evidence->known[evidence->known_next];
		evidence->known_next = (evidence->known_next + 1) % STACKS_KNOWN_MAX;
		evidence->known_count += evidence->known_count < STACKS_KNOWN_MAX;
		*known = (struct stacks_known){ .sampler = counted->sampler, .caller = counted->caller };
	}
	if (*counted->function)
		snprintf(known->function, sizeof known->function, "%s", counted->function);
	known->line = counted->line ? counted->line : known->line;
	known->length = counted->length ? counted->length : known->length;
	known->verdict = verdict;
	return known;
}

/* -- samples -- */

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), size = strlen(end);
	return length >= size && strcmp(text + length - size, end) == 0;
}

static bool is_training(const struct py_sample *sample)
{
	bool is_optimizer;
	int frame = stacks_training_frame(sample, &is_optimizer);
	return frame >= 0 && (is_optimizer || !stacks_training_is_derivative(sample, frame));
}

static bool is_fetching(const struct py_sample *sample)
{
	for (size_t i = 0; i < sample->count; i++)
		if (ends_with(sample->sites[i].known->code.function, "__next__") &&
			ends_with(sample->sites[i].known->code.file, "/torch/utils/data/dataloader.py"))
			return true;
	return false;
}

/* Work after the last batch belongs to no pass. */
static bool is_complete(const struct py_counted *counted)
{
	return counted->length > 0 && counted->yielded >= counted->length;
}

/* Those that advanced last: several, if loaders are read in turn. NULL: unknown. */
static const struct py_counted *find_active(const struct py_counted *live, size_t count)
{
	const struct py_counted *active = count == 1 ? live : NULL;
	for (size_t i = 0; i < count; i++)
		if (live[i].advanced_ns > (active ? active->advanced_ns : 0))
			active = &live[i];
	return active && active->yielded > 0 && !is_complete(active) ? active : NULL;
}

/* A batch that hangs, or the process that is stopped, is sampled at one instruction again and again. */
static bool is_at_rest(struct stacks_pass *pass, const struct py_counted *counted, const struct py_sample *sample)
{
	const struct py_site *site = &sample->sites[0];
	bool is_same =
		counted->yielded == pass->yielded && site->frame == pass->newest.frame && site->ip == pass->newest.ip;
	pass->newest.frame = site->frame;
	pass->newest.ip = site->ip;
	return is_same;
}

/* -- loaders that are read in turn -- */

enum pace { PACE_UNKNOWN, PACE_REGULAR, PACE_SELDOM };

/* How often a pass advances beside another one. */
static enum pace pace_of(const struct stacks_pass *pass, const struct py_counted *counted,
	const struct stacks_pass *other, const struct py_counted *other_counted, int64_t now_ns)
{
	double batches = (double)(counted->yielded - pass->first), others = (double)(other_counted->yielded - other->first),
		   time_ns = (double)(now_ns - pass->since_ns), other_ns = (double)(now_ns - other->since_ns);
	if (others >= SELDOM_MIN && others * time_ns > SELDOM_RATIO * (batches + 1) * other_ns)
		return PACE_SELDOM;
	bool is_alone = batches >= SELDOM_RATIO * (others + 1);
	bool is_regular = others >= REGULAR_MIN && SELDOM_RATIO * batches * other_ns >= others * time_ns;
	return batches >= REGULAR_MIN && (is_alone || is_regular) ? PACE_REGULAR : PACE_UNKNOWN;
}

/* A pass in progress of another loader, which is known to train. */
static const struct py_counted *find_trainer(struct stacks_evidence *evidence, const struct py_counted *live,
	size_t count, const struct py_counted *counted, const struct stacks_pass **out)
{
	for (size_t i = 0; i < count; i++) {
		const struct stacks_pass *pass = find_pass(evidence, live[i].serial);
		if (live[i].sampler == counted->sampler || !pass || pass->verdict != STACKS_TRAINS || is_complete(&live[i]))
			continue;
		*out = pass;
		return &live[i];
	}
	return NULL;
}

/* A validation iterator that is read once in many steps: training that is sampled after it is that of the step. Notes
 * whether it can be its own. */
static bool is_of_trainer(struct stacks_evidence *evidence, struct stacks_pass *pass, const struct py_counted *counted,
	const struct py_counted *live, size_t count, bool trains, int64_t now_ns)
{
	const struct stacks_pass *other;
	const struct py_counted *trainer = find_trainer(evidence, live, count, counted, &other);
	enum pace pace = trainer ? pace_of(pass, counted, other, trainer, now_ns) : PACE_REGULAR;
	pass->is_seldom = pace == PACE_SELDOM;
	if (pace == PACE_REGULAR)
		return false;
	pass->apart += trains && trainer->advanced_ns < counted->advanced_ns && other->trained_at == trainer->yielded;
	if (pass->apart >= APART_MIN)
		return false;
	pass->is_unsure = (pass->is_unsure || trains) && !pass->is_seldom;
	if (pass->is_seldom && pass->verdict == STACKS_TRAINS) {
		pass->verdict = STACKS_UNKNOWN;
		pass->samples = pass->training = pass->shared = 0;
		remember(evidence, counted, STACKS_UNKNOWN);
	}
	return trains && pass->verdict != STACKS_TRAINS;
}

static void add_sample(struct stacks_evidence *evidence, const struct py_counted *counted,
	const struct py_counted *live, size_t count, const struct py_sample *sample, bool trains, int64_t now_ns)
{
	/* One that is new may have begun after the sample, which then is of the pass before it. */
	bool is_new = !find_pass(evidence, counted->serial);
	struct stacks_pass *pass = get_pass(evidence, counted, now_ns);
	if (is_at_rest(pass, counted, sample) || is_new)
		return;
	if (is_of_trainer(evidence, pass, counted, live, count, trains, now_ns))
		return;
	if (trains)
		pass->trained_at = counted->yielded;
	if (counted->yielded != pass->yielded)
		pass->in_batch = 0;
	pass->yielded = counted->yielded;
	if (pass->in_batch++ >= IN_BATCH_MAX && !(trains && pass->training == 0))
		return;
	pass->samples++;
	pass->training += trains;
	if (pass->verdict == STACKS_TRAINS) {
		evidence->samples++;
		evidence->training += trains;
	} else if (trains) {
		evidence->samples += pass->samples;
		evidence->training++;
		pass->verdict = STACKS_TRAINS;
		remember(evidence, counted, STACKS_TRAINS);
	}
}

/* A loader that is read in the same step as the active one trains too. */
static void add_shared(struct stacks_evidence *evidence, const struct py_counted *counted,
	const struct py_counted *active, const struct py_counted *live, size_t count, int64_t now_ns)
{
	struct stacks_pass *pass = get_pass(evidence, counted, now_ns);
	bool is_shared = counted->advanced_ns > active->before_ns && active->before_ns;
	if (is_of_trainer(evidence, pass, counted, live, count, is_shared, now_ns) || !is_shared ||
		pass->shared_at == active->yielded)
		return;
	pass->shared_at = active->yielded;
	if (++pass->shared < SHARED_MIN || pass->verdict == STACKS_TRAINS)
		return;
	pass->verdict = STACKS_TRAINS;
	remember(evidence, counted, STACKS_TRAINS);
}

void stacks_evidence_note(struct stacks_evidence *evidence, const struct py_sample *sample,
	const struct py_counted *live, size_t count, int64_t now_ns)
{
	bool trains = is_training(sample);
	const struct py_counted *active = find_active(live, count);
	if (sample->count == 0 || !active || (!trains && is_fetching(sample)))
		return;
	for (size_t i = 0; i < count; i++) {
		if (&live[i] == active || (live[i].advanced_ns == active->advanced_ns && !is_complete(&live[i])))
			add_sample(evidence, &live[i], live, count, sample, trains, now_ns);
		else if (trains)
			add_shared(evidence, &live[i], active, live, count, now_ns);
	}
}

/* -- verdicts -- */

/* Few samples say little: some more without training are assumed. */
static double training_ratio(const struct stacks_evidence *evidence)
{
	return (double)evidence->training / (double)(evidence->samples + SAMPLES_SPARE);
}

/* The mean time of the batches between the first and the last poll; 0 = unknown. */
static double batch_s_of(const struct stacks_pass *pass, const struct py_counted *counted)
{
	uint64_t batches = counted->yielded > pass->first ? counted->yielded - pass->first : 0;
	return batches >= PACE_MIN && counted->advanced_ns > pass->since_ns
		? (double)(counted->advanced_ns - pass->since_ns) * 1e-9 / (double)batches
		: 0;
}

static void note_pace(
	struct stacks_evidence *evidence, const struct stacks_pass *pass, const struct py_counted *counted)
{
	double batch_s = batch_s_of(pass, counted);
	if (batch_s > 0)
		evidence->batch_s += (batch_s - evidence->batch_s) / (evidence->batch_s > 0 ? 4 : 1);
}

/* Forward alone takes less than half of a step. */
static bool is_fast(
	const struct stacks_evidence *evidence, const struct stacks_pass *pass, const struct py_counted *counted)
{
	double batch_s = pass && pass->training == 0 && pass->shared == 0 ? batch_s_of(pass, counted) : 0;
	return batch_s > 0 && evidence->training >= LEARNT && batch_s < FAST_RATIO * evidence->batch_s;
}

/* A pass that was too short to be sampled, of a loader that is new: if it has far fewer batches than those that train,
 * it may validate as well: `run_epoch(loader, is_training)`. Of one that ended while it was found the length is
 * unknown. */
static bool is_doubtful(const struct stacks_evidence *evidence, const struct py_counted *counted)
{
	uint64_t longest = 0, length = counted->length ? counted->length : counted->yielded;
	for (size_t i = 0; i < evidence->known_count; i++)
		if (evidence->known[i].verdict == STACKS_TRAINS && evidence->known[i].length > longest)
			longest = evidence->known[i].length;
	return length > 0 && 2 * length <= longest;
}

/* A pass that was too short to be sampled, in a loop of its own: where another loop is known to train, this one does
 * not, or its backward would have been seen in one of its passes. A loader may be made anew for each pass. */
static bool is_beside_training(const struct stacks_evidence *evidence, const struct py_counted *counted)
{
	bool is_any_training = false;
	for (size_t i = 0; i < evidence->known_count && *counted->function; i++) {
		const struct stacks_known *known = &evidence->known[i];
		if (known->verdict != STACKS_TRAINS || !*known->function)
			continue;
		is_any_training = true;
		if (strcmp(known->function, counted->function) == 0 &&
			(!known->line || !counted->line || known->line == counted->line))
			return false;
	}
	return is_any_training && evidence->training >= LEARNT && training_ratio(evidence) >= TRAINING_RATIO_MIN;
}

/* Passes of a loop that have other lengths train where this one was called. */
static bool is_called_to_train(const struct stacks_evidence *evidence, const struct py_counted *counted)
{
	for (size_t i = 0; i < evidence->known_count && counted->caller; i++)
		if (evidence->known[i].verdict == STACKS_TRAINS && evidence->known[i].caller == counted->caller)
			return true;
	return false;
}

/* That a pass that trains has as many samples without training. */
static double chance_of_none(const struct stacks_evidence *evidence, const struct stacks_pass *pass)
{
	return pass && pass->training == 0 && pass->shared == 0 && !pass->is_unsure
		? pow(1 - training_ratio(evidence), pass->samples)
		: 1;
}

static double chance_max(const struct stacks_evidence *evidence, const struct py_counted *counted)
{
	double max = counted->is_over ? CHANCE_OVER_MAX : CHANCE_MAX;
	return is_called_to_train(evidence, counted) ? CHANCE_CALLED_MAX : max;
}

static void note_place(struct stacks_evidence *evidence, const struct py_counted *counted)
{
	struct stacks_known *known = *counted->function ? find_known(evidence, counted) : NULL;
	if (!known || !*known->function || known->placed_serial == counted->serial)
		return;
	known->placed++;
	known->placed_serial = counted->serial;
}

/* No sample has found the pass in a loop so far, and its loader may be read in several: `accuracy(train_loader)`. */
static bool is_unplaced(const struct stacks_evidence *evidence, const struct py_counted *counted)
{
	const struct stacks_known *one = NULL;
	for (size_t i = 0; i < evidence->known_count && !*counted->function; i++) {
		const struct stacks_known *known = &evidence->known[i];
		if (known->sampler != counted->sampler || !*known->function)
			continue;
		if (one && one->verdict != known->verdict)
			return true;
		one = known;
	}
	return one && one->placed < PLACED_MIN && !counted->is_over;
}

/* pmtop was started in this pass, and no sample has found any training so far. */
static bool is_joined(const struct stacks_evidence *evidence, const struct stacks_pass *pass)
{
	return pass && pass->serial == evidence->first_serial && pass->first > 1 && evidence->training == 0;
}

static enum stacks_verdict judge(
	struct stacks_evidence *evidence, struct stacks_pass *pass, const struct py_counted *counted)
{
	const struct stacks_known *known = find_known(evidence, counted);
	double chance = chance_of_none(evidence, pass);
	bool is_long = pass && pass->yielded - pass->first >= BATCHES_MIN;
	if (pass && pass->verdict == STACKS_TRAINS)
		return STACKS_TRAINS;
	if (is_unplaced(evidence, counted))
		return STACKS_UNKNOWN;
	if (known && known->verdict == STACKS_TRAINS)
		return is_long && chance < CHANCE_KNOWN_MAX ? STACKS_VALIDATES : STACKS_TRAINS;
	if (is_long && chance < chance_max(evidence, counted))
		return STACKS_VALIDATES;
	if ((!known || known->verdict == STACKS_UNKNOWN) && counted->is_over && !is_called_to_train(evidence, counted) &&
		(is_beside_training(evidence, counted) || is_fast(evidence, pass, counted)))
		return STACKS_VALIDATES;
	return known ? known->verdict : STACKS_UNKNOWN;
}

void stacks_evidence_judge(struct stacks_evidence *evidence, struct py_counted *counted, int64_t now_ns)
{
	struct stacks_pass *pass =
		counted->is_over ? find_pass(evidence, counted->serial) : get_pass(evidence, counted, now_ns);
	note_place(evidence, counted);
	enum stacks_verdict verdict = judge(evidence, pass, counted);
	counted->trains = verdict == STACKS_TRAINS;
	counted->evaluates = verdict == STACKS_VALIDATES;
	bool is_unknown = verdict == STACKS_UNKNOWN,
		 may_validate = is_unknown && (is_doubtful(evidence, counted) || is_unplaced(evidence, counted));
	counted->is_undecided = is_unknown && !counted->is_over && now_ns - pass->since_ns < UNDECIDED_NS &&
		(training_ratio(evidence) >= TRAINING_RATIO_MIN || may_validate || is_joined(evidence, pass));
	counted->is_unknown = may_validate && counted->is_over;
	if (is_unknown && pass && pass->is_seldom) {
		counted->is_undecided = !counted->is_over;
		counted->is_unknown = counted->is_over;
	}
	if (counted->is_over && counted->trains && pass)
		note_pace(evidence, pass, counted);
	const struct stacks_known *known = counted->evaluates ? find_known(evidence, counted) : NULL;
	if (counted->evaluates && (!known || known->verdict == STACKS_UNKNOWN))
		remember(evidence, counted, verdict);
	bool is_learning = evidence->training < LEARNT && counted->yielded > 0;
	if (pass && !counted->is_over && (is_learning || counted->is_undecided))
		evidence->wanted_until_ns = pass->since_ns + WANTED_NS;
}

void stacks_evidence_judge_loop(struct stacks_evidence *evidence, struct py_counted *counted, int64_t now_ns)
{
	stacks_evidence_judge(evidence, counted, now_ns);
	if (counted->trains || counted->evaluates)
		return;
	const struct stacks_pass *pass = find_pass(evidence, counted->serial);
	counted->is_undecided = !counted->is_over && pass && now_ns - pass->since_ns < UNDECIDED_NS;
	bool is_likely = is_called_to_train(evidence, counted) && chance_of_none(evidence, pass) >= CHANCE_OVER_MAX;
	counted->is_unknown = counted->is_over && !is_likely;
	counted->trains = !counted->is_unknown && !counted->is_undecided;
	if (counted->is_over && pass)
		remember(evidence, counted, STACKS_UNKNOWN)->samples = pass->samples;
}

size_t stacks_evidence_trainers(const struct stacks_evidence *evidence, char (*out)[PY_FUNCTION_SIZE])
{
	size_t count = 0;
	for (size_t i = 0; i < evidence->known_count; i++)
		if (evidence->known[i].verdict == STACKS_TRAINS)
			memcpy(out[count++], evidence->known[i].function, sizeof *out);
	return count;
}

void stacks_evidence_judge_nested(struct py_counted *counted, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++) {
			struct py_counted *inner = &counted[i];
			const struct py_counted *outer = &counted[k];
			if (inner->is_over && !inner->trains && outer->trains && !outer->is_over &&
				outer->yielded < outer->length && outer->serial < inner->serial && outer->advanced_ns < inner->found_ns)
				inner->evaluates = true;
		}
}
