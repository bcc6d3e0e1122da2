#include "src/session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/explain/explain.h"
#include "src/explain/explain_flagged.h"
#include "src/model/ranks/rank_places.h"
#include "src/model/ranks/ranks.h"
#include "src/rules/alerts_list.h"
#include "src/rules/rule_levels.h"
#include "src/session/children/hooks.h"
#include "src/session/damage.h"
#include "src/session/runs/runs.h"
#include "src/session/session_died.h"
#include "src/session/session_profile.h"
#include "src/session/session_record.h"
#include "src/session/source_choice.h"
#include "src/sources/synthetic/synthetic.h"
#include "ui/widgets/view.h"

/* Rules need not be evaluated more often than a person reads warnings; while seeking, rarely. */
#define JUDGE_EVERY_NS (900 * NS_PER_MS)
#define JUDGE_SELDOM_NS (60 * NS_PER_S)
/* How long the first output waits for a source that is starting, and how often it is read meanwhile. */
#define START_MAX_NS (2 * NS_PER_S)
#define START_READ_NS (50 * NS_PER_MS)

/* -s: pmtop watches a live run through its process, an ended one through the file of its region. */
static enum status find_run(struct session *session, const char *name, pid_t *pid, struct reason *why_not)
{
	struct run_row *rows;
	size_t count = runs_find(NULL, &rows);
	const struct run_row *row = NULL;
	enum status status = runs_choose(rows, count, name, &row, why_not);
	struct stat file;
	if (status == STATUS_NOT_FOUND && stat(name, &file) == 0 && S_ISDIR(file.st_mode))
		reason_set(why_not, status, "name a recording in it, or a pid or run of pmtop list",
			"%.100s is a directory, not a recording", name);
	if (status == STATUS_OK) {
		snprintf(session->wanted_run, sizeof session->wanted_run, "%s", row->run);
		session->wanted_pid = row->pid;
		if (row->is_live && !row->is_elsewhere)
			*pid = row->pid;
		else
			snprintf(session->region_path, sizeof session->region_path, "%s", row->path);
	}
	free(rows);
	return status;
}

/* Sources may read a text until they end. */
struct chosen_loop {
	struct chosen_loop *next;
	char text[];
};

void session_choose_loop(struct session *session, const char *loop)
{
	struct chosen_loop *chosen = session->loops;
	while (chosen && strcmp(chosen->text, loop) != 0)
		chosen = chosen->next;
	if (!chosen && *loop && (chosen = malloc(sizeof *chosen + strlen(loop) + 1))) {
		chosen->next = session->loops;
		memcpy(chosen->text, loop, strlen(loop) + 1);
		session->loops = chosen;
	}
	session->choices.loop = chosen ? chosen->text : NULL;
}

static void free_loops(struct session *session)
{
	for (struct chosen_loop *loop = session->loops, *next; loop; loop = next) {
		next = loop->next;
		free(loop);
	}
	session->loops = NULL;
}

static void end_session(struct session *session)
{
	live_request_end(&session->request);
	if (session->collector)
		collector_stop(session->collector);
	session->choices.loop = NULL;
	free_loops(session);
	player_close(session->player);
	recording_end(&session->recording);
	model_free(session->model);
	hooks_close(session->hooks);
	alerts_release(&session->alerts);
	rule_book_free(session->rules);
	sample_set_release(&session->set);
	session->collector = NULL;
	session->player = NULL;
	session->model = NULL;
	session->hooks = NULL;
	session->rules = NULL;
}

static void note_faults(struct session *session, const struct rule_book *rules)
{
	const struct reason *faults;
	size_t count = rules ? rule_book_faults(rules, &faults) : 0;
	for (size_t i = 0; i < count; i++)
		alerts_note(&session->alerts, clock_monotonic_ns(), "rule_file", SEVERITY_WARNING, &faults[i]);
}

/* A faulty rule file is ignored; its fault is printed here and shown as a warning. */
static void read_rules(struct session *session)
{
	char folder[4096];
	session->rules = rule_book_new();
	if (!session->rules)
		return;
	if (rule_book_path(folder, sizeof folder) == STATUS_OK)
		rule_book_load_folder(session->rules, folder);
	rule_book_set_levels(session->rules, &session->settings.levels);
	session->settings.rules = session->rules;
	const struct reason *faults;
	size_t count = rule_book_faults(session->rules, &faults);
	for (size_t i = 0; i < count; i++)
		command_fail(STATUS_INVALID, &faults[i]);
	note_faults(session, session->rules);
}

/* Refuses an unknown --demo here, because the collector would retry a source that fails. */
static enum status check_synthetic(const char *scenario, struct reason *why_not)
{
	struct synthetic *synthetic = NULL;
	enum status status = synthetic_new(scenario, 0, &synthetic, why_not);
	synthetic_free(synthetic);
	return status;
}

static enum status start_collector(struct session *session, const struct options *options, struct reason *why_not)
{
	static const struct source *const synthetic[] = { &synthetic_source };
	const struct source *chosen[SOURCE_CHOICE_MAX];
	unsigned count;
	int64_t period_ns = (int64_t)(session->settings.refresh_s * (double)NS_PER_S);
	enum status status = source_choice(options->only, chosen, &count, why_not);
	if (status != STATUS_OK)
		return status;
	if (session->target.synthetic)
		return collector_start_with(synthetic, 1, &session->target, period_ns, &session->collector, why_not);
	return collector_start_with(chosen, count, &session->target, period_ns, &session->collector, why_not);
}

/* The owner that a region's file must have: root may read the files of all users, others only their own. */
static uid_t region_owner(const char *path)
{
	struct stat file;
	return geteuid() == 0 && stat(path, &file) == 0 ? file.st_uid : geteuid();
}

static void set_choices(struct session *session, const struct options *options)
{
	const struct settings *settings = &session->settings;
	struct source_choices *choices = &session->choices;
	const char *word = settings->counter_events.text;
	choices->no_nvml = !settings->nvml;
	choices->nvml_path = getenv("PMTOP_NVML");
	choices->program = "/proc/self/exe";
	choices->config = options->config;
	choices->wants_counters = settings->counters_always;
	choices->stacks_hz = settings->stacks_hz;
	choices->loop = options->loop;
	for (unsigned i = 0; i < settings->counter_events.count && i < CHOSEN_EVENTS_MAX; i++, word += strlen(word) + 1)
		choices->events[choices->event_count++] = word;
	session->target.choices = choices;
}

static void set_model_options(struct model_options *out, const struct settings *settings)
{
	model_options_default(out);
	out->flag_mad = settings->flag_mad;
	out->flag_ratio = settings->flag_ratio;
	out->flag_after = (unsigned)settings->flag_after;
	out->flag_window = (unsigned)settings->flag_window;
	out->warmup_max = (unsigned)settings->warmup_max;
	out->grid_g_per_kwh = settings->grid_g_per_kwh > 0 ? settings->grid_g_per_kwh : NAN;
}

/* For commands that may print only once: waits until all sources have started. A screen fills in as they start. */
static void wait_for_starting(struct session *session)
{
	int64_t now_ns = clock_monotonic_ns(), until_ns = now_ns + START_MAX_NS,
			period_ns = (int64_t)(session->settings.refresh_s * (double)NS_PER_S);
	if (session->player || !collector_is_starting(session->collector))
		return;
	/* The collector notices a started source only when it reads, and -d may be long. */
	collector_set_period(session->collector, period_ns < START_READ_NS ? period_ns : START_READ_NS);
	for (; now_ns < until_ns && !session_has_ended(session); now_ns = clock_monotonic_ns()) {
		bool is_starting = collector_is_starting(session->collector);
		while (session_step(session))
			continue;
		if (!is_starting)
			break;
		session_wait(session, (int)((until_ns - now_ns) / NS_PER_MS) + 1);
	}
	collector_set_period(session->collector, period_ns);
}

static enum exit_code code_of_child(int status)
{
	return (enum exit_code)(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/* A command may exit before pmtop can watch it: pmtop then returns its status. */
static bool has_ended_at_once(struct session *session, const char *name, enum exit_code *code)
{
	int status;
	if (!session->launch.child || waitpid(session->launch.child, &status, WNOHANG) != session->launch.child)
		return false;
	launch_python_end(&session->launch.python);
	kineto_idle_close(&session->launch.kineto);
	relay_end(&session->launch.relay);
	session_died_take(session);
	session_died_end(session, status);
	fprintf(stderr, "pmtop: %.100s exited before pmtop could watch it\n", name);
	if (session->launch.log[0])
		fprintf(stderr, "pmtop: its output is in %s\n", session->launch.log);
	*code = code_of_child(status) == EXIT_OK ? EXIT_ENDED : code_of_child(status);
	return true;
}

/* Opens the target: a recording, a command to start, a process, a run by name, the file of a region or a synthetic
 * run. */
static enum status open_watched(struct session *session, const struct options *options, struct reason *reason)
{
	enum status status = STATUS_OK;
	pid_t pid = options->pid;
	session->says_end =
		options->command->traits & (options->child ? COMMAND_HAS_SCREEN : COMMAND_HAS_SCREEN | COMMAND_RECORDS);
	if (options->child) {
		bool is_ours = (options->command->traits & COMMAND_STREAMS) ||
			((options->command->traits & COMMAND_HAS_SCREEN) && isatty(STDOUT_FILENO));
		session->is_on_screen = is_ours && !(options->command->traits & COMMAND_STREAMS);
		status = launch_start(&session->launch, options->child, is_ours,
			(options->no_instrument ? 0 : LAUNCH_INSTRUMENTS) | (options->profile ? LAUNCH_PROFILES : 0), reason);
		pid = session->launch.child;
		if (status == STATUS_OK)
			session_died_begin(session, pid, options->child);
	} else if (options->run_name) {
		status = find_run(session, options->run_name, &pid, reason);
	}
	if (options->demo)
		status = check_synthetic(options->demo, reason);
	if (options->replay)
		return player_open(session->replayed = options->replay, 0, &session->player, reason);
	if (status != STATUS_OK)
		return status;
	if (pid) {
		status = target_open(&session->target, pid, "/proc", reason);
		/* collect says nothing: its standard error reaches the screen at the other end of ssh. */
		if (status == STATUS_OK && !options->child && !(options->command->traits & COMMAND_STREAMS))
			session_died_begin(session, pid, NULL);
		return status;
	}
	session->target = (struct target){ .proc_root = "/proc",
		.pidfd = -1,
		.synthetic = options->demo,
		.region_path = session->region_path,
		.uid = region_owner(session->region_path) };
	return STATUS_OK;
}

enum exit_code session_open(struct session *session, const struct options *options, const struct settings *settings)
{
	*session = (struct session){ .settings = *settings, .set = SAMPLE_SET_INIT, .target = { .pidfd = -1 } };
	session->recorder_options = (struct recorder_options){ .file_bytes = (uint64_t)options->file_bytes,
		.max_bytes = (uint64_t)options->record_bytes };
	struct reason reason = { 0 };
	enum status status = session_check_recording(session, options, &reason);
	if (status != STATUS_OK)
		return command_fail(status, &reason);
	status = open_watched(session, options, &reason);
	enum exit_code child_code;
	if (status != STATUS_OK)
		return has_ended_at_once(session, options->child ? options->child[0] : "", &child_code)
			? child_code
			: command_fail(status, &reason);

	set_choices(session, options);
	if (!(options->command->traits & COMMAND_STREAMS))
		read_rules(session);
	/* Only commands that watch until the run ends start hooks. */
	if (!session->player && (options->command->traits & COMMAND_MONITORS))
		session->hooks = hooks_new(&session->settings);
	session->slow = (struct slow_profile){ .after_flagged = settings->profile_slow || options->profile_slow,
		.limit = (unsigned)settings->profiles_at_most };
	set_model_options(&session->model_options, settings);
	double sla_s = session->rules ? rule_book_level(session->rules, "latency_over_sla") : NAN;
	if (sla_s > 0)
		session->model_options.sla_s = sla_s;
	session->model = model_new(&session->model_options);
	status = session->model ? STATUS_OK : reason_set(&reason, STATUS_NO_MEMORY, NULL, "out of memory");
	if (status == STATUS_OK && !session->player)
		status = session_begin_recording(session, options, &reason);
	if (status == STATUS_OK && !session->player)
		status = start_collector(session, options, &reason);
	if (status != STATUS_OK) {
		if (session->launch.child && kill(session->launch.child, SIGTERM) == 0)
			launch_wait(&session->launch);
		launch_python_end(&session->launch.python);
		target_close(&session->target);
		end_session(session);
		return command_fail(status, &reason);
	}
	/* Wait for the first set of a pipe; a screen is drawn without it. */
	while (!session_step(session) && session->player && !(options->command->traits & COMMAND_HAS_SCREEN) &&
		!session_has_ended(session))
		session_wait(session, -1);
	if (options->command->traits & COMMAND_AWAITS_SOURCES)
		wait_for_starting(session);
	return EXIT_OK;
}

/* No more sets will come. */
static bool has_all(const struct session *session)
{
	return session->player ? player_has_ended(session->player) : collector_has_ended(session->collector);
}

void session_apply(struct session *session, const struct sample_set *set)
{
	struct model *model = session->model;
	model_apply(model, set);
	explain_flagged(model);
	session->choices.seeks_lines = explain_seeks_lines(model);
	int64_t every_ns = model->now_ns < session->judge_from_ns ? JUDGE_SELDOM_NS : JUDGE_EVERY_NS;
	if (session->judged_ns && model->now_ns - session->judged_ns < every_ns && !model->target_ended &&
		!has_all(session))
		return;
	session->judged_ns = model->now_ns;
	alerts_update(&session->alerts, model, &session->settings);
	session_tick(session);
}

static bool has_published_run(const struct model *model)
{
	for (unsigned i = 0; i < model->run_count; i++)
		if (model->runs[i].is_used && !model->runs[i].is_counted)
			return true;
	return false;
}

static void show_news(struct session *session, const struct reason *news, bool is_noted, int64_t now_ns)
{
	const char *between = news->remedy[0] ? ": " : "";
	if (!session->is_on_screen) {
		fprintf(stderr, "pmtop: %s%s%s\n", news->text, between, news->remedy);
		return;
	}
	snprintf(session->news, sizeof session->news, "%s%s%s", news->text, between, news->remedy);
	if (is_noted)
		alerts_note(&session->alerts, now_ns, "launch", SEVERITY_INFO, news);
}

static bool report_launch(struct session *session, bool publishes, int64_t now_ns)
{
	struct reason news;
	bool is_failure;
	bool is_new = launch_python_news(&session->launch.python, publishes, now_ns, &news, &is_failure);
	session->choices.instrumented = session->launch.python.instrumented_count;
	if (!is_new)
		return false;
	show_news(session, &news, is_failure, now_ns);
	return true;
}

void session_tick(struct session *session)
{
	struct reason news;
	report_launch(session, has_published_run(session->model), clock_monotonic_ns());
	if (session->launch.child && launch_limit_log(&session->launch, &news))
		show_news(session, &news, true, clock_monotonic_ns());
	hooks_update(session->hooks, &session->alerts, session->model, clock_monotonic_ns());
}

int session_tick_ms(const struct session *session) { return hooks_are_busy(session->hooks) ? 200 : -1; }

void session_note_damage(struct session *session)
{
	const struct stream_losses *losses = session->player ? player_losses(session->player) : NULL;
	if (!losses)
		return;
	session->model->damaged_blocks = losses->blocks;
	session->model->damaged_bytes = losses->bytes;
}

bool session_take(struct session *session, struct sample_set *set)
{
	if (session->player) {
		bool is_taken = player_take(session->player, set);
		session_note_damage(session);
		return is_taken;
	}
	while (collector_take(session->collector, set)) {
		if (!set->is_snapshot)
			traced_add(&session->traced, &session->request, clock_monotonic_ns(), set);
		recording_note(&session->recording, session->collector, set, set->is_snapshot || !session->has_read);
		session->has_read = true;
		session_check_recording_file(session);
		if (!set->is_snapshot)
			return true;
	}
	return false;
}

bool session_step(struct session *session)
{
	if (!session_take(session, &session->set))
		return false;
	session_apply(session, &session->set);
	return true;
}

int session_fd(const struct session *session)
{
	return session->player ? player_fd(session->player) : collector_fd(session->collector);
}

int session_wait_ms(const struct session *session) { return session->player ? player_wait_ms(session->player) : -1; }

static int shorter_ms(int a, int b) { return a < 0 || (b >= 0 && b < a) ? b : a; }

bool session_wait(const struct session *session, int timeout_ms)
{
	struct pollfd waiting[] = { { .fd = session_fd(session), .events = POLLIN },
		{ .fd = session_profile_fd(session), .events = POLLIN } };
	int own_ms = session_wait_ms(session), most_ms = shorter_ms(own_ms, session_profile_ms(session));
	return (poll(waiting, 2, shorter_ms(timeout_ms, most_ms)) > 0 && waiting[0].revents) || own_ms >= 0 ||
		has_all(session);
}

bool session_has_ended(const struct session *session)
{
	struct pollfd waiting = { .fd = session_fd(session), .events = POLLIN };
	return has_all(session) && (session->player || poll(&waiting, 1, 0) <= 0);
}

static bool has_wanted_name(const struct run *run, const void *argument)
{
	const struct session *session = argument;
	return !session->wanted_run[0] || strcmp(run->name, session->wanted_run) == 0;
}

static bool is_wanted(const struct run *run, const void *argument)
{
	const struct session *session = argument;
	return has_wanted_name(run, session) && (run->pid ? run->pid : run->inner_pid) == session->wanted_pid;
}

int session_run(const struct session *session)
{
	int run = ranks_first(session->model, is_wanted, session);
	return run >= 0 ? run : ranks_first(session->model, has_wanted_name, session);
}

int64_t session_realtime_ns(const struct session *session)
{
	const struct stream_header *header = session->player ? player_header(session->player) : NULL;
	int64_t offset_ns =
		header ? header->realtime_ns - header->monotonic_ns : clock_realtime_ns() - clock_monotonic_ns();
	return offset_ns + session->model->now_ns;
}

bool session_again(const struct session *session, struct session *out)
{
	*out = (struct session){ .settings = session->settings,
		.set = SAMPLE_SET_INIT,
		.target = { .pidfd = -1 },
		.model_options = session->model_options };
	out->player = session->player ? player_again(session->player) : NULL;
	out->model = out->player ? model_new(&out->model_options) : NULL;
	if (!out->model) {
		session_again_close(out);
		return false;
	}
	note_faults(out, out->settings.rules);
	return true;
}

#define SWAP(type, a, b) \
	do { \
		type swap_retained = (a); \
		(a) = (b); \
		(b) = swap_retained; \
	} while (0)

void session_swap(struct session *a, struct session *b)
{
	SWAP(struct player *, a->player, b->player);
	SWAP(struct model *, a->model, b->model);
	SWAP(struct alerts, a->alerts, b->alerts);
	SWAP(int64_t, a->judged_ns, b->judged_ns);
	SWAP(int64_t, a->judge_from_ns, b->judge_from_ns);
}

void session_again_close(struct session *again) { end_session(again); }

static void say_damage(const struct session *session)
{
	char text[DAMAGE_SIZE];
	if (!session->player || !session->replayed)
		return;
	const char *name = strcmp(session->replayed, "-") == 0 ? "standard input" : session->replayed;
	const char *refusal = player_refusal(session->player);
	if (damage_text(player_losses(session->player), text))
		fprintf(stderr, "pmtop: %s: %s\n", name, text);
	if (refusal[0])
		fprintf(stderr, "pmtop: %s: %s\n", name, refusal);
}

enum exit_code session_close(struct session *session)
{
	bool has_child = session->launch.child != 0;
	session_died_take(session);
	say_damage(session);
	end_session(session);
	int status = launch_wait(&session->launch);
	session_died_end(session, status);
	session->is_on_screen = false;
	for (bool has_news = has_child; has_news;)
		has_news = report_launch(session, true, INT64_MAX);
	launch_python_end(&session->launch.python);
	return has_child ? code_of_child(status) : EXIT_OK;
}
