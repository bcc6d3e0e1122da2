#include "src/commands/options/options_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct option_word option_formats[] = { { "text", FORMAT_TEXT }, { "json", FORMAT_JSON }, { "csv", FORMAT_CSV },
	{ "svg", FORMAT_SVG }, { 0 } };
static const struct option_word colors[] = { { "auto", COLOR_AUTO }, { "always", COLOR_ALWAYS },
	{ "never", COLOR_NEVER }, { 0 } };
static const struct option_word marks[] = { { "auto", MARKS_AUTO }, { "braille", MARKS_BRAILLE },
	{ "blocks", MARKS_BLOCKS }, { "ascii", MARKS_ASCII }, { 0 } };

/* In the order of enum profile_sort (src/trace). */
static const struct option_word trace_sorts[] = { { "self-gpu", 1 }, { "total-gpu", 2 }, { "self-cpu", 3 },
	{ "total-cpu", 4 }, { "count", 5 }, { "name", 6 }, { 0 } };

static const struct option_word profile_ranks[] = { { "all", 0 }, { "one", 1 }, { 0 } };

#define FOR(name) (1u << COMMAND_##name)
#define MEMBER(member) offsetof(struct options, member)
#define FLAG(name_, letter_, member, commands_, help_) \
	{ \
		.name = name_, .letter = letter_, .kind = OPTION_FLAG, .offset = MEMBER(member), .commands = commands_, \
		.help = help_ \
	}
#define VALUE(kind_, name_, letter_, member, commands_, value_, help_) \
	{ \
		.name = name_, .letter = letter_, .kind = OPTION_##kind_, .offset = MEMBER(member), .commands = commands_, \
		.value = value_, .help = help_ \
	}
#define OTHER(name_, letter_, commands_, value_, help_) \
	{ \
		.name = name_, .letter = letter_, .kind = OPTION_OTHER, .commands = commands_, .value = value_, .help = help_ \
	}
#define RECORDS (FOR(record) | FOR(watch) | FOR(stream))

const struct option_row option_rows[] = {
	OTHER("pid", 'p', 0, "PID", "a process and its children"),
	VALUE(TEXT, "session", 's', run_name, 0, "NAME", "an instrumented run, by its name or NAME.PID"),
	OTHER("demo", 0, 0, "[FAULT]", "a synthetic run (--demo=list names the faults)"),
	VALUE(TEXT, "replay", 'r', replay, 0, "FILE", "a recording, or - for a stream of pmtop collect"),
	FLAG("list", 'l', is_list, 0, "list the runs that pmtop can watch"),
	FLAG("batch", 'b', is_batch, 0, "print lines instead of the screen"),
	FLAG("once", 0, is_once, 0, "print one screen as text, or with --format=svg"),
	VALUE(WHOLE, "iterations", 'n', count, 0, "N", "exit after N refreshes (with -b, --once)"),
	{ "delay", 'd', OPTION_NUMBER, MEMBER(period_s), 0.05, 60, NULL, "seconds from 0.05 to 60", 0, "SECONDS",
		"time between refreshes (0.5)" },
	{ "format", 0, OPTION_WORD, MEMBER(format), .words = option_formats,
		.takes = "text, json, csv or (with --once) svg", .value = "FORMAT",
		.help = "text, json (or --json), csv; with --once also svg" },
	OTHER("json", 0, 0, NULL, NULL),
	{ "color", 0, OPTION_WORD, MEMBER(color), .words = colors, .takes = "auto, always or never", .value = "WHEN",
		.help = "auto, always or never; --theme=NAME, --marks=MARKS" },
	VALUE(TEXT, "theme", 0, theme, 0, "NAME", NULL),
	{ "marks", 0, OPTION_WORD, MEMBER(marks), .words = marks, .takes = "auto, braille, blocks or ascii",
		.value = "MARKS" },
	FLAG("ascii", 0, ascii, 0, NULL),
	FLAG("no-nvml", 0, no_nvml, 0, NULL),
	FLAG("counters", 0, counters, 0, "count cycles and instructions from the start"),
	VALUE(TEXT, "config", 0, config, 0, "FILE", "read FILE instead of your pmtop.yaml"),
	FLAG("no-instrument", 0, no_instrument, 0, "-- COMMAND: do not instrument its PyTorch"),
	FLAG("profile", 0, profile, RECORDS, "-- COMMAND: pmtop profile can trace any PyTorch"),
	FLAG("profile-slow", 0, profile_slow, FOR(watch) | FOR(stream), "take a trace after a slow batch (one a run)"),
	FLAG("yes", 0, yes, FOR(instrument), "do it without asking"),
	FLAG("all", 0, all, FOR(stream), "JSON: all flagged batches in every object"),
	VALUE(TEXT, "view", 0, view, FOR(watch) | FOR(once), "NAME", "open this view first (--view=list names them)"),
	OTHER("size", 0, FOR(once), "COLUMNSxROWS", "size of the screen (120x40)"),

	VALUE(TEXT, "check", 0, check, FOR(rules), "FILE", "check a rule file for errors"),
	FLAG("figures", 0, figures, FOR(rules), "list the figures that rules can use"),
	FLAG("init", 0, init, FOR(config), "write your pmtop.yaml: all defaults, with comments"),

	VALUE(TEXT, "write", 'w', write, FOR(watch) | FOR(stream), "FILE", "also record to FILE"),
	VALUE(TEXT, "output", 'o', write, FOR(record) | FOR(repair) | FOR(export) | FOR(profile) | FOR(snapshot), "FILE",
		"write to FILE (profile, snapshot: folder DIR)"),
	VALUE(TIME, "for", 0, record_s,
		FOR(record) | FOR(collect) | FOR(export) | FOR(check) | FOR(diff) | FOR(instrument) | FOR(profile) |
			FOR(snapshot),
		"TIME", "stop after TIME, such as 90s, 5m or 2h"),
	VALUE(WHOLE, "steps", 0, steps, FOR(profile), "N", "take a trace of N steps (3)"),
	{ "ranks", 0, OPTION_WORD, MEMBER(ranks), .words = profile_ranks, .takes = "all or one", .commands = FOR(profile),
		.value = "WHICH", .help = "all ranks of the job (default), or one: PID" },
	VALUE(BYTES, "max-size", 0, record_bytes, RECORDS, "SIZE", "delete the oldest data beyond SIZE"),
	VALUE(BYTES, "rotate", 0, file_bytes, RECORDS, "SIZE", "start a new file every SIZE"),
	VALUE(TEXT, "only", 0, only, FOR(collect), "SOURCE,...", "read only these sources"),
	{ "speed", 0, OPTION_NUMBER, MEMBER(speed), 0.01, 100000, NULL, "a number from 0.01 to 100000", FOR(watch),
		"FACTOR", "replay FACTOR times as fast" },
	VALUE(TEXT, "at", 0, at, FOR(watch) | FOR(once) | FOR(report) | FOR(stream), "WHEN",
		"jump to 14:02:30, 5m, 50%, #624 (a batch) or end"),
	VALUE(TEXT, "loop", 0, loop, 0, "FILE:LINE", "count the iterations of this loop as steps"),
	VALUE(TEXT, "overlay", 0, overlay, FOR(watch) | FOR(once), "FILE", "show an earlier run beside this one"),

	VALUE(TEXT, "to", 0, to, FOR(export), "FORMAT", "the format to convert to (--to=list)"),
	VALUE(TEXT, "since", 0, since, FOR(export), "WHEN", "export from WHEN on (14:02:30, 5m, 50%)"),
	VALUE(TEXT, "until", 0, until, FOR(export), "WHEN", "export until WHEN"),
	{ "sort", 0, OPTION_WORD, MEMBER(sort), .words = trace_sorts,
		.takes = "self-gpu, total-gpu, self-cpu, total-cpu, count or name", .commands = FOR(trace), .value = "KEY",
		.help = "(self|total)-(gpu|cpu), count or name" },
	VALUE(WHOLE, "limit", 0, limit, FOR(trace) | FOR(snapshot), "N", "at most N rows in each table"),
	VALUE(TEXT, "by", 0, by, FOR(trace) | FOR(diff), "KEY", "trace: name, shape, stack or module; diff: a figure"),
	VALUE(TEXT, "baseline", 0, baseline, FOR(check), "FILE", "compare with this summary"),
	VALUE(TEXT, "save", 0, save, FOR(check), "FILE", "save the summary as a baseline"),
	VALUE(TEXT, "junit", 0, junit, FOR(check), "FILE", "write a JUnit report"),
	VALUE(TEXT, "budget", 0, budget, FOR(check), "LIMITS", "limits, such as data:20%,accuracy:min=0.9"),
	{ "threshold", 0, OPTION_NUMBER, MEMBER(threshold), 0.001, 100, NULL, "a share such as 0.2", FOR(check), "SHARE",
		"fail if slower by more than SHARE (0.2 = 20 %)" },

	VALUE(TEXT, "ssh", 0, ssh, FOR(fleet), "COMMAND", "reach the hosts so (ssh)"),
	VALUE(TEXT, "srun", 0, srun, FOR(fleet), "JOBID", "reach the hosts of a Slurm job with srun"),
	VALUE(TEXT, "exec", 0, exec, FOR(fleet), "COMMAND", "reach the host {} so: 'kubectl exec -i {} --'"),
	VALUE(TEXT, "program", 0, program, FOR(fleet), "PATH", "pmtop on the hosts (pmtop)"),
	VALUE(WHOLE, "fan-out", 0, fan_out, FOR(fleet), "N", "hosts that a relay reaches (1: no relays)"),
	FLAG("fleet", 0, fleet, FOR(collect), "choose a run, answer the clock of pmtop fleet"),
	FLAG("relay", 0, relay, FOR(collect), "reach other hosts for pmtop fleet"),
	VALUE(TEXT, "listen", 0, listen, FOR(exporter), "ADDRESS:PORT", "serve /metrics there (127.0.0.1:9750)"),
	VALUE(TEXT, "textfile", 0, textfile, FOR(exporter), "FILE", "write FILE for node_exporter every 15 s"),
	FLAG("with-commands", 0, has_commands, FOR(exporter), "label the runs with their command lines"),
	FLAG("print-rules", 0, print_rules, FOR(exporter), "print Prometheus alert rules made from pmtop's"),

	OTHER("help", 'h', 0, "[commands]", NULL),
	OTHER("version", 0, 0, NULL, NULL),
	{ 0 },
};

#define TIME_MAX_S (100.0 * 365 * 86400)

static bool read_whole(const char *text, int64_t *out)
{
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	*out = value;
	return !errno && end != text && !*end && value >= 1;
}

/* Reads a number with an optional unit, a single letter. */
static bool read_scaled(const char *text, const char *letters, const double *scales, double *out)
{
	char *end;
	double value = strtod(text, &end);
	if (end == text || !isfinite(value) || value <= 0)
		return false;
	const char *letter = *end ? strchr(letters, *end) : NULL;
	if (*end && (!letter || end[1]))
		return false;
	*out = letter ? value * scales[letter - letters] : value;
	return true;
}

bool option_take(const struct option_row *row, const char *value, struct options *options)
{
	static const double times[] = { 1, 60, 3600, 86400 }, sizes[] = { 1e3, 1e3, 1e6, 1e9, 1e12 };
	void *member = (char *)options + row->offset;
	double number;
	char *end;
	switch (row->kind) {
	case OPTION_FLAG: *(bool *)member = true; return true;
	case OPTION_TEXT: *(const char **)member = value; return true;
	case OPTION_WHOLE: return read_whole(value, member);
	case OPTION_NUMBER:
		number = strtod(value, &end);
		*(double *)member = number;
		return end != value && !*end && number >= row->min && number <= row->max;
	case OPTION_TIME:
		/* At most a century: an int64_t of nanoseconds holds 292 years. */
		return read_scaled(value, "smhd", times, member) && *(double *)member <= TIME_MAX_S;
	case OPTION_BYTES: return read_scaled(value, "kKMGT", sizes, member);
	case OPTION_WORD:
		for (const struct option_word *word = row->words; word->text; word++) {
			if (!strcmp(word->text, value)) {
				*(int *)member = word->value;
				return true;
			}
		}
		return false;
	default: return false;
	}
}

const char *option_takes(const struct option_row *row)
{
	if (row->takes)
		return row->takes;
	return row->kind == OPTION_WHOLE ? "a whole number above 0"
		: row->kind == OPTION_TIME   ? "a time such as 90s, 5m or 2h"
		: row->kind == OPTION_BYTES  ? "a size such as 500k, 20M or 2G"
									 : "a value";
}
