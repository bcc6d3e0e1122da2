#include "src/session/children/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/base/buffer.h"
#include "src/base/clock.h"
#include "src/base/formats/json.h"
#include "src/base/text.h"
#include "src/rules/alerts_list.h"
#include "src/session/children/spawn.h"

enum { RUNNING_MAX = 64, REPORTED_MAX = 2 * ALERTS_MAX, LIMITS_MAX = 256, RULE_SIZE = 48 };

#define CLOSE_AFTER_NS (2 * NS_PER_S)

struct reported {
	char rule[RULE_SIZE];
	unsigned run;
	uint32_t subject;
	int64_t since_ns;
	bool is_raised;
};
struct limit {
	char rule[RULE_SIZE];
	int64_t started_ns;
};
struct running {
	pid_t pid;
	int64_t since_ns;
	bool is_killed;
};

struct hooks {
	const struct settings *settings;
	size_t reported_count, limit_count, running_count;
	struct reported reported[REPORTED_MAX];
	struct limit limits[LIMITS_MAX];
	struct running running[RUNNING_MAX];
	bool is_waiting;                       /* a hook has to be started later */
	bool is_failed[SEVERITY_CRITICAL + 1]; /* by severity: starting it failed, and a warning says so */
};

/* The values that a hook gets about one warning. */
struct event {
	const char *severity, *state, *rule;
	char message[256], run[128], pid[16];
	struct buffer evidence;
};

static const struct setting_command *command_of(const struct settings *settings, enum severity severity)
{
	return severity == SEVERITY_INFO   ? &settings->on_info
		: severity == SEVERITY_WARNING ? &settings->on_warning
									   : &settings->on_critical;
}

struct hooks *hooks_new(const struct settings *settings)
{
	if (!settings->on_info.count && !settings->on_warning.count && !settings->on_critical.count)
		return NULL;
	struct hooks *hooks = calloc(1, sizeof *hooks);
	if (hooks)
		hooks->settings = settings;
	return hooks;
}

/* -- arguments and environment -- */

static void describe(const struct alert *alert, const struct model *model, const char *state, struct event *event)
{
	const struct run *run = alert->run < model->run_count ? &model->runs[alert->run] : NULL;
	const char *name = run ? run->name : model->command;
	int pid = run && run->pid ? run->pid : run && run->inner_pid ? run->inner_pid : model->target_pid;
	*event = (struct event){
		.severity = severity_name(alert->severity), .state = state, .rule = alert->rule, .evidence = BUFFER_INIT
	};
	text_clean(event->message, sizeof event->message, alert->message, strlen(alert->message));
	text_clean(event->run, sizeof event->run, name, strlen(name));
	snprintf(event->pid, sizeof event->pid, "%d", pid);
	struct json json = { .out = &event->evidence };
	json_open_object(&json, NULL);
	for (size_t i = 0; i < alert->evidence_count; i++)
		json_number(&json, alert->evidence[i].key, alert->evidence[i].value);
	json_close_object(&json);
}

static const char *value_of(const struct event *event, const char *name, size_t length)
{
	const struct {
		const char *name, *value;
	} values[] = {
		{ "rule", event->rule },
		{ "message", event->message },
		{ "severity", event->severity },
		{ "state", event->state },
		{ "pid", event->pid },
		{ "run", event->run },
	};
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		if (strlen(values[i].name) == length && memcmp(values[i].name, name, length) == 0)
			return values[i].value;
	return NULL;
}

/* Replaces {message} and the like in one pass, so that braces in a value stay text. */
static void fill_in(struct buffer *out, const char *word, const struct event *event)
{
	for (const char *at = word; *at;) {
		size_t length = *at == '{' ? strcspn(at + 1, "}") : 0;
		const char *value = *at == '{' && at[1 + length] == '}' ? value_of(event, at + 1, length) : NULL;
		if (value) {
			/* A value must not become an option of the program. */
			if (at == word && value[0] == '-')
				buffer_puts(out, " ");
			buffer_puts(out, value);
			at += length + 2;
		} else {
			buffer_add(out, at++, 1);
		}
	}
}

static void set_environment(struct spawn *spawn, const struct event *event)
{
	const struct {
		const char *name, *value;
	} values[] = {
		{ "PMTOP_RULE", event->rule },
		{ "PMTOP_MESSAGE", event->message },
		{ "PMTOP_SEVERITY", event->severity },
		{ "PMTOP_STATE", event->state },
		{ "PMTOP_PID", event->pid },
		{ "PMTOP_RUN", event->run },
		{ "PMTOP_EVIDENCE", event->evidence.data ? event->evidence.data : "{}" },
	};
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		spawn_set(spawn, values[i].name, values[i].value);
}

/* Returns 0 or an errno. */
static int start(const struct setting_command *command, const struct event *event, pid_t *pid)
{
	struct spawn spawn = { 0 };
	const char *word = command->text;
	for (unsigned i = 0; i < command->count; i++, word += strlen(word) + 1) {
		struct buffer filled = BUFFER_INIT;
		fill_in(&filled, word, event);
		spawn_add(&spawn, filled.data ? filled.data : "");
		buffer_release(&filled);
	}
	set_environment(&spawn, event);
	int error = spawn_start(&spawn, pid);
	spawn_release(&spawn);
	return error;
}

/* -- reported warnings -- */

static struct reported *find_reported(struct hooks *hooks, const struct alert *alert)
{
	for (size_t i = 0; i < hooks->reported_count; i++) {
		struct reported *reported = &hooks->reported[i];
		if (reported->run == alert->run && reported->subject == alert->subject &&
			strcmp(reported->rule, alert->rule) == 0)
			return reported;
	}
	return NULL;
}

/* Reuses the entry of a cleared warning. Returns NULL if all entries are still raised. */
static struct reported *note_reported(struct hooks *hooks, const struct alert *alert)
{
	struct reported *reported = find_reported(hooks, alert);
	for (size_t i = 0; i < hooks->reported_count && !reported; i++)
		reported = hooks->reported[i].is_raised ? NULL : &hooks->reported[i];
	if (!reported && hooks->reported_count < REPORTED_MAX)
		reported = &hooks->reported[hooks->reported_count++];
	if (reported) {
		*reported = (struct reported){ .run = alert->run, .subject = alert->subject };
		snprintf(reported->rule, sizeof reported->rule, "%s", alert->rule);
	}
	return reported;
}

static bool is_too_soon(struct hooks *hooks, const char *rule, int64_t now_ns)
{
	for (size_t i = 0; i < hooks->limit_count; i++)
		if (strcmp(hooks->limits[i].rule, rule) == 0)
			return seconds_between(hooks->limits[i].started_ns, now_ns) < hooks->settings->hook_min_s;
	return false;
}

static void note_start(struct hooks *hooks, const char *rule, int64_t now_ns)
{
	size_t at = 0;
	while (at < hooks->limit_count && strcmp(hooks->limits[at].rule, rule) != 0)
		at++;
	if (at == LIMITS_MAX)
		at = 0;
	hooks->limit_count += at == hooks->limit_count;
	snprintf(hooks->limits[at].rule, sizeof hooks->limits[at].rule, "%s", rule);
	hooks->limits[at].started_ns = now_ns;
}

/* -- starting and ending -- */

static void say_failed(
	struct hooks *hooks, struct alerts *alerts, const struct model *model, enum severity severity, int error)
{
	struct reason reason;
	if (hooks->is_failed[severity])
		return;
	hooks->is_failed[severity] = true;
	reason_set(&reason, STATUS_IO, "check its path in pmtop.yaml and its permissions; pmtop goes on without it",
		"cannot start the hook on_%s: %.80s: %s", severity_name(severity), command_of(hooks->settings, severity)->text,
		strerror(error));
	alerts_note(alerts, model->now_ns, "hook", SEVERITY_WARNING, &reason);
}

/* The state to report to a warning's hook now: "raised", "cleared", or NULL for none. */
static const char *new_state(struct hooks *hooks, const struct alert *alert)
{
	const struct reported *reported = find_reported(hooks, alert);
	bool was_raised = reported && reported->is_raised;
	if (!command_of(hooks->settings, alert->severity)->count || hooks->is_failed[alert->severity] ||
		strcmp(alert->rule, "hook") == 0)
		return NULL;
	/* A warning that was cleared and raised again since the last call is reported as raised. */
	if (alert->is_raised)
		return was_raised && reported->since_ns == alert->since_ns ? NULL : "raised";
	return was_raised ? "cleared" : NULL;
}

/* Returns false if the hook has to wait. */
static bool report(struct hooks *hooks, const struct alert *alert, const struct model *model, const char *state,
	int64_t now_ns, int *error)
{
	struct event event;
	pid_t pid = 0;
	if (hooks->running_count >= (size_t)hooks->settings->hooks_at_most || hooks->running_count == RUNNING_MAX ||
		(alert->is_raised && is_too_soon(hooks, alert->rule, now_ns)))
		return false;
	struct reported *reported = note_reported(hooks, alert);
	if (!reported)
		return false;
	describe(alert, model, state, &event);
	*error = start(command_of(hooks->settings, alert->severity), &event, &pid);
	buffer_release(&event.evidence);
	reported->is_raised = alert->is_raised;
	reported->since_ns = alert->since_ns;
	if (alert->is_raised)
		note_start(hooks, alert->rule, now_ns);
	if (*error == 0)
		hooks->running[hooks->running_count++] = (struct running){ .pid = pid, .since_ns = now_ns };
	return true;
}

/* Each hook has its own process group, so that killing it also ends the programs that it started. */
static void reap(struct hooks *hooks, int64_t max_ns, int64_t now_ns)
{
	size_t retained = 0;
	for (size_t i = 0; i < hooks->running_count; i++) {
		struct running *running = &hooks->running[i];
		if (!running->is_killed && now_ns - running->since_ns > max_ns) {
			kill(-running->pid, SIGKILL);
			running->is_killed = true;
		}
		pid_t ended = waitpid(running->pid, NULL, WNOHANG);
		if (ended == 0 || (ended < 0 && errno == EINTR))
			hooks->running[retained++] = *running;
	}
	hooks->running_count = retained;
}

void hooks_update(struct hooks *hooks, struct alerts *alerts, const struct model *model, int64_t now_ns)
{
	if (!hooks)
		return;
	reap(hooks, (int64_t)(hooks->settings->hook_max_s * 1e9), now_ns);
	hooks->is_waiting = false;
	for (size_t i = 0; i < alerts->count; i++) {
		const struct alert *alert = &alerts->list[i];
		const char *state = new_state(hooks, alert);
		enum severity severity = alert->severity;
		int error = 0;
		if (!state)
			continue;
		if (!report(hooks, alert, model, state, now_ns, &error))
			hooks->is_waiting = true;
		/* say_failed changes the list of alerts: the rest has to wait for the next call. */
		if (error) {
			say_failed(hooks, alerts, model, severity, error);
			return;
		}
	}
}

bool hooks_are_busy(const struct hooks *hooks) { return hooks && (hooks->running_count > 0 || hooks->is_waiting); }

void hooks_close(struct hooks *hooks)
{
	if (!hooks)
		return;
	int64_t begun_ns = clock_monotonic_ns();
	while (hooks->running_count > 0) {
		int64_t now_ns = clock_monotonic_ns();
		if (now_ns - begun_ns > CLOSE_AFTER_NS)
			reap(hooks, -1, now_ns);
		else
			reap(hooks, (int64_t)(hooks->settings->hook_max_s * 1e9), now_ns);
		if (hooks->running_count > 0)
			nanosleep(&(struct timespec){ .tv_nsec = 10 * NS_PER_MS }, NULL);
	}
	free(hooks);
}
