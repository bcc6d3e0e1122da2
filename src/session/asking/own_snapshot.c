#include "src/session/asking/own_snapshot.h"

#include "src/base/clock.h"

static bool is_askable(const struct run *run) { return run->is_used && run->is_live && run->pid > 0; }

/* A warning about the whole model is about the first run that can be asked. */
static pid_t process_of(const struct alert *alert, const struct model *model)
{
	if (alert->run < model->run_count && is_askable(&model->runs[alert->run]))
		return model->runs[alert->run].pid;
	for (unsigned i = 0; i < model->run_count && alert->is_of_model; i++)
		if (is_askable(&model->runs[i]))
			return model->runs[i].pid;
	return 0;
}

pid_t own_snapshot_wish(
	struct own_snapshots *own, const struct model *model, const struct alerts *alerts, const char **why)
{
	bool is_too_soon = own->asked_ns && model->now_ns - own->asked_ns < OWN_SNAPSHOT_EVERY_S * NS_PER_S;
	if (own->taken >= OWN_SNAPSHOTS_MAX || is_too_soon || model->target_ended)
		return 0;
	for (size_t i = 0; i < alerts->count; i++) {
		const struct alert *alert = &alerts->list[i];
		pid_t pid = alert->is_raised && alert->action == ALERT_TAKES_SNAPSHOT ? process_of(alert, model) : 0;
		if (!pid)
			continue;
		own->asked_ns = model->now_ns;
		*why = alert->message;
		return pid;
	}
	return 0;
}
