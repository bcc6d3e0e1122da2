/* Spans of coroutines, which share a thread: they interleave, so they do not nest on the thread's stack of spans.
 *
 * `_tasks.py` has them, by contextvars. This file decides cheaply whether a span belongs there: if an event loop runs
 * in the calling thread, or while spans of tasks are open in its context (asyncio.to_thread() copies the context). All
 * other spans go to the thread's stack in pmtop.h. Callers hold the GIL; without a GIL, accesses that two threads may
 * do at the same time are atomic. */
#ifndef PMTOP_TASKS_H
#define PMTOP_TASKS_H

#include "_pmtop_run.h"

static struct {
	PyObject *begin, *end, *past; /* of _tasks.py: each returns whether the span belongs to a task */
	PyObject *innermost;          /* the context variable's get */
	PyObject *other_loop;         /* of _tasks.py: whether trio or curio runs here */
	PyObject *running_loop;       /* of asyncio; NULL until that is imported */
	int has_other_loops;
	Py_ssize_t modules_seen; /* size of sys.modules at the last search for loops */
	int open_count;          /* open spans of tasks, in the whole process */
} tasks;

static PyObject *call_nothing(PyObject *function)
{
#if PY_VERSION_HEX >= 0x030a0000 || !defined Py_LIMITED_API
	return PyObject_CallNoArgs(function);
#else
	return PyObject_CallFunctionObjArgs(function, NULL);
#endif
}

/* False also after an error, which must not reach training. Takes the reference `result`. */
static int is_true_result(PyObject *result)
{
	int is_true = result ? PyObject_IsTrue(result) : -1;
	Py_XDECREF(result);
	if (is_true < 0)
		PyErr_Clear();
	return is_true > 0;
}

static void find_event_loops(PyObject *modules)
{
	PyObject *asyncio = PyDict_GetItemString(modules, "asyncio.events");
	if (asyncio && !tasks.running_loop && !(tasks.running_loop = PyObject_GetAttrString(asyncio, "_get_running_loop")))
		PyErr_Clear(); /* it is being imported: no loop runs yet */
	tasks.has_other_loops = PyDict_GetItemString(modules, "trio") || PyDict_GetItemString(modules, "curio");
}

/* Whether an event loop runs in this thread. After close(), which runs at the interpreter's end, it must not read
 * sys.modules any more. */
static inline int is_in_loop(void)
{
	if (!region_now())
		return 0;
	PyObject *modules = PyImport_GetModuleDict();
	Py_ssize_t count = PyDict_Size(modules);
	if (__builtin_expect(count != tasks.modules_seen, 0)) {
		tasks.modules_seen = count;
		find_event_loops(modules);
	}
	if (tasks.running_loop) {
		PyObject *loop = call_nothing(tasks.running_loop);
		int is_running = loop != Py_None;
		Py_XDECREF(loop);
		if (!loop)
			PyErr_Clear();
		else if (is_running)
			return 1;
	}
	return __builtin_expect(tasks.has_other_loops, 0) && is_true_result(call_nothing(tasks.other_loop));
}

/* Whether a span was begun in this context (it may be over). */
static int has_span_in_context(void)
{
	PyObject *innermost = call_nothing(tasks.innermost);
	int has = innermost && innermost != Py_None;
	Py_XDECREF(innermost);
	if (!innermost)
		PyErr_Clear();
	return has;
}

static inline int is_in_task(void)
{
	if (!tasks.begin)
		return 0;
	return is_in_loop() ||
		(__builtin_expect(__atomic_load_n(&tasks.open_count, __ATOMIC_RELAXED) > 0, 0) && has_span_in_context());
}

/* Begins a span in the running task; false: it belongs to the thread. `how`: by a `with`, by span_begin(), or by a
 * hook. */
enum { SPAN_BY_WITH, SPAN_BY_CALL, SPAN_BY_HOOK };
static int task_begins(PyObject *span, int how)
{
	return is_true_result(PyObject_CallFunction(tasks.begin, "Oi", span, how));
}

/* Ends a span of the running task. `span` is None if only `how` is known. */
static inline int task_ends(PyObject *span, int how)
{
	if (__builtin_expect(__atomic_load_n(&tasks.open_count, __ATOMIC_RELAXED) <= 0, 1))
		return 0;
	return is_true_result(PyObject_CallFunction(tasks.end, "Oi", span, how));
}

/* Publishes a finished span; false: no open span of a task encloses it. */
static int task_notes_past(const char *name, uint64_t begin_ns, uint64_t end_ns)
{
	if (__builtin_expect(__atomic_load_n(&tasks.open_count, __ATOMIC_RELAXED) <= 0, 1) || !has_span_in_context())
		return 0;
	return is_true_result(
		PyObject_CallFunction(tasks.past, "sKK", name, (unsigned long long)begin_ns, (unsigned long long)end_ns));
}

/* connect_tasks(begin, end, past, innermost, other_loop) */
static PyObject *connect_tasks(PyObject *module, PyObject *arguments)
{
	PyObject *begin, *end, *past, *innermost, *other_loop;
	(void)module;
	if (!PyArg_ParseTuple(arguments, "OOOOO", &begin, &end, &past, &innermost, &other_loop))
		return NULL;
	PyObject **const to[] = { &tasks.end, &tasks.past, &tasks.innermost, &tasks.other_loop, &tasks.begin };
	PyObject *const from[] = { end, past, innermost, other_loop, begin };
	for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
		PyObject *before = *to[i];
		Py_INCREF(from[i]);
		*to[i] = from[i];
		Py_XDECREF(before);
	}
	Py_RETURN_NONE;
}

/* is_in_task(): whether spans that begin here belong to a task. */
static PyObject *read_is_in_task(PyObject *module, PyObject *unused)
{
	(void)module, (void)unused;
	return PyBool_FromLong(is_in_task());
}

static PyObject *read_is_in_loop(PyObject *module, PyObject *unused)
{
	(void)module, (void)unused;
	return PyBool_FromLong(is_in_loop());
}

/* tasks_opened(add) */
static PyObject *tasks_opened(PyObject *module, PyObject *add)
{
	(void)module;
	__atomic_fetch_add(&tasks.open_count, (int)PyLong_AsLong(add), __ATOMIC_RELAXED);
	Py_RETURN_NONE;
}

/* -- this thread's stack, which also has the first spans of tasks, so that pmtop shows the open spans */

static PyObject *read_stack_depth(PyObject *module, PyObject *unused)
{
	struct pmtop_i_lane *lane = pmtop_i_enter(region_now());
	uint32_t depth = lane ? lane->depth : 0;
	(void)module, (void)unused;
	if (lane)
		pmtop_i_leave();
	return PyLong_FromUnsignedLong(depth);
}

/* Ends the innermost span. */
static PyObject *stack_end(PyObject *module, PyObject *unused)
{
	struct pmtop_scope scope = { region_now(), 0 };
	(void)module, (void)unused;
	pmtop_scope_end(&scope);
	Py_RETURN_NONE;
}

/* Removes the innermost span without publishing it: the task publishes it. */
static PyObject *stack_drop(PyObject *module, PyObject *unused)
{
	struct pmtop_i_lane *lane = pmtop_i_enter(region_now());
	(void)module, (void)unused;
	if (lane && lane->depth && lane->depth <= PMTOP_OPEN_SPANS && lane->frames[lane->depth - 1].notes & PMTOP_I_BY_CALL)
		pmtop_i_end_left_open(lane);
	if (lane && lane->depth) {
		lane->depth--;
		PMTOP_I_PUBLISH(lane->shared->open_count, lane->depth < PMTOP_OPEN_SPANS ? lane->depth : PMTOP_OPEN_SPANS);
	}
	if (lane)
		pmtop_i_leave();
	Py_RETURN_NONE;
}

/* task_span(name, begin_ns, end_ns, inner_ns, parent, depth): publishes a finished span. parent: "" for none. */
static PyObject *publish_task_span(PyObject *module, PyObject *arguments)
{
	PyObject *name, *parent;
	struct text texts[2];
	unsigned long long begin_ns, end_ns, inner_ns;
	unsigned int depth;
	(void)module;
	if (!PyArg_ParseTuple(arguments, "OKKKOI", &name, &begin_ns, &end_ns, &inner_ns, &parent, &depth) ||
		!text_of(name, "name", &texts[0]))
		return NULL;
	if (!text_of(parent, "parent", &texts[1])) {
		Py_XDECREF(texts[0].own);
		return NULL;
	}
	struct pmtop_task_span span = { texts[0].utf8, texts[1].utf8, begin_ns, end_ns, inner_ns, depth };
	pmtop_span_of_task(region_now(), &span);
	Py_XDECREF(texts[0].own);
	Py_XDECREF(texts[1].own);
	Py_RETURN_NONE;
}

#endif
