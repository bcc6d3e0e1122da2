#include "src/fleet/reach/fleet_command.h"

#include <stdio.h>
#include <string.h>

#include "src/base/buffer.h"
#include "src/base/text.h"

/* DIRECT_MAX: more hosts are reached by relays, by ssh alone: whether kubectl or srun works on a host is unknown. */
enum { HOST_SIZE = 256, DIRECT_MAX = 64 };

static void add_word(struct buffer *out, const char *word)
{
	char quoted[2048];
	buffer_puts(out, text_shell_word(quoted, sizeof quoted, word));
}

typedef void remote_command(struct buffer *out, const struct fleet_way *way);

static void add_relay(struct buffer *out, const struct fleet_way *way)
{
	add_word(out, way->program ? way->program : "pmtop");
	buffer_puts(out, " collect --relay");
}

static void add_collect(struct buffer *out, const struct fleet_way *way)
{
	add_word(out, way->program ? way->program : "pmtop");
	buffer_printf(out, " collect --fleet -d %.6g", way->period_s);
	if (way->pid)
		buffer_printf(out, " -p %d", way->pid);
	if (way->run) {
		buffer_puts(out, " -s ");
		add_word(out, way->run);
	}
}

/* BatchMode: ssh must not ask for a password on the terminal, which has the screen. */
static void add_ssh(struct buffer *out, const struct fleet_way *way, const char *host, remote_command *add_remote)
{
	struct buffer remote = BUFFER_INIT;
	add_remote(&remote, way);
	buffer_printf(out, "exec %s -T -o BatchMode=yes -o ConnectTimeout=5 -o ServerAliveInterval=5 -- ",
		way->ssh ? way->ssh : "ssh");
	add_word(out, host);
	buffer_puts(out, " ");
	add_word(out, remote.data ? remote.data : "");
	buffer_release(&remote);
}

static void add_srun(struct buffer *out, const struct fleet_way *way, const char *host, remote_command *add_remote)
{
	buffer_puts(out, "exec srun --jobid=");
	add_word(out, way->srun);
	buffer_puts(out, " --overlap --nodes=1 --ntasks=1 --nodelist=");
	add_word(out, host);
	buffer_puts(out, " ");
	add_remote(out, way);
}

static void add_exec(struct buffer *out, const struct fleet_way *way, const char *host, remote_command *add_remote)
{
	const char *rest = way->exec;
	for (const char *at; (at = strstr(rest, "{}")); rest = at + 2) {
		buffer_add(out, rest, (size_t)(at - rest));
		add_word(out, host);
	}
	buffer_puts(out, rest);
	buffer_puts(out, " ");
	add_remote(out, way);
}

static enum status check(const struct fleet_way *way, const char *host, struct reason *why_not)
{
	char shown[80];
	text_clean(shown, sizeof shown, host, strlen(host));
	if (!host[0] || host[0] == '-' || strlen(host) >= HOST_SIZE || strcspn(host, " \t\r\n") != strlen(host))
		return reason_set(why_not, STATUS_INVALID, "pmtop fleet HOST ...", "%s is no name of a host", shown);
	if (way->exec && !strstr(way->exec, "{}"))
		return reason_set(why_not, STATUS_INVALID, "such as --exec='kubectl exec -i {} --'",
			"--exec needs {}, where the host's name stands");
	return STATUS_OK;
}

static enum status take(struct buffer *line, char out[FLEET_COMMAND_SIZE], struct reason *why_not)
{
	enum status status = STATUS_OK;
	if (line->failed || line->length >= FLEET_COMMAND_SIZE)
		status = reason_set(why_not, STATUS_INVALID, NULL, "the command for a host is longer than 4 KB");
	else
		memcpy(out, line->data, line->length + 1);
	buffer_release(line);
	return status;
}

static enum status make(const struct fleet_way *way, const char *host, remote_command *add_remote,
	char out[FLEET_COMMAND_SIZE], struct reason *why_not)
{
	struct buffer line = BUFFER_INIT;
	enum status status = check(way, host, why_not);
	if (status != STATUS_OK)
		return status;
	(way->exec ? add_exec : way->srun ? add_srun : add_ssh)(&line, way, host, add_remote);
	return take(&line, out, why_not);
}

enum status fleet_command_line(
	const struct fleet_way *way, const char *host, char out[FLEET_COMMAND_SIZE], struct reason *why_not)
{
	return make(way, host, add_collect, out, why_not);
}

enum status fleet_command_relay(
	const struct fleet_way *way, const char *host, char out[FLEET_COMMAND_SIZE], struct reason *why_not)
{
	return make(way, host, add_relay, out, why_not);
}

enum status fleet_command_own(const struct fleet_way *way, char out[FLEET_COMMAND_SIZE], struct reason *why_not)
{
	struct buffer line = BUFFER_INIT;
	buffer_puts(&line, "exec ");
	add_collect(&line, way);
	return take(&line, out, why_not);
}

unsigned fleet_command_fan_out(const struct fleet_way *way, size_t hosts)
{
	unsigned root = 1;
	if (way->fan_out)
		return way->fan_out;
	if (way->exec || way->srun || hosts <= DIRECT_MAX)
		return 1;
	while ((size_t)root * root < hosts)
		root++;
	return root;
}

const char *fleet_command_needs(const struct fleet_way *way)
{
	return way->exec || way->ssh ? NULL : way->srun ? "srun" : "ssh";
}
