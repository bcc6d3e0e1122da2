/* py_sampler.h: the main thread of a running CPython, looked at again and again, cheaply: where its newest frame is,
 * which code objects there are and which line an instruction belongs to is kept from look to look, and held against the
 * process once a second.
 *
 * All calls for one process come from one thread. */
#ifndef PMTOP_SOURCES_PYTHON_PY_SAMPLER_H
#define PMTOP_SOURCES_PYTHON_PY_SAMPLER_H

#include "src/sources/python/py_stack.h"

struct py_known {
	struct py_code code;
	uint32_t mark; /* the caller's own; 0 = it has not seen this one yet */
};

struct py_site {
	struct py_known *known;
	int line;
	uint64_t frame, code; /* where it and its code object lay: for who reads more of them (py_counter.h) */
};

struct py_sample {
	bool is_whole; /* else: its innermost frames changed while they were read, and are left out */
	bool is_cut;   /* it has more than PY_FRAMES_MAX: the outermost are missing */
	size_t count;
	struct py_site sites[PY_FRAMES_MAX]; /* the newest first; valid until the next look */
};

struct py_sampler;

/* As py_open. `process_fd` is /proc/PID, and remains the caller's. */
enum status py_sampler_open(pid_t pid, int process_fd, struct py_sampler **out, struct reason *why_not);
void py_sampler_close(struct py_sampler *sampler);
const struct py_layout *py_sampler_version(const struct py_sampler *sampler);
/* Valid until it is closed. */
const struct py_process *py_sampler_process(const struct py_sampler *sampler);
/* AGAIN: its main thread is not there now, or nothing of it could be read; END: the process has ended; NO_MEMORY. */
enum status py_sampler_sample(struct py_sampler *sampler, int64_t now_ns, struct py_sample *out);

#endif
