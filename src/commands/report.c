/* pmtop report: prints the summary tables of a live run now, or of a recording at its end (or at --at). */
#include "src/commands/commands.h"
#include "src/export/csv/csv.h"
#include "src/export/export.h"
#include "src/export/json/json.h"
#include "src/export/text/report.h"
#include "src/session/output.h"
#include "src/session/replay/seek.h"

static enum exit_code run_report(const struct options *options, const struct settings *settings)
{
	struct session session;
	struct buffer out = BUFFER_INIT;
	enum exit_code code = session_open(&session, options, settings);
	if (code != EXIT_OK)
		return code;
	if ((code = seek_to(&session, options->at)) != EXIT_OK) {
		session_close(&session);
		return code;
	}
	int run = session_run(&session), output_code = 0;
	if (options->format == FORMAT_JSON)
		export_json(&out, session.model, &session.alerts, run, session_realtime_ns(&session));
	else if (options->format == FORMAT_CSV)
		export_csv(&out, session.model, run, session_realtime_ns(&session), 1);
	else
		export_report(&out, session.model, &session.alerts, run);
	if (options->format == FORMAT_TEXT)
		output_fit_locale(&out);
	output_flush(&out, &output_code);
	buffer_release(&out);
	code = session_close(&session);
	return output_code ? EXIT_RUNTIME : code;
}

const struct command report_command = {
	.name = "report",
	.synopsis = "report PID|NAME|FILE",
	.summary = "print the summary tables of a run",
	.example = "pmtop report run.pmtop --format=json",
	.words = COMMAND_TAKES_TARGET,
	.traits = COMMAND_AWAITS_SOURCES,
	.formats = FORMATS_ALL_BUT_SVG,
	.needs_target = true,
	.run = run_report,
};
