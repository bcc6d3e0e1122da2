#include "src/sources/perf/perf.h"

#include <dlfcn.h>
#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/sources/perf/perf_reader.h"

/* Kernel and libpfm4 as a perf_opener. The library is loaded when the first name is encoded. */
struct perf_system {
	struct perf_opener opener;
	void *library; /* NULL: not loaded */
	bool has_tried;
	struct reason why_not;
	pfm_err_t (*initialize)(void);
	pfm_err_t (*encode)(const char *, int, pfm_os_t, void *);
	const char *(*explain)(int);
};

/* -- the kernel -- */

static int system_open(void *context, const struct perf_code *code, pid_t tid, int cpu, int group)
{
	struct perf_event_attr attr = { .type = code->type,
		.size = sizeof attr,
		.config = code->config,
		.config1 = code->config1,
		.config2 = code->config2,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.exclude_user = code->no_user,
		.exclude_kernel = code->no_kernel,
		.exclude_hv = code->no_kernel };
	(void)context;
	long fd = syscall(SYS_perf_event_open, &attr, tid, cpu, group, PERF_FLAG_FD_CLOEXEC);
	return fd >= 0 ? (int)fd : -errno;
}

static ssize_t system_read(void *context, int fd, void *out, size_t size)
{
	(void)context;
	ssize_t length = read(fd, out, size);
	return length >= 0 ? length : -errno;
}

static void system_close(void *context, int fd)
{
	(void)context;
	close(fd);
}

/* -- libpfm4 -- */

static bool find_symbols(struct perf_system *system)
{
	const struct {
		const char *name;
		void *at;
	} symbols[] = {
		{ "pfm_initialize", &system->initialize },
		{ "pfm_get_os_event_encoding", &system->encode },
		{ "pfm_strerror", &system->explain },
	};
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *symbol = dlsym(system->library, symbols[i].name);
		if (!symbol)
			return false;
		memcpy(symbols[i].at, &symbol, sizeof symbol);
	}
	return true;
}

static bool load(struct perf_system *system)
{
	if (system->has_tried)
		return system->library != NULL;
	system->has_tried = true;
	system->library = dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);
	if (system->library && find_symbols(system) && system->initialize() == PFM_SUCCESS)
		return true;
	reason_set(&system->why_not, STATUS_UNSUPPORTED, "install libpfm4",
		system->library ? "libpfm4 does not know this CPU" : "libpfm4 (libpfm.so.4) is not installed");
	if (system->library)
		dlclose(system->library);
	system->library = NULL;
	return false;
}

static enum status system_encode(void *context, const char *name, struct perf_code *out, struct reason *why_not)
{
	struct perf_system *system = context;
	struct perf_event_attr attr = { .size = sizeof attr };
	pfm_perf_encode_arg_t argument = { .attr = &attr, .size = sizeof argument };
	if (!load(system)) {
		*why_not = system->why_not;
		return STATUS_UNSUPPORTED;
	}
	pfm_err_t error = system->encode(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &argument);
	if (error != PFM_SUCCESS)
		return reason_set(why_not, STATUS_NOT_FOUND,
			"use a libpfm4 name for this CPU (its program showevtinfo lists them)", "libpfm4 rejects %s: %s", name,
			system->explain(error));
	*out = (struct perf_code){ .type = attr.type,
		.config = attr.config,
		.config1 = attr.config1,
		.config2 = attr.config2,
		.no_user = attr.exclude_user,
		.no_kernel = attr.exclude_kernel };
	return STATUS_OK;
}

struct perf_opener *perf_system_new(void)
{
	struct perf_system *system = calloc(1, sizeof *system);
	if (!system)
		return NULL;
	system->opener = (struct perf_opener){ system_open, system_read, system_close, system_encode, system };
	return &system->opener;
}

/* The library stays loaded: it may hold memory of its own, which is small. */
void perf_system_free(struct perf_opener *opener) { free(opener ? opener->context : NULL); }

/* -- the source -- */

struct perf_state {
	struct perf_opener *opener;
	struct perf_reader *reader;
};

static void perf_close(void *state)
{
	struct perf_state *perf = state;
	perf_reader_free(perf->reader);
	perf_system_free(perf->opener);
	free(perf);
}

static enum status perf_open(struct target *target, void **state, struct reason *why_not)
{
	struct perf_state *perf = calloc(1, sizeof *perf);
	if (perf)
		perf->opener = perf_system_new();
	if (perf && perf->opener)
		perf->reader = perf_reader_new(target, perf->opener);
	if (!perf || !perf->reader) {
		if (perf)
			perf_close(perf);
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	}
	*state = perf;
	return STATUS_OK;
}

static enum status perf_read(void *state, int64_t now_ns, struct sample_set *out)
{
	const struct perf_state *perf = state;
	return perf_reader_read(perf->reader, now_ns, out);
}

static enum status perf_emit_all(void *state, int64_t now_ns, struct sample_set *out)
{
	const struct perf_state *perf = state;
	perf_reader_emit_all(perf->reader, now_ns, out);
	return STATUS_OK;
}

const struct source perf_source = {
	.name = "perf",
	.period_ns = SOURCE_SLOW_NS,
	.open = perf_open,
	.read = perf_read,
	.emit_all = perf_emit_all,
	.close = perf_close,
};
