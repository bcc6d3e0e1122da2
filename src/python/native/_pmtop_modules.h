/* The descriptor that _torch/modules.py installs as nn.Module._compiled_call_impl: it returns a timed call for the
 * outermost module. */
#ifndef PMTOP_MODULES_H
#define PMTOP_MODULES_H

#include "_pmtop_hooks.h"
#include "_pmtop_swapped.h"

/* A module hook's `more`: the code that reads the attribute, the class of losses, their span, the variables of
 * torch.compiler and the name of its flag there (or None and a function), the spans of inner modules by id(), and the
 * span of a forward without gradients between the batches. IS_GRAD_ENABLED: torch's function. */
enum { CODE, LOSS, LOSS_SPAN, IS_GRAD_ENABLED, FLAGS, FLAG, INNER_SPANS, INFERENCE_SPAN };

/* Odd, so that of several modules that are called in turn each is asked. */
enum { ASKED_AT_FIRST = 64, ASKED_EVERY = 61 };

/* The timed call of one module. */
struct timed {
	PyObject_HEAD struct hook *hook;
	PyObject *module, *plain;
	struct span *inner; /* of a module within the outermost one, else NULL */
};

/* True also if that is unknown. */
static int is_compiling(const struct hook *hook)
{
	PyObject *is_so = hook->at[FLAGS] != Py_None ? PyDict_GetItemWithError(hook->at[FLAGS], hook->at[FLAG]) : NULL;
	if (is_so)
		return is_so != Py_False;
	PyErr_Clear();
	if (hook->at[FLAGS] != Py_None || !(is_so = PyObject_CallFunctionObjArgs(hook->at[FLAG], NULL))) {
		PyErr_Clear();
		return 1;
	}
	Py_DECREF(is_so);
	return is_so != Py_False;
}

/* Whether nn.Module's own code reads the attribute: other readers get the original value. Once that code is known, the
 * globals suffice: reading a frame allocates an object. */
static int is_called_by(PyObject *code)
{
	static PyObject *globals;
	PyObject *now = PyEval_GetGlobals();
	if (globals)
		return now == globals;
	PyFrameObject *frame = PyEval_GetFrame();
	PyObject *running = frame ? (PyObject *)PyFrame_GetCode(frame) : NULL;
	Py_XDECREF(running);
	if (!running || running != code)
		return 0;
	Py_XINCREF(now);
	globals = now;
	return 1;
}

/* The span of a module within the outermost one; NULL: it has none. */
static struct span *inner_span(const struct hook *hook, PyObject *module)
{
	if (!hook->loop || PyDict_Size(hook->at[INNER_SPANS]) == 0)
		return NULL;
	PyObject *id = PyLong_FromVoidPtr(module), *span = id ? PyDict_GetItemWithError(hook->at[INNER_SPANS], id) : NULL;
	Py_XDECREF(id);
	if (!span)
		PyErr_Clear();
	return (struct span *)span;
}

static PyObject *timed_new(struct hook *hook, PyObject *module, PyObject *plain, struct span *inner)
{
	struct timed *timed = PyObject_New(struct timed, hook_types.timed);
	if (!timed)
		return NULL;
	Py_INCREF((PyObject *)hook);
	Py_INCREF(module);
	Py_XINCREF(plain);
	Py_XINCREF((PyObject *)inner);
	timed->inner = inner;
	timed->hook = hook;
	timed->module = module;
	timed->plain = plain;
	return (PyObject *)timed;
}

/* nn.Module's code reads the attribute twice, to compare it with None and to call it: the second time it gets what it
 * got the first time. NULL: this is no second time. */
static PyObject *handed_before(struct hook *hook, PyObject *module)
{
	PyObject *handed = hook->handed;
	if (!handed || ((struct timed *)handed)->module != module || here.inside || !is_active(hook))
		return NULL;
	hook->handed = NULL;
	return handed;
}

/* Keeps it for the second time. Without a GIL another thread might use it meanwhile. */
static void hand_out(struct hook *hook, PyObject *timed)
{
#ifndef Py_GIL_DISABLED
	PyObject *before = hook->handed;
	Py_XINCREF(timed);
	hook->handed = timed;
	Py_XDECREF(before);
#else
	(void)hook, (void)timed;
#endif
}

static PyObject *module_get(PyObject *self, PyObject *module, PyObject *type)
{
	struct hook *hook = (struct hook *)self;
	PyObject *handed = handed_before(hook, module);
	if (handed)
		return handed;
	PyObject *variables = module && module != Py_None ? PyObject_GenericGetDict(module, NULL) : NULL;
	(void)type;
	if (!variables) {
		PyErr_Clear();
		Py_RETURN_NONE;
	}
	PyObject *plain = PyDict_GetItemWithError(variables, hook_names.compiled_call);
	struct span *inner = here.inside ? inner_span(hook, module) : NULL;
	if (!hook->loop || (here.inside && !inner) || !is_active(hook) || is_compiling(hook) ||
		!is_called_by(hook->at[CODE])) {
		plain = plain ? plain : Py_None;
		Py_INCREF(plain);
	} else {
		plain = timed_new(hook, module, plain == Py_None ? NULL : plain, inner);
		if (!inner)
			hand_out(hook, plain);
	}
	Py_DECREF(variables);
	return plain;
}

static int module_set(PyObject *self, PyObject *module, PyObject *value)
{
	PyObject *variables = PyObject_GenericGetDict(module, NULL);
	hand_out((struct hook *)self, NULL);
	if (!variables)
		return -1;
	int failed = value ? PyDict_SetItem(variables, hook_names.compiled_call, value)
					   : PyDict_DelItem(variables, hook_names.compiled_call);
	if (failed && !value && PyErr_ExceptionMatches(PyExc_KeyError))
		PyErr_SetObject(PyExc_AttributeError, hook_names.compiled_call);
	Py_DECREF(variables);
	return failed;
}

static int is_training(PyObject *module)
{
	PyObject *training = PyObject_GetAttr(module, hook_names.training);
	if (!training)
		PyErr_Clear();
	Py_XDECREF(training);
	return training == Py_True;
}

/* Whether Python decides if this forward begins a batch between optimizer steps. -1: an exception that is not
 * pmtop's. */
static int is_awaited_step(struct hook *hook, PyObject *module)
{
	struct loop *loop = hook->loop;
	loop->infers = 0;
	if (!loop->awaits_step || (loop->owner && loop->owner != this_thread()))
		return 0;
	PyObject *has_grad = PyObject_CallFunctionObjArgs(hook->at[IS_GRAD_ENABLED], NULL);
	Py_XDECREF(has_grad);
	if (!has_grad)
		return is_own_error(hook->part) - 1;
	loop->infers = has_grad != Py_True;
	return has_grad == Py_True && !(loop->owner && is_training(module) && open_step_batch(loop));
}

/* Whether the open batch has done what precedes the next one's forward: a backward without a step, of those that were
 * fetched together. The loader's next turn shows the others, until it has none left: then a step or, in validation,
 * another forward does. */
static int is_done(const struct loop *loop)
{
	if ((loop->work & (WORK_BACKWARD | WORK_STEP)) == WORK_BACKWARD)
		return 1;
	unsigned last = loop->batch->kind == PASS_VALIDATION ? WORK_FORWARD : WORK_STEP;
	return loop->batch->is_exhausted && loop->work & last;
}

/* A forward that begins the next of the batches that were fetched ahead. 0: an exception that is not pmtop's. */
static int begin_queued(struct hook *hook, int is_loss)
{
	struct loop *loop = hook->loop;
	if (is_loss || here.backward || !loop->batch || !loop->batch->queued || loop->owner != this_thread() ||
		!is_done(loop))
		return 1;
	PyObject *reply = call_slow(hook->part, (PyObject *)loop, "begin_queued", NULL);
	Py_XDECREF(reply);
	return reply != NULL;
}

/* Returns the device's mark, or None; NULL: an exception that is not pmtop's. */
static PyObject *forward_begins(struct hook *hook, PyObject *module, int is_loss)
{
	struct loop *loop = hook->loop;
	int is_owner = loop->owner == this_thread(), has_grad;
	if ((has_grad = is_awaited_step(hook, module)) < 0 || !begin_queued(hook, is_loss))
		return NULL;
	if (is_owner)
		loop->work |= WORK_FORWARD;
	if (!has_grad && !loop->is_learning && !(is_owner && (loop->watches_forward || loop->device->measures)))
		Py_RETURN_NONE;
	PyObject *reply = PyObject_CallMethod(hook->slow, "begins", "Oi", module, is_loss);
	if (loop->owner == this_thread())
		loop->work |= WORK_FORWARD;
	if (!reply && is_own_error(hook->part))
		Py_RETURN_NONE;
	return reply;
}

/* The bound _call_impl. nn.Module's own __getattr__ is only asked for what is not found without it. */
static PyObject *call_of(PyObject *module)
{
	PyObject *call = PyObject_GenericGetAttr(module, hook_names.call);
	if (call || !PyErr_ExceptionMatches(PyExc_AttributeError))
		return call;
	PyErr_Clear();
	return PyObject_GetAttr(module, hook_names.call);
}

static PyObject *call_plain(const struct timed *timed, PyObject *arguments, PyObject *keywords)
{
	if (timed->plain)
		return PyObject_Call(timed->plain, arguments, keywords);
	PyObject *call = call_of(timed->module), *result = call ? PyObject_Call(call, arguments, keywords) : NULL;
	Py_XDECREF(call);
	return result;
}

/* Whether a forward within a training batch has no gradients, as that of a rollout, a teacher, or a moving average.
 * Asking costs 1 % of a small step: after the first 64 forwards every 61st is asked, and each again once one has none.
 */
static int is_inference(const struct hook *hook)
{
	struct loop *loop = hook->loop;
	if (loop->unasked) {
		loop->unasked--;
		return 0;
	}
	if (!loop->batch || loop->batch->kind != PASS_TRAINING || loop->owner != this_thread())
		return 0;
	PyObject *has_grad = vector_call(hook->at[IS_GRAD_ENABLED], NULL, 0, NULL);
	if (!has_grad)
		PyErr_Clear();
	Py_XDECREF(has_grad);
	loop->mixes_inference |= has_grad == Py_False;
	if (!loop->mixes_inference && ++loop->asked >= ASKED_AT_FIRST)
		loop->unasked = ASKED_EVERY - 1;
	return has_grad == Py_False;
}

static struct span *forward_span(const struct hook *hook, int is_loss)
{
	if (hook->loop->infers || (!is_loss && is_inference(hook)))
		return (struct span *)hook->at[INFERENCE_SPAN];
	return is_loss ? (struct span *)hook->at[LOSS_SPAN] : hook->span;
}

static PyObject *timed_call(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	const struct timed *timed = (struct timed *)self;
	struct hook *hook = timed->hook;
	PyObject *result = NULL;
	if (timed->inner) {
		span_begins(timed->inner);
		result = call_plain(timed, arguments, keywords);
		span_ends();
		return result;
	}
	int is_loss = PyType_IsSubtype(Py_TYPE(timed->module), (PyTypeObject *)hook->at[LOSS]);
	here.inside = 1;
	PyObject *began = forward_begins(hook, timed->module, is_loss);
	if (began) {
		span_begins(forward_span(hook, is_loss));
		result = call_plain(timed, arguments, keywords);
		span_ends();
	}
	here.inside = 0;
	if (began)
		ends_with(hook->part, hook->slow ? hook->slow : Py_None, began);
	if (result && PyErr_Occurred())
		Py_CLEAR(result);
	return result;
}

static void timed_free(PyObject *self)
{
	struct timed *timed = (struct timed *)self;
	PyTypeObject *type = Py_TYPE(self);
	Py_DECREF((PyObject *)timed->hook);
	Py_DECREF(timed->module);
	Py_XDECREF(timed->plain);
	Py_XDECREF((PyObject *)timed->inner);
	PyObject_Free(self);
	Py_DECREF((PyObject *)type);
}

static PyType_Slot timed_slots[] = { { Py_tp_new, refuse_new }, { Py_tp_call, timed_call },
	{ Py_tp_dealloc, timed_free }, { 0, NULL } };
static PyType_Spec timed_spec = { "pmtop._pmtop.TimedCall", sizeof(struct timed), 0, Py_TPFLAGS_DEFAULT, timed_slots };

static PyType_Slot module_hook_slots[] = {
	{ Py_tp_new, PyType_GenericNew },
	{ Py_tp_init, hook_init },
	{ Py_tp_descr_get, module_get },
	{ Py_tp_descr_set, module_set },
	{ Py_tp_traverse, hook_traverse },
	{ Py_tp_clear, hook_clear },
	{ Py_tp_dealloc, hook_free },
	{ 0, NULL },
};
static PyType_Spec module_hook_spec = { "pmtop._pmtop.ModuleHook", sizeof(struct hook), 0,
	Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, module_hook_slots };

/* -- for _torch/modules.py: instances(objects, types), the objects of a list whose type is in a set */

#define TYPES_REMEMBERED 1024u

static int is_wanted(PyObject *types, PyObject *type, PyObject **remembered)
{
	PyObject **known = &remembered[((uintptr_t)type >> 4 ^ (uintptr_t)type >> 14) % TYPES_REMEMBERED];
	if (*known == type)
		return 0;
	int is_in = PySet_Contains(types, type);
	if (is_in == 0)
		*known = type;
	return is_in;
}

static PyObject *instances(PyObject *module, PyObject *arguments)
{
	PyObject *objects, *types, *found, *unwanted[TYPES_REMEMBERED] = { NULL };
	(void)module;
	if (!PyArg_ParseTuple(arguments, "O!O!", &PyList_Type, &objects, &PySet_Type, &types) || !(found = PyList_New(0)))
		return NULL;
	for (Py_ssize_t i = 0, count = PyList_Size(objects); i < count; i++) {
		PyObject *object = PyList_GetItem(objects, i);
		int is_in = object ? is_wanted(types, (PyObject *)Py_TYPE(object), unwanted) : -1;
		if (is_in < 0 || (is_in && PyList_Append(found, object))) {
			Py_DECREF(found);
			return NULL;
		}
	}
	return found;
}

static int has_name(PyObject **name, const char *text) { return *name || (*name = PyUnicode_InternFromString(text)); }

/* Once, before the module is used. False: an exception is set. */
static int make_hook_types(PyTypeObject *span)
{
	static const struct {
		PyTypeObject **type;
		PyType_Spec *spec;
	} made[] = {
		{ &hook_types.here, &here_spec },
		{ &hook_types.part, &part_spec },
		{ &hook_types.device, &device_spec },
		{ &hook_types.pass, &pass_spec },
		{ &hook_types.loop, &loop_spec },
		{ &hook_types.hook, &hook_spec },
		{ &hook_types.module_hook, &module_hook_spec },
		{ &hook_types.timed, &timed_spec },
		{ &hook_types.swapped, &swapped_spec },
		{ &hook_types.swapped_method, &swapped_method_spec },
		{ &hook_types.swapped_call, &swapped_call_spec },
	};
	choose_swapped_method();
	for (size_t i = 0; i < sizeof made / sizeof *made; i++)
		if (!*made[i].type && !(*made[i].type = (PyTypeObject *)PyType_FromSpec(made[i].spec)))
			return 0;
	hook_types.span = span;
	vector_find();
	return has_name(&hook_names.compiled_call, "_compiled_call_impl") && has_name(&hook_names.call, "_call_impl") &&
		has_name(&hook_names.is_cpu, "is_cpu") && has_name(&hook_names.training, "training");
}

#endif
