#include "src/sources/inferred/stacks_stuck.h"

#include "src/base/clock.h"

#define STUCK_MIN_NS (1 * NS_PER_S)
#define STUCK_MAX_NS (30 * NS_PER_S)
#define SEARCH_RATIO 0.05
#define SEARCH_BURST_NS (500.0 * (double)NS_PER_MS)

bool stacks_stuck_note(struct stacks_stuck *stuck, struct remote_reader *reader, int64_t now_ns)
{
	int64_t since_ns = remote_reader_stuck_ns(reader);
	if (!since_ns)
		return false;
	/* A read that sometimes returns is treated like one that never does. */
	bool is_again = stuck->since_ns || (stuck->after_ns && now_ns - stuck->ended_ns < STUCK_MAX_NS);
	stuck->child = remote_reader_resume(reader);
	stuck->since_ns = stuck->since_ns ? stuck->since_ns : since_ns;
	stuck->after_ns = !is_again              ? STUCK_MIN_NS
		: stuck->after_ns < STUCK_MAX_NS / 2 ? 2 * stuck->after_ns
											 : STUCK_MAX_NS;
	stuck->try_ns = now_ns + stuck->after_ns;
	return true;
}

bool stacks_stuck_is_due(struct stacks_stuck *stuck, struct remote_reader *reader, int64_t now_ns)
{
	if (stuck->try_ns > now_ns)
		return false;
	if (!remote_reader_is_left(reader, stuck->child))
		return true;
	stuck->try_ns = now_ns + STUCK_MIN_NS;
	return false;
}

void stacks_stuck_end(struct stacks_stuck *stuck, int64_t now_ns)
{
	stuck->since_ns = 0;
	stuck->child = 0;
	stuck->ended_ns = now_ns;
}

void stacks_search_init(struct stacks_search *search, int64_t now_ns)
{
	*search = (struct stacks_search){ SEARCH_BURST_NS, now_ns };
}

bool stacks_search_may(struct stacks_search *search, int64_t now_ns)
{
	double credit_ns = search->credit_ns + (double)(now_ns - search->at_ns) * SEARCH_RATIO;
	search->credit_ns = credit_ns < SEARCH_BURST_NS ? credit_ns : SEARCH_BURST_NS;
	search->at_ns = now_ns;
	return search->credit_ns > 0;
}

void stacks_search_pay(struct stacks_search *search, int64_t cpu_ns) { search->credit_ns -= (double)cpu_ns; }
