/* The wrappers of torch's own calls that every step goes through. Each calls Python only on the slow path.
 *
 * Functions that torch.compile could trace call these from Python code that first checks whether Dynamo traces it. */
#ifndef PMTOP_HOOKS_H
#define PMTOP_HOOKS_H

#include "_pmtop_compiling.h"
#include "_pmtop_element.h"
#include "_pmtop_loop.h"
#include "_pmtop_vector.h"

#define EXTRA_MAX 8

/* `more` of backward: torch.Tensor, its numel, its item, its is_cpu, the losses' part, a list with a scaler's scaled
 * loss, the class's interface for DLPack or None. */
enum { TENSOR, NUMEL, ITEM, IS_CPU, LOSSES, UNSCALED, DLPACK };

struct hook {
	PyObject_HEAD struct loop *loop;
	struct part *part;
	struct span *span;
	PyObject *original; /* the replaced function */
	PyObject *slow;     /* the Python object, or function, of the slow path */
	PyObject *more;     /* a tuple; `at` has its items, borrowed */
	PyObject *at[EXTRA_MAX];
	element_viewer view; /* of backward: reads losses on the CPU, or NULL */
	PyObject *began;     /* of a step: the device's mark, or NULL */
	PyObject *handed;    /* of modules: the timed call that was handed out and is not called yet, or NULL */
	struct pmtop_site steps;
};

/* Hook(loop, part, span, original, slow, more) */
static int hook_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	struct hook *hook = (struct hook *)self;
	PyObject *loop, *part, *span, *original, *slow, *more;
	(void)keywords;
	if (!PyArg_ParseTuple(arguments, "O!O!O!OOO!", hook_types.loop, &loop, hook_types.part, &part, hook_types.span,
			&span, &original, &slow, &PyTuple_Type, &more))
		return -1;
	if (hook->loop || !((struct loop *)loop)->device || PyTuple_Size(more) > EXTRA_MAX)
		return PyErr_SetString(PyExc_TypeError, "Hook() needs a loop with a device, and one call"), -1;
	PyObject *held[] = { loop, part, span, original, slow, more };
	for (size_t i = 0; i < sizeof held / sizeof *held; i++)
		Py_INCREF(held[i]);
	hook->loop = (struct loop *)loop;
	hook->part = (struct part *)part;
	hook->span = (struct span *)span;
	hook->original = original;
	hook->slow = slow;
	hook->more = more;
	for (Py_ssize_t i = 0; i < PyTuple_Size(more); i++)
		hook->at[i] = PyTuple_GetItem(more, i);
	hook->view = hook->at[DLPACK] ? element_viewer_of(hook->at[DLPACK]) : NULL;
	return 0;
}

static int hook_traverse(PyObject *self, visitproc visit, void *arg)
{
	struct hook *hook = (struct hook *)self;
	Py_VISIT(Py_TYPE(self));
	Py_VISIT((PyObject *)hook->loop);
	Py_VISIT((PyObject *)hook->part);
	Py_VISIT(hook->original);
	Py_VISIT(hook->slow);
	Py_VISIT(hook->more);
	Py_VISIT(hook->began);
	return 0;
}

/* Leaves what a call needs until the end: cycles go through `slow`. */
static int hook_clear(PyObject *self)
{
	struct hook *hook = (struct hook *)self;
	Py_CLEAR(hook->slow);
	Py_CLEAR(hook->began);
	Py_CLEAR(hook->handed);
	return 0;
}

static void hook_free(PyObject *self)
{
	struct hook *hook = (struct hook *)self;
	PyObject_GC_UnTrack(self);
	hook_clear(self);
	Py_CLEAR(hook->loop);
	Py_CLEAR(hook->part);
	Py_CLEAR(hook->span);
	Py_CLEAR(hook->original);
	Py_CLEAR(hook->more);
	free_object(self);
}

static int is_active(const struct hook *hook) { return hook->slow && hook->part->is_on && !here.paused; }

/* -- the loader's turns */

static void close_step_span(void)
{
	if (here.is_stepping) {
		here.is_stepping = 0;
		span_ends();
	}
}

/* Ends the span of a step that an exception left open. */
static void forget_steps(void)
{
	here.step_count = 0;
	close_step_span();
}

/* Called after the loader has returned `data`. */
static PyObject *hand_on(struct hook *hook, struct pass *now, PyObject *data)
{
	struct loop *loop = hook->loop;
	uint64_t index = now->index++;
	if (loop->batch != now && !open_batch(loop, now, index))
		Py_RETURN_NONE;
	loop->work = 0;
	loop->loss = NAN;
	if (index < now->full && now->batch_size != loop->samples_planned)
		pmtop_batch_samples(region_now(), now->batch_size);
	if ((index < now->full || now->is_unsized) && !is_to_begin(loop->device))
		Py_RETURN_NONE;
	return PyObject_CallMethod((PyObject *)loop, "_began", "OKO", (PyObject *)now, (unsigned long long)index, data);
}

/* One iteration of the pass that owns the batches, in the thread that owns them. */
static PyObject *fast_turn(struct hook *hook, struct pass *now, PyObject *iterator)
{
	struct loop *loop = hook->loop;
	PyObject *reply;
	if (here.step_count)
		forget_steps();
	loop->is_busy = 1;
	int is_fine = end_batch_of(loop) || is_own_error(hook->part), inside = here.inside;
	loop->is_busy = 0;
	if (!is_fine)
		return NULL;
	here.inside = 1;
	PyObject *data = vector_call(hook->original, &iterator, 1, NULL);
	here.inside = inside;
	if (!data) {
		struct pending pending = { NULL, NULL, NULL };
		if (PyErr_ExceptionMatches(PyExc_StopIteration)) {
			pending = pending_take();
			reply = call_slow(hook->part, (PyObject *)loop, "pass_ends", (PyObject *)now);
			Py_XDECREF(reply);
		}
		pending_put_back(pending);
		return NULL;
	}
	loop->is_busy = 1;
	reply = loop->fast_pass == now
		? hand_on(hook, now, data)
		: PyObject_CallMethod((PyObject *)loop, "batch_returned", "OO", (PyObject *)now, data);
	loop->is_busy = 0;
	if (!reply && !is_own_error(hook->part))
		Py_CLEAR(data);
	Py_XDECREF(reply);
	return data;
}

/* Whether batches are fetched before the work on those fetched earlier, or the next one begins an epoch. */
static int is_fetched_ahead(const struct loop *loop)
{
	const struct pass *now = loop->fast_pass;
	return now->queued || (loop->batch == now && !loop->work) || (now->length && now->index >= now->length);
}

/* iterator.__next__(). `slow` is the same in Python, for all other passes and threads. */
static PyObject *hook_turn(PyObject *self, PyObject *iterator)
{
	struct hook *hook = (struct hook *)self;
	struct loop *loop = hook->loop;
	if (!is_active(hook))
		return vector_call(hook->original, &iterator, 1, NULL);
	if (__atomic_load_n(&loop->owner, __ATOMIC_RELAXED) != this_thread() || !loop->fast_pass ||
		loop->fast_pass->iterator != (uintptr_t)iterator || has_late(loop) || is_fetched_ahead(loop))
		return vector_call(hook->slow, &iterator, 1, NULL);
	struct pass *now = loop->fast_pass;
	Py_INCREF((PyObject *)now);
	PyObject *data = fast_turn(hook, now, iterator);
	Py_DECREF((PyObject *)now);
	return data;
}

/* -- zero_grad */

/* Gradients that a backward made, and no step that was seen has used. 0: an exception that is not pmtop's. */
static int note_unused_gradients(struct hook *hook)
{
	struct loop *loop = hook->loop;
	if (loop->stepped || !loop->batch || loop->batch != loop->step_pass || !(loop->work & WORK_BACKWARD))
		return 1;
	PyObject *reply = call_slow(hook->part, (PyObject *)loop, "has_zeroed_unused", NULL);
	Py_XDECREF(reply);
	return reply != NULL;
}

static PyObject *hook_zero_grad(PyObject *self, PyObject *const *given, Py_ssize_t count, PyObject *names)
{
	struct hook *hook = (struct hook *)self;
	if (!is_active(hook) || is_flag_set())
		return vector_call(hook->original, given, count, names);
	if (hook->loop->owner == this_thread()) {
		if (!note_unused_gradients(hook))
			return NULL;
		hook->loop->work |= WORK_ZERO_GRAD;
		hook->loop->backwards = 0; /* what they made does not accumulate */
	}
	span_begins(hook->span);
	PyObject *result = vector_call(hook->original, given, count, names);
	span_ends();
	return result;
}

/* -- backward */

static int is_one(PyObject *number)
{
	long value = number ? PyLong_AsLong(number) : 0;
	Py_XDECREF(number);
	return value == 1;
}

/* item() of a tensor. 0: an exception is set. */
static int read_item(const struct hook *hook, PyObject *value, double *loss)
{
	PyObject *item = vector_call(hook->at[ITEM], &value, 1, NULL);
	*loss = item ? PyFloat_AsDouble(item) : -1.0;
	Py_XDECREF(item);
	return item && !(*loss == -1.0 && PyErr_Occurred());
}

/* -1: an exception is set. */
static int is_on_cpu(const struct hook *hook, PyObject *value)
{
	descrgetfunc read_attribute = binder_of(hook->at[IS_CPU]);
	PyObject *is_cpu = read_attribute ? read_attribute(hook->at[IS_CPU], value, hook->at[TENSOR])
									  : PyObject_GetAttr(value, hook_names.is_cpu);
	Py_XDECREF(is_cpu);
	return is_cpu ? is_cpu == Py_True : -1;
}

/* Notes the argument of a backward as the loss; a loss on a device only in measured batches. is_implicit: the backward
 * has no gradient to begin with: its argument then has one element, or it will raise. */
static PyObject *note_loss(struct hook *hook, PyObject *value, int is_implicit)
{
	if (!Py_IS_TYPE(value, (PyTypeObject *)hook->at[TENSOR]) || PyList_Size(hook->at[UNSCALED]) != 0 ||
		hook->loop->loss_parts != 1)
		return PyObject_CallMethod(hook->slow, "note_loss", "O", value);
	enum element found = hook->view ? element_read(hook->view, value, &hook->loop->loss) : ELEMENT_OTHER;
	if (found == ELEMENT_READ)
		Py_RETURN_NONE;
	int is_near = found == ELEMENT_ELSEWHERE ? 0 : is_on_cpu(hook, value);
	if (is_near < 0)
		return NULL;
	if (!is_near && hook->loop->device->measures)
		return PyObject_CallMethod(hook->slow, "note_loss", "O", value);
	double loss = NAN;
	if ((is_implicit || is_one(vector_call(hook->at[NUMEL], &value, 1, NULL))) &&
		(!is_near || read_item(hook, value, &loss)))
		hook->loop->loss = loss;
	else if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
		PyErr_Clear(); /* it has several elements */
	if (PyErr_Occurred())
		return NULL;
	Py_RETURN_NONE;
}

static struct part *losses_of(const struct hook *hook) { return (struct part *)hook->at[LOSSES]; }

/* Begins a batch between optimizer steps, if one is awaited. 0: an exception that is not pmtop's. */
static int awaited_step(struct hook *hook, const char *method)
{
	if (!hook->loop->awaits_step)
		return 1;
	PyObject *reply = call_slow(hook->part, (PyObject *)hook->loop, method, NULL);
	Py_XDECREF(reply);
	return reply != NULL;
}

/* In a program without an optimizer whose forwards are invisible, a backward begins the next batch. 0: an exception
 * that is not pmtop's. */
static int begin_without_forward(struct hook *hook)
{
	struct loop *loop = hook->loop;
	if (loop->batch != loop->step_pass || !loop->step_pass->queued || loop->backwards < loop->backwards_max)
		return 1;
	loop->backwards_max = 1;
	PyObject *reply = call_slow(hook->part, (PyObject *)loop, "begin_queued", NULL);
	Py_XDECREF(reply);
	return reply != NULL;
}

/* Returns the device's mark, or None; NULL: an exception that is not pmtop's. */
static PyObject *backward_begins(struct hook *hook, PyObject *value, int is_implicit)
{
	struct loop *loop = hook->loop;
	PyObject *reply;
	if (loop->owner != this_thread()) {
		reply = call_slow(hook->part, (PyObject *)loop, "backward_elsewhere", NULL);
		if (!reply || loop->owner != this_thread())
			return reply;
		Py_DECREF(reply);
	}
	if (!awaited_step(hook, "has_backward_outside") || !begin_without_forward(hook))
		return NULL;
	loop->backwards++;
	loop->work |= WORK_BACKWARD;
	if (loop->awaits_backward) {
		reply = call_slow(hook->part, (PyObject *)loop, "has_backward", NULL);
		if (!reply)
			return NULL;
		Py_DECREF(reply);
	}
	if (losses_of(hook)->is_on && value) {
		reply = note_loss(hook, value, is_implicit);
		if (!reply && !is_own_error(losses_of(hook)))
			return NULL;
		Py_XDECREF(reply);
	}
	if (loop->device->measures)
		return call_slow(hook->part, hook->slow, "begins", NULL);
	Py_RETURN_NONE;
}

/* Ends the interval that began at `began`, and takes this reference; an exception of training stays set. */
static void ends_with(struct part *part, PyObject *slow, PyObject *began)
{
	if (began != Py_None) {
		struct pending pending = pending_take();
		PyObject *reply = call_slow(part, slow, "ends", began);
		Py_XDECREF(reply);
		pending_put_back(pending);
	}
	Py_DECREF(began);
}

static PyObject *hook_backward(PyObject *self, PyObject *const *given, Py_ssize_t count, PyObject *names)
{
	struct hook *hook = (struct hook *)self;
	if (!is_active(hook) || here.backward || is_flag_set())
		return vector_call(hook->original, given, count, names);
	here.backward = 1;
	PyObject *result = NULL, *value = count ? given[0] : vector_keyword(given, names, "tensors");
	PyObject *began = backward_begins(hook, value, count > 1 && given[1] == Py_None);
	if (began) {
		span_begins(hook->span);
		result = vector_call(hook->original, given, count, names);
		span_ends();
		ends_with(hook->part, hook->slow, began);
	}
	here.backward = 0;
	if (result && PyErr_Occurred())
		Py_CLEAR(result);
	return result;
}

/* -- an optimizer's step, between torch's own hooks */

static void open_step_span(const struct hook *hook)
{
	here.is_stepping = 1;
	span_begins(hook->span);
}

static int is_open_step(uintptr_t optimizer)
{
	for (uint32_t i = 0; i < here.step_count && i < OPEN_STEPS_MAX; i++)
		if (here.steps[i] == optimizer)
			return 1;
	return 0;
}

/* Reports an optimizer's first step in this epoch to `slow`. NULL: an exception is set. */
static PyObject *note_stepper(struct hook *hook, PyObject *optimizer)
{
	struct loop *loop = hook->loop;
	int is_owner = loop->owner == this_thread();
	for (unsigned i = 0; is_owner && i < loop->stepper_count; i++)
		if (loop->steppers[i] == (uintptr_t)optimizer)
			Py_RETURN_NONE;
	PyObject *reply = PyObject_CallMethod(hook->slow, "stepped", "O", optimizer);
	if (reply && is_owner && loop->stepper_count < OPEN_STEPS_MAX)
		loop->steppers[loop->stepper_count++] = (uintptr_t)optimizer;
	return reply;
}

/* 0: an exception is set. */
static int prepare_step(struct hook *hook, PyObject *optimizer)
{
	struct loop *loop = hook->loop;
	if (loop->owner && loop->owner != this_thread())
		return 1;
	if (loop->batch && loop->batch == loop->step_pass && is_in_cycle(loop, (uintptr_t)optimizer))
		return (loop->closer && loop->repeats++ < loop->patience) || split_cycle(loop);
	return awaited_step(hook, "has_step_outside");
}

/* The outermost step begins. Returns the arguments with which torch is to call it, or None. */
static PyObject *step_begins(struct hook *hook, PyObject *optimizer, PyObject *arguments, PyObject *keywords)
{
	struct loop *loop = hook->loop;
	PyObject *reply = prepare_step(hook, optimizer) ? note_stepper(hook, optimizer) : NULL;
	if (!reply)
		return NULL;
	if (loop->device->measures && loop->owner == this_thread()) {
		Py_DECREF(reply);
		Py_CLEAR(hook->began);
		if (!(hook->began = reply = PyObject_CallMethod(hook->slow, "begins", NULL)))
			return NULL;
		Py_INCREF(reply);
	}
	if (PyTuple_Size(arguments) > 1 || PyDict_Size(keywords) > 0) {
		Py_DECREF(reply);
		reply = PyObject_CallMethod(hook->slow, "with_closure", "OO", arguments, keywords);
		if (!reply || reply != Py_None)
			return reply;
	}
	Py_DECREF(reply);
	open_step_span(hook);
	Py_RETURN_NONE;
}

/* before(optimizer, args, kwargs) */
static PyObject *hook_before_step(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
	struct hook *hook = (struct hook *)self;
	if (count != 3 || !PyTuple_Check(given[1]) || !PyDict_Check(given[2]) || !is_active(hook) || is_flag_set())
		Py_RETURN_NONE;
	uintptr_t me = (uintptr_t)given[0];
	if (is_open_step(me))
		forget_steps();
	if (here.step_count < OPEN_STEPS_MAX)
		here.steps[here.step_count] = me;
	if (here.step_count++)
		Py_RETURN_NONE;
	PyObject *reply = step_begins(hook, given[0], given[1], given[2]);
	if (!reply && is_own_error(hook->part))
		Py_RETURN_NONE;
	return reply;
}

static PyObject *hook_after_step(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
	struct hook *hook = (struct hook *)self;
	if (!here.step_count || --here.step_count || !hook->slow)
		Py_RETURN_NONE;
	close_step_span();
	pmtop_count_at(region_now(), &hook->steps, "optimizer.steps", 1);
	if (hook->loop->owner != this_thread())
		Py_RETURN_NONE;
	PyObject *began = hook->began;
	hook->began = NULL;
	if (began)
		ends_with(hook->part, hook->slow, began);
	if (!PyErr_Occurred() && count && !note_step(hook->loop, given[0]))
		is_own_error(hook->part);
	if (PyErr_Occurred())
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *hook_open_span(PyObject *self, PyObject *unused)
{
	(void)unused;
	open_step_span((struct hook *)self);
	Py_RETURN_NONE;
}

static PyObject *hook_close_span(PyObject *self, PyObject *unused)
{
	(void)self, (void)unused;
	close_step_span();
	Py_RETURN_NONE;
}

static PyMethodDef hook_methods[] = {
	{ "turn", hook_turn, METH_O, NULL },
	{ "zero_grad", (PyCFunction)(void (*)(void))hook_zero_grad, METH_FASTCALL | METH_KEYWORDS, NULL },
	{ "backward", (PyCFunction)(void (*)(void))hook_backward, METH_FASTCALL | METH_KEYWORDS, NULL },
	{ "before_step", (PyCFunction)(void (*)(void))hook_before_step, METH_FASTCALL, NULL },
	{ "after_step", (PyCFunction)(void (*)(void))hook_after_step, METH_FASTCALL, NULL },
	{ "open_span", hook_open_span, METH_NOARGS, NULL },
	{ "close_span", hook_close_span, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

static PyType_Slot hook_slots[] = {
	{ Py_tp_new, PyType_GenericNew },
	{ Py_tp_init, hook_init },
	{ Py_tp_methods, hook_methods },
	{ Py_tp_traverse, hook_traverse },
	{ Py_tp_clear, hook_clear },
	{ Py_tp_dealloc, hook_free },
	{ 0, NULL },
};
static PyType_Spec hook_spec = { "pmtop._pmtop.Hook", sizeof(struct hook), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
	hook_slots };

#endif
