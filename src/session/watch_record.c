#include "src/session/watch_record.h"

#include <stdio.h>

#include "src/base/text.h"
#include "src/session/session.h"
#include "src/session/session_record.h"

void watch_record_toggle(struct session *session, struct screen *screen)
{
	struct recording *recording = &session->recording;
	struct reason why = { "", "" };
	char message[160], bytes[NUMBER_SIZE];
	if (recording_goes_on(recording)) {
		recording_finish(recording);
		snprintf(message, sizeof message, "recorded %s to %.110s", format_bytes(bytes, (double)recording->state.bytes),
			recording->path);
	} else if (session_record(session, NULL, &why) == STATUS_OK) {
		snprintf(message, sizeof message, "recording to %.90s; r stops it", recording->path);
	} else {
		snprintf(
			message, sizeof message, "not recorded: %.100s%s%.40s", why.text, why.remedy[0] ? ": " : "", why.remedy);
	}
	screen_message(screen, message);
}

void watch_record_report(struct session *session, struct screen *screen)
{
	struct hand_flag flag;
	if (screen_take_flag(screen, &flag))
		session_flag(session, flag.run, flag.mode, flag.ordinal, flag.is_flagged);
	screen_set_recording(screen, recording_goes_on(&session->recording), (double)session->recording.state.bytes);
}
