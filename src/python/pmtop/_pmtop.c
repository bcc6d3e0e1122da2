/* The compiled part of the Python package pmtop.
 *
 *   arguments -> C        _pmtop_arguments.h
 *   the region            _pmtop_run.h           made by the first call, let go of at the end and in forked children
 *   publish               _pmtop_calls.h, _pmtop_span.h, _pmtop_turns.h, _pmtop_gc.h
 *   tasks of asyncio      _pmtop_tasks.h
 *   pmtop.torch's hooks   _pmtop_here.h, _pmtop_loop.h, _pmtop_hooks.h, _pmtop_modules.h
 *
 * The functions are what `import pmtop` exports: nothing of Python lies between. Names that the package does not export
 * are for its own parts. */
#define PY_SSIZE_T_CLEAN
#define PMTOP_IMPLEMENTATION
#include <pmtop.h>

#include "_pmtop_always.h"
#include "_pmtop_arguments.h"
#include "_pmtop_calls.h"
#include "_pmtop_gc.h"
#include "_pmtop_modules.h"
#include "_pmtop_run.h"
#include "_pmtop_span.h"
#include "_pmtop_turns.h"

/* connect(opener, decorator): opener(is_child) opens the run at the first call, decorator(span, function) wraps a
 * function. */
static PyObject *connect_python(PyObject *module, PyObject *arguments)
{
	struct module_state *state = state_of(module);
	PyObject *opener, *decorator;
	if (!PyArg_ParseTuple(arguments, "OO", &opener, &decorator))
		return NULL;
	Py_INCREF(opener);
	Py_INCREF(decorator);
	Py_XDECREF(state->opener);
	Py_XDECREF(state->decorator);
	state->opener = opener;
	state->decorator = decorator;
	Py_RETURN_NONE;
}

#define QUICK(function) (PyCFunction)(void (*)(void)) function, METH_FASTCALL | METH_KEYWORDS
#define WORDY(function) (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS

static PyMethodDef functions[] = {
	{ "plan", QUICK(publish_plan),
		"plan($module, /, epochs=None, batches_per_epoch=None, samples_per_batch=None)\n--\n\n"
		"What is ahead, as far as it is known: ints, 0 for unknown. What is left out stays as it was." },
	{ "meta", QUICK(publish_meta),
		"meta($module, /, key, value)\n--\n\n"
		"A fact about the run, such as its batch size: str(value) is published, up to 192 bytes; None is not. At most "
		"64 keys, of 56 bytes." },
	{ "mode", QUICK(publish_mode),
		"mode($module, /, name)\n--\n\n"
		"\"train\", \"validation\", ...: of the batches that end from now on, and of an epoch that has begun and has "
		"no batch yet." },
	{ "epoch_begin", QUICK(publish_epoch_begin),
		"epoch_begin($module, /, index)\n--\n\nAn epoch begins; one that is still open ends. index: an int, 0 to 2**32 "
		"- 1." },
	{ "epoch_end", publish_epoch_end, METH_NOARGS, "epoch_end($module)\n--\n\nThe epoch ends." },
	{ "batch_begin", QUICK(publish_batch_begin),
		"batch_begin($module, /, index)\n--\n\nA batch begins. index: an int, 0 to 2**64 - 1, its number in the "
		"epoch." },
	{ "batch_end", QUICK(publish_batch_end),
		"batch_end($module, /, loss=None)\n--\n\n"
		"The batch ends. loss: a float or what has __float__; None or NaN where there is none.\n"
		"A torch tensor that lies on a device is left out, for reading it would wait for the device: pass loss.item() "
		"where that is meant,\n"
		"or tell it later by batch_figure(). Arrays of other libraries are read: pass only what is ready." },
	{ "batch_samples", QUICK(publish_batch_samples),
		"batch_samples($module, /, samples)\n--\n\nHow many samples the running batch has, where that is not as "
		"planned." },
	{ "batch_kind", QUICK(publish_batch_kind),
		"batch_kind($module, /, kind)\n--\n\nThe kind of the running batch (\"accumulate\"): batches are judged among "
		"their own kind. None: the usual." },
	{ "batch_figure", QUICK(publish_batch_figure),
		"batch_figure($module, /, number, name, value)\n--\n\n"
		"What becomes known of a batch later: its \"loss\", or \"gpu.forward_s\" in seconds. number: what "
		"batch_number() said while it ran." },
	{ "batch_number", read_batch_number, METH_NOARGS,
		"batch_number($module)\n--\n\nOf the running batch, or else of the next: 0 and up, over all modes and "
		"epochs." },
	{ "span", QUICK(span_of),
		"span($module, /, name, cpu=False, memory=False)\n--\n\n"
		"`with pmtop.span(\"forward\"):`, or a decorator. cpu: note the thread's CPU time too (about 1 us); memory: "
		"the growth of the process's\n"
		"resident memory (about 2 us). Spans nest, 32 deep, in each thread and in each task of asyncio for itself; "
		"where tasks take turns, their\n"
		"spans may lack both notes. Names beyond 120 bytes of UTF-8 are cut, as all names are, and end at a NUL." },
	{ "span_begin", QUICK(publish_span_begin),
		"span_begin($module, /, name)\n--\n\n"
		"A span begins in this thread, to be ended by span_end(), or by the end of the batch or the `with "
		"pmtop.span()` that it began in." },
	{ "span_end", publish_span_end, METH_NOARGS, "span_end($module)\n--\n\nThe innermost span of this thread ends." },
	{ "span_past", QUICK(publish_span_past),
		"span_past($module, /, name, begin_ns, end_ns)\n--\n\nA span that is over, within the innermost open one of "
		"this thread. Times as now_ns() says them." },
	{ "now_ns", read_now, METH_NOARGS,
		"now_ns($module)\n--\n\nNanoseconds of the clock that pmtop uses: time.monotonic_ns()." },
	{ "gauge", QUICK(publish_gauge),
		"gauge($module, /, name, value)\n--\n\nThe value of something now: a float or what has __float__, read as that "
		"of batch_end(). At most 256 names." },
	{ "count", QUICK(publish_count),
		"count($module, /, name, add=1)\n--\n\nAdds to a running total: an int, 0 and up. At most 256 names." },
	{ "mark", QUICK(publish_mark),
		"mark($module, /, text)\n--\n\nNotes a moment, such as \"checkpoint saved\": up to 120 bytes." },
	{ "statistics", read_statistics, METH_NOARGS,
		"statistics($module)\n--\n\nA dict of the finished epochs and batches of all modes: times in seconds, None "
		"where there is none yet, and their numbers." },
	{ "operation_time", QUICK(read_operation_time),
		"operation_time($module, /, name)\n--\n\nSeconds in all finished spans of this name; None where there is "
		"none." },
	{ "total_time", read_total_time, METH_NOARGS,
		"total_time($module)\n--\n\nSeconds in all finished outermost spans; None where there is none." },
	{ "close", run_close, METH_NOARGS,
		"close($module)\n--\n\nEnds the run and removes its region. What is called afterwards does nothing until "
		"init()." },
	{ "auto_epoch_begin", QUICK(auto_epoch_begin),
		"auto_epoch_begin($module, /, index)\n--\n\nAs epoch_begin(), unless the script does that itself. True: "
		"published." },
	{ "auto_epoch_end", auto_epoch_end, METH_NOARGS,
		"auto_epoch_end($module)\n--\n\nAs epoch_end(), unless the script does that itself. True: published." },
	{ "auto_batch_begin", QUICK(auto_batch_begin),
		"auto_batch_begin($module, /, index)\n--\n\nAs batch_begin(), unless the script does that itself. True: "
		"published." },
	{ "auto_batch_end", QUICK(auto_batch_end),
		"auto_batch_end($module, /, loss=None)\n--\n\nAs batch_end(), unless the script does that itself. True: "
		"published." },
	{ "turns", make_turns, METH_VARARGS,
		"turns($module, iterator, is_epochs, samples, /)\n--\n\nThe items of `iterator`, an epoch or a batch (of so "
		"many samples, 0 if not known) around each." },
	{ "is_automatic", run_is_automatic, METH_NOARGS,
		"is_automatic($module)\n--\n\nTrue where publishers that nobody called may publish: not in a forked child, and "
		"not where nothing is published." },
	{ "planned", read_planned, METH_NOARGS,
		"planned($module)\n--\n\n(epochs, batches_per_epoch, samples_per_batch); 0 for unknown." },
	{ "is_enabled", read_is_enabled, METH_NOARGS,
		"is_enabled($module)\n--\n\nTrue where something is published. It decides that where no call has yet: then it "
		"makes the region." },
	{ "is_open", run_is_open, METH_NOARGS, "is_open($module)\n--\n\nTrue where there is a region now." },
	{ "open", WORDY(run_open),
		"open($module, /, name, lanes=0, slots=0, totals=0, names=0, history=0, epochs=0, evidence=True, "
		"directory='/dev/shm')\n--\n\n"
		"As pmtop_open(); 0 is the default. True: there is a region, of this call or an earlier one." },
	{ "reopen", WORDY(run_reopen),
		"reopen($module, /, name, lanes=0, slots=0, totals=0, names=0, history=0, epochs=0, evidence=True, "
		"directory='/dev/shm')\n--\n\n"
		"As open(), after letting go of the region that there is: the process's own ends, one that was inherited by a "
		"fork is left as it is.\n"
		"False, and nothing changes, after close() and where publishing was declined.\n"
		"directory=\"\": no file; what is published goes with the process. Facts about the run must be told again." },
	{ "collected", (PyCFunction)(void (*)(void))gc_collected, METH_FASTCALL, "For gc.callbacks." },
	{ "watch_collections", gc_watch, METH_O,
		"watch_collections($module, threshold_ns, /)\n--\n\nPublishes garbage collections; None: no longer." },
	{ "instances", instances, METH_VARARGS,
		"instances($module, objects, types, /)\n--\n\nThose in a list of objects whose type is in a set." },
	{ "connect_tasks", connect_tasks, METH_VARARGS,
		"connect_tasks($module, begin, end, past, innermost, other_loop, /)\n--\n\nThe part of _tasks.py." },
	{ "is_in_task", read_is_in_task, METH_NOARGS,
		"is_in_task($module)\n--\n\nWhether a span that begins here is a task's." },
	{ "is_in_loop", read_is_in_loop, METH_NOARGS,
		"is_in_loop($module)\n--\n\nWhether an event loop runs in this thread." },
	{ "tasks_opened", tasks_opened, METH_O,
		"tasks_opened($module, add, /)\n--\n\nSo many more spans of tasks are open." },
	{ "task_span", publish_task_span, METH_VARARGS,
		"task_span($module, name, begin_ns, end_ns, inner_ns, parent, depth, /)\n--\n\nA span of a task that is over, "
		"as pmtop_span_of_task()." },
	{ "stack_begin", stack_begin, METH_O,
		"stack_begin($module, span, /)\n--\n\nBegins a span on this thread's stack." },
	{ "stack_end", stack_end, METH_NOARGS,
		"stack_end($module)\n--\n\nEnds the innermost span on this thread's stack." },
	{ "stack_drop", stack_drop, METH_NOARGS,
		"stack_drop($module)\n--\n\nTakes the innermost span off this thread's stack, unpublished." },
	{ "stack_depth", read_stack_depth, METH_NOARGS,
		"stack_depth($module)\n--\n\nSpans that are open on this thread's stack." },
	{ "always", always, METH_O,
		"always($module, value, /)\n--\n\nA function that takes anything and returns this value." },
	{ "connect", connect_python, METH_VARARGS,
		"connect($module, opener, decorator, /)\n--\n\nThe parts that are written in Python." },
	{ NULL, NULL, 0, NULL },
};

/* Takes `object`, which may be NULL with an exception. */
static int export(PyObject *module, const char *name, PyObject *object)
{
	if (object && !PyModule_AddObject(module, name, object))
		return 1;
	Py_XDECREF(object);
	return 0;
}

/* What pmtop.torch builds upon. */
static int export_hooks(PyObject *module)
{
	PyTypeObject *const types[] = { hook_types.here, hook_types.part, hook_types.device, hook_types.pass,
		hook_types.loop, hook_types.hook, hook_types.module_hook };
	static const char *const names[] = { "Here", "Switch", "DeviceState", "PassState", "LoopState", "Hook",
		"ModuleHook" };
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		Py_INCREF((PyObject *)types[i]);
		if (!export(module, names[i], (PyObject *)types[i]))
			return 0;
	}
	return 1;
}

static int module_exec(PyObject *module)
{
	static int is_prepared;
	struct module_state *state = state_of(module);
	if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
		PyErr_SetString(
			PyExc_ImportError, "a process publishes one run, from its main interpreter: pmtop does nothing in others");
		return -1;
	}
	if (!is_prepared && pthread_atfork(NULL, NULL, in_forked_child)) {
		PyErr_SetString(PyExc_ImportError, "no memory for pmtop");
		return -1;
	}
	is_prepared = 1;
	PyObject *type = PyType_FromModuleAndSpec(module, &span_spec, NULL);
	Py_XINCREF(type);
	state->span_type = (PyTypeObject *)type;
	for (int notes = 0; notes < 4 && type; notes++)
		if (!(state->bound_spans[notes] = PyDict_New()))
			Py_CLEAR(type);
	state->turns_type = type ? (PyTypeObject *)PyType_FromModuleAndSpec(module, &turns_spec, NULL) : NULL;
	if (!state->turns_type)
		Py_CLEAR(type);
	return make_hook_types(state->span_type) && export_hooks(module) && export(module, "Span", type) &&
			export(module, "header_version", PyUnicode_FromFormat("%u.%u", PMTOP_ABI_MAJOR, PMTOP_ABI_MINOR))
		? 0
		: -1;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
	struct module_state *state = state_of(module);
	if (!state)
		return 0;
	Py_VISIT(state->opener);
	Py_VISIT(state->decorator);
	Py_VISIT(state->span_type);
	Py_VISIT(state->turns_type);
	for (int notes = 0; notes < 4; notes++)
		Py_VISIT(state->bound_spans[notes]);
	return 0;
}

static int module_clear(PyObject *module)
{
	struct module_state *state = state_of(module);
	if (!state)
		return 0;
	for (unsigned i = 0; i < 2 * SPAN_SETS; i++) {
		Py_CLEAR(state->remembered[i / 2][i % 2].name);
		Py_CLEAR(state->remembered[i / 2][i % 2].span);
	}
	for (int notes = 0; notes < 4; notes++)
		Py_CLEAR(state->bound_spans[notes]);
	Py_CLEAR(state->opener);
	Py_CLEAR(state->decorator);
	Py_CLEAR(state->span_type);
	Py_CLEAR(state->turns_type);
	return 0;
}

static void module_free(void *module) { module_clear((PyObject *)module); }

static PyModuleDef_Slot slots[] = {
	{ Py_mod_exec, module_exec },
#ifdef Py_GIL_DISABLED
	{ Py_mod_gil, Py_MOD_GIL_NOT_USED },
#endif
	{ 0, NULL },
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "pmtop._pmtop",
	.m_doc = "The compiled part of pmtop.",
	.m_size = sizeof(struct module_state),
	.m_methods = functions,
	.m_slots = slots,
	.m_traverse = module_traverse,
	.m_clear = module_clear,
	.m_free = module_free,
};

PyMODINIT_FUNC PyInit__pmtop(void);
PyMODINIT_FUNC PyInit__pmtop(void) { return PyModuleDef_Init(&definition); }
