/* pmtop fleet: many hosts, as one screen, lines or JSON. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/commands/commands.h"
#include "src/commands/fleet/fleet_names.h"
#include "src/commands/fleet/fleet_watch.h"
#include "src/fleet/fleet.h"
#include "src/fleet/fleet_output.h"
#include "src/fleet/fleet_view.h"
#include "src/session/output.h"
#include "src/session/signals.h"

/* Streams are read so often; the first output waits for hosts that start, at most so long. */
enum { STEP_MS = 250 };
#define FIRST_MAX_NS (10 * NS_PER_S)

struct printing {
	const struct options *options;
	struct fleet *fleet;
	struct fleet_view view;
	struct buffer out;
	int signal_fd;
	bool has_ended;
};

/* Returns when the next step is due; clocks are answered meanwhile. */
static void wait_for_step(struct printing *printing, int64_t until_ns)
{
	while (!printing->has_ended) {
		int64_t left_ms = (until_ns - clock_monotonic_ns() + NS_PER_MS - 1) / NS_PER_MS;
		struct pollfd ready[] = { { .fd = fleet_fd(printing->fleet), .events = POLLIN },
			{ .fd = printing->signal_fd, .events = POLLIN } };
		if (left_ms <= 0)
			return;
		poll(ready, 2, (int)left_ms);
		fleet_answer(printing->fleet);
		printing->has_ended = signals_have_ended(printing->signal_fd, 0);
	}
}

/* False: the reader is gone. */
static bool print(struct printing *printing, int *code)
{
	fleet_view_fill(&printing->view, printing->fleet, FLEET_SORT_SLOWEST, clock_monotonic_ns());
	if (printing->options->format == FORMAT_JSON) {
		fleet_json(&printing->out, printing->fleet, &printing->view, clock_realtime_ns());
	} else {
		fleet_text(&printing->out, printing->fleet, &printing->view);
		output_fit_locale(&printing->out);
	}
	return output_flush(&printing->out, code);
}

static enum exit_code print_until_end(
	const struct options *options, const struct settings *settings, struct fleet *fleet)
{
	struct printing printing = { .options = options, .fleet = fleet, .signal_fd = signals_open_ending() };
	int64_t begun_ns = clock_monotonic_ns(), due_ns = 0, period_ns = (int64_t)(settings->refresh_s * (double)NS_PER_S);
	int64_t printed = 0;
	int code = 0;
	while (!printing.has_ended) {
		int64_t now_ns = clock_monotonic_ns();
		fleet_step(fleet, now_ns, clock_realtime_ns() - now_ns);
		/* A host sends its first figures as rates only with its second reading. */
		if (!due_ns && (fleet_has_heard(fleet) || now_ns - begun_ns > FIRST_MAX_NS))
			due_ns = now_ns + 2 * period_ns;
		if (due_ns && now_ns >= due_ns) {
			due_ns += period_ns;
			if (!print(&printing, &code) || (options->count && ++printed >= options->count))
				break;
		}
		wait_for_step(&printing, now_ns + STEP_MS * NS_PER_MS);
	}
	fleet_view_release(&printing.view);
	buffer_release(&printing.out);
	signals_close(printing.signal_fd);
	return code ? EXIT_RUNTIME : EXIT_OK;
}

/* Whether a program is in PATH. */
static bool is_installed(const char *name)
{
	const char *path = getenv("PATH");
	char file[4096];
	for (size_t length; path && *path; path += length + (path[length] == ':')) {
		length = strcspn(path, ":");
		int used = snprintf(file, sizeof file, "%.*s/%s", (int)length, path, name);
		if (used > 0 && (size_t)used < sizeof file && access(file, X_OK) == 0)
			return true;
	}
	return false;
}

static struct fleet_way way_of(const struct options *options, const struct settings *settings)
{
	return (struct fleet_way){ .ssh = options->ssh,
		.srun = options->srun,
		.exec = options->exec,
		.program = options->program,
		.run = options->run_name,
		.pid = options->pid,
		.period_s = settings->refresh_s,
		.fan_out = options->fan_out > FLEET_HOSTS_MAX ? FLEET_HOSTS_MAX : (unsigned)options->fan_out };
}

static enum status read_names(const struct options *options, struct fleet_names *names, struct reason *reason)
{
	enum status status = STATUS_OK;
	for (int i = 0; i < options->word_count && status == STATUS_OK; i++)
		status = fleet_names_add(names, options->words[i], reason);
	if (!options->word_count && options->srun)
		return fleet_names_add_job(names, options->srun, reason);
	if (status == STATUS_OK && !names->count)
		return reason_set(reason, STATUS_INVALID, "pmtop fleet HOST ...", "fleet needs the names of hosts");
	return status;
}

static enum status open_fleet(const struct options *options, const struct settings *settings, struct fleet_names *names,
	struct fleet **fleet, struct reason *reason)
{
	struct fleet_way way = way_of(options, settings);
	const char *needs = fleet_command_needs(&way);
	if ((options->srun != NULL) + (options->exec != NULL) + (options->ssh != NULL) > 1)
		return reason_set(reason, STATUS_INVALID, NULL, "--ssh, --srun and --exec exclude one another");
	if (needs && !is_installed(needs))
		return reason_set(reason, STATUS_IO, "install it, or reach the hosts with --exec", "%s was not found", needs);
	enum status status = read_names(options, names, reason);
	return status == STATUS_OK ? fleet_open(&way, names->names, names->count, fleet, reason) : status;
}

static enum exit_code run_fleet(const struct options *options, const struct settings *settings)
{
	struct fleet *fleet = NULL;
	struct fleet_names names = { 0 };
	struct reason reason = { 0 };
	enum status status = open_fleet(options, settings, &names, &fleet, &reason);
	if (status != STATUS_OK) {
		fleet_names_release(&names);
		return command_fail(status, &reason);
	}
	bool has_screen = !options->is_batch && !options->has_format && output_has_screen();
	enum exit_code code =
		has_screen ? fleet_watch(options, settings, fleet) : print_until_end(options, settings, fleet);
	fleet_close(fleet);
	fleet_names_release(&names);
	return code;
}

const struct command fleet_command = {
	.name = "fleet",
	.synopsis = "fleet HOST ...",
	.summary = "watch runs on many hosts",
	.details = "Each host runs pmtop collect, over ssh unless --srun or --exec is given. Without\n"
			   "-p or -s each host watches the run that it finds first. HOST may be a list, such\n"
			   "as 'node[001-400]', or @FILE. More than 64 hosts are reached through relays.\n",
	.example = "pmtop fleet --exec='kubectl exec -i {} --' worker-0 worker-1",
	.words = COMMAND_TAKES_WORDS,
	.traits = COMMAND_HAS_SCREEN | COMMAND_NEEDS_PROCESS | COMMAND_NEEDS_RUNNING,
	.formats = FORMATS_TEXT_JSON,
	.run = run_fleet,
};
