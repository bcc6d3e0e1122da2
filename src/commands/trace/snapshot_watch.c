#include "src/commands/trace/snapshot_watch.h"

#include <stdio.h>
#include <string.h>

#include "src/base/clock.h"

#define SEARCH_NS (3 * NS_PER_S)

bool snapshot_watch_step(struct snapshot_watch *watch, const struct session *session, struct screen *screen, pid_t pid)
{
	struct snapshot_inset *inset = &watch->inset;
	struct reason reason = { "", "" };
	bool is_live = !session->player && !session->target.synthetic;
	bool has_more = watch->asked != session->request.snapshot_count;
	if (is_live && !inset->search && (has_more || screen_shows_memory(screen))) {
		snapshot_inset_search(inset, pid, clock_monotonic_ns(), has_more ? 0 : SEARCH_NS);
		watch->asked = session->request.snapshot_count;
	}
	if (!snapshot_inset_step(inset, &reason))
		return false;
	if (reason.text[0])
		screen_message(screen, reason.text);
	screen_set_snapshot(screen, inset->digest);
	if (watch->is_wanted_now && inset->digest && screen_shows_memory(screen))
		screen_toggle_snapshot(screen);
	watch->is_wanted_now = false;
	return true;
}

bool snapshot_watch_open(struct snapshot_watch *watch, const struct session *session, struct screen *screen, pid_t pid)
{
	const struct live_request *request = &session->request;
	char text[160];
	if (!request->is_snapshot_newest && !(screen_shows_memory(screen) && (watch->inset.digest || !request->trace[0])))
		return false;
	if (watch->inset.digest) {
		screen_toggle_snapshot(screen);
		return true;
	}
	watch->is_wanted_now = watch->inset.search != NULL;
	snprintf(text, sizeof text,
		watch->inset.search ? "the memory snapshot is being read"
							: "no memory snapshot yet; of a PyTorch program pmtop snapshot %d takes one",
		(int)pid);
	screen_message(screen, text);
	return true;
}
