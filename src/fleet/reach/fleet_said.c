#include "src/fleet/reach/fleet_said.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "src/base/clock.h"
#include "src/base/text.h"

#define BURST_NS (5 * NS_PER_S)
enum { NOT_FOUND = 127 };

/* EXIT: how a process ended, which is known anyway; RESULT: what follows from the cause, REFUSAL: without its detail.
 */
enum weight { EXIT, OTHER, RESULT, REFUSAL, CAUSE };

static const char install[] = "install pmtop there, or name it with --program";

/* The first that a line contains. */
static const struct {
	const char *text;
	enum weight weight;
	const char *advice;
	bool is_refusal;
} known[] = {
	{ "command terminated with exit code", EXIT, NULL, false }, /* kubectl */
	{ "srun: error:", EXIT, NULL, false },
	{ "Host key verification failed", REFUSAL, "connect once by hand to accept its host key (or that of its ProxyJump)",
		true },
	{ "has changed and you have requested strict", CAUSE, "remove the old key with ssh-keygen -R", true },
	{ "Permission denied (", CAUSE, "pmtop cannot ask for a password: use a key, or ssh-agent", true },
	{ "Too many authentication failures", CAUSE, "name its key in ~/.ssh/config, with IdentitiesOnly yes", true },
	{ "Load key \"", CAUSE, "pmtop cannot ask for a passphrase: ssh-add the key", true },
	{ "without its value: --relay", CAUSE, "pmtop there is too old to relay: install the version of this machine",
		false },
	{ "without its value: --fleet", CAUSE, "pmtop there is too old: install the version of this machine", false },
	{ "executable file not found", CAUSE, install, false },
	{ "sh: 1: exec: ", CAUSE, "the program of --ssh was not found on this machine", false }, /* dash */
	{ "sh: line 1: exec: ", CAUSE, "the program of --ssh was not found on this machine", false },
	{ "Connection closed by", RESULT, NULL, false },
	{ "kex_exchange_identification", RESULT, NULL, false },
	{ "Timeout, server", CAUSE, NULL, false },
	{ "ssh: ", CAUSE, NULL, false },
	{ "pmtop: ", CAUSE, NULL, false },
	{ "not found", CAUSE, NULL, false },
	{ "No such file", CAUSE, NULL, false },
	{ "Connection ", RESULT, NULL, false },
	{ "client_loop", RESULT, NULL, false },
};
enum { KNOWN_COUNT = sizeof known / sizeof *known };

static size_t find(const char *text)
{
	size_t i = 0;
	while (i < KNOWN_COUNT && !strstr(text, known[i].text))
		i++;
	return i;
}

void fleet_said_take(struct fleet_said *said, const char *line, size_t length, int64_t now_ns)
{
	char text[FLEET_LINE_SIZE];
	text_clean(text, sizeof text, line, length);
	size_t found = find(text);
	int weight = (int)(found < KNOWN_COUNT ? known[found].weight : OTHER);
	if (!text[strspn(text, " ")] || (said->text[0] && weight < said->weight && now_ns - said->at_ns < BURST_NS))
		return;
	memcpy(said->text, text, sizeof text);
	said->weight = weight;
	said->at_ns = now_ns;
}

const char *fleet_said_advice(const struct fleet_said *said, int status)
{
	size_t found = find(said->text);
	const char *advice = found < KNOWN_COUNT ? known[found].advice : NULL;
	return advice ? advice : status == NOT_FOUND ? install : NULL;
}

bool fleet_said_is_refusal(const struct fleet_said *said)
{
	size_t found = find(said->text);
	return found < KNOWN_COUNT && known[found].is_refusal;
}

static const char own_prefix[] = "pmtop: ";

bool fleet_said_by_pmtop(const struct fleet_said *said)
{
	return strncmp(said->text, own_prefix, sizeof own_prefix - 1) == 0;
}

void fleet_said_explain(const struct fleet_said *said, int status, char *out, size_t size)
{
	int exited = status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	const char *advice = fleet_said_advice(said, exited);
	const char *text = said->text + (fleet_said_by_pmtop(said) ? sizeof own_prefix - 1 : 0);
	if (exited == 0)
		snprintf(out, size, "its run has ended");
	else if (advice)
		snprintf(out, size, "%.110s \342\206\222 %.80s", text[0] ? text : "command not found", advice);
	else if (text[0])
		snprintf(out, size, "%.190s", text);
	else if (status >= 0 && WIFSIGNALED(status))
		snprintf(out, size, "its process was killed by signal %d", WTERMSIG(status));
	else if (exited > 0)
		snprintf(out, size, "its process ended with status %d", exited);
	else
		snprintf(out, size, "its stream ended");
}
