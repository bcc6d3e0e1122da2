/* py_sampler.h: samples the main thread of a running CPython, or another one, repeatedly at low cost: it caches the
 * location of the newest frame, the code objects, and the lines of instructions between samples, and checks them
 * against the process once a second.
 *
 * All calls for one process come from one thread. */
#ifndef PMTOP_SOURCES_PYTHON_PY_SAMPLER_H
#define PMTOP_SOURCES_PYTHON_PY_SAMPLER_H

#include "src/sources/python/py_stack.h"

struct py_known {
	struct py_code code;
	uint32_t mark; /* the caller's own; 0 = new to the caller */
};

struct py_site {
	struct py_known *known;
	int line;
	uint64_t frame, code; /* addresses of the frame and its code object, for py_counter.h */
	uint64_t ip;          /* as in the frame */
};

struct py_sample {
	bool is_whole; /* false: its innermost frames changed while they were read, and are left out */
	bool is_cut;   /* it has more than PY_FRAMES_MAX frames: the outermost are missing */
	size_t count;
	struct py_site sites[PY_FRAMES_MAX]; /* the newest first; valid until the next sample */
};

struct py_sampler;

/* As py_open. `process_fd` is /proc/PID and remains the caller's. `relative`: of a process of which this one may be a
 * fork; or NULL. */
enum status py_sampler_open(
	pid_t pid, int process_fd, const struct py_sampler *relative, struct py_sampler **out, struct reason *why_not);
void py_sampler_close(struct py_sampler *sampler);
const struct py_layout *py_sampler_version(const struct py_sampler *sampler);
/* Valid until the sampler is closed. */
const struct py_process *py_sampler_process(const struct py_sampler *sampler);
/* From now on py_sampler_sample samples this thread instead of the main one, until it ends; 0 = the main thread. */
void py_sampler_follow(struct py_sampler *sampler, uint64_t thread);
/* AGAIN: its main thread does not exist now, or nothing could be read; END: the process has ended; NO_MEMORY. */
enum status py_sampler_sample(struct py_sampler *sampler, int64_t now_ns, struct py_sample *out);

/* Where its threads are, as of the last sample; 0 = unknown. sampled: the main thread, or the one that is followed.
 * gil: see py_gil.h; 0 = it has none, too. */
struct py_addresses {
	uint64_t interpreter, main, sampled, gil;
};
struct py_addresses py_sampler_addresses(const struct py_sampler *sampler);
/* Lists its threads: py_threads_list. */
struct py_thread_at;
size_t py_sampler_threads(struct py_sampler *sampler, struct py_thread_at *out, size_t max);
/* Samples another thread, at a higher cost. Its sites, too, are valid until the next py_sampler_sample. */
enum status py_sampler_sample_other(struct py_sampler *sampler, uint64_t thread, int64_t now_ns, struct py_sample *out);

#endif
