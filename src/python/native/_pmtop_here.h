/* Shared by the hooks of pmtop.torch: the state of a thread, switches, and the handling of pmtop's own errors.
 *
 * The types here and in the files that include this one are base classes; Python subclasses add the slow path. They are
 * static, as the run is. */
#ifndef PMTOP_HERE_H
#define PMTOP_HERE_H

#include "_pmtop_span.h"

#include <stddef.h>
#include <structmember.h>

#define OPEN_STEPS_MAX 8

enum { WORK_FORWARD = 1, WORK_BACKWARD = 2, WORK_STEP = 4, WORK_ZERO_GRAD = 8 };

/* steps: addresses of the optimizers whose steps are open, outermost first; further ones are only counted. */
struct here {
	int inside; /* not 0: a called module is not the outermost one */
	int paused, backward, saving, waiting;
	int is_stepping; /* a span "optimizer" is open */
	uint32_t step_count;
	uintptr_t steps[OPEN_STEPS_MAX];
};

static __thread struct here here;

static PyObject *here_get(PyObject *self, void *offset)
{
	(void)self;
	return PyLong_FromLong(*(int *)((char *)&here + (uintptr_t)offset));
}

static int here_set(PyObject *self, PyObject *value, void *offset)
{
	long number = value ? PyLong_AsLong(value) : 0;
	(void)self;
	if (number == -1 && PyErr_Occurred())
		return -1;
	*(int *)((char *)&here + (uintptr_t)offset) = (int)number;
	return 0;
}

static PyObject *here_steps(PyObject *self, void *unused)
{
	uint32_t count = here.step_count < OPEN_STEPS_MAX ? here.step_count : OPEN_STEPS_MAX;
	PyObject *steps = PyTuple_New(count);
	(void)self, (void)unused;
	for (uint32_t i = 0; steps && i < count; i++) {
		PyObject *step = PyLong_FromVoidPtr((void *)here.steps[i]);
		if (!step || PyTuple_SetItem(steps, i, step))
			Py_CLEAR(steps);
	}
	return steps;
}

static int here_set_steps(PyObject *self, PyObject *steps, void *unused)
{
	(void)self, (void)unused;
	if (!steps || !PyTuple_Check(steps) || PyTuple_Size(steps) > OPEN_STEPS_MAX)
		return PyErr_SetString(PyExc_TypeError, "steps must be a tuple of ids"), -1;
	for (Py_ssize_t i = 0; i < PyTuple_Size(steps); i++)
		here.steps[i] = (uintptr_t)PyLong_AsVoidPtr(PyTuple_GetItem(steps, i));
	here.step_count = PyErr_Occurred() ? 0 : (uint32_t)PyTuple_Size(steps);
	return PyErr_Occurred() ? -1 : 0;
}

#define OF_HERE(field) \
	{ \
#field, here_get, here_set, NULL, (void *)offsetof(struct here, field) \
	}
static PyGetSetDef here_fields[] = {
	OF_HERE(inside),
	OF_HERE(paused),
	OF_HERE(backward),
	OF_HERE(saving),
	OF_HERE(waiting),
	OF_HERE(is_stepping),
	{ "steps", here_steps, here_set_steps, NULL, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot here_slots[] = {
	{ Py_tp_doc, "The state of the calling thread." },
	{ Py_tp_new, PyType_GenericNew },
	{ Py_tp_getset, here_fields },
	{ 0, NULL },
};
static PyType_Spec here_spec = { "pmtop._pmtop.Here", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, here_slots };

/* -- switches */

struct part {
	PyObject_HEAD char is_on;
};

static PyMemberDef part_members[] = { { "is_on", T_BOOL, offsetof(struct part, is_on), 0, NULL },
	{ NULL, 0, 0, 0, NULL } };
static PyType_Slot part_slots[] = { { Py_tp_new, PyType_GenericNew }, { Py_tp_members, part_members }, { 0, NULL } };
static PyType_Spec part_spec = { "pmtop._pmtop.Switch", sizeof(struct part), 0,
	Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, part_slots };

/* With these a batch calls Python only if there is something to do for the device. */
struct device {
	PyObject_HEAD char can_come, is_ready;
	char measures; /* the running batch */
	char awaits;   /* figures of earlier batches are pending */
	/* the earliest times for the next measured batch, and for publishing memory at a batch's end */
	unsigned long long measure_at_ns, memory_at_ns;
};

static PyMemberDef device_members[] = {
	{ "can_come", T_BOOL, offsetof(struct device, can_come), 0, NULL },
	{ "is_ready", T_BOOL, offsetof(struct device, is_ready), 0, NULL },
	{ "measures", T_BOOL, offsetof(struct device, measures), 0, NULL },
	{ "awaits", T_BOOL, offsetof(struct device, awaits), 0, NULL },
	{ "measure_at_ns", T_ULONGLONG, offsetof(struct device, measure_at_ns), 0, NULL },
	{ "memory_at_ns", T_ULONGLONG, offsetof(struct device, memory_at_ns), 0, NULL },
	{ NULL, 0, 0, 0, NULL },
};
static PyType_Slot device_slots[] = { { Py_tp_new, PyType_GenericNew }, { Py_tp_members, device_members },
	{ 0, NULL } };
static PyType_Spec device_spec = { "pmtop._pmtop.DeviceState", sizeof(struct device), 0,
	Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, device_slots };

/* Whether its batch_begins() has work to do. */
static int is_to_begin(const struct device *device)
{
	return device->can_come && (!device->is_ready || pmtop_now() >= device->measure_at_ns);
}

/* The same for batch_ends() and read(). */
static int is_to_end(const struct device *device)
{
	return device->is_ready && (device->measures || device->awaits || pmtop_now() >= device->memory_at_ns);
}

/* -- errors */

/* The current exception, set aside for a while; NULL for none. */
struct pending {
	PyObject *type, *value, *trace;
};

static struct pending pending_take(void)
{
	struct pending pending;
	PyErr_Fetch(&pending.type, &pending.value, &pending.trace);
	return pending;
}

/* An exception that was set meanwhile stays. */
static void pending_put_back(struct pending pending)
{
	if (pending.type && PyErr_Occurred()) {
		Py_XDECREF(pending.type);
		Py_XDECREF(pending.value);
		Py_XDECREF(pending.trace);
	} else if (pending.type) {
		PyErr_Restore(pending.type, pending.value, pending.trace);
	}
}

/* An error of pmtop itself switches its part off, with one line. False: the exception is not pmtop's
 * (KeyboardInterrupt) and remains set. */
static int is_own_error(struct part *part)
{
	struct pending pending;
	if (!PyErr_ExceptionMatches(PyExc_Exception))
		return 0;
	pending = pending_take();
	PyErr_NormalizeException(&pending.type, &pending.value, &pending.trace);
	PyObject *reply = PyObject_CallMethod((PyObject *)part, "failed", "O", pending.value);
	Py_XDECREF(reply);
	Py_XDECREF(pending.type);
	Py_XDECREF(pending.value);
	Py_XDECREF(pending.trace);
	if (!reply)
		PyErr_Clear();
	return 1;
}

/* Calls a Python method of the slow path. Returns a new reference, None after an error of pmtop itself; NULL: an
 * exception that is not pmtop's. */
static PyObject *call_slow(struct part *part, PyObject *object, const char *method, PyObject *argument)
{
	PyObject *name = PyUnicode_FromString(method);
	PyObject *result = name ? PyObject_CallMethodObjArgs(object, name, argument, NULL) : NULL;
	Py_XDECREF(name);
	if (!result && is_own_error(part))
		Py_RETURN_NONE;
	return result;
}

static inline unsigned long this_thread(void) { return PyThread_get_thread_ident(); }

/* What a hook times neither waits for a task nor lets another one run: while no span of a task is open, its span nests
 * on the thread's stack even if an event loop runs, as in a notebook. */
static inline void span_begins(const struct span *span)
{
	if (__builtin_expect(__atomic_load_n(&tasks.open_count, __ATOMIC_RELAXED) <= 0, 1) ||
		!(is_in_task() && task_begins((PyObject *)span, SPAN_BY_HOOK)))
		pmtop_scope_begin(region_now(), (struct pmtop_site *)&span->site, span->text.utf8, span->notes);
}

static int task_span_ends(void)
{
	struct pending pending = pending_take();
	int is_ended = task_ends(Py_None, SPAN_BY_HOOK);
	pending_put_back(pending);
	return is_ended;
}

static inline void span_ends(void)
{
	struct pmtop_scope scope = { region_now(), 0 };
	if (__builtin_expect(__atomic_load_n(&tasks.open_count, __ATOMIC_RELAXED) <= 0, 1) || !task_span_ends())
		pmtop_scope_end(&scope);
}

static void free_object(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
	Py_DECREF((PyObject *)type);
}

#endif
