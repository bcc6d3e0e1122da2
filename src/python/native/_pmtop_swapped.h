/* Methods of torch's classes that are measured for some objects: the descriptor that _torch/transfers.py and
 * _torch/ranges.py install.
 *
 * The class's attribute remains the original function: `torch.Tensor.item` is the same object as before, which
 * TorchScript, torch.compile and __torch_function__ compare. A measured call has no Python frame of pmtop around the
 * original, so that warnings and tracebacks name the program's line. */
#ifndef PMTOP_SWAPPED_H
#define PMTOP_SWAPPED_H

#include "_pmtop_hooks.h"

#define CALLERS_MAX 16

/* Swapped(part, original, begins, ends, types, attribute, skips, open=None): calls began = begins(object, args,
 * kwargs), the original, and, unless began is None, ends(began). Only for objects whose type is one of `types` and
 * whose `attribute` is not in the set `skips`; not within another such call, nor in paused(). attribute None: for all.
 * Not for the modules of skip_caller(), unless the dict `open` has entries. */
struct swapped {
	PyObject_HEAD struct part *part;
	PyObject *original, *begins, *ends, *types, *attribute, *skips, *open;
	descrgetfunc bind;              /* of the original */
	PyObject *callers[CALLERS_MAX]; /* the globals of modules whose calls are not measured */
	unsigned caller_count;
};

/* The measured method of one object. */
struct swapped_call {
	PyObject_HEAD struct swapped *swapped;
	PyObject *bound; /* the original method of the object */
	PyObject *object;
};

static int swapped_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	struct swapped *swapped = (struct swapped *)self;
	PyObject *part, *original, *begins, *ends, *types, *attribute, *skips, *open = NULL;
	(void)keywords;
	if (!PyArg_ParseTuple(arguments, "O!OOOO!OO!|O!", hook_types.part, &part, &original, &begins, &ends, &PyTuple_Type,
			&types, &attribute, &PySet_Type, &skips, &PyDict_Type, &open))
		return -1;
	if (swapped->part || !binder_of(original))
		return PyErr_SetString(PyExc_TypeError, "Swapped() needs a function, and one call"), -1;
	PyObject *held[] = { part, original, begins, ends, types, attribute, skips };
	for (size_t i = 0; i < sizeof held / sizeof *held; i++)
		Py_INCREF(held[i]);
	Py_XINCREF(open);
	swapped->open = open;
	swapped->part = (struct part *)part;
	swapped->original = original;
	swapped->bind = binder_of(original);
	swapped->begins = begins;
	swapped->ends = ends;
	swapped->types = types;
	swapped->attribute = attribute;
	swapped->skips = skips;
	return 0;
}

static int is_of_types(PyObject *object, PyObject *types)
{
	for (Py_ssize_t i = 0; i < PyTuple_Size(types); i++)
		if (PyTuple_GetItem(types, i) == (PyObject *)Py_TYPE(object))
			return 1;
	return 0;
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

/* False also if that cannot be known. */
static int is_measured(const struct swapped *swapped, PyObject *object)
{
	if (!swapped->part->is_on || is_skipped_caller(swapped) || here.paused || here.waiting ||
		!is_of_types(object, swapped->types))
		return 0;
	if (swapped->attribute == Py_None)
		return 1;
	PyObject *value = PyObject_GetAttr(object, swapped->attribute);
	int is_skipped = value ? PySet_Contains(swapped->skips, value) : -1;
	Py_XDECREF(value);
	if (is_skipped < 0)
		PyErr_Clear();
	return is_skipped == 0;
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
	return is_measured(swapped, object) ? swapped_call_new(swapped, bound, object) : bound;
}

static PyObject *swapped_call_call(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	const struct swapped_call *call = (struct swapped_call *)self;
	struct swapped *swapped = call->swapped;
	PyObject *began =
		PyObject_CallFunctionObjArgs(swapped->begins, call->object, arguments, keywords ? keywords : Py_None, NULL);
	if (!began && !is_own_error(swapped->part))
		return NULL;
	if (!began || began == Py_None) {
		Py_XDECREF(began);
		return PyObject_Call(call->bound, arguments, keywords);
	}
	here.waiting = 1;
	PyObject *result = PyObject_Call(call->bound, arguments, keywords);
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
	PyObject *held[] = { (PyObject *)swapped->part, swapped->original, swapped->begins, swapped->ends, swapped->types,
		swapped->attribute, swapped->skips, swapped->open };
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
	{ NULL, NULL, 0, NULL } };
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

static PyType_Slot swapped_call_slots[] = { { Py_tp_new, refuse_new }, { Py_tp_call, swapped_call_call },
	{ Py_tp_getattro, swapped_call_attribute }, { Py_tp_dealloc, swapped_call_free }, { 0, NULL } };
static PyType_Spec swapped_call_spec = { "pmtop._pmtop.SwappedCall", sizeof(struct swapped_call), 0, Py_TPFLAGS_DEFAULT,
	swapped_call_slots };

#endif
