#include "src/session/session_record.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/collect/recorder_disk.h"
#include "src/model/machine/processes.h"
#include "src/rules/alerts_list.h"
#include "src/session/session.h"

/* The recorded process: from the target, or from the model once the collector's thread uses the target. */
static struct recording_subject subject_of(const struct session *session)
{
	const struct model *model = session->model;
	const struct target *target = &session->target;
	const struct process *process = session->collector ? model_target(model) : NULL;
	struct recording_subject subject = { .command = target->synthetic ? "synthetic" : "" };
	if (process)
		subject = (struct recording_subject){ process->pid, process->start_ticks, process->command };
	else if (!session->collector && target->member_count)
		subject = (struct recording_subject){ target->pid, target->members[0].start_ticks, target->members[0].command };
	return subject;
}

/* Generates a name from the run's name or the command. */
static void name_recording(
	const struct session *session, const struct recording_subject *subject, char *out, size_t size)
{
	int run = session_run(session);
	const char *name = run >= 0 ? session->model->runs[run].name : session->wanted_run;
	recording_name(name[0] ? name : subject->command, subject->pid, clock_realtime_ns(), out, size);
}

enum status session_record(struct session *session, const char *path, struct reason *why_not)
{
	char made[RECORDING_PATH_SIZE];
	if (session->player)
		return reason_set(why_not, STATUS_INVALID, NULL, "this already is a recording");
	if (session->collector && collector_has_ended(session->collector))
		return reason_set(why_not, STATUS_INVALID, NULL, "the run has ended: no more data to record");
	struct recording_subject subject = subject_of(session);
	if (!path)
		name_recording(session, &subject, made, sizeof made);
	enum status status =
		recording_begin(&session->recording, path ? path : made, &subject, &session->recorder_options, why_not);
	if (status == STATUS_OK && session->collector)
		collector_want_snapshot(session->collector);
	return status;
}

void session_flag(struct session *session, unsigned run, uint32_t mode, uint64_t ordinal, bool is_flagged)
{
	if (run < session->model->run_count)
		recording_flag(&session->recording, session->model->runs[run].id, mode, ordinal, is_flagged);
}

enum status session_begin_recording(struct session *session, const struct options *options, struct reason *why_not)
{
	target_refresh(&session->target);
	if (!(options->command->traits & COMMAND_STREAMS))
		return options->write || (options->command->traits & COMMAND_RECORDS)
			? session_record(session, options->write, why_not)
			: STATUS_OK;
	struct recording_subject subject = subject_of(session);
	int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (out < 0)
		return reason_set(why_not, STATUS_IO, NULL, "cannot write to standard output: %s", strerror(errno));
	return recording_begin_fd(&session->recording, out, &subject, why_not);
}

enum status session_check_recording(
	const struct session *session, const struct options *options, struct reason *why_not)
{
	bool is_recording = options->write && !options->replay && (options->command->traits & COMMAND_MONITORS);
	return is_recording ? recorder_check(options->write, &session->recorder_options, why_not) : STATUS_OK;
}

void session_check_recording_file(struct session *session)
{
	struct reason why;
	recording_read(&session->recording);
	if (!recording_has_stopped(&session->recording, &why) || !session->recording.path[0])
		return;
	enum severity severity = session->recording.state.error ? SEVERITY_WARNING : SEVERITY_INFO;
	alerts_note(&session->alerts, session->model->now_ns, "recording", severity, &why);
}
