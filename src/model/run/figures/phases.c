#include "src/model/run/figures/phases.h"

#include "src/model/run/run_private.h"

/* Rows reserved for unattributed and between. */
enum { PHASES_OF_ITS_OWN = 2 };

const struct phase_time *phase_find(const struct phase_time *phases, unsigned count, uint32_t name, uint32_t parent)
{
	for (unsigned i = 0; i < count; i++)
		if (phases[i].name == name && phases[i].parent == parent)
			return &phases[i];
	return NULL;
}

static struct phase_time *find_phase(struct batch *batch, uint32_t name, uint32_t parent)
{
	return (struct phase_time *)phase_find(batch->phases, batch->phase_count, name, parent);
}

static void remove_phase(struct batch *batch, struct phase_time *phase)
{
	struct phase_time *end = batch->phases + batch->phase_count;
	for (; phase + 1 < end; phase++)
		phase[0] = phase[1];
	batch->phase_count--;
}

/* An outermost phase replaces the last nested one; a nested one is dropped. */
static bool make_room(struct batch *batch, uint32_t parent)
{
	if (batch->phase_count < RUN_PHASES_MAX - PHASES_OF_ITS_OWN)
		return true;
	for (unsigned i = batch->phase_count; parent == NAME_NONE && i-- > 0;) {
		if (batch->phases[i].parent == NAME_NONE)
			continue;
		remove_phase(batch, &batch->phases[i]);
		batch->phases_left_out++;
		return true;
	}
	return false;
}

static float add_known(float sum, double more) { return isfinite(more) ? (isnan(sum) ? 0 : sum) + (float)more : sum; }

bool batch_add_phase(
	struct batch *batch, uint32_t name, uint32_t parent, double seconds, double cpu_s, double memory_bytes)
{
	struct phase_time *phase = find_phase(batch, name, parent);
	if (!phase) {
		if (!make_room(batch, parent)) {
			batch->phases_left_out++;
			return false;
		}
		phase = &batch->phases[batch->phase_count++];
		*phase = (struct phase_time){ .name = name, .parent = parent, .cpu_s = NAN, .memory_bytes = NAN };
	}
	phase->seconds += (float)seconds;
	phase->cpu_s = add_known(phase->cpu_s, cpu_s);
	phase->memory_bytes = add_known(phase->memory_bytes, memory_bytes);
	return true;
}

static struct phase_time *own_phase(struct batch *batch, uint32_t name, double seconds)
{
	struct phase_time *phase = find_phase(batch, name, NAME_NONE);
	if (phase || batch->phase_count == RUN_PHASES_MAX || seconds <= 0)
		return phase;
	phase = &batch->phases[batch->phase_count++];
	*phase = (struct phase_time){ .name = name, .parent = NAME_NONE, .cpu_s = NAN, .memory_bytes = NAN };
	return phase;
}

void batch_set_unattributed(struct batch *batch, double seconds)
{
	struct phase_time *phase = own_phase(batch, NAME_UNATTRIBUTED, seconds);
	if (phase)
		phase->seconds = (float)seconds;
}

void batch_add_between(struct batch *batch, uint32_t name, double seconds)
{
	struct phase_time *phase = own_phase(batch, name, seconds);
	if (phase)
		phase->seconds += (float)seconds;
}
