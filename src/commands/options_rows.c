#include "src/commands/options_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct option_word formats[] = { { "text", FORMAT_TEXT }, { "json", FORMAT_JSON }, { "csv", FORMAT_CSV }, { "svg", FORMAT_SVG }, { 0 } };
static const struct option_word colors[] = { { "auto", COLOR_AUTO }, { "always", COLOR_ALWAYS }, { "never", COLOR_NEVER }, { 0 } };

#define FOR(name) (1u << COMMAND_##name)
#define MEMBER(member) offsetof(struct options, member)
#define FLAG(name, letter, member, ...) { name, letter, OPTION_FLAG, MEMBER(member), .commands = 0 __VA_ARGS__ }
#define TEXT(name, letter, member, ...) { name, letter, OPTION_TEXT, MEMBER(member), .commands = 0 __VA_ARGS__ }
#define OTHER(name, letter, ...) { name, letter, OPTION_OTHER, .commands = 0 __VA_ARGS__ }

const struct option_row option_rows[] = {
	OTHER("pid", 'p'),
	TEXT("session", 's', run_name),
	OTHER("demo", 0),
	TEXT("replay", 'r', replay),
	FLAG("list", 'l', is_list),
	FLAG("batch", 'b', is_batch),
	FLAG("once", 0, is_once),
	{ "iterations", 'n', OPTION_WHOLE, MEMBER(count), .commands = 0 },
	{ "delay", 'd', OPTION_NUMBER, MEMBER(period_s), 0.05, 60, NULL, "seconds from 0.05 to 60", 0 },
	{ "format", 0, OPTION_WORD, MEMBER(format), .words = formats, .takes = "text, json, csv or (with --once) svg" },
	OTHER("json", 0),
	{ "color", 0, OPTION_WORD, MEMBER(color), .words = colors, .takes = "auto, always or never" },
	FLAG("ascii", 0, ascii),
	FLAG("no-nvml", 0, no_nvml),
	FLAG("counters", 0, counters),
	TEXT("config", 0, config),
	FLAG("all", 0, all, | FOR(stream)),
	TEXT("view", 0, view, | FOR(watch) | FOR(once)),
	OTHER("size", 0, | FOR(once)),

	TEXT("check", 0, check, | FOR(rules)),
	FLAG("figures", 0, figures, | FOR(rules)),

	TEXT("write", 'w', write, | FOR(watch) | FOR(stream)),
	TEXT("output", 'o', write, | FOR(record) | FOR(repair) | FOR(export)),
	{ "for", 0, OPTION_TIME, MEMBER(record_s), .commands = FOR(record) | FOR(collect) | FOR(export) | FOR(check) | FOR(diff) },
	{ "max-size", 0, OPTION_BYTES, MEMBER(record_bytes), .commands = FOR(record) | FOR(watch) | FOR(stream) },
	{ "rotate", 0, OPTION_BYTES, MEMBER(file_bytes), .commands = FOR(record) | FOR(watch) | FOR(stream) },
	TEXT("only", 0, only, | FOR(collect)),
	{ "speed", 0, OPTION_NUMBER, MEMBER(speed), 0.01, 100000, NULL, "a number from 0.01 to 100000", FOR(watch) },
	TEXT("at", 0, at, | FOR(watch) | FOR(once) | FOR(report) | FOR(stream)),
	TEXT("overlay", 0, overlay, | FOR(watch) | FOR(once)),

	TEXT("to", 0, to, | FOR(export)),
	TEXT("since", 0, since, | FOR(export)),
	TEXT("until", 0, until, | FOR(export)),
	TEXT("baseline", 0, baseline, | FOR(check)),
	TEXT("save", 0, save, | FOR(check)),
	TEXT("junit", 0, junit, | FOR(check)),
	TEXT("budget", 0, budget, | FOR(check)),
	{ "threshold", 0, OPTION_NUMBER, MEMBER(threshold), 0.001, 100, NULL, "a share such as 0.2", FOR(check) },

	OTHER("help", 'h'),
	OTHER("version", 0),
	{ 0 },
};

static bool read_whole(const char *text, int64_t *out)
{
	char *end;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	*out = value;
	return !errno && end != text && !*end && value >= 1;
}

/* A number and, at its end, one of the units (a letter each). */
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
	case OPTION_FLAG:
		*(bool *)member = true;
		return true;
	case OPTION_TEXT:
		*(const char **)member = value;
		return true;
	case OPTION_WHOLE:
		return read_whole(value, member);
	case OPTION_NUMBER:
		number = strtod(value, &end);
		*(double *)member = number;
		return end != value && !*end && number >= row->least && number <= row->most;
	case OPTION_TIME:
		return read_scaled(value, "smhd", times, member);
	case OPTION_BYTES:
		return read_scaled(value, "kKMGT", sizes, member);
	case OPTION_WORD:
		for (const struct option_word *word = row->words; word->text; word++) {
			if (!strcmp(word->text, value)) {
				*(int *)member = word->value;
				return true;
			}
		}
		return false;
	default:
		return false;
	}
}

const char *option_takes(const struct option_row *row)
{
	if (row->takes)
		return row->takes;
	return row->kind == OPTION_WHOLE ? "a whole number above 0"
	     : row->kind == OPTION_TIME  ? "a time such as 90s, 5m or 2h"
	     : row->kind == OPTION_BYTES ? "a size such as 500k, 20M or 2G"
	                                 : "a value";
}
