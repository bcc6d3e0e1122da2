/* The compiled part of the Python package pmtop.
 *
 *   arguments -> C        _pmtop_arguments.h
 *   the region            _pmtop_run.h           created by the first call, closed at the end and in forked children
 *   publish               _pmtop_calls.h, _pmtop_span.h, _pmtop_turns.h, _pmtop_gc.h
 *   tasks of asyncio      _pmtop_tasks.h
 *   the GPU's clock       _pmtop_gpu_clock.h
 *   pmtop.torch's hooks   _pmtop_vector.h, _pmtop_here.h, _pmtop_compiling.h, _pmtop_element.h, _pmtop_loop.h,
 *                         _pmtop_hooks.h, _pmtop_modules.h, _pmtop_swapped.h
 *
 * `import pmtop` exports these functions without any Python between. The names that it does not export are for the
 * package's own modules. */
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
		"Publishes the planned totals: ints, 0 for unknown. Omitted arguments keep their values." },
	{ "meta", QUICK(publish_meta),
		"meta($module, /, key, value)\n--\n\n"
		"Publishes a fact about the run, such as its batch size: str(value), up to 192 bytes; None publishes nothing. "
		"At most 64 keys, of up to 56 bytes." },
	{ "mode", QUICK(publish_mode),
		"mode($module, /, name)\n--\n\n"
		"Sets the mode, such as \"train\" or \"validation\", of the batches that end from now on, and of an epoch that "
		"has no batch yet." },
	{ "epoch_begin", QUICK(publish_epoch_begin),
		"epoch_begin($module, /, index)\n--\n\nBegins an epoch, and ends an open one. index: an int, 0 to 2**32 "
		"- 1." },
	{ "epoch_end", publish_epoch_end, METH_NOARGS, "epoch_end($module)\n--\n\nEnds the epoch." },
	{ "batch_begin", QUICK(publish_batch_begin),
		"batch_begin($module, /, index)\n--\n\nBegins a batch. index: an int, 0 to 2**64 - 1, its number in the "
		"epoch." },
	{ "batch_end", QUICK(publish_batch_end),
		"batch_end($module, /, loss=None)\n--\n\n"
		"Ends the batch. loss: a float or an object with __float__; None or NaN for none.\n"
		"The call ignores a torch tensor on a device, because reading it would wait for the device: pass loss.item() "
		"if you accept the wait,\n"
		"or publish it later by batch_figure(). It reads arrays of other libraries: pass only what is ready." },
	{ "batch_samples", QUICK(publish_batch_samples),
		"batch_samples($module, /, samples)\n--\n\nSets the number of samples in the running batch, if it differs from "
		"the "
		"plan." },
	{ "batch_kind", QUICK(publish_batch_kind),
		"batch_kind($module, /, kind)\n--\n\nSets the kind of the running batch, such as \"accumulate\": pmtop "
		"compares a "
		"batch with its own kind. None: the default." },
	{ "batch_figure", QUICK(publish_batch_figure),
		"batch_figure($module, /, number, name, value)\n--\n\n"
		"Publishes a figure that is known only after the batch: its \"loss\", or \"gpu.forward_s\" in seconds. number: "
		"what batch_number() returned while the batch ran." },
	{ "batch_number", read_batch_number, METH_NOARGS,
		"batch_number($module)\n--\n\nReturns the number of the running batch, or else of the next: from 0, over all "
		"modes and epochs." },
	{ "span", QUICK(span_of),
		"span($module, /, name, cpu=False, memory=False, gpu=False)\n--\n\n"
		"`with pmtop.span(\"forward\"):`, or a decorator. cpu: also measures the thread's CPU time (about 1 us); "
		"memory: "
		"also the growth of the\n"
		"process's resident memory (about 2 us); gpu: also the time by the GPU's clock, as the batch's figure "
		"\"gpu.NAME_s\", in batches that\n"
		"pmtop.torch.instrument() measures. Spans nest, 32 deep, separately in each thread and in each task of "
		"asyncio; spans of\n"
		"interleaved tasks may lack both figures. Names are cut after 120 bytes of UTF-8 or at a NUL." },
	{ "span_begin", QUICK(publish_span_begin),
		"span_begin($module, /, name)\n--\n\n"
		"Begins a span in this thread. span_end() ends it, or the end of the batch or of the `with pmtop.span()` in "
		"which it began." },
	{ "span_end", publish_span_end, METH_NOARGS, "span_end($module)\n--\n\nEnds the innermost span of this thread." },
	{ "span_past", QUICK(publish_span_past),
		"span_past($module, /, name, begin_ns, end_ns)\n--\n\nPublishes a span that is over, within the innermost open "
		"one of this thread. Times are those of now_ns()." },
	{ "now_ns", read_now, METH_NOARGS,
		"now_ns($module)\n--\n\nReturns pmtop's clock in nanoseconds: time.monotonic_ns()." },
	{ "gauge", QUICK(publish_gauge),
		"gauge($module, /, name, value)\n--\n\nPublishes a current value: a float or an object with __float__, read as "
		"in "
		"batch_end(). At most 256 names." },
	{ "count", QUICK(publish_count),
		"count($module, /, name, add=1)\n--\n\nAdds to a total: an int, 0 and up. At most 256 names." },
	{ "mark", QUICK(publish_mark),
		"mark($module, /, text)\n--\n\nMarks a moment, such as \"checkpoint saved\": up to 120 bytes." },
	{ "statistics", read_statistics, METH_NOARGS,
		"statistics($module)\n--\n\nReturns a dict about the finished epochs and batches of all modes: times in "
		"seconds, None before the first, and their numbers." },
	{ "operation_time", QUICK(read_operation_time),
		"operation_time($module, /, name)\n--\n\nReturns the seconds in all finished spans of this name; None before "
		"the first." },
	{ "total_time", read_total_time, METH_NOARGS,
		"total_time($module)\n--\n\nReturns the seconds in all finished outermost spans; None before the first." },
	{ "close", run_close, METH_NOARGS,
		"close($module)\n--\n\nEnds the run and removes its region. Later calls do nothing until "
		"init()." },
	{ "auto_epoch_begin", QUICK(auto_epoch_begin),
		"auto_epoch_begin($module, /, index)\n--\n\nAs epoch_begin(), unless the script does so itself. Returns "
		"whether "
		"it published." },
	{ "auto_epoch_end", auto_epoch_end, METH_NOARGS,
		"auto_epoch_end($module)\n--\n\nAs epoch_end(), unless the script does so itself. Returns whether it "
		"published." },
	{ "auto_batch_begin", QUICK(auto_batch_begin),
		"auto_batch_begin($module, /, index)\n--\n\nAs batch_begin(), unless the script does so itself. Returns "
		"whether "
		"it published." },
	{ "auto_batch_end", QUICK(auto_batch_end),
		"auto_batch_end($module, /, loss=None)\n--\n\nAs batch_end(), unless the script does so itself. Returns "
		"whether "
		"it published." },
	{ "turns", make_turns, METH_VARARGS,
		"turns($module, iterator, is_epochs, samples, /)\n--\n\nReturns the items of `iterator`, each within an epoch, "
		"or within a batch of `samples` samples (0: unknown)." },
	{ "is_automatic", run_is_automatic, METH_NOARGS,
		"is_automatic($module)\n--\n\nWhether adapters may publish: false in a forked child, and if nothing is "
		"published." },
	{ "by_hand", run_by_hand, METH_O,
		"by_hand($module, was, /)\n--\n\nReturns what the script publishes itself, and clears what is not in `was`: "
		"for "
		"an adapter that published in its place." },
	{ "planned", read_planned, METH_NOARGS,
		"planned($module)\n--\n\n(epochs, batches_per_epoch, samples_per_batch); 0 for unknown." },
	{ "is_enabled", read_is_enabled, METH_NOARGS,
		"is_enabled($module)\n--\n\nWhether the process publishes. The first call creates the region, if no other "
		"has." },
	{ "is_open", run_is_open, METH_NOARGS, "is_open($module)\n--\n\nWhether there is a region now." },
	{ "open", WORDY(run_open),
		"open($module, /, name, lanes=0, slots=0, totals=0, names=0, history=0, epochs=0, evidence=True, "
		"directory='/dev/shm')\n--\n\n"
		"As pmtop_open(); 0 is the default. Returns whether there is a region, of this call or an earlier one." },
	{ "reopen", WORDY(run_reopen),
		"reopen($module, /, name, lanes=0, slots=0, totals=0, names=0, history=0, epochs=0, evidence=True, "
		"directory='/dev/shm')\n--\n\n"
		"As open(), after closing the current region: the process's own ends, an inherited one stays as it is.\n"
		"Returns False, and changes nothing, after close() and if publishing was declined.\n"
		"directory=\"\": no file; the region ends with the process. Facts about the run must be published again." },
	{ "collected", (PyCFunction)(void (*)(void))gc_collected, METH_FASTCALL, "For gc.callbacks." },
	{ "watch_collections", gc_watch, METH_O,
		"watch_collections($module, threshold_ns, /)\n--\n\nPublishes garbage collections; None stops it." },
	{ "instances", instances, METH_VARARGS,
		"instances($module, objects, types, /)\n--\n\nReturns the objects of a list whose type is in a set." },
	{ "watch_compiling", watch_compiling, METH_VARARGS,
		"watch_compiling($module, variables, flag, /)\n--\n\nInstalls the flag that is set while torch compiles: the "
		"dict that has it, or None, and its name." },
	{ "connect_gpu_clock", connect_gpu_clock, METH_VARARGS,
		"connect_gpu_clock($module, begin, end, /)\n--\n\nInstalls the functions that mark spans with gpu=True; None "
		"removes them." },
	{ "connect_tasks", connect_tasks, METH_VARARGS,
		"connect_tasks($module, begin, end, past, innermost, other_loop, /)\n--\n\nInstalls the functions of "
		"_tasks.py." },
	{ "is_in_task", read_is_in_task, METH_NOARGS,
		"is_in_task($module)\n--\n\nWhether a span that begins here belongs to a task." },
	{ "is_in_loop", read_is_in_loop, METH_NOARGS,
		"is_in_loop($module)\n--\n\nWhether an event loop runs in this thread." },
	{ "tasks_opened", tasks_opened, METH_O,
		"tasks_opened($module, add, /)\n--\n\nAdds to the number of open spans of tasks." },
	{ "task_span", publish_task_span, METH_VARARGS,
		"task_span($module, name, begin_ns, end_ns, inner_ns, parent, depth, /)\n--\n\nPublishes a finished span of a "
		"task, as pmtop_span_of_task()." },
	{ "stack_begin", stack_begin, METH_O,
		"stack_begin($module, span, /)\n--\n\nBegins a span on this thread's stack." },
	{ "stack_end", stack_end, METH_NOARGS,
		"stack_end($module)\n--\n\nEnds the innermost span on this thread's stack." },
	{ "stack_drop", stack_drop, METH_NOARGS,
		"stack_drop($module)\n--\n\nRemoves the innermost span from this thread's stack, unpublished." },
	{ "stack_depth", read_stack_depth, METH_NOARGS,
		"stack_depth($module)\n--\n\nReturns the number of open spans on this thread's stack." },
	{ "always", always, METH_O,
		"always($module, value, /)\n--\n\nReturns a function that takes any arguments and returns this value." },
	{ "connect", connect_python, METH_VARARGS,
		"connect($module, opener, decorator, /)\n--\n\nInstalls the functions that are written in Python." },
	{ NULL, NULL, 0, NULL },
};

/* Takes ownership of `object`, which may be NULL with an exception. */
static int export(PyObject *module, const char *name, PyObject *object)
{
	if (object && !PyModule_AddObject(module, name, object))
		return 1;
	Py_XDECREF(object);
	return 0;
}

/* The base types of pmtop.torch. */
static int export_hooks(PyObject *module)
{
	PyTypeObject *const types[] = { hook_types.here, hook_types.part, hook_types.device, hook_types.pass,
		hook_types.loop, hook_types.hook, hook_types.module_hook, hook_types.swapped, hook_types.swapped_method };
	static const char *const names[] = { "Here", "Switch", "DeviceState", "PassState", "LoopState", "Hook",
		"ModuleHook", "Swapped", "SwappedMethod" };
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
			PyExc_ImportError, "a process publishes one run, from its main interpreter: import pmtop there");
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
	for (int notes = 0; notes < SPAN_NOTES && type; notes++)
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
	for (int notes = 0; notes < SPAN_NOTES; notes++)
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
	for (int notes = 0; notes < SPAN_NOTES; notes++)
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
