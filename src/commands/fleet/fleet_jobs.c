#include "src/commands/fleet/fleet_jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buffer.h"
#include "src/base/text.h"

static const char between[] = " \t\r\n";

static size_t count_words(const char *text)
{
	size_t count = 0;
	for (text += strspn(text, between); *text; text += strspn(text, between)) {
		text += strcspn(text, between);
		count++;
	}
	return count;
}

static void cut_words(struct fleet_jobs *jobs)
{
	char *state = NULL;
	for (char *word = strtok_r(jobs->text, between, &state); word; word = strtok_r(NULL, between, &state))
		jobs->names[jobs->count++] = word;
}

/* Slurm's commands print their errors themselves. */
static void read_hosts(const char *job, struct buffer *out)
{
	char command[512], quoted[256], bytes[4096];
	text_shell_word(quoted, sizeof quoted, job);
	snprintf(command, sizeof command, "nodes=$(squeue -h -o %%N -j %s) && scontrol show hostnames \"$nodes\"", quoted);
	FILE *pipe = popen(command, "re");
	for (size_t length; pipe && (length = fread(bytes, 1, sizeof bytes, pipe)) > 0;)
		buffer_add(out, bytes, length);
	if (pipe)
		pclose(pipe);
}

enum status fleet_jobs_hosts(struct fleet_jobs *jobs, const char *job, struct reason *why_not)
{
	struct buffer out = BUFFER_INIT;
	char shown[64];
	read_hosts(job, &out);
	size_t count = out.data && !out.failed ? count_words(out.data) : 0;
	jobs->text = out.data;
	jobs->names = count ? calloc(count, sizeof *jobs->names) : NULL;
	if (jobs->names) {
		cut_words(jobs);
		return STATUS_OK;
	}
	text_clean(shown, sizeof shown, job, strlen(job));
	return reason_set(why_not, STATUS_IO, "name its hosts: pmtop fleet --srun JOBID HOST ...",
		"squeue and scontrol name no hosts of job %s", shown);
}

void fleet_jobs_release(struct fleet_jobs *jobs)
{
	free(jobs->text);
	free(jobs->names);
}
