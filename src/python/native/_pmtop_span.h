/* Spans: `with pmtop.span("forward"):`, and the objects behind them.
 *
 * Most of the overhead of a `with` is binding __enter__ and __exit__ to the object each time. The first names therefore
 * have a type each, a subclass of Span whose two methods are functions bound to its only object. All others share the
 * type Span. */
#ifndef PMTOP_SPAN_H
#define PMTOP_SPAN_H

#include "_pmtop_gpu_clock.h"
#include "_pmtop_tasks.h"

#define SPAN_SETS 256u      /* a power of two */
#define BOUND_SPANS_MAX 256 /* names with their own type, about 2 KB each */
#define CACHED_NAME_MAX 200 /* characters; longer names are not cached */

/* One name and kind. pmtop.h has the state of a running span, per thread, so one object serves all threads and nests in
 * itself. */
struct span {
	PyObject_HEAD PyObject *name; /* as given; an exact str */
	struct text text;
	unsigned notes;
	struct pmtop_site site;
};

struct remembered {
	PyObject *name;
	struct span *span;
};

struct module_state {
	PyObject *opener, *decorator;
	PyTypeObject *span_type, *turns_type;
	PyObject *bound_spans[SPAN_NOTES]; /* by notes: dicts from a name to its span; entries are never removed */
	/* a cache by the name's address, which is constant for a literal. The second of a pair is replaced */
	struct remembered remembered[SPAN_SETS][2];
};

static struct module_state *state_of(PyObject *module) { return (struct module_state *)PyModule_GetState(module); }

/* The region to publish to, or NULL. False: an exception is set. */
static inline int reach(PyObject *module, struct pmtop **out)
{
	*out = region_now();
	if (__builtin_expect(*out != NULL, 1) || __atomic_load_n(&run.is_decided, __ATOMIC_RELAXED))
		return 1;
	return first_call(state_of(module)->opener, out);
}

/* The same for an object of this module. */
static inline int reach_from(PyObject *object, struct pmtop **out)
{
	*out = region_now();
	if (__builtin_expect(*out != NULL, 1) || __atomic_load_n(&run.is_decided, __ATOMIC_RELAXED))
		return 1;
	return first_call(((struct module_state *)PyType_GetModuleState(Py_TYPE(object)))->opener, out);
}

static PyObject *span_enter(PyObject *self, PyObject *const *ignored, Py_ssize_t count)
{
	struct span *span = (struct span *)self;
	struct pmtop *pm;
	(void)ignored, (void)count;
	if (!reach_from(self, &pm))
		return NULL;
	if (pm && !(is_in_task() && task_begins(self, SPAN_BY_WITH))) /* skips the calls if nothing is published */
		pmtop_scope_begin(pm, &span->site, span->text.utf8, span->notes & REGION_NOTES);
	if (span->notes & SPAN_GPU && !gpu_clock_marks(&gpu_clock.begin, span->name)) {
		struct pmtop_scope scope = { pm, 0 };
		if (!task_ends(self, SPAN_BY_WITH))
			pmtop_scope_end(&scope);
		return NULL;
	}
	Py_INCREF(self);
	return self;
}

/* Opens no region: an end without a begin here began before a close() or in the parent process. */
static PyObject *span_exit(PyObject *self, PyObject *const *ignored, Py_ssize_t count)
{
	struct pmtop_scope scope = { region_now(), 0 };
	(void)ignored, (void)count;
	int is_marked =
		!(((struct span *)self)->notes & SPAN_GPU) || gpu_clock_marks(&gpu_clock.end, ((struct span *)self)->name);
	if (!task_ends(self, SPAN_BY_WITH))
		pmtop_scope_end(&scope);
	if (!is_marked)
		return NULL;
	Py_RETURN_NONE;
}

/* stack_begin(span): begins it on this thread's stack, for a task. */
static PyObject *stack_begin(PyObject *module, PyObject *object)
{
	struct span *span = (struct span *)object;
	if (!PyObject_TypeCheck(object, state_of(module)->span_type))
		return PyErr_SetString(PyExc_TypeError, "span must be a Span"), NULL;
	pmtop_scope_begin(region_now(), &span->site, span->text.utf8, span->notes & REGION_NOTES);
	Py_RETURN_NONE;
}

/* So that copies, and users' objects with a span, can be pickled. */
static PyObject *span_reduce(PyObject *self, PyObject *unused)
{
	const struct span *span = (struct span *)self;
	PyObject *module = PyType_GetModule(Py_TYPE(self));
	PyObject *function = module ? PyObject_GetAttrString(module, "span") : NULL;
	(void)unused;
	return function
		? Py_BuildValue("N(OOOO)", function, span->name, span->notes & PMTOP_NOTE_CPU ? Py_True : Py_False,
			  span->notes & PMTOP_NOTE_MEMORY ? Py_True : Py_False, span->notes & SPAN_GPU ? Py_True : Py_False)
		: NULL;
}

/* bind_methods() binds the first two. */
static PyMethodDef span_methods[] = {
	{ "__enter__", (PyCFunction)(void (*)(void))span_enter, METH_FASTCALL, "Begins the span in this thread." },
	{ "__exit__", (PyCFunction)(void (*)(void))span_exit, METH_FASTCALL, "Ends the innermost span of this thread." },
	{ "__reduce__", span_reduce, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};

/* The type of one object. Its __enter__ and __exit__ are no descriptors, so `with` does not bind them. Both ignore
 * their arguments. */
static PyTypeObject *bound_type(PyObject *module)
{
	static PyType_Slot slots[] = { { 0, NULL } };
	static PyType_Spec spec = { "pmtop.Span", sizeof(struct span), 0, Py_TPFLAGS_DEFAULT, slots };
	PyObject *bases = PyTuple_Pack(1, (PyObject *)state_of(module)->span_type);
	PyObject *type = bases ? PyType_FromModuleAndSpec(module, &spec, bases) : NULL;
	Py_XDECREF(bases);
	return (PyTypeObject *)type;
}

static int bind_methods(PyObject *span)
{
	int is_bound = 1;
	for (int i = 0; i < 2 && is_bound; i++) {
		PyObject *function = PyCFunction_NewEx(&span_methods[i], span, NULL);
		is_bound = function && !PyObject_SetAttrString((PyObject *)Py_TYPE(span), span_methods[i].ml_name, function);
		Py_XDECREF(function);
	}
	return is_bound;
}

/* name: an exact str. */
static struct span *span_new(PyTypeObject *type, PyObject *name, unsigned notes)
{
	struct text text;
	if (!text_of(name, "name", &text))
		return NULL;
	struct span *span = PyObject_New(struct span, type);
	if (!span) {
		Py_XDECREF(text.own);
		return NULL;
	}
	Py_INCREF(name);
	span->name = name;
	span->text = text;
	span->notes = notes;
	span->site.known = 0;
	return span;
}

/* Takes `span`, and returns the stored one: another thread may have been first. */
static struct span *store_span(PyObject *bound, PyObject *name, struct span *span)
{
	PyObject *stored = (PyObject *)span;
#ifdef Py_GIL_DISABLED
	int failed = PyDict_SetDefaultRef(bound, name, (PyObject *)span, &stored) < 0;
	Py_DECREF((PyObject *)span);
#else
	int failed = PyDict_SetItem(bound, name, stored);
	if (failed)
		Py_CLEAR(stored);
#endif
	return failed ? NULL : (struct span *)stored;
}

/* A new reference to the span of a name; cached while there are few names. */
static struct span *find_span(PyObject *module, PyObject *name, unsigned notes)
{
	struct module_state *state = state_of(module);
	PyObject *bound = state->bound_spans[notes], *known = PyDict_GetItemWithError(bound, name);
	if (known) {
		Py_INCREF(known);
		return (struct span *)known;
	}
	if (PyErr_Occurred() || PyDict_Size(bound) >= BOUND_SPANS_MAX || PyUnicode_GetLength(name) > CACHED_NAME_MAX)
		return PyErr_Occurred() ? NULL : span_new(state->span_type, name, notes);
	PyTypeObject *type = bound_type(module);
	struct span *span = type ? span_new(type, name, notes) : NULL;
	Py_XDECREF((PyObject *)type);
	if (span && !bind_methods((PyObject *)span))
		Py_CLEAR(span);
	return span ? store_span(bound, name, span) : NULL;
}

static PyObject *make_span(PyObject *module, PyObject *name, unsigned notes)
{
#ifndef Py_GIL_DISABLED /* a cache for all threads would cost more than it saves */
	uintptr_t address = (uintptr_t)name;
	struct remembered *set = state_of(module)->remembered[((address >> 4 ^ address >> 12) + notes) % SPAN_SETS];
	for (int i = 0; i < 2; i++) {
		if (set[i].name == name && set[i].span->notes == notes) {
			Py_INCREF((PyObject *)set[i].span);
			return (PyObject *)set[i].span;
		}
	}
#endif
	if (!PyUnicode_Check(name))
		return PyErr_Format(PyExc_TypeError, "name must be a str, not %R", Py_TYPE(name));
	PyObject *plain = PyUnicode_FromObject(name);
	struct span *span = plain ? find_span(module, plain, notes) : NULL;
#ifndef Py_GIL_DISABLED
	if (span && plain == name && PyUnicode_GetLength(name) <= CACHED_NAME_MAX) {
		int is_bound = Py_TYPE((PyObject *)span) != state_of(module)->span_type;
		struct remembered last = set[1];
		set[1] = is_bound ? set[0] : (struct remembered){ name, span };
		set[0] = is_bound ? (struct remembered){ name, span } : set[0];
		Py_INCREF(name);
		Py_INCREF((PyObject *)span);
		Py_XDECREF(last.name);
		Py_XDECREF((PyObject *)last.span);
	}
#endif
	Py_XDECREF(plain);
	return (PyObject *)span;
}

static int is_asked_for(PyObject *argument, unsigned note, unsigned *notes)
{
	int is_true = argument ? PyObject_IsTrue(argument) : 0;
	if (is_true > 0)
		*notes |= note;
	return is_true >= 0;
}

static PyObject *span_of(PyObject *module, PyObject *const *given, Py_ssize_t count, PyObject *keywords)
{
	static const struct signature takes = { "span", { "name", "cpu", "memory", "gpu" }, 1, 4 };
	PyObject *own[ARGUMENTS_MAX];
	unsigned notes = 0;
	if (__builtin_expect(count == 1 && !keywords, 1))
		return make_span(module, given[0], 0);
	if (!(given = take(&takes, given, count, keywords, own)) || !is_asked_for(given[1], PMTOP_NOTE_CPU, &notes) ||
		!is_asked_for(given[2], PMTOP_NOTE_MEMORY, &notes) || !is_asked_for(given[3], SPAN_GPU, &notes))
		return NULL;
	return make_span(module, given[0], notes);
}

static PyObject *span_call(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	PyObject *function;
	static char *names[] = { "function", NULL };
	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O:span", names, &function))
		return NULL;
	return PyObject_CallFunctionObjArgs(
		((struct module_state *)PyType_GetModuleState(Py_TYPE(self)))->decorator, self, function, NULL);
}

static PyObject *span_name(PyObject *self, void *unused)
{
	(void)unused;
	Py_INCREF(((struct span *)self)->name);
	return ((struct span *)self)->name;
}

static PyObject *span_notes(PyObject *self, void *which)
{
	return PyBool_FromLong((((struct span *)self)->notes & (unsigned)(uintptr_t)which) != 0);
}

static PyObject *span_repr(PyObject *self)
{
	const struct span *span = (struct span *)self;
	return PyUnicode_FromFormat("pmtop.span(%R%s%s%s)", span->name, span->notes & PMTOP_NOTE_CPU ? ", cpu=True" : "",
		span->notes & PMTOP_NOTE_MEMORY ? ", memory=True" : "", span->notes & SPAN_GPU ? ", gpu=True" : "");
}

static PyObject *refuse_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	(void)type, (void)arguments, (void)keywords;
	PyErr_SetString(PyExc_TypeError, "cannot be created directly: use pmtop.span(name)");
	return NULL;
}

static void span_free(PyObject *self)
{
	struct span *span = (struct span *)self;
	PyTypeObject *type = Py_TYPE(self);
	Py_XDECREF(span->text.own);
	Py_XDECREF(span->name);
	PyObject_Free(self);
	Py_DECREF((PyObject *)type);
}

static PyGetSetDef span_fields[] = {
	{ "name", span_name, NULL, "The name, as given.", NULL },
	{ "cpu", span_notes, NULL, "Whether it also measures the thread's CPU time.", (void *)(uintptr_t)PMTOP_NOTE_CPU },
	{ "memory", span_notes, NULL, "Whether it also measures the growth of the process's resident memory.",
		(void *)(uintptr_t)PMTOP_NOTE_MEMORY },
	{ "gpu", span_notes, NULL, "Whether it also measures by the GPU's clock.", (void *)(uintptr_t)SPAN_GPU },
	{ NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot span_slots[] = {
	{ Py_tp_doc,
		"A named interval of time, for `with` or as a decorator; created by pmtop.span(name). One object serves all "
		"threads and nests in itself." },
	{ Py_tp_new, refuse_new },
	{ Py_tp_dealloc, span_free },
	{ Py_tp_methods, span_methods },
	{ Py_tp_getset, span_fields },
	{ Py_tp_call, span_call },
	{ Py_tp_repr, span_repr },
	{ 0, NULL },
};

static PyType_Spec span_spec = { "pmtop.Span", sizeof(struct span), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	span_slots };

#endif
