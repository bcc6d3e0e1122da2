/* Garbage collection: pauses as spans, and counters of all collections. Opens no region: a collection is no request to
 * publish. */
#ifndef PMTOP_GC_H
#define PMTOP_GC_H

#include "_pmtop_tasks.h"

/* For gc.callbacks. The interpreter runs one collection at a time. */
static PyObject *gc_collected(PyObject *module, PyObject *const *given, Py_ssize_t count)
{
	static struct pmtop_site collections, total_ns;
	struct pmtop *pm = region_now();
	(void)module;
	if (!pm || !run.is_gc_watched || count < 1 || !PyUnicode_Check(given[0]))
		Py_RETURN_NONE;
	uint64_t now = pmtop_now(), begin = run.gc_begin_ns;
	int is_start = !PyUnicode_CompareWithASCIIString(given[0], "start");
	run.gc_begin_ns = is_start ? now : 0;
	if (is_start || !begin)
		Py_RETURN_NONE;
	pmtop_count_at(pm, &collections, "gc.collections", 1);
	pmtop_count_at(pm, &total_ns, "gc.ns", now - begin);
	if (now - begin >= run.gc_threshold_ns && !task_notes_past("gc", begin, now))
		pmtop_span_past(pm, "gc", begin, now);
	Py_RETURN_NONE;
}

/* watch_collections(threshold_ns): None ends it. Python code adds the callback to gc.callbacks and removes it. */
static PyObject *gc_watch(PyObject *module, PyObject *threshold)
{
	(void)module;
	if (threshold != Py_None && !whole_of(threshold, "threshold_ns", UINT64_MAX - 1, &run.gc_threshold_ns))
		return NULL;
	run.is_gc_watched = threshold != Py_None;
	run.gc_begin_ns = 0;
	Py_RETURN_NONE;
}

#endif
