/* pmtop doctor: reports for each figure whether pmtop can read it, and if not, why and how to get it. */
#include "src/doctor/doctor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/formats/json.h"
#include "src/base/text.h"
#include "src/session/children/limited.h"
#include "src/session/output.h"
#include "src/session/session.h"

enum { STATE_WIDTH = 8, NAME_WIDTH = 20, READINGS = 3 };
#define CHECK_LIMIT_NS (4 * NS_PER_S)

static const struct {
	const char *word, *color;
} states[] = {
	[FINDING_OK] = { "ok", "\033[32m" },
	[FINDING_MISSING] = { "missing", "\033[33m" },
	[FINDING_OFF] = { "off", "\033[2m" },
};

struct finding *doctor_row(struct doctor *doctor, const char *name, bool is_essential)
{
	if (doctor->count < FINDINGS_MAX)
		doctor->count++;
	struct finding *row = &doctor->findings[doctor->count - 1];
	*row = (struct finding){ .group = doctor->group, .is_essential = is_essential };
	snprintf(row->name, sizeof row->name, "%s", name);
	return row;
}

void doctor_say(struct doctor *doctor, enum finding_state state, const char *remedy, const char *format, ...)
{
	struct finding *row = &doctor->findings[doctor->count - 1];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(row->reason.text, sizeof row->reason.text, format, arguments);
	va_end(arguments);
	snprintf(row->reason.remedy, sizeof row->reason.remedy, "%s", remedy ? remedy : "");
	row->state = state;
}

const char *doctor_access_remedy(void)
{
	return geteuid() == 0 ? "run on the host, or start the container with --cap-add=SYS_PTRACE"
						  : "run pmtop as root, or as the run's owner";
}

static size_t count_of(const struct doctor *doctor, enum finding_state state, bool only_essential)
{
	size_t count = 0;
	for (size_t i = 0; i < doctor->count; i++)
		count += doctor->findings[i].state == state && (!only_essential || doctor->findings[i].is_essential);
	return count;
}

static void print_row(struct buffer *out, const struct finding *row, bool is_colored)
{
	bool is_grave = row->state == FINDING_MISSING && row->is_essential;
	const char *begin = !is_colored ? "" : is_grave ? "\033[1;31m" : states[row->state].color;
	size_t cells = text_cells(row->name);
	buffer_printf(out, "  %s%-*s%s %s%*s %s\n", begin, STATE_WIDTH, states[row->state].word,
		is_colored ? "\033[0m" : "", row->name, (int)(cells < NAME_WIDTH ? NAME_WIDTH - cells : 0), "",
		row->reason.text);
	if (row->reason.remedy[0])
		buffer_printf(out, "  %*s → %s\n", STATE_WIDTH + 1 + NAME_WIDTH, "", row->reason.remedy);
}

static void print_text(struct buffer *out, const struct doctor *doctor)
{
	const char *group = "";
	bool is_colored = output_has_color(doctor->settings);
	for (size_t i = 0; i < doctor->count; i++) {
		const struct finding *row = &doctor->findings[i];
		if (strcmp(group, row->group) != 0)
			buffer_printf(out, "%s%s\n", i ? "\n" : "", row->group);
		group = row->group;
		print_row(out, row, is_colored);
	}
	buffer_printf(out, "\n%zu ok, %zu missing, %zu off", count_of(doctor, FINDING_OK, false),
		count_of(doctor, FINDING_MISSING, false), count_of(doctor, FINDING_OFF, false));
	buffer_puts(out,
		count_of(doctor, FINDING_MISSING, true) ? "; something that pmtop requires is missing\n"
												: "; nothing that pmtop requires is missing\n");
}

static void print_json(struct buffer *out, const struct doctor *doctor)
{
	struct json json = { .out = out };
	json_open_object(&json, NULL);
	json_text(&json, "version", PMTOP_VERSION);
	if (doctor->options->pid)
		json_integer(&json, "pid", doctor->options->pid);
	json_bool(&json, "is_complete", count_of(doctor, FINDING_MISSING, true) == 0);
	json_open_array(&json, "checks");
	for (size_t i = 0; i < doctor->count; i++) {
		const struct finding *row = &doctor->findings[i];
		json_open_object(&json, NULL);
		json_text(&json, "group", row->group);
		json_text(&json, "name", row->name);
		json_text(&json, "state", states[row->state].word);
		json_bool(&json, "is_essential", row->is_essential);
		json_text(&json, "text", row->reason.text);
		json_text(&json, "remedy", row->reason.remedy[0] ? row->reason.remedy : NULL);
		json_close_object(&json);
	}
	json_close_array(&json);
	json_close_object(&json);
	buffer_puts(out, "\n");
}

void doctor_run(struct doctor *doctor, void (*check)(struct doctor *doctor))
{
	int fd, status;
	pid_t child = limited_fork(&fd);
	if (child <= 0) {
		check(doctor);
		if (child == 0)
			_exit(0);
		return;
	}
	if (!limited_wait(child, fd, CHECK_LIMIT_NS))
		doctor_say(doctor, FINDING_MISSING, "find what hangs: dmesg, and network file systems without a server (mount)",
			"the check did not answer within %d s", (int)(CHECK_LIMIT_NS / NS_PER_S));
	else if (waitpid(child, &status, 0) == child && WIFSIGNALED(status))
		doctor_say(doctor, FINDING_MISSING, NULL, "the check crashed (%s)", strsignal(WTERMSIG(status)));
}

static enum exit_code inspect_target(struct doctor *doctor)
{
	struct session session;
	enum exit_code code = session_open(&session, doctor->options, doctor->settings);
	if (code != EXIT_OK)
		return code;
	for (int readings = 1; readings < READINGS && !session_has_ended(&session);)
		readings += session_wait(&session, -1) && session_step(&session);
	doctor->model = session.model;
	doctor_run(doctor, doctor_check_process);
	return session_close(&session);
}

static enum exit_code run_doctor(const struct options *options, const struct settings *settings)
{
	struct doctor *doctor = mmap(NULL, sizeof *doctor, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct buffer out = BUFFER_INIT;
	int output_code = 0;
	if (doctor == MAP_FAILED) {
		fputs("pmtop: out of memory: nothing was checked\n", stderr);
		return EXIT_RUNTIME;
	}
	doctor->options = options;
	doctor->settings = settings;
	doctor->nvml_path = getenv("PMTOP_NVML");
	doctor_check_machine(doctor);
	enum exit_code code = options->pid || options->run_name ? inspect_target(doctor) : EXIT_OK;
	if (code == EXIT_OK) {
		if (options->format == FORMAT_JSON)
			print_json(&out, doctor);
		else
			print_text(&out, doctor);
		if (options->format != FORMAT_JSON)
			output_fit_locale(&out);
		output_flush(&out, &output_code);
		code = output_code || count_of(doctor, FINDING_MISSING, true) ? EXIT_RUNTIME : EXIT_OK;
	}
	buffer_release(&out);
	munmap(doctor, sizeof *doctor);
	return code;
}

const struct command doctor_command = {
	.name = "doctor",
	.synopsis = "doctor [-p PID|-s NAME]",
	.summary = "explain each missing figure and how to get it",
	.example = "pmtop doctor -p 48213",
	.traits = COMMAND_NEEDS_PROCESS,
	.formats = FORMATS_TEXT_JSON,
	.run = run_doctor,
};
