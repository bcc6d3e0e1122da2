#include "src/died/died_words.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "src/base/formats/json.h"
#include "src/base/text.h"

enum { SUBJECT_SIZE = 192 };

struct cause_row {
	const char *name;      /* in JSON */
	const char *predicate; /* after the program's name */
	const char *advice[3];
};

static const struct cause_row rows[DIED_CAUSES] = {
	[DIED_UNKNOWN] = { "unknown", "ended; the cause is unknown",
		{ "start it by pmtop -- COMMAND: pmtop then sees its exit status",
			"watch it on Linux 6.15 or newer: pmtop -p PID, or pmtop why-died PID" } },
	[DIED_FINISHED] = { "finished", "finished normally", { NULL } },
	[DIED_OOM_KILL] = { "oom_kill", "was killed by the kernel's out-of-memory killer",
		{ "use less memory: fewer DataLoader workers, smaller batches or caches",
			"raise the memory limit of the job or container",
			"see what grows: pmtop record -- COMMAND, then view 4" } },
	[DIED_GPU_MEMORY] = { "gpu_out_of_memory", "ran out of GPU memory",
		{ "use smaller batches, gradient accumulation, bf16 or activation checkpointing",
			"see what holds it: pmtop snapshot PID, while it runs" } },
	[DIED_HOST_MEMORY] = { "out_of_memory", "could not get memory from the system",
		{ "use less memory, or raise the limit: ulimit -v, the container's limit" } },
	[DIED_SHM_FULL] = { "shm_full", "ran out of shared memory (/dev/shm)",
		{ "docker run --shm-size=8g, or --ipc=host", "use fewer DataLoader workers, or a smaller prefetch_factor" } },
	[DIED_DISK_FULL] = { "disk_full", "could not write: the disk or the quota is full",
		{ "free space: df -h and quota; keep fewer checkpoints" } },
	[DIED_NCCL_TIMEOUT] = { "nccl_timeout",
		"was aborted by a timeout of NCCL: a rank did not join a collective in time",
		{ "find the rank that was behind: its own output, or pmtop -p PID, view 0, before the timeout",
			"if that rank was only slow: a longer timeout in init_process_group" } },
	[DIED_GPU_ERROR] = { "gpu_error", "failed with an error of the GPU",
		{ "run with CUDA_LAUNCH_BLOCKING=1: the traceback then has the right line",
			"see dmesg for XID errors; test the GPU: dcgmi diag -r 2" } },
	[DIED_WORKER_KILLED] = { "worker_killed", "failed because a DataLoader worker was killed",
		{ "check memory: dmesg for the out-of-memory killer; df -h /dev/shm", "use fewer workers" } },
	[DIED_CHILD_FAILED] = { "child_failed", "ended because one of its processes failed",
		{ "see the output of that rank",
			"decorate main() with torch.distributed.elastic's @record: its traceback is then shown" } },
	[DIED_TIME_LIMIT] = { "time_limit", "was ended by the scheduler: its time limit, or preemption",
		{ "write checkpoints before the limit (sbatch --signal), and resume" } },
	[DIED_TERMINATED] = { "terminated", "was terminated by another process",
		{ "see the scheduler's log: a time limit, preemption, scancel, kubectl delete" } },
	[DIED_INTERRUPTED] = { "interrupted", "was interrupted (Ctrl-C)", { NULL } },
	[DIED_KILLED] = { "killed", "was killed by another process (SIGKILL)",
		{ "see the scheduler's log; a container's runtime kills after its grace period" } },
	[DIED_CRASH] = { "crash", "crashed in native code",
		{ "run with python -X faulthandler: it prints the Python stack of a crash",
			"get a core dump: ulimit -c unlimited, then gdb" } },
	[DIED_ABORT] = { "abort", "aborted itself",
		{ "see its last lines of output: a failed assertion, or an exception of C++" } },
	[DIED_EXCEPTION] = { "exception", "ended by an exception of Python", { NULL } },
	[DIED_EXIT_STATUS] = { "exit_status", "exited by itself with an error",
		{ "search its code for sys.exit and os._exit; see its last lines of output" } },
};

/* -- the sentence -- */

static const char *detail_of(const struct died_evidence *evidence, enum died_cause cause)
{
	const struct died_output *output = &evidence->output;
	if (cause == DIED_CHILD_FAILED)
		return output->child_exception;
	if (cause == DIED_NCCL_TIMEOUT || cause == DIED_TIME_LIMIT)
		return "";
	return output->exception[0] && cause != DIED_FINISHED && cause < DIED_CAUSES && cause != DIED_KILLED &&
			cause != DIED_OOM_KILL && cause != DIED_INTERRUPTED && cause != DIED_TERMINATED && cause != DIED_CRASH
		? output->exception
		: "";
}

/* The subject and the verb of a job whose rank failed: "train.py (4711) ended because rank 1". */
static void write_subject(const struct died_evidence *evidence, enum died_cause cause, char out[SUBJECT_SIZE])
{
	char pid[32] = "";
	bool is_rank = evidence->output.child[0] && (cause == DIED_CHILD_FAILED || cause == DIED_OOM_KILL);
	if (evidence->pid)
		snprintf(pid, sizeof pid, " (%d)", (int)evidence->pid);
	int used = snprintf(out, SUBJECT_SIZE, "%s%s", evidence->name[0] ? evidence->name : "the program", pid);
	if (is_rank)
		snprintf(out + used, SUBJECT_SIZE - (size_t)used, " ended because rank %ld", evidence->output.child_rank);
}

const char *died_name(const struct died_evidence *evidence) { return rows[died_judge(evidence)].name; }

void died_brief(const struct died_evidence *evidence, char *out, size_t size)
{
	enum died_cause cause = died_judge(evidence);
	*out = '\0';
	if (cause == DIED_EXIT_STATUS)
		snprintf(out, size, "exit status %d", WEXITSTATUS(evidence->status));
	else if (cause != DIED_UNKNOWN && cause != DIED_FINISHED)
		snprintf(out, size, "%s", rows[cause].name);
	for (char *c = out; *c; c++)
		*c = *c == '_' ? ' ' : *c;
}

/* Of a process that pmtop watched, and whose exit status is not known: what it left behind. */
static const char *of_unknown(const struct died_evidence *evidence, char out[DIED_LINE_SIZE])
{
	const struct died_output *output = &evidence->output;
	const char *error = output->child_exception[0] ? output->child_exception
		: output->exception[0]                     ? output->exception
		: output->hint != DIED_UNKNOWN             ? output->hint_line
												   : "";
	snprintf(out, DIED_LINE_SIZE, ": pmtop did not start it");
	if (evidence->oom_kills > 0)
		snprintf(out, DIED_LINE_SIZE, "; its cgroup had %.0f out-of-memory kill%s", evidence->oom_kills,
			evidence->oom_kills > 1 ? "s" : "");
	if (*error)
		snprintf(out, DIED_LINE_SIZE, "; last error: %.200s", error);
	return out;
}

const char *died_sentence(const struct died_evidence *evidence, char out[DIED_WORDS_SIZE])
{
	enum died_cause cause = died_judge(evidence);
	const char *detail = detail_of(evidence, cause), *joint = detail[0] ? ": " : "";
	char subject[SUBJECT_SIZE], signal_words[48] = "", left[DIED_LINE_SIZE];
	int number = died_signal(evidence), child_signal = evidence->output.child_signal;
	write_subject(evidence, cause, subject);
	if (cause == DIED_CRASH && number)
		snprintf(signal_words, sizeof signal_words, " (signal %d, %.24s)", number, strsignal(number));
	if (cause == DIED_EXIT_STATUS)
		snprintf(signal_words, sizeof signal_words, ": exit status %d", WEXITSTATUS(evidence->status));
	const char *predicate = rows[cause].predicate;
	if (cause == DIED_CHILD_FAILED && evidence->output.child[0])
		predicate = child_signal ? "was killed" : "failed";
	if (cause == DIED_CHILD_FAILED && child_signal)
		snprintf(signal_words, sizeof signal_words, " (signal %d, %.24s)", child_signal, strsignal(child_signal));
	if (cause == DIED_KILLED &&
		isnan(evidence->oom_kills)) /* without the cgroup's count, the kernel may have done it */
		predicate = "was killed (SIGKILL) by another process or the kernel";
	if (cause == DIED_UNKNOWN && !evidence->pid && evidence->output.is_known) /* any file may be given as a log */
		predicate = "does not say why its run ended";
	if (cause == DIED_UNKNOWN && evidence->is_watched && !evidence->has_status) {
		predicate = "ended; its exit status is not known";
		joint = "";
		detail = of_unknown(evidence, left);
	}
	snprintf(out, DIED_WORDS_SIZE, "%s %s%s%s%s", subject, predicate, signal_words, joint, detail);
	return out;
}

/* -- the evidence -- */

static void row(struct buffer *out, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void row(struct buffer *out, const char *name, const char *format, ...)
{
	char text[DIED_WORDS_SIZE];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	buffer_printf(out, "  %-12s %s\n", name, text);
}

static void print_status(const struct died_evidence *evidence, struct buffer *out)
{
	if (!evidence->has_status)
		row(out, "exit", "unknown");
	else if (WIFSIGNALED(evidence->status))
		row(out, "exit", "signal %d (%s)", WTERMSIG(evidence->status), strsignal(WTERMSIG(evidence->status)));
	else
		row(out, "exit", "status %d", WEXITSTATUS(evidence->status));
}

static void print_output(const struct died_output *output, struct buffer *out)
{
	if (output->exception[0])
		row(out, "exception", "%s", output->exception);
	if (output->child[0])
		row(out, "child", "%s", output->child);
	if (output->child_exception[0])
		row(out, "its error", "%s", output->child_exception);
	if (output->where[0])
		row(out, "raised in", "%s", output->where);
	if (output->hint != DIED_UNKNOWN)
		row(out, "message", "%s", output->hint_line);
	for (size_t i = 0; i < output->line_count; i++)
		row(out, i ? "" : "last lines", "%s", output->lines[i]);
}

static void print_good(const struct died_evidence *evidence, struct buffer *out)
{
	char one[NUMBER_SIZE], other[NUMBER_SIZE];
	if (!isnan(evidence->good_ran_s) && !isnan(evidence->ran_s))
		row(out, "before", "ended after %s; the last good run took %s", format_seconds(one, evidence->ran_s),
			format_seconds(other, evidence->good_ran_s));
	if (!isnan(evidence->good_peak_bytes) && !isnan(evidence->peak_bytes))
		row(out, "", "used %s at most; the last good run %s", format_bytes(one, evidence->peak_bytes),
			format_bytes(other, evidence->good_peak_bytes));
}

void died_print(const struct died_evidence *evidence, struct buffer *out)
{
	char words[DIED_WORDS_SIZE];
	const struct cause_row *cause = &rows[died_judge(evidence)];
	buffer_printf(out, "%s\n\nEvidence\n", died_sentence(evidence, words));
	print_status(evidence, out);
	if (evidence->oom_kills > 0 || (evidence->oom_kills == 0 && died_signal(evidence) && !evidence->kernel_line[0]))
		row(out, "cgroup", "%.0f out-of-memory kills while it ran", evidence->oom_kills);
	if (evidence->kernel_line[0])
		row(out, "kernel log", "%s", evidence->kernel_line);
	if (evidence->run[0])
		row(out, "run", "%s", evidence->run);
	if (evidence->collective[0])
		row(out, "ranks", "%s", evidence->collective);
	if (evidence->stack[0])
		row(out, "last stack", "%s", evidence->stack);
	print_output(&evidence->output, out);
	if (evidence->log[0] && evidence->output.is_known)
		row(out, "output in", "%.400s", evidence->log);
	print_good(evidence, out);
	if (cause->advice[0])
		buffer_puts(out, "\nTry\n");
	for (size_t i = 0; i < 3 && cause->advice[i]; i++)
		buffer_printf(out, "  - %s\n", cause->advice[i]);
}

/* -- JSON -- */

static void write_output(struct json *json, const struct died_output *output)
{
	if (!output->is_known)
		return;
	json_open_object(json, "output");
	json_text(json, "exception", output->exception[0] ? output->exception : NULL);
	json_text(json, "raised_in", output->where[0] ? output->where : NULL);
	json_text(json, "child", output->child[0] ? output->child : NULL);
	json_text(json, "child_exception", output->child_exception[0] ? output->child_exception : NULL);
	json_text(json, "error_line", output->hint != DIED_UNKNOWN ? output->hint_line : NULL);
	json_open_array(json, "last_lines");
	for (size_t i = 0; i < output->line_count; i++)
		json_text(json, NULL, output->lines[i]);
	json_close_array(json);
	json_close_object(json);
}

void died_print_json(const struct died_evidence *evidence, struct buffer *out)
{
	struct json json = { .out = out };
	char words[DIED_WORDS_SIZE];
	const struct cause_row *cause = &rows[died_judge(evidence)];
	json_open_object(&json, NULL);
	json_text(&json, "cause", cause->name);
	json_text(&json, "message", died_sentence(evidence, words));
	json_text(&json, "name", evidence->name[0] ? evidence->name : NULL);
	if (evidence->pid)
		json_integer(&json, "pid", evidence->pid);
	if (evidence->has_status && WIFSIGNALED(evidence->status))
		json_integer(&json, "signal", WTERMSIG(evidence->status));
	else if (evidence->has_status)
		json_integer(&json, "exit_status", WEXITSTATUS(evidence->status));
	json_number(&json, "oom_kills", evidence->oom_kills);
	json_text(&json, "kernel_log", evidence->kernel_line[0] ? evidence->kernel_line : NULL);
	json_text(&json, "run", evidence->run[0] ? evidence->run : NULL);
	json_text(&json, "collective", evidence->collective[0] ? evidence->collective : NULL);
	json_text(&json, "stack", evidence->stack[0] ? evidence->stack : NULL);
	json_text(&json, "log", evidence->log[0] ? evidence->log : NULL);
	write_output(&json, &evidence->output);
	json_number(&json, "ran_s", evidence->ran_s);
	json_number(&json, "peak_bytes", evidence->peak_bytes);
	json_number(&json, "good_ran_s", evidence->good_ran_s);
	json_number(&json, "good_peak_bytes", evidence->good_peak_bytes);
	json_open_array(&json, "advice");
	for (size_t i = 0; i < 3 && cause->advice[i]; i++)
		json_text(&json, NULL, cause->advice[i]);
	json_close_array(&json);
	json_close_object(&json);
	buffer_puts(out, "\n");
}
