/* Methods of torch's classes that are measured for some objects: the descriptor that _torch/transfers.py and
 * _torch/ranges.py install.
 *
 * The class's attribute remains the original function: `torch.Tensor.item` is the same object as before, which
 * TorchScript, torch.compile and __torch_function__ compare. A measured call has no Python frame of pmtop around the
 * original, so that warnings and tracebacks name the program's line. */
#ifndef PMTOP_SWAPPED_H
#define PMTOP_SWAPPED_H

#include "_pmtop_hooks.h"

#include <limits.h>

#define CALLERS_MAX 16
#define PLAIN_TYPES_MAX 2
#define EXPECTED_ASKED_EVERY 17u /* no divisor of how often a step calls, so that each of its objects has its turn */

/* Swapped(part, original, begins, ends, types, attribute, skips, open=None): calls began = begins(object, args,
 * kwargs), the original, and, unless began is None, ends(began). Only for objects whose type is one of `types` and
 * whose `attribute` is not in the set `skips`; not within another such call, nor in paused(). attribute None: for all.
 * Not for the modules of skip_caller(), unless the dict `open` has entries.
 *
 * SwappedMethod is the same for methods that each step calls often, as an optimizer calls item(): CPython calls it with
 * the object as the first argument, without a bound method in between. */
struct swapped {
	PyObject_HEAD struct part *part;
	vector_function call;
	PyObject *original, *begins, *ends, *attribute, *skips, *open;
	PyObject *types[PLAIN_TYPES_MAX]; /* the second may be NULL */
	descrgetfunc bind;                /* of the original */
	PyObject *getter;                 /* what reads `attribute` in C, or NULL */
	descrgetfunc read;                /* of the getter */
	int skips_true;                   /* True is in `skips` */
	PyObject *expected;               /* the globals of expect_skipped(), or NULL */
	unsigned expected_calls;
	PyObject *callers[CALLERS_MAX]; /* the globals of modules whose calls are not measured */
	unsigned caller_count;
};

/* The measured method of one object. */
struct swapped_call {
	PyObject_HEAD struct swapped *swapped;
	PyObject *bound; /* the original method of the object */
	PyObject *object;
};

static PyObject *swapped_vector(PyObject *self, PyObject *const *given, size_t flags, PyObject *names);

/* An attribute of a class in C is read without a look-up. */
static void find_getter(struct swapped *swapped)
{
	PyObject *found = swapped->attribute == Py_None ? NULL : PyObject_GetAttr(swapped->types[0], swapped->attribute);
	if (found && Py_TYPE(found) == &PyGetSetDescr_Type)
		swapped->getter = found;
	else
		Py_XDECREF(found);
	swapped->read = swapped->getter ? binder_of(swapped->getter) : NULL;
	PyErr_Clear();
}

static int swapped_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	struct swapped *swapped = (struct swapped *)self;
	PyObject *part, *original, *begins, *ends, *types, *attribute, *skips, *open = NULL;
	(void)keywords;
	if (!PyArg_ParseTuple(arguments, "O!OOOO!OO!|O!", hook_types.part, &part, &original, &begins, &ends, &PyTuple_Type,
			&types, &attribute, &PySet_Type, &skips, &PyDict_Type, &open))
		return -1;
	Py_ssize_t type_count = PyTuple_Size(types);
	if (swapped->part || !binder_of(original) || type_count < 1 || type_count > PLAIN_TYPES_MAX)
		return PyErr_SetString(PyExc_TypeError, "Swapped() needs a function, one or two types, and one call"), -1;
	PyObject *held[] = { part, original, begins, ends, attribute, skips };
	for (size_t i = 0; i < sizeof held / sizeof *held; i++)
		Py_INCREF(held[i]);
	Py_XINCREF(open);
	for (Py_ssize_t i = 0; i < type_count; i++) {
		swapped->types[i] = PyTuple_GetItem(types, i);
		Py_INCREF(swapped->types[i]);
	}
	swapped->open = open;
	swapped->part = (struct part *)part;
	swapped->call = swapped_vector;
	swapped->original = original;
	swapped->bind = binder_of(original);
	swapped->begins = begins;
	swapped->ends = ends;
	swapped->attribute = attribute;
	swapped->skips = skips;
	swapped->skips_true = PySet_Contains(skips, Py_True) > 0;
	find_getter(swapped);
	return 0;
}

static inline int is_of_types(const struct swapped *swapped, PyObject *object)
{
	PyObject *type = (PyObject *)Py_TYPE(object);
	return type == swapped->types[0] || type == swapped->types[1];
}

/* Cheaper than the attribute, which is looked up in each step's blocks of torch itself. */
static int is_skipped_caller(const struct swapped *swapped)
{
	PyObject *globals = swapped->caller_count ? PyEval_GetGlobals() : NULL;
	for (unsigned i = 0; i < swapped->caller_count; i++)
		if (swapped->callers[i] == globals)
			return !swapped->open || PyDict_Size(swapped->open) == 0;
	return 0;
}

/* skip_caller(globals): calls from the module with these variables are not measured from now on. */
static PyObject *swapped_skip_caller(PyObject *self, PyObject *globals)
{
	struct swapped *swapped = (struct swapped *)self;
	if (swapped->caller_count < CALLERS_MAX) {
		Py_INCREF(globals);
		swapped->callers[swapped->caller_count++] = globals;
	}
	Py_RETURN_NONE;
}

/* 1 also if that cannot be known. */
static int is_skipped(const struct swapped *swapped, PyObject *object)
{
	if (swapped->attribute == Py_None)
		return 0;
	PyObject *value = swapped->read ? swapped->read(swapped->getter, object, (PyObject *)Py_TYPE(object))
									: PyObject_GetAttr(object, swapped->attribute);
	int is_in = !value ? -1 : value == Py_True && swapped->skips_true ? 1 : PySet_Contains(swapped->skips, value);
	Py_XDECREF(value);
	if (is_in < 0)
		PyErr_Clear();
	return is_in != 0;
}

/* expect_skipped(globals): objects of the module with these variables have skipped attributes. They are asked at every
 * 17th call, and at each once one had another. */
static PyObject *swapped_expect_skipped(PyObject *self, PyObject *globals)
{
	struct swapped *swapped = (struct swapped *)self;
	PyObject *before = swapped->expected;
	Py_INCREF(globals);
	swapped->expected = globals;
	Py_XDECREF(before);
	Py_RETURN_NONE;
}

/* Whether the module that calls has such an object. */
static int is_expected(struct swapped *swapped)
{
	PyObject *expected = __atomic_load_n(&swapped->expected, __ATOMIC_RELAXED);
	unsigned calls = __atomic_load_n(&swapped->expected_calls, __ATOMIC_RELAXED);
	if (!expected || PyEval_GetGlobals() != expected || calls == UINT_MAX)
		return 0;
	__atomic_store_n(&swapped->expected_calls, (calls + 1) % EXPECTED_ASKED_EVERY, __ATOMIC_RELAXED);
	return calls != 0;
}

static void note_unexpected(struct swapped *swapped)
{
	if (swapped->expected && PyEval_GetGlobals() == swapped->expected)
		__atomic_store_n(&swapped->expected_calls, UINT_MAX, __ATOMIC_RELAXED);
}

static int is_measured(const struct swapped *swapped, PyObject *object)
{
	return swapped->part->is_on && !is_skipped_caller(swapped) && is_of_types(swapped, object) &&
		!is_skipped(swapped, object) && !here.paused && !here.waiting;
}

/* Takes `bound`. */
static PyObject *swapped_call_new(struct swapped *swapped, PyObject *bound, PyObject *object)
{
	struct swapped_call *call = bound ? PyObject_New(struct swapped_call, hook_types.swapped_call) : NULL;
	if (!call) {
		Py_XDECREF(bound);
		return NULL;
	}
	Py_INCREF((PyObject *)swapped);
	Py_INCREF(object);
	call->swapped = swapped;
	call->bound = bound;
	call->object = object;
	return (PyObject *)call;
}

static PyObject *swapped_get(PyObject *self, PyObject *object, PyObject *type)
{
	struct swapped *swapped = (struct swapped *)self;
	if (!object || object == Py_None || !swapped->part) {
		PyObject *original = swapped->original ? swapped->original : Py_None;
		Py_INCREF(original);
		return original;
	}
	PyObject *bound = swapped->bind(swapped->original, object, type);
	if (is_expected(swapped) || !is_measured(swapped, object))
		return bound;
	note_unexpected(swapped);
	return swapped_call_new(swapped, bound, object);
}

static PyObject *call_measured(
	struct swapped *swapped, PyObject *bound, PyObject *object, PyObject *arguments, PyObject *keywords)
{
	PyObject *began =
		PyObject_CallFunctionObjArgs(swapped->begins, object, arguments, keywords ? keywords : Py_None, NULL);
	if (!began && !is_own_error(swapped->part))
		return NULL;
	if (!began || began == Py_None) {
		Py_XDECREF(began);
		return PyObject_Call(bound, arguments, keywords);
	}
	here.waiting = 1;
	PyObject *result = PyObject_Call(bound, arguments, keywords);
	here.waiting = 0;
	struct pending pending = pending_take();
	PyObject *reply = PyObject_CallFunctionObjArgs(swapped->ends, began, NULL);
	if (!reply && !is_own_error(swapped->part))
		Py_CLEAR(result);
	Py_XDECREF(reply);
	Py_DECREF(began);
	pending_put_back(pending);
	return result;
}

static PyObject *swapped_call_call(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	const struct swapped_call *call = (struct swapped_call *)self;
	return call_measured(call->swapped, call->bound, call->object, arguments, keywords);
}

/* original(object, ...), as CPython calls a SwappedMethod. */
static PyObject *swapped_vector(PyObject *self, PyObject *const *given, size_t flags, PyObject *names)
{
	struct swapped *swapped = (struct swapped *)self;
	Py_ssize_t count = (Py_ssize_t)(flags & ~VECTOR_OFFSET);
	if (!count || is_expected(swapped) || !is_measured(swapped, given[0]))
		return vector_call(swapped->original, given, count, names);
	note_unexpected(swapped);
	PyObject *result = NULL, *bound = swapped->bind(swapped->original, given[0], (PyObject *)Py_TYPE(given[0]));
	PyObject *arguments = vector_tuple(given + 1, count - 1);
	PyObject *keywords = names ? vector_keywords(given + count, names) : NULL;
	if (bound && arguments && (keywords || !names))
		result = call_measured(swapped, bound, given[0], arguments, keywords);
	Py_XDECREF(bound);
	Py_XDECREF(arguments);
	Py_XDECREF(keywords);
	return result;
}

/* Not measured: who calls it as swapped.__call__() is no program. */
static PyObject *swapped_method_call(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	PyObject *original = ((struct swapped *)self)->original;
	return original ? PyObject_Call(original, arguments, keywords) : refuse_new(NULL, NULL, NULL);
}

/* What only the original has, such as its name and documentation. */
static PyObject *attribute_or(PyObject *self, PyObject *name, PyObject *original)
{
	PyObject *value = PyObject_GenericGetAttr(self, name);
	if (value || !original || !PyErr_ExceptionMatches(PyExc_AttributeError))
		return value;
	PyErr_Clear();
	return PyObject_GetAttr(original, name);
}

static PyObject *swapped_attribute(PyObject *self, PyObject *name)
{
	return attribute_or(self, name, ((struct swapped *)self)->original);
}

static PyObject *swapped_call_attribute(PyObject *self, PyObject *name)
{
	return attribute_or(self, name, ((struct swapped_call *)self)->bound);
}

static void swapped_free(PyObject *self)
{
	struct swapped *swapped = (struct swapped *)self;
	PyObject *held[] = { (PyObject *)swapped->part, swapped->original, swapped->begins, swapped->ends,
		swapped->types[0], swapped->types[1], swapped->attribute, swapped->getter, swapped->skips, swapped->open,
		swapped->expected };
	for (size_t i = 0; i < sizeof held / sizeof *held; i++)
		Py_XDECREF(held[i]);
	for (unsigned i = 0; i < swapped->caller_count; i++)
		Py_DECREF(swapped->callers[i]);
	free_object(self);
}

static void swapped_call_free(PyObject *self)
{
	struct swapped_call *call = (struct swapped_call *)self;
	PyTypeObject *type = Py_TYPE(self);
	Py_DECREF((PyObject *)call->swapped);
	Py_DECREF(call->bound);
	Py_DECREF(call->object);
	PyObject_Free(self);
	Py_DECREF((PyObject *)type);
}

static PyMethodDef swapped_methods[] = { { "skip_caller", swapped_skip_caller, METH_O, NULL },
	{ "expect_skipped", swapped_expect_skipped, METH_O, NULL }, { NULL, NULL, 0, NULL } };
static PyType_Slot swapped_slots[] = {
	{ Py_tp_new, PyType_GenericNew },
	{ Py_tp_init, swapped_init },
	{ Py_tp_methods, swapped_methods },
	{ Py_tp_descr_get, swapped_get },
	{ Py_tp_getattro, swapped_attribute },
	{ Py_tp_dealloc, swapped_free },
	{ 0, NULL },
};
static PyType_Spec swapped_spec = { "pmtop._pmtop.Swapped", sizeof(struct swapped), 0, Py_TPFLAGS_DEFAULT,
	swapped_slots };

static PyMemberDef swapped_method_members[] = {
	{ "__vectorcalloffset__", T_PYSSIZET, offsetof(struct swapped, call), READONLY, NULL },
	{ NULL, 0, 0, 0, NULL },
};
static PyType_Slot swapped_method_slots[] = {
	{ Py_tp_new, PyType_GenericNew },
	{ Py_tp_init, swapped_init },
	{ Py_tp_methods, swapped_methods },
	{ Py_tp_members, swapped_method_members },
	{ Py_tp_call, swapped_method_call },
	{ Py_tp_descr_get, swapped_get },
	{ Py_tp_getattro, swapped_attribute },
	{ Py_tp_dealloc, swapped_free },
	{ 0, NULL },
};
/* From CPython 3.13 on, code that often reads an attribute of a class may get what is in the class, where its type is
 * a method's: torch.Tensor.item would no longer be the original. There the object has no such flag, and is bound. */
static PyType_Spec swapped_method_spec = { "pmtop._pmtop.SwappedMethod", sizeof(struct swapped), 0,
	Py_TPFLAGS_DEFAULT | VECTOR_FLAG, swapped_method_slots };

static void choose_swapped_method(void)
{
	if (version_now() < 313)
		swapped_method_spec.flags |= METHOD_FLAG;
}

static PyType_Slot swapped_call_slots[] = { { Py_tp_new, refuse_new }, { Py_tp_call, swapped_call_call },
	{ Py_tp_getattro, swapped_call_attribute }, { Py_tp_dealloc, swapped_call_free }, { 0, NULL } };
static PyType_Spec swapped_call_spec = { "pmtop._pmtop.SwappedCall", sizeof(struct swapped_call), 0, Py_TPFLAGS_DEFAULT,
	swapped_call_slots };

#endif
