#include <stdio.h>

#include "src/doctor/doctor.h"
#include "src/model/model.h"
#include "src/profiling/profiling.h"
#include "src/sources/target/target.h"

void doctor_check_traces(struct doctor *doctor)
{
	struct target target;
	struct reason reason = { "", "" };
	char way[PROFILING_WORDS_SIZE], remedy[PROFILING_WORDS_SIZE];
	pid_t pid = doctor->model->target_pid;
	doctor_row(doctor, "traces", false);
	enum status status = target_open(&target, pid, "/proc", &reason);
	if (status == STATUS_OK) {
		status = profiling_check(&target, way, &reason);
		target_close(&target);
	}
	snprintf(remedy, sizeof remedy, "pmtop profile %d", (int)pid);
	if (status == STATUS_OK)
		doctor_say(doctor, FINDING_OK, remedy, "%s", way);
	else
		doctor_say(doctor, FINDING_OFF, reason.remedy, "%s", reason.text);
}
