#include "src/sources/python/py_request.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "src/sources/python/remote.h"

/* Words of struct _Py_DebugOffsets that are the same since 3.14; the six of debugger_support follow from
 * word_support(). */
enum { WORD_VERSION = 1, WORD_INTERPRETER_NEXT = 8, WORD_MAIN_THREAD = 10 };
enum { SUPPORT_BREAKER, SUPPORT_BLOCK, SUPPORT_IS_ENABLED, SUPPORT_PENDING, SUPPORT_PATH, SUPPORT_PATH_SIZE };
enum {
	INTERPRETERS_MAX = 1024,
	INTERPRETER_SIZE_MAX = 1 << 20,
	PATH_SIZE_MIN = 128,
	PATH_SIZE_MAX = 4096,
	RELEASE_FINAL = 0xf,
	/* _PY_EVAL_PLEASE_STOP_BIT */
	BREAKER_STOP = 1 << 5,
};

static unsigned word_support(unsigned minor) { return minor == 14 ? 89 : 105; }

static enum status refuse_version(pid_t pid, const struct py_layout *layout, struct reason *why_not)
{
	char version[PY_VERSION_SIZE];
	py_layout_version(layout, version);
	return reason_set(why_not, STATUS_UNSUPPORTED, "start the program with pmtop -- COMMAND, which instruments it",
		"process %d runs Python %s, and only CPython 3.%d and newer can be instrumented while they run", (int)pid,
		version, PY_MINOR_REQUESTS);
}

static enum status refuse_invalid(unsigned minor, struct reason *why_not)
{
	return reason_set(
		why_not, STATUS_DAMAGED, NULL, "the debug offsets of Python 3.%u are invalid: nothing was written", minor);
}

static enum status refuse_memory(pid_t pid, struct reason *why_not)
{
	int error = errno;
	return reason_set(why_not, error == EPERM || error == EACCES ? STATUS_DENIED : STATUS_IO, NULL,
		"the memory of process %d cannot be accessed: %s", (int)pid, strerror(error));
}

/* -- where to write -- */

/* The list begins with the newest interpreter and ends with the main one. */
static bool find_interpreter(const struct py_location *location, pid_t pid, uint64_t *out)
{
	uint64_t next;
	if (!remote_word(pid, location->runtime + location->layout.runtime_interpreters, &next))
		return false;
	for (int i = 0; i < INTERPRETERS_MAX && next; i++) {
		*out = next;
		if (!remote_word(pid, *out + location->layout.interpreter_next, &next))
			return false;
	}
	return *out && !next;
}

static bool is_its_thread(const struct py_request *request)
{
	uint64_t owner;
	return remote_word(request->pid, request->thread + request->thread_interpreter, &owner) &&
		owner == request->interpreter;
}

static bool fits(uint64_t offset, uint64_t size, uint64_t limit) { return offset <= limit && size <= limit - offset; }

static bool find_addresses(const uint64_t *support, const struct py_layout *layout, struct py_request *out)
{
	uint64_t block = support[SUPPORT_BLOCK], size = support[SUPPORT_PATH_SIZE], limit = layout->thread_size;
	if (size < PATH_SIZE_MIN || size > PATH_SIZE_MAX || !fits(block, 0, limit) ||
		!fits(support[SUPPORT_BREAKER], sizeof(uint64_t), limit) ||
		!fits(support[SUPPORT_PENDING], sizeof(int32_t), limit - block) ||
		!fits(support[SUPPORT_PATH], size, limit - block))
		return false;
	out->breaker = out->thread + support[SUPPORT_BREAKER];
	out->pending = out->thread + block + support[SUPPORT_PENDING];
	out->path = out->thread + block + support[SUPPORT_PATH];
	out->path_size = size;
	return true;
}

static enum status check_switches(const struct py_request *request, uint64_t is_enabled, struct reason *why_not)
{
	int32_t enabled, pending;
	if (!remote_read(request->pid, request->interpreter + is_enabled, &enabled, sizeof enabled) ||
		!remote_read(request->pid, request->pending, &pending, sizeof pending))
		return refuse_memory(request->pid, why_not);
	if (enabled == 0)
		return reason_set(why_not, STATUS_UNSUPPORTED, "start the program with pmtop -- COMMAND, or without them",
			"remote debugging is off in process %d: PYTHON_DISABLE_REMOTE_DEBUG, -X disable-remote-debug, or its build",
			(int)request->pid);
	if (pending == 1)
		return reason_set(why_not, STATUS_UNSUPPORTED, "try again when its main thread runs Python code",
			"process %d has not yet run the script of another debugger", (int)request->pid);
	return enabled == 1 && pending == 0
		? STATUS_OK
		: reason_set(why_not, STATUS_DAMAGED, NULL,
			  "the debugger support of process %d is invalid: nothing was written", (int)request->pid);
}

enum status py_request_open(
	pid_t pid, const struct py_location *location, struct py_request *out, struct reason *why_not)
{
	const struct py_layout *layout = &location->layout;
	uint64_t words[PY_DEBUG_WORDS];
	struct py_request request = { .pid = pid, .thread_interpreter = layout->thread_interpreter };
	if (layout->minor < PY_MINOR_REQUESTS)
		return refuse_version(pid, layout, why_not);
	if (!remote_read(pid, location->runtime, words, sizeof words))
		return refuse_memory(pid, why_not);
	/* The layout of a pre-release may differ from that of the final release. */
	if ((words[WORD_VERSION] >> 4 & 0xf) != RELEASE_FINAL)
		return reason_set(why_not, STATUS_UNSUPPORTED, "start the program with pmtop -- COMMAND",
			"process %d runs a pre-release of Python 3.%u, into which pmtop does not write", (int)pid, layout->minor);
	const uint64_t *support = words + word_support(layout->minor);
	if (words[WORD_INTERPRETER_NEXT] != layout->interpreter_next || words[WORD_MAIN_THREAD] > INTERPRETER_SIZE_MAX ||
		support[SUPPORT_IS_ENABLED] > INTERPRETER_SIZE_MAX)
		return refuse_invalid(layout->minor, why_not);
	if (!find_interpreter(location, pid, &request.interpreter) ||
		!remote_word(pid, request.interpreter + words[WORD_MAIN_THREAD], &request.thread))
		return refuse_memory(pid, why_not);
	if (!request.thread || !is_its_thread(&request) || !find_addresses(support, layout, &request))
		return refuse_invalid(layout->minor, why_not);
	enum status status = check_switches(&request, support[SUPPORT_IS_ENABLED], why_not);
	if (status == STATUS_OK)
		*out = request;
	return status;
}

/* -- writing -- */

static bool write_into(pid_t pid, uint64_t address, const void *from, size_t size)
{
	struct iovec here = { (void *)(uintptr_t)from, size }, there = { (void *)(uintptr_t)address, size };
	ssize_t written = process_vm_writev(pid, &here, 1, &there, 1, 0);
	if (written >= 0 && (size_t)written != size)
		errno = EFAULT;
	return written >= 0 && (size_t)written == size;
}

enum status py_request_send(const struct py_request *request, const char *path, struct reason *why_not)
{
	const int32_t pending = 1;
	size_t size = strlen(path) + 1;
	if (size > request->path_size)
		return reason_set(
			why_not, STATUS_INVALID, NULL, "the path of the script is longer than %zu bytes", request->path_size - 1);
	if (!is_its_thread(request))
		return reason_set(why_not, STATUS_IO, NULL, "process %d is ending: nothing was written", (int)request->pid);
	/* In this order: a request without its path must never be seen. */
	if (!write_into(request->pid, request->path, path, size) ||
		!write_into(request->pid, request->pending, &pending, sizeof pending))
		return refuse_memory(request->pid, why_not);
	return STATUS_OK;
}

enum status py_request_hurry(const struct py_request *request, struct reason *why_not)
{
	uint8_t low; /* the only byte with events: the others belong to the code's version */
	if (!is_its_thread(request) || !remote_read(request->pid, request->breaker, &low, sizeof low))
		return refuse_memory(request->pid, why_not);
	if (low & BREAKER_STOP)
		return STATUS_OK;
	low |= BREAKER_STOP;
	return write_into(request->pid, request->breaker, &low, sizeof low) ? STATUS_OK
																		: refuse_memory(request->pid, why_not);
}

enum py_answer py_request_answer(const struct py_request *request)
{
	int32_t pending;
	if (!is_its_thread(request) || !remote_read(request->pid, request->pending, &pending, sizeof pending))
		return PY_ANSWER_ENDED;
	return pending == 1 ? PY_ANSWER_WAITING : PY_ANSWER_TAKEN;
}

bool py_request_withdraw(const struct py_request *request)
{
	const int32_t none = 0;
	return py_request_answer(request) == PY_ANSWER_WAITING &&
		write_into(request->pid, request->pending, &none, sizeof none);
}
