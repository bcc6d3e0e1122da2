#include "src/sources/inferred/stacks_missing.h"

#include <string.h>

#include "src/base/clock.h"
#include "src/sources/inferred/stacks_stuck.h"
#include "src/sources/python/remote.h"

#define SETTLED_NS (2 * NS_PER_S)

/* Once any process was sampled, only a blocked read is reported. */
static bool find_reason(const struct stacks_missing *missing, int64_t open_ns, bool has_any, struct reason *out)
{
	int64_t stuck_s = missing->stuck_since_ns ? (clock_monotonic_ns() - missing->stuck_since_ns) / NS_PER_S : 0;
	if (stuck_s > 0) {
		reason_set(out, STATUS_IO, "a page may be blocked (userfaultfd, FUSE, network disk); pmtop retries",
			"stack reader stuck %lld s: the memory of process %d cannot be read", (long long)stuck_s,
			(int)missing->stuck_pid);
		return true;
	}
	*out = missing->why;
	return !has_any && missing->status != STATUS_OK && open_ns > SETTLED_NS;
}

void stacks_missing_note_waiting(struct stacks_missing *missing, struct remote_reader *reader, int64_t now_ns)
{
	pid_t pid;
	int64_t since_ns = remote_reader_waits_since_ns(reader, &pid);
	if (!since_ns || now_ns - since_ns < STACKS_STUCK_LIMIT_NS)
		return;
	missing->stuck_since_ns = since_ns;
	missing->stuck_pid = pid;
}

void stacks_missing_emit(
	struct stacks_missing *missing, int64_t open_ns, bool has_any, int64_t now_ns, struct sample_set *out)
{
	struct reason why;
	bool is_missing = find_reason(missing, open_ns, has_any, &why);
	if (is_missing && (!missing->is_emitted || strcmp(missing->emitted.text, why.text) != 0)) {
		sample_set_missing(out, now_ns, "stacks", why.text, why.remedy);
		missing->emitted = why;
	} else if (!is_missing && missing->is_emitted) {
		sample_set_missing(out, now_ns, "stacks", NULL, NULL);
	}
	missing->is_emitted = is_missing;
	if (strcmp(missing->no_steps, missing->emitted_no_steps) == 0)
		return;
	sample_set_missing(out, now_ns, "steps", *missing->no_steps ? missing->no_steps : NULL, NULL);
	memcpy(missing->emitted_no_steps, missing->no_steps, sizeof missing->emitted_no_steps);
}
