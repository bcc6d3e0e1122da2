/* The calls of pmtop.h for Python. Each converts its arguments first, so that errors raise even if nothing is
 * published; then calls reach() for the region, which the first call opens; then publishes. */
#ifndef PMTOP_CALLS_H
#define PMTOP_CALLS_H

#include "_pmtop_span.h"

#define ARGUMENTS PyObject *module, PyObject *const *given, Py_ssize_t count, PyObject *keywords
#define TAKE(...) \
	static const struct signature takes = { __VA_ARGS__ }; \
	PyObject *own[ARGUMENTS_MAX]; \
	if (!(given = take(&takes, given, count, keywords, own))) \
	return NULL

/* Frees `text`; returns None, or NULL after an error. */
static inline PyObject *done(struct text *text, int is_fine)
{
	if (__builtin_expect(text->own != NULL, 0))
		Py_DECREF(text->own);
	if (!is_fine)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *float_or_none(double value)
{
	if (value == value)
		return PyFloat_FromDouble(value);
	Py_RETURN_NONE;
}

static void warn_unread(const char *function)
{
	static int is_said;
	if (!__atomic_exchange_n(&is_said, 1, __ATOMIC_RELAXED))
		PySys_WriteStderr("pmtop: %s() ignored a tensor on a device, because reading it waits for the device: pass "
						  "value.item() to publish it\n",
			function);
}

/* -- epochs and batches -- */

static int begin_epoch(PyObject *module, PyObject *index, struct pmtop **pm)
{
	uint64_t number;
	if (!whole_of(index, "index", UINT32_MAX, &number) || !reach(module, pm))
		return 0;
	pmtop_epoch_begin(*pm, (uint32_t)number);
	return 1;
}

static int begin_batch(PyObject *module, PyObject *index, struct pmtop **pm)
{
	uint64_t number;
	if (!whole_of(index, "index", UINT64_MAX, &number) || !reach(module, pm))
		return 0;
	pmtop_batch_begin(*pm, number);
	return 1;
}

static int end_batch(PyObject *loss)
{
	double value = NAN;
	enum number read = !loss || loss == Py_None ? NUMBER_READ : number_of(loss, "loss", region_now() != NULL, &value);
	if (read == NUMBER_ERROR)
		return 0;
	if (read == NUMBER_UNREAD) {
		value = NAN;
		if (region_now())
			warn_unread("batch_end");
	}
	pmtop_batch_end(region_now(), value);
	return 1;
}

static PyObject *publish_epoch_begin(ARGUMENTS)
{
	struct pmtop *pm;
	TAKE("epoch_begin", { "index" }, 1, 1);
	run.are_epochs_by_hand = 1;
	if (!begin_epoch(module, given[0], &pm))
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *publish_epoch_end(PyObject *module, PyObject *unused)
{
	(void)module, (void)unused;
	pmtop_epoch_end(region_now());
	Py_RETURN_NONE;
}

static PyObject *publish_batch_begin(ARGUMENTS)
{
	struct pmtop *pm;
	TAKE("batch_begin", { "index" }, 1, 1);
	run.are_batches_by_hand = 1;
	if (!begin_batch(module, given[0], &pm))
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *publish_batch_end(ARGUMENTS)
{
	TAKE("batch_end", { "loss" }, 0, 1);
	(void)module;
	if (!end_batch(given[0]))
		return NULL;
	Py_RETURN_NONE;
}

/* The same for adapters: these calls do nothing in a forked child, or if the script publishes its own epochs or
 * batches. They return whether they published. */
static PyObject *auto_epoch_begin(ARGUMENTS)
{
	struct pmtop *pm = NULL;
	TAKE("auto_epoch_begin", { "index" }, 1, 1);
	if (!run.is_forked && !run.are_epochs_by_hand && !begin_epoch(module, given[0], &pm))
		return NULL;
	return PyBool_FromLong(pm != NULL);
}

static PyObject *auto_epoch_end(PyObject *module, PyObject *unused)
{
	struct pmtop *pm = run.is_forked || run.are_epochs_by_hand ? NULL : region_now();
	(void)module, (void)unused;
	pmtop_epoch_end(pm);
	return PyBool_FromLong(pm != NULL);
}

static PyObject *auto_batch_begin(ARGUMENTS)
{
	struct pmtop *pm = NULL;
	TAKE("auto_batch_begin", { "index" }, 1, 1);
	if (!run.is_forked && !run.are_batches_by_hand && !begin_batch(module, given[0], &pm))
		return NULL;
	return PyBool_FromLong(pm != NULL);
}

static PyObject *auto_batch_end(ARGUMENTS)
{
	TAKE("auto_batch_end", { "loss" }, 0, 1);
	(void)module;
	if (run.is_forked || run.are_batches_by_hand || !region_now())
		Py_RETURN_FALSE;
	if (!end_batch(given[0]))
		return NULL;
	Py_RETURN_TRUE;
}

static PyObject *publish_batch_samples(ARGUMENTS)
{
	uint64_t samples;
	struct pmtop *pm;
	TAKE("batch_samples", { "samples" }, 1, 1);
	if (!whole_of(given[0], "samples", UINT64_MAX, &samples) || !reach(module, &pm))
		return NULL;
	pmtop_batch_samples(pm, samples);
	Py_RETURN_NONE;
}

static PyObject *publish_batch_kind(ARGUMENTS)
{
	struct text kind = { NULL, NULL };
	struct pmtop *pm;
	TAKE("batch_kind", { "kind" }, 1, 1);
	if (given[0] != Py_None && !text_of(given[0], "kind", &kind))
		return NULL;
	int is_fine = reach(module, &pm);
	if (is_fine)
		pmtop_batch_kind(pm, kind.utf8);
	return done(&kind, is_fine);
}

static PyObject *publish_batch_figure(ARGUMENTS)
{
	struct text name;
	uint64_t number;
	double value;
	struct pmtop *pm;
	TAKE("batch_figure", { "number", "name", "value" }, 3, 3);
	if (!whole_of(given[0], "number", UINT64_MAX, &number) || !text_of(given[1], "name", &name))
		return NULL;
	enum number read = number_of(given[2], "value", !is_declined(), &value);
	int is_fine = read != NUMBER_ERROR && reach(module, &pm);
	if (is_fine && read == NUMBER_READ)
		pmtop_batch_figure(pm, number, name.utf8, value);
	else if (is_fine && pm)
		warn_unread("batch_figure");
	return done(&name, is_fine);
}

static PyObject *read_batch_number(PyObject *module, PyObject *unused)
{
	(void)module, (void)unused;
	return PyLong_FromUnsignedLongLong(pmtop_batch_number(region_now()));
}

static uint64_t planned(const struct pmtop *pm, int which)
{
	const struct pmtop_state *state = pm->state;
	return which == 0 ? PMTOP_I_GET(state->epochs_planned)
		: which == 1  ? PMTOP_I_GET(state->batches_per_epoch)
					  : PMTOP_I_GET(state->samples_per_batch);
}

static PyObject *read_planned(PyObject *module, PyObject *unused)
{
	const struct pmtop *pm = region_now();
	(void)module, (void)unused;
	return pm ? Py_BuildValue("(KKK)", planned(pm, 0), planned(pm, 1), planned(pm, 2))
			  : Py_BuildValue("(iii)", 0, 0, 0);
}

/* Omitted arguments, and None, keep their values. */
static PyObject *publish_plan(ARGUMENTS)
{
	struct pmtop *pm;
	uint64_t values[3];
	TAKE("plan", { "epochs", "batches_per_epoch", "samples_per_batch" }, 0, 3);
	for (int i = 0; i < 3; i++)
		if (given[i] && given[i] != Py_None &&
			!whole_of(given[i], takes.names[i], i ? UINT64_MAX : UINT32_MAX, &values[i]))
			return NULL;
	if (!reach(module, &pm))
		return NULL;
	if (!pm)
		Py_RETURN_NONE;
	for (int i = 0; i < 3; i++)
		if (!given[i] || given[i] == Py_None)
			values[i] = planned(pm, i);
	pmtop_plan(pm, (uint32_t)values[0], values[1], values[2]);
	Py_RETURN_NONE;
}

/* -- names and values -- */

static PyObject *publish_meta(ARGUMENTS)
{
	struct text key, text;
	struct pmtop *pm;
	TAKE("meta", { "key", "value" }, 2, 2);
	if (!text_of(given[0], "key", &key))
		return NULL;
	PyObject *value = given[1] == Py_None || is_declined() ? NULL : PyObject_Str(given[1]);
	/* None, nothing is published, or its __str__ failed: no error for training */
	if (!value) {
		int is_fine = !PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_Exception);
		if (is_fine)
			PyErr_Clear();
		return done(&key, is_fine);
	}
	int is_fine = text_of(value, "value", &text) && reach(module, &pm);
	if (is_fine)
		pmtop_meta(pm, key.utf8, text.utf8);
	Py_XDECREF(text.own);
	Py_DECREF(value);
	return done(&key, is_fine);
}

static PyObject *publish_text(
	PyObject *module, PyObject *object, const char *what, void (*publish)(struct pmtop *, const char *))
{
	struct text text;
	struct pmtop *pm;
	if (!text_of(object, what, &text))
		return NULL;
	int is_fine = reach(module, &pm);
	if (is_fine)
		publish(pm, text.utf8);
	return done(&text, is_fine);
}

static PyObject *publish_mode(ARGUMENTS)
{
	TAKE("mode", { "name" }, 1, 1);
	return publish_text(module, given[0], "name", pmtop_mode);
}

static PyObject *publish_mark(ARGUMENTS)
{
	TAKE("mark", { "text" }, 1, 1);
	return publish_text(module, given[0], "text", pmtop_mark);
}

static PyObject *publish_span_begin(ARGUMENTS)
{
	TAKE("span_begin", { "name" }, 1, 1);
	if (__builtin_expect(__atomic_load_n(&tasks.open_count, __ATOMIC_RELAXED) > 0, 0) && PyUnicode_Check(given[0]) &&
		has_span_in_context()) {
		PyObject *span = make_span(module, given[0], 0);
		int is_taken = span && task_begins(span, SPAN_BY_CALL);
		Py_XDECREF(span);
		if (!span)
			return NULL;
		if (is_taken)
			Py_RETURN_NONE;
	}
	return publish_text(module, given[0], "name", pmtop_span_begin);
}

static PyObject *publish_span_end(PyObject *module, PyObject *unused)
{
	(void)module, (void)unused;
	if (!task_ends(Py_None, SPAN_BY_CALL))
		pmtop_span_end(region_now());
	Py_RETURN_NONE;
}

static PyObject *publish_span_past(ARGUMENTS)
{
	struct text name;
	uint64_t begin_ns, end_ns;
	struct pmtop *pm;
	TAKE("span_past", { "name", "begin_ns", "end_ns" }, 3, 3);
	if (!whole_of(given[1], "begin_ns", UINT64_MAX, &begin_ns) || !whole_of(given[2], "end_ns", UINT64_MAX, &end_ns) ||
		!text_of(given[0], "name", &name))
		return NULL;
	int is_fine = reach(module, &pm);
	if (is_fine && !task_notes_past(name.utf8, begin_ns, end_ns))
		pmtop_span_past(pm, name.utf8, begin_ns, end_ns);
	return done(&name, is_fine);
}

static PyObject *read_now(PyObject *module, PyObject *unused)
{
	(void)module, (void)unused;
	return PyLong_FromUnsignedLongLong(pmtop_now());
}

static PyObject *publish_gauge(ARGUMENTS)
{
	struct text name;
	double value;
	struct pmtop *pm;
	TAKE("gauge", { "name", "value" }, 2, 2);
	if (!text_of(given[0], "name", &name))
		return NULL;
	enum number read = number_of(given[1], "value", !is_declined(), &value);
	int is_fine = read != NUMBER_ERROR && reach(module, &pm);
	if (__builtin_expect(is_fine && read == NUMBER_READ, 1))
		pmtop_gauge(pm, name.utf8, value);
	else if (is_fine && pm)
		warn_unread("gauge");
	return done(&name, is_fine);
}

static PyObject *publish_count(ARGUMENTS)
{
	struct text name;
	uint64_t add = 1;
	struct pmtop *pm;
	TAKE("count", { "name", "add" }, 1, 2);
	if ((given[1] && !whole_of(given[1], "add", UINT64_MAX, &add)) || !text_of(given[0], "name", &name))
		return NULL;
	int is_fine = reach(module, &pm);
	if (is_fine)
		pmtop_count(pm, name.utf8, add);
	return done(&name, is_fine);
}

/* -- reading back -- */

static PyObject *read_is_enabled(PyObject *module, PyObject *unused)
{
	struct pmtop *pm;
	(void)unused;
	return reach(module, &pm) ? PyBool_FromLong(pm != NULL) : NULL;
}

static PyObject *read_statistics(PyObject *module, PyObject *unused)
{
	struct pmtop_statistics s;
	(void)module, (void)unused;
	pmtop_get_statistics(region_now(), &s);
	return Py_BuildValue("{sNsNsNsNsNsNsKsK}", "total_epoch_time", float_or_none(s.total_epoch_time), "avg_epoch_time",
		float_or_none(s.avg_epoch_time), "total_batch_time", float_or_none(s.total_batch_time), "avg_batch_time",
		float_or_none(s.avg_batch_time), "min_batch_time", float_or_none(s.min_batch_time), "max_batch_time",
		float_or_none(s.max_batch_time), "num_batches", (unsigned long long)s.num_batches, "num_epochs",
		(unsigned long long)s.num_epochs);
}

static PyObject *read_operation_time(ARGUMENTS)
{
	struct text name;
	TAKE("operation_time", { "name" }, 1, 1);
	(void)module;
	if (!text_of(given[0], "name", &name))
		return NULL;
	double seconds = pmtop_get_operation_time(region_now(), name.utf8);
	Py_XDECREF(name.own);
	return float_or_none(seconds);
}

static PyObject *read_total_time(PyObject *module, PyObject *unused)
{
	(void)module, (void)unused;
	return float_or_none(pmtop_get_total_time(region_now()));
}

#endif
