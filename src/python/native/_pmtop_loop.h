/* The fast path of _torch/batches.py: which pass owns the batches, and the ordinary end and begin of a batch. All other
 * cases call Python. */
#ifndef PMTOP_LOOP_H
#define PMTOP_LOOP_H

#include "_pmtop_calls.h"
#include "_pmtop_here.h"

/* A closer that steps again so many batches after it was replaced had only paused. */
enum { RETURNS_SOON = 3, PATIENCE_MAX = 30 };
enum { UNSEEN_BACKWARDS_MAX = 8 };
enum { PASS_UNDECIDED, PASS_TRAINING, PASS_VALIDATION };

/* One iterator of a loader. */
struct pass {
	PyObject_HEAD uintptr_t iterator; /* its address, while it lives */
	int kind;
	unsigned long long index;            /* of the next batch */
	unsigned long long full, batch_size; /* the first `full` batches have batch_size samples */
	unsigned long long length;           /* of an epoch, if the iterator serves several; else 0 */
	unsigned long long queued;           /* batches that were fetched ahead and have not begun */
	char is_pending;                     /* its first batch begins when work shows what it is */
	char is_unsized;                     /* the samples of its batches are unknown */
	char is_exhausted;                   /* its iterator has raised StopIteration */
};

/* Belongs to one thread, the owner; others only read `owner` and append to `late`. */
struct loop {
	PyObject_HEAD unsigned long owner;
	char owner_trains, is_busy, is_left_alone, is_learning, times_forwards, watches_forward, awaits_backward;
	char watches_end; /* _batch_ends() is called before each batch ends */
	unsigned work;    /* bits WORK_*: what the batch has done so far */
	double loss;      /* NAN: none */
	unsigned long long since_step, accumulation, samples_planned;
	unsigned long long loss_parts; /* by which training divides the loss, if it does; 0: unknown yet */
	/* backward calls before the only step of a loader's batch, 0 if it has several steps: in the open batch, in the
	 * last one, and twice in a row */
	unsigned long long open_parts, last_parts, parts;
	char has_stepped;               /* the open batch of a loader has */
	char awaits_turn;               /* another loader was asked since: does the same optimizer step again? */
	uintptr_t first_stepper;        /* the first optimizer that stepped in the open batch */
	struct pass *fast_pass, *batch; /* the pass for the fast path; that of the open batch; or NULL */
	struct device *device;
	PyObject *late;                     /* list: passes that ended while they could not be removed */
	uintptr_t steppers[OPEN_STEPS_MAX]; /* optimizers that stepped in this epoch */
	unsigned stepper_count;
	/* batches between optimizer steps, while no loader has any: see _torch/steps.py */
	struct pass *step_pass;
	char has_optimizer;                      /* one of torch: else no step is seen, and nothing accumulates */
	char awaits_step;                        /* none is open; the next forward, backward or step begins one */
	char infers;                             /* the forward that runs has no gradients, and no batch is open */
	char mixes_inference;                    /* a training batch had a forward without gradients */
	unsigned unasked, asked;                 /* forwards until torch is asked for gradients again; times it was asked */
	char has_settled;                        /* a forward of a module in training mode begins one */
	char was_in_eval;                        /* the last forward was of a module in evaluation mode */
	unsigned long long steps_begun;          /* batches of this kind */
	unsigned long long backwards, stepped;   /* in the open one since zero_grad; optimizer steps so far */
	unsigned long long backwards_max;        /* so many without a forward between them: forwards are invisible */
	unsigned long long micro_batches;        /* backward calls in a batch, as published */
	uintptr_t closer, cycle[OPEN_STEPS_MAX]; /* the optimizer whose step ends one; those that stepped in the open one */
	unsigned cycle_count;
	/* repeats: steps in the open one by optimizers that had stepped in it; patience: so many show no new closer.
	 * former: the closer that was replaced last, when steps_begun was replaced_at. */
	unsigned repeats, patience;
	uintptr_t former;
	unsigned long long replaced_at;
};

static struct {
	PyTypeObject *here, *part, *device, *pass, *loop, *hook, *module_hook, *timed, *swapped, *swapped_method,
		*swapped_call, *span;
} hook_types;

/* Interned, because every step looks them up. */
static struct {
	PyObject *compiled_call, *call, *is_cpu, *training;
} hook_names;

static int pass_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	struct pass *pass = (struct pass *)self;
	PyObject *iterator;
	(void)keywords;
	if (!PyArg_ParseTuple(arguments, "OKK", &iterator, &pass->full, &pass->batch_size))
		return -1;
	pass->iterator = (uintptr_t)iterator;
	return 0;
}

static PyMemberDef pass_members[] = {
	{ "kind", T_INT, offsetof(struct pass, kind), 0, NULL },
	{ "index", T_ULONGLONG, offsetof(struct pass, index), 0, NULL },
	{ "length", T_ULONGLONG, offsetof(struct pass, length), 0, NULL },
	{ "queued", T_ULONGLONG, offsetof(struct pass, queued), 0, NULL },
	{ "is_pending", T_BOOL, offsetof(struct pass, is_pending), 0, NULL },
	{ "is_unsized", T_BOOL, offsetof(struct pass, is_unsized), 0, NULL },
	{ "is_exhausted", T_BOOL, offsetof(struct pass, is_exhausted), 0, NULL },
	{ NULL, 0, 0, 0, NULL },
};
static PyType_Slot pass_slots[] = { { Py_tp_new, PyType_GenericNew }, { Py_tp_init, pass_init },
	{ Py_tp_members, pass_members }, { 0, NULL } };
static PyType_Spec pass_spec = { "pmtop._pmtop.PassState", sizeof(struct pass), 0,
	Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, pass_slots };

static int loop_init(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	struct loop *loop = (struct loop *)self;
	PyObject *device;
	(void)keywords;
	if (!PyArg_ParseTuple(arguments, "O!", hook_types.device, &device))
		return -1;
	Py_INCREF(device);
	Py_XDECREF((PyObject *)loop->device);
	loop->device = (struct device *)device;
	loop->loss = NAN;
	loop->micro_batches = loop->parts = 1;
	loop->backwards_max = UNSEEN_BACKWARDS_MAX;
	if (!loop->late)
		loop->late = PyList_New(0);
	return loop->late ? 0 : -1;
}

static int has_late(const struct loop *loop) { return PyList_Size(loop->late) != 0; }

/* -- batches */

static int open_batch(struct loop *loop, struct pass *now, uint64_t index)
{
	struct pmtop *pm = run.is_forked || run.are_batches_by_hand ? NULL : region_now();
	loop->is_left_alone = !pm;
	if (!pm)
		return 0;
	pmtop_batch_begin(pm, index);
	loop->has_stepped = 0;
	loop->open_parts = 0;
	PyObject *before = (PyObject *)loop->batch;
	Py_INCREF((PyObject *)now);
	loop->batch = now;
	Py_XDECREF(before);
	return 1;
}

/* Counts batches to the next step. True: another number than before. */
static int is_new_interval(struct loop *loop, unsigned long long *since)
{
	*since = loop->since_step + 1;
	loop->since_step = loop->work & WORK_STEP ? 0 : *since;
	if (!(loop->work & WORK_STEP) && loop->work & WORK_BACKWARD && (loop->stepped || loop->has_optimizer))
		pmtop_batch_kind(region_now(), "accumulate");
	return loop->work & WORK_STEP && *since != loop->accumulation;
}

static PyObject *note_interval(struct loop *loop, unsigned long long since)
{
	return PyObject_CallMethod((PyObject *)loop, "_note_interval", "K", since);
}

/* Whether training steps in each batch, and two batches in a row had another number of backward calls than before. */
static int has_new_parts(struct loop *loop, unsigned long long since)
{
	unsigned long long last = loop->last_parts;
	if (since != 1 || !loop->open_parts)
		return 0;
	loop->last_parts = loop->open_parts;
	if (loop->open_parts != last || last == loop->parts)
		return 0;
	loop->parts = last;
	return 1;
}

/* Of a training batch that ends. 0: an exception is set. */
static int note_rhythm(struct loop *loop)
{
	unsigned long long since;
	PyObject *reply;
	if (is_new_interval(loop, &since)) {
		if (!(reply = note_interval(loop, since)))
			return 0;
		Py_DECREF(reply);
	}
	if (!has_new_parts(loop, since))
		return 1;
	reply = PyObject_CallMethod((PyObject *)loop, "_note_parts", "K", loop->parts);
	Py_XDECREF(reply);
	return reply != NULL;
}

/* Whether _check_forward() is due: while modules are being learnt, or after a batch with a backward but no forward. */
static int is_forward_in_question(const struct loop *loop)
{
	return loop->is_learning ||
		(loop->times_forwards && (loop->work & (WORK_FORWARD | WORK_BACKWARD)) == WORK_BACKWARD);
}

/* 0: an exception is set. */
static int end_batch_of(struct loop *loop)
{
	struct pass *now = loop->batch;
	PyObject *reply = NULL;
	int is_fine = 1;
	if (!now)
		return 1;
	loop->batch = NULL;
	if (now->kind == PASS_TRAINING)
		is_fine = note_rhythm(loop);
	if (is_fine && loop->watches_end) {
		is_fine =
			(reply = PyObject_CallMethod((PyObject *)loop, "_batch_ends", "i", now->kind == PASS_TRAINING)) != NULL;
		Py_XDECREF(reply);
	}
	Py_DECREF((PyObject *)now);
	if (is_fine && is_to_end(loop->device)) {
		is_fine = (reply = PyObject_CallMethod((PyObject *)loop, "_end_with_device", NULL)) != NULL;
		Py_XDECREF(reply);
	} else if (is_fine && !run.is_forked && !run.are_batches_by_hand) {
		pmtop_batch_end(region_now(), loop->loss);
	}
	if (is_fine && is_forward_in_question(loop)) {
		is_fine = (reply = PyObject_CallMethod((PyObject *)loop, "_check_forward", NULL)) != NULL;
		Py_XDECREF(reply);
	}
	return is_fine;
}

/* -- batches between optimizer steps */

/* Ends the open one. 0: an exception is set. */
static int end_step_batch(struct loop *loop)
{
	unsigned long long micro_batches = loop->cycle_count == 1 ? loop->backwards : 0;
	loop->since_step = 0;
	loop->cycle_count = 0;
	loop->repeats = 0;
	loop->backwards = 0;
	loop->awaits_step = 1;
	loop->is_busy = 1;
	int is_fine = end_batch_of(loop);
	loop->is_busy = 0;
	if (is_fine && micro_batches && micro_batches != loop->micro_batches) {
		PyObject *reply = PyObject_CallMethod((PyObject *)loop, "_note_micro_batches", "K", micro_batches);
		is_fine = reply != NULL;
		Py_XDECREF(reply);
	}
	return is_fine;
}

/* Begins one where nothing is to be found out. 0: Python has to. */
static int open_step_batch(struct loop *loop)
{
	if (!loop->has_settled || is_to_begin(loop->device) || !open_batch(loop, loop->step_pass, loop->steps_begun))
		return 0;
	loop->awaits_step = loop->was_in_eval = 0;
	loop->backwards = loop->cycle_count = 0;
	loop->steps_begun++;
	loop->work = 0;
	loop->loss = NAN;
	return 1;
}

static int is_in_cycle(const struct loop *loop, uintptr_t optimizer)
{
	for (unsigned i = 0; i < loop->cycle_count && i < OPEN_STEPS_MAX; i++)
		if (loop->cycle[i] == optimizer)
			return 1;
	return 0;
}

/* Before the step of an optimizer that has stepped in the open batch: the cycle of the optimizers had closed before.
 * 0: an exception is set. */
static int split_cycle(struct loop *loop)
{
	unsigned work = loop->work & (WORK_FORWARD | WORK_BACKWARD), last = loop->cycle_count - 1;
	loop->former = loop->closer;
	loop->replaced_at = loop->steps_begun;
	loop->closer = loop->cycle[last < OPEN_STEPS_MAX ? last : OPEN_STEPS_MAX - 1];
	loop->backwards = 0; /* some of them are the next one's */
	PyObject *reply = end_step_batch(loop) ? PyObject_CallMethod((PyObject *)loop, "_open_step", NULL) : NULL;
	loop->work |= work;
	Py_XDECREF(reply);
	return reply != NULL;
}

/* Another optimizer was taken for the closer, because it stepped twice between two steps of this one. */
static void note_return(struct loop *loop)
{
	loop->former = 0;
	if (loop->steps_begun - loop->replaced_at <= RETURNS_SOON && loop->patience < PATIENCE_MAX)
		loop->patience = 2 * loop->patience + 2;
}

/* The same outside the batches between optimizer steps. */
static int note_loader_step(struct loop *loop, PyObject *optimizer)
{
	int is_turn = loop->awaits_turn && loop->has_stepped && loop->first_stepper == (uintptr_t)optimizer;
	loop->open_parts = loop->has_stepped ? 0 : loop->backwards;
	loop->backwards = 0;
	if (!loop->has_stepped)
		loop->first_stepper = (uintptr_t)optimizer;
	loop->has_stepped = 1;
	if (!is_turn)
		return 1;
	loop->awaits_turn = 0;
	PyObject *reply = PyObject_CallMethod((PyObject *)loop, "_take_turns", NULL);
	Py_XDECREF(reply);
	return reply != NULL;
}

/* The step of an optimizer has ended, or a GradScaler skipped it. 0: an exception is set. */
static int note_step(struct loop *loop, PyObject *optimizer)
{
	loop->work |= WORK_STEP;
	loop->stepped++;
	if (!loop->batch || loop->batch != loop->step_pass)
		return note_loader_step(loop, optimizer);
	if (loop->cycle_count < OPEN_STEPS_MAX)
		loop->cycle[loop->cycle_count] = (uintptr_t)optimizer;
	loop->cycle_count++;
	if (loop->former == (uintptr_t)optimizer)
		note_return(loop);
	if (!loop->closer) {
		PyObject *reply = PyObject_CallMethod((PyObject *)loop, "_completes_cycle", "O", optimizer);
		if (!reply)
			return 0;
		loop->closer = reply == Py_True ? (uintptr_t)optimizer : 0;
		Py_DECREF(reply);
	}
	return loop->closer != (uintptr_t)optimizer || end_step_batch(loop);
}

static PyObject *loop_note_step(PyObject *self, PyObject *optimizer)
{
	if (!note_step((struct loop *)self, optimizer))
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *loop_end_batch(PyObject *self, PyObject *unused)
{
	(void)unused;
	if (!end_batch_of((struct loop *)self))
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *loop_begin_batch(PyObject *self, PyObject *arguments)
{
	PyObject *now;
	unsigned long long index;
	if (!PyArg_ParseTuple(arguments, "O!K", hook_types.pass, &now, &index))
		return NULL;
	return PyBool_FromLong(open_batch((struct loop *)self, (struct pass *)now, index));
}

static PyObject *loop_forget_steppers(PyObject *self, PyObject *unused)
{
	(void)unused;
	((struct loop *)self)->stepper_count = 0;
	Py_RETURN_NONE;
}

/* -- for Python */

static PyObject *loop_get_loss(PyObject *self, void *unused)
{
	(void)unused;
	return float_or_none(((struct loop *)self)->loss);
}

static int loop_set_loss(PyObject *self, PyObject *value, void *unused)
{
	double loss = value && value != Py_None ? PyFloat_AsDouble(value) : NAN;
	(void)unused;
	if (PyErr_Occurred())
		return -1;
	((struct loop *)self)->loss = loss;
	return 0;
}

static PyObject *loop_get_pass(PyObject *self, void *offset)
{
	PyObject *pass = *(PyObject **)((char *)self + (uintptr_t)offset);
	pass = pass ? pass : Py_None;
	Py_INCREF(pass);
	return pass;
}

static int loop_set_pass(PyObject *self, PyObject *value, void *offset)
{
	PyObject **pass = (PyObject **)((char *)self + (uintptr_t)offset), *before = *pass;
	if (value && value != Py_None && !PyObject_TypeCheck(value, hook_types.pass))
		return PyErr_SetString(PyExc_TypeError, "must be a PassState or None"), -1;
	*pass = value == Py_None ? NULL : value;
	Py_XINCREF(*pass);
	Py_XDECREF(before);
	return 0;
}

static PyMethodDef loop_methods[] = {
	{ "_end_batch", loop_end_batch, METH_NOARGS, "Ends the open batch, if there is one." },
	{ "_note_step", loop_note_step, METH_O, "An optimizer's step has ended, or was skipped." },
	{ "_begin_batch", loop_begin_batch, METH_VARARGS,
		"_begin_batch($self, pass, index, /)\n--\n\nBegins a batch of the pass; False: the script publishes its own." },
	{ "_forget_steppers", loop_forget_steppers, METH_NOARGS,
		"Reports each optimizer's next step to `optimised` again." },
	{ NULL, NULL, 0, NULL },
};

static PyGetSetDef loop_fields[] = {
	{ "loss", loop_get_loss, loop_set_loss, NULL, NULL },
	{ "fast_pass", loop_get_pass, loop_set_pass, NULL, (void *)offsetof(struct loop, fast_pass) },
	{ "batch", loop_get_pass, loop_set_pass, NULL, (void *)offsetof(struct loop, batch) },
	{ "step_pass", loop_get_pass, loop_set_pass, NULL, (void *)offsetof(struct loop, step_pass) },
	{ NULL, NULL, NULL, NULL, NULL },
};

#define OF_LOOP(field, type, flags) \
	{ \
#field, type, offsetof(struct loop, field), flags, NULL \
	}
static PyMemberDef loop_members[] = {
	OF_LOOP(owner, T_ULONG, 0),
	OF_LOOP(owner_trains, T_BOOL, 0),
	OF_LOOP(is_busy, T_BOOL, 0),
	OF_LOOP(is_left_alone, T_BOOL, 0),
	OF_LOOP(is_learning, T_BOOL, 0),
	OF_LOOP(times_forwards, T_BOOL, 0),
	OF_LOOP(watches_forward, T_BOOL, 0),
	OF_LOOP(awaits_backward, T_BOOL, 0),
	OF_LOOP(awaits_step, T_BOOL, 0),
	OF_LOOP(awaits_turn, T_BOOL, 0),
	OF_LOOP(infers, T_BOOL, 0),
	OF_LOOP(has_optimizer, T_BOOL, 0),
	OF_LOOP(has_settled, T_BOOL, 0),
	OF_LOOP(was_in_eval, T_BOOL, 0),
	OF_LOOP(watches_end, T_BOOL, 0),
	OF_LOOP(steps_begun, T_ULONGLONG, 0),
	OF_LOOP(backwards, T_ULONGLONG, 0),
	OF_LOOP(micro_batches, T_ULONGLONG, 0),
	OF_LOOP(stepped, T_ULONGLONG, READONLY),
	OF_LOOP(cycle_count, T_UINT, 0),
	OF_LOOP(work, T_UINT, 0),
	OF_LOOP(since_step, T_ULONGLONG, 0),
	OF_LOOP(accumulation, T_ULONGLONG, 0),
	OF_LOOP(samples_planned, T_ULONGLONG, 0),
	OF_LOOP(loss_parts, T_ULONGLONG, 0),
	OF_LOOP(late, T_OBJECT, READONLY),
	OF_LOOP(device, T_OBJECT, READONLY),
	{ NULL, 0, 0, 0, NULL },
};

static int loop_traverse(PyObject *self, visitproc visit, void *arg)
{
	struct loop *loop = (struct loop *)self;
	Py_VISIT(Py_TYPE(self));
	Py_VISIT((PyObject *)loop->fast_pass);
	Py_VISIT((PyObject *)loop->batch);
	Py_VISIT((PyObject *)loop->step_pass);
	Py_VISIT((PyObject *)loop->device);
	Py_VISIT(loop->late);
	return 0;
}

/* `device` and `late` stay: a hook may still use them. */
static int loop_clear(PyObject *self)
{
	struct loop *loop = (struct loop *)self;
	Py_CLEAR(loop->fast_pass);
	Py_CLEAR(loop->batch);
	Py_CLEAR(loop->step_pass);
	return 0;
}

static void loop_free(PyObject *self)
{
	struct loop *loop = (struct loop *)self;
	PyObject_GC_UnTrack(self);
	loop_clear(self);
	Py_CLEAR(loop->device);
	Py_CLEAR(loop->late);
	free_object(self);
}

static PyType_Slot loop_slots[] = {
	{ Py_tp_new, PyType_GenericNew },
	{ Py_tp_init, loop_init },
	{ Py_tp_methods, loop_methods },
	{ Py_tp_getset, loop_fields },
	{ Py_tp_members, loop_members },
	{ Py_tp_traverse, loop_traverse },
	{ Py_tp_clear, loop_clear },
	{ Py_tp_dealloc, loop_free },
	{ 0, NULL },
};
static PyType_Spec loop_spec = { "pmtop._pmtop.LoopState", sizeof(struct loop), 0,
	Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, loop_slots };

#endif
