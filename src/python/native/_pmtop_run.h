/* The process's region: created by the first call that publishes, closed at the end and in forked children.
 *
 * It is static and not part of the module's state: pmtop.h has the calling thread's lane in thread-local storage, a
 * fork concerns the whole process, and pmtop shows one run per process. Therefore the module refuses a second
 * interpreter. All calls hold the GIL; without a GIL, accesses that two threads may do at the same time are atomic. */
#ifndef PMTOP_RUN_H
#define PMTOP_RUN_H

#include "_pmtop_arguments.h"

#include <pmtop.h>

static struct {
	struct pmtop *region; /* NULL: nothing is published now */
	/* in a forked child: the parent's, until this process publishes something itself */
	struct pmtop *inherited;
	struct pmtop *retired;                       /* ended, but a thread that is just ending may still read it */
	int is_decided;                              /* 0: the next call that publishes opens the region */
	int is_forked;                               /* adapters publish nothing */
	int are_epochs_by_hand, are_batches_by_hand; /* the script publishes them itself */
	uint64_t gc_begin_ns, gc_threshold_ns;
	int is_gc_watched;
} run;

static struct pmtop *region_now(void) { return __atomic_load_n(&run.region, __ATOMIC_ACQUIRE); }

static int is_declined(void) { return __atomic_load_n(&run.is_decided, __ATOMIC_RELAXED) && !region_now(); }

static int is_switched_off(void)
{
	const char *value = getenv("PMTOP");
	return value && !strcmp(value, "0");
}

/* The opener, in Python, finds the run's name, reads the environment and publishes the facts. */
static int first_call(PyObject *opener, struct pmtop **out)
{
	struct pmtop *inherited = __atomic_exchange_n(&run.inherited, NULL, __ATOMIC_ACQ_REL);
	if (inherited)
		__atomic_store_n(&run.region, inherited, __ATOMIC_RELEASE); /* pmtop.h replaces it by the child's own */
	PyObject *result = opener ? PyObject_CallFunction(opener, "i", inherited != NULL) : NULL;
	Py_XDECREF(result);
	if (!result && PyErr_Occurred()) {
		if (!PyErr_ExceptionMatches(PyExc_Exception))
			return 0; /* KeyboardInterrupt is the user's */
		PyErr_Clear();
	}
	__atomic_store_n(&run.is_decided, 1, __ATOMIC_RELAXED);
	*out = region_now();
	return 1;
}

/* Ends the run and removes its file. The memory of the run before is freed only now, when no thread can still be inside
 * it. */
static void retire(struct pmtop *pm)
{
	if (!pmtop_i_is_own(pm)) {
		pmtop_close(pm);
		return;
	}
	pmtop_i_end_run(pm);
	if (pm->has_key)
		pthread_key_delete(pm->key);
	pm->has_key = 0;
	pm->path[0] = '\0';
	mmap(pm->base, pm->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	pmtop_i_file_close(&pm->file);
	pmtop_close(__atomic_exchange_n(&run.retired, pm, __ATOMIC_ACQ_REL));
}

static void close_region(void)
{
	struct pmtop *pm = __atomic_exchange_n(&run.region, NULL, __ATOMIC_ACQ_REL);
	if (pm)
		retire(pm);
	pmtop_close(__atomic_exchange_n(&run.inherited, NULL, __ATOMIC_ACQ_REL));
}

static void in_forked_child(void)
{
	run.is_forked = 1;
	run.is_gc_watched = 0;
	if (!run.region)
		return;
	run.inherited = run.region;
	run.region = NULL;
	run.is_decided = 0;
}

static int option_of(PyObject *object, void *out)
{
	uint64_t value;
	if (!whole_of(object, "an option's value", UINT32_MAX, &value))
		return 0;
	*(uint32_t *)out = (uint32_t)value;
	return 1;
}

static PyObject *open_region(PyObject *arguments, PyObject *keywords)
{
	static char *names[] = { "name", "lanes", "slots", "totals", "names", "history", "epochs", "evidence", "directory",
		NULL };
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	PyObject *name, *directory = NULL;
	struct text text;
	int has_evidence = 1;
	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "U|O&O&O&O&O&O&pO&", names, &name, option_of, &options.lanes,
			option_of, &options.slots, option_of, &options.totals, option_of, &options.names, option_of,
			&options.history, option_of, &options.epochs, &has_evidence, PyUnicode_FSConverter, &directory))
		return NULL;
	if (!text_of(name, "name", &text)) {
		Py_XDECREF(directory);
		return NULL;
	}
	options.no_evidence = !has_evidence;
	options.tell = 1;
	options.directory = directory ? PyBytes_AsString(directory) : NULL;
	struct pmtop *nothing = NULL, *pm = region_now() || is_switched_off() ? NULL : pmtop_open(text.utf8, &options);
	if (pm && !__atomic_compare_exchange_n(&run.region, &nothing, pm, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		pmtop_close(pm);
	__atomic_store_n(&run.is_decided, 1, __ATOMIC_RELAXED);
	Py_XDECREF(text.own);
	Py_XDECREF(directory);
	return PyBool_FromLong(region_now() != NULL);
}

/* open(name, ...): as pmtop_open(); does not change an open region. */
static PyObject *run_open(PyObject *module, PyObject *arguments, PyObject *keywords)
{
	(void)module;
	if (!region_now())
		close_region();
	return open_region(arguments, keywords);
}

/* reopen(name, ...): closes the current region, or an inherited one, and opens another, unless publishing was
 * declined. */
static PyObject *run_reopen(PyObject *module, PyObject *arguments, PyObject *keywords)
{
	(void)module;
	if (is_declined())
		Py_RETURN_FALSE;
	close_region();
	return open_region(arguments, keywords);
}

static PyObject *run_close(PyObject *module, PyObject *unused)
{
	(void)module, (void)unused;
	close_region();
	run.are_epochs_by_hand = run.are_batches_by_hand = 0; /* of the run that ended */
	__atomic_store_n(&run.is_decided, 1, __ATOMIC_RELAXED);
	Py_RETURN_NONE;
}

/* by_hand(was): bit 1: the script publishes epochs; 2: batches. Clears what is not in `was`, unless that is None. */
static PyObject *run_by_hand(PyObject *module, PyObject *was)
{
	long before = run.are_epochs_by_hand | run.are_batches_by_hand << 1, kept = was == Py_None ? 3 : PyLong_AsLong(was);
	(void)module;
	if (kept == -1 && PyErr_Occurred())
		return NULL;
	run.are_epochs_by_hand &= kept & 1;
	run.are_batches_by_hand &= kept >> 1 & 1;
	return PyLong_FromLong(before);
}

static PyObject *run_is_open(PyObject *module, PyObject *unused)
{
	(void)module, (void)unused;
	return PyBool_FromLong(region_now() != NULL);
}

static PyObject *run_is_automatic(PyObject *module, PyObject *unused)
{
	(void)module, (void)unused;
	return PyBool_FromLong(!run.is_forked && !is_declined());
}

#endif
