#include "src/model/run/steps/traced_steps.h"

#include "src/model/run/published.h"
#include "src/model/run/run_private.h"

void run_note_traced(struct run *run, int64_t time_ns, bool is_traced)
{
	struct run_private *priv = run->priv;
	bool goes_on = priv->traced_until_ns == INT64_MAX;
	if (is_traced && !goes_on) {
		priv->traced_from_ns = time_ns;
		priv->traced_until_ns = INT64_MAX;
	} else if (!is_traced && goes_on) {
		priv->traced_until_ns = time_ns;
	}
}

uint32_t run_kind_of(struct run *run, const struct batch *batch, uint32_t published)
{
	const struct run_private *priv = run->priv;
	if (batch->end_ns <= priv->traced_from_ns || batch->begin_ns >= priv->traced_until_ns)
		return published;
	if (!priv->profile) /* the program has no such name: ids of names begin with 1 */
		run_set_name(run, NAMES_MAX, "profile");
	return priv->profile;
}
