/* pmtop exporter: serves the state of runs to Prometheus: over HTTP, as a file for node_exporter, or both. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/files/new_file.h"
#include "src/commands/commands.h"
#include "src/export/scrape/scrape.h"
#include "src/export/scrape/scrape_rules.h"
#include "src/rules/rule_book.h"
#include "src/rules/rule_levels.h"
#include "src/serving/http_server.h"
#include "src/serving/watched.h"
#include "src/session/signals.h"

#define LISTEN_DEFAULT "127.0.0.1:9750"
#define TEXTFILE_EVERY_NS (15 * NS_PER_S)
/* Rates need two readings, and a GPU's driver may need a third: the first file may be the only one. */
#define READINGS 3

struct exporter_work {
	const struct options *options;
	struct watched *watched;
	struct http_server *server; /* NULL: only a file is written */
	uint64_t version;           /* of the page */
	int64_t written;            /* files so far */
	int64_t write_ns, ended_ns; /* when the next file is due; when the run ended, 0 = it goes on */
	int write_error;            /* of the last file; 0 = none */
	int signal_fd;
	int code;
};

/* -- the page -- */

static double resident_bytes(void)
{
	char text[128];
	size_t length;
	unsigned long long pages;
	bool is_read = file_read(AT_FDCWD, "/proc/self/statm", text, sizeof text, &length) == STATUS_OK &&
		sscanf(text, "%*u %llu", &pages) == 1;
	return is_read ? (double)pages * (double)sysconf(_SC_PAGESIZE) : NAN;
}

static void write_page(void *context, bool is_openmetrics, struct buffer *out)
{
	const struct exporter_work *work = context;
	struct scrape_source sources[WATCHED_MAX];
	size_t count = watched_sources(work->watched, sources);
	struct scrape_options options = { .is_plain = !is_openmetrics, .has_commands = work->options->has_commands };
	struct scrape_self self = { .cpu_s = (double)clock_process_cpu_ns() * 1e-9,
		.resident_bytes = resident_bytes(),
		.left_out = watched_left_out(work->watched),
		.scrapes = work->server ? http_server_answered(work->server) : 0,
		.refused = work->server ? http_server_dropped(work->server) : 0 };
	scrape_write(out, sources, count, &options, &self);
}

static uint64_t page_version(void *context) { return ((const struct exporter_work *)context)->version; }

/* -- the file -- */

/* Opening one would wait for its reader, and no signal would end that. */
static bool is_fifo(const char *path)
{
	struct stat about;
	return stat(path, &about) == 0 && S_ISFIFO(about.st_mode);
}

/* Readable by node_exporter, which runs as another user. Returns false if the first one cannot be written; later a disk
 * may be full for a while. */
static bool write_file(struct exporter_work *work)
{
	struct buffer out = BUFFER_INIT;
	struct reason reason;
	const char *path = work->options->textfile;
	write_page(work, false, &out);
	int error = is_fifo(path) ? ENXIO
		: out.failed          ? ENOMEM
							  : new_file_write(path, NEW_FILE_PUBLIC, out.data, out.length);
	buffer_release(&out);
	if (error && error != work->write_error)
		work->code =
			(int)command_fail(reason_set(&reason, error == EACCES ? STATUS_DENIED : STATUS_IO,
								  "name a file in a writable folder with --textfile", "cannot write %.100s: %s", path,
								  error == ENXIO ? "it is a FIFO" : strerror(error)),
				&reason);
	work->write_error = error;
	work->code = error ? work->code : 0;
	work->written++;
	return !error || work->written > 1;
}

/* -- until the end -- */

static int shorter_ms(int a, int b) { return a < 0 || (b >= 0 && b < a) ? b : a; }

static int until_ms(int64_t then_ns, int64_t now_ns)
{
	return then_ns <= now_ns ? 0 : (int)((then_ns - now_ns) / NS_PER_MS) + 1;
}

static void wait_for_work(struct exporter_work *work, int64_t now_ns)
{
	struct pollfd ready[WATCHED_MAX + HTTP_POLL_MAX + 1];
	unsigned count = watched_poll(work->watched, ready);
	int wait_ms = watched_wait_ms(work->watched, now_ns);
	if (work->server) {
		count += http_server_poll(work->server, ready + count);
		wait_ms = shorter_ms(wait_ms, http_server_wait_ms(work->server, now_ns));
	}
	if (work->options->textfile)
		wait_ms = shorter_ms(wait_ms, until_ms(work->write_ns, now_ns));
	if (work->ended_ns)
		wait_ms = shorter_ms(wait_ms, until_ms(work->ended_ns + WATCHED_ENDED_NS, now_ns));
	ready[count++] = (struct pollfd){ .fd = work->signal_fd, .events = POLLIN };
	poll(ready, count, wait_ms);
}

static bool is_enough(const struct exporter_work *work)
{
	int64_t done = work->options->textfile ? work->written
		: work->server                     ? (int64_t)http_server_answered(work->server)
										   : 0;
	return work->options->count && done >= work->options->count;
}

/* Returns false when it is over: the last state has been written, and could be scraped for a while. */
static bool go_on(struct exporter_work *work)
{
	int64_t now_ns = clock_monotonic_ns();
	work->version += watched_step(work->watched, now_ns);
	bool has_just_ended = !work->ended_ns && watched_has_ended(work->watched);
	if (has_just_ended)
		work->ended_ns = now_ns;
	if (work->server)
		http_server_step(work->server, now_ns);
	if (work->options->textfile && (now_ns >= work->write_ns || has_just_ended)) {
		work->write_ns = now_ns + TEXTFILE_EVERY_NS;
		if (!write_file(work))
			return false;
	}
	if (is_enough(work) ||
		(work->ended_ns && (!work->server || work->options->child || now_ns >= work->ended_ns + WATCHED_ENDED_NS)))
		return false;
	wait_for_work(work, clock_monotonic_ns());
	return !signals_have_ended(work->signal_fd, watched_child(work->watched));
}

static enum exit_code print_rules(const struct settings *settings)
{
	struct buffer out = BUFFER_INIT;
	struct reason reason = { 0 };
	struct rule_book *book = rule_book_new();
	char folder[4096];
	const struct reason *faults;
	if (!book)
		return command_fail(reason_set(&reason, STATUS_NO_MEMORY, NULL, "out of memory"), &reason);
	if (rule_book_path(folder, sizeof folder) == STATUS_OK)
		rule_book_load_folder(book, folder);
	rule_book_set_levels(book, &settings->levels);
	size_t count = rule_book_faults(book, &faults);
	for (size_t i = 0; i < count; i++)
		command_fail(STATUS_INVALID, &faults[i]);
	scrape_rules_write(&out, book);
	fwrite(out.data, 1, out.length, stdout);
	rule_book_free(book);
	buffer_release(&out);
	return ferror(stdout) || fflush(stdout) ? EXIT_RUNTIME : EXIT_OK;
}

static enum exit_code open_server(struct exporter_work *work)
{
	struct http_content content = { write_page, page_version, work };
	struct reason reason = { 0 };
	const char *listen = work->options->listen ? work->options->listen : LISTEN_DEFAULT;
	enum status status = http_server_open(listen, &content, &work->server, &reason);
	if (status != STATUS_OK)
		return command_fail(status, &reason);
	fprintf(stderr, "pmtop: serving http://%s/metrics\n", http_server_address(work->server));
	return EXIT_OK;
}

static enum exit_code run_exporter(const struct options *options, const struct settings *settings)
{
	struct exporter_work work = { .options = options };
	enum exit_code code = EXIT_OK;
	if (options->print_rules)
		return print_rules(settings);
	/* First, so that an address in use is an error before a run is watched. */
	if (options->listen || !options->textfile)
		code = open_server(&work);
	if (code == EXIT_OK)
		code = watched_open(options, settings, &work.watched);
	if (code != EXIT_OK) {
		http_server_close(work.server);
		return code;
	}
	signal(SIGPIPE, SIG_IGN);
	work.signal_fd = signals_open_ending();
	work.write_ns = clock_monotonic_ns() + (int64_t)(READINGS * settings->refresh_s * (double)NS_PER_S);
	while (go_on(&work))
		continue;
	http_server_close(work.server);
	signals_close(work.signal_fd);
	code = watched_close(work.watched);
	return work.code ? (enum exit_code)work.code : code;
}

const struct command exporter_command = {
	.name = "exporter",
	.synopsis = "exporter [PID|NAME|FILE]",
	.summary = "serve the state of runs to Prometheus",
	.details = "Without a target: all runs of this machine. -r -: a stream of pmtop collect.\n",
	.example = "pmtop exporter --textfile=/var/lib/prometheus/node-exporter/pmtop.prom",
	.words = COMMAND_TAKES_TARGET,
	.formats = FORMATS_ALL_BUT_SVG,
	.run = run_exporter,
};
