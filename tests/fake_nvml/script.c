#include "tests/fake_nvml/script.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { WORDS = 6, LINE = 256, NOT_SUPPORTED = 3 };

struct reading {
	struct fake_script *script;
	struct fake_device *gpu, *device;
	unsigned parts;
};

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double number(const char *text, char **end)
{
	static const struct {
		const char *suffix;
		double scale;
	} scales[] = { { "Ki", 0x1p10 }, { "Mi", 0x1p20 }, { "Gi", 0x1p30 }, { "k", 1e3 }, { "M", 1e6 }, { "G", 1e9 } };
	double value = strtod(text, end);
	for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
		size_t length = strlen(scales[i].suffix);
		if (strncmp(*end, scales[i].suffix, length) == 0) {
			*end += length;
			return value * scales[i].scale;
		}
	}
	return value;
}

static struct fake_value value_of(const char *text)
{
	struct fake_value value = { .is_set = true, .is_none = strcmp(text, "none") == 0 };
	if (text[0] == '!')
		value.code = atoi(text + 1);
	if (value.is_none || text[0] == '!')
		return value;
	char *end;
	value.base = number(text, &end);
	while (*end) {
		char sign = *end;
		double operand = number(end + 1, &end);
		if (sign == '~')
			value.amplitude = operand;
		else if (sign == '/')
			value.period_s = operand;
		else if (sign == '+')
			value.per_s = operand;
		else if (sign == '%')
			value.wrap = operand;
		else
			break;
	}
	return value;
}

int fake_value_now(const struct fake_script *script, const struct fake_value *value, double *out)
{
	static double begin_s;
	if (begin_s == 0)
		begin_s = now_s();
	double time_s = script->time_s >= 0 ? script->time_s : now_s() - begin_s;
	if (!value->is_set)
		return NOT_SUPPORTED;
	*out = value->base + value->per_s * time_s +
		(value->period_s > 0 ? value->amplitude * sin(2 * 3.14159265358979 * time_s / value->period_s) : 0);
	if (value->wrap > 0)
		*out = fmod(*out, value->wrap);
	if (value->is_none)
		*out = -1;
	return value->code;
}

static uint32_t pid_of(const char *word)
{
	char command[1024];
	if (strcmp(word, "watched") != 0)
		return (uint32_t)strtoul(word, NULL, 10);
	FILE *file = fopen("/proc/self/cmdline", "r");
	size_t length = file ? fread(command, 1, sizeof command - 1, file) : 0;
	if (file)
		fclose(file);
	command[length] = '\0';
	for (const char *at = command; at < command + length; at += strlen(at) + 1)
		if (strcmp(at, "-p") == 0 && at + 3 < command + length)
			return (uint32_t)strtoul(at + 3, NULL, 10);
	return 0;
}

static void add_rule(struct fake_script *script, char *const words[WORDS])
{
	if (script->rule_count == FAKE_RULES)
		return;
	struct fake_rule *rule = &script->rules[script->rule_count++];
	*rule = (struct fake_rule){ .gpu = -1, .hangs = words[0][0] == 'h', .crashes = words[0][0] == 'c' };
	snprintf(rule->symbol, sizeof rule->symbol, "%s", words[1]);
	if (words[0][0] == 's')
		rule->slow_ms = atof(words[2]);
	else if (words[0][0] == 'b')
		rule->burn_us = atof(words[2]);
	else if (words[0][0] == 'f')
		rule->code = atoi(words[2]);
	if (words[0][0] == 'f' && words[3][0])
		rule->gpu = atoi(words[3]);
}

static void add_device(struct reading *reading, bool is_part, const char *line)
{
	struct fake_script *script = reading->script;
	if (!is_part && script->gpu_count < FAKE_GPUS) {
		reading->gpu = reading->device = script->devices[script->gpu_count++];
		reading->parts = 0;
	} else if (is_part && reading->gpu && reading->parts < FAKE_PARTS) {
		reading->device = reading->gpu + ++reading->parts;
	} else {
		return;
	}
	reading->device->is_there = true;
	const char *name = strchr(line, ' ');
	snprintf(reading->device->name, sizeof reading->device->name, "%s", name ? name + 1 : "");
	reading->device->instance = reading->parts;
	if (!is_part) {
		snprintf(reading->device->uuid, sizeof reading->device->uuid, "GPU-%08x-0000-0000-0000-000000000000",
			script->gpu_count - 1);
		reading->device->bus = script->gpu_count;
	} else {
		snprintf(reading->device->uuid, sizeof reading->device->uuid, "MIG-%08x-%04x-0000-0000-000000000000",
			script->gpu_count - 1, reading->parts);
	}
}

static void add_process(struct fake_device *device, char *const words[WORDS])
{
	if (device->process_count == FAKE_PROCESSES)
		return;
	device->processes[device->process_count++] = (struct fake_process){
		pid_of(words[1]),
		words[2][0],
		strcmp(words[3], "none") == 0 ? -1 : number(words[3], &(char *){ NULL }),
		words[4][0] ? atof(words[4]) : -1,
	};
}

static void take_figure(struct fake_device *device, const char *word, const char *value)
{
	static const char *const names[] = {
#define NAME_ROW(name) #name,
		FAKE_FIGURES(NAME_ROW)
#undef NAME_ROW
	};
	for (size_t i = 0; i < FAKE_FIGURE_COUNT; i++)
		if (strcmp(word, names[i]) == 0)
			device->figures[i] = value_of(value);
}

static void take_line(struct reading *reading, char *line)
{
	static char nothing[1];
	struct fake_script *script = reading->script;
	char whole[LINE], *words[WORDS] = { nothing, nothing, nothing, nothing, nothing, nothing }, *rest = NULL;
	line[strcspn(line, "#\n")] = '\0';
	snprintf(whole, sizeof whole, "%s", line);
	int count = 0;
	for (char *word = strtok_r(line, " \t", &rest); word && count < WORDS; word = strtok_r(NULL, " \t", &rest))
		words[count++] = word;
	struct fake_device *device = reading->device;
	const char *key = words[0];
	if (!strcmp(key, "driver"))
		snprintf(script->driver, sizeof script->driver, "%s", words[1]);
	else if (!strcmp(key, "time"))
		script->time_s = atof(words[1]);
	else if (!strcmp(key, "fail") || !strcmp(key, "slow") || !strcmp(key, "burn") || !strcmp(key, "hang") ||
		!strcmp(key, "crash"))
		add_rule(script, words);
	else if (!strcmp(key, "xid") && script->event_count < FAKE_EVENTS)
		script->events[script->event_count++] =
			(struct fake_event){ (unsigned)atoi(words[1]), (unsigned)atoi(words[2]), (unsigned)atoi(words[3]) };
	else if (!strcmp(key, "gpu") || !strcmp(key, "part"))
		add_device(reading, key[0] == 'p', whole);
	else if (!device)
		return;
	else if (!strcmp(key, "uuid"))
		snprintf(device->uuid, sizeof device->uuid, "%s", words[1]);
	else if (!strcmp(key, "instance"))
		device->instance = (unsigned)atoi(words[1]);
	else if (!strcmp(key, "pci"))
		sscanf(words[1], "%x:%x:%x", &device->domain, &device->bus, &device->device);
	else if (!strcmp(key, "process"))
		add_process(device, words);
	else if (!strcmp(key, "sample") && device->sample_count < FAKE_SAMPLES)
		device->samples[device->sample_count++] =
			(struct fake_sample){ pid_of(words[1]), (uint32_t)strtoul(words[2], NULL, 10), atof(words[3]) };
	else
		take_figure(device, key, words[1]);
}

void fake_script_refresh(struct fake_script *script)
{
	static struct stat known;
	struct stat now;
	char line[LINE];
	const char *path = getenv("FAKE_NVML");
	if (!path || stat(path, &now) != 0 ||
		(now.st_ino == known.st_ino && now.st_mtim.tv_sec == known.st_mtim.tv_sec &&
			now.st_mtim.tv_nsec == known.st_mtim.tv_nsec))
		return;
	FILE *file = fopen(path, "r");
	if (!file)
		return;
	known = now;
	*script = (struct fake_script){ .time_s = -1 };
	struct reading reading = { .script = script };
	while (fgets(line, sizeof line, file))
		take_line(&reading, line);
	fclose(file);
}
