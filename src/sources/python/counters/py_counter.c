#include "src/sources/python/counters/py_counter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/python/counters/py_length.h"
#include "src/sources/python/counters/py_number.h"
#include "src/sources/python/counters/py_search.h"
#include "src/sources/python/py_objects.h"

/* Frames are searched once a second, or ten times where no pass is known: then so seldom that it costs less than a
 * 200th of a CPU. */
#define SEARCH_NS (1 * NS_PER_S)
#define SEARCH_SOON_NS (NS_PER_S / 10)
#define SEARCH_APART 200
/* A batch takes more than a microsecond: more of them than that, and some for a moment's reading, cannot be. */
enum { LENGTH_TRIES = 4, BATCH_NS_MIN = 1000, BATCHES_SPARE = 64, SEARCHED_MAX = 2048 };

struct place {
	char function[PY_FUNCTION_SIZE], file[PY_FILE_SIZE];
	int line;
};

struct pass {
	uint64_t serial, sampler;
	struct py_number number;
	uint64_t value;
	int64_t read_ns;
	uint64_t length;
	unsigned length_tries;
	uint32_t worker_count, batch_size;
	struct place place;
};

struct py_counter {
	const struct py_process *process;
	uint64_t serial;
	size_t count, over_count, over_emitted;
	int64_t search_ns; /* when to search again */
	struct py_search search;
	struct pass passes[PY_ITERATORS_MAX], over[PY_ITERATORS_MAX];
	struct py_counted emitted[PY_COUNTED_MAX];
};

static bool is_possible(const struct pass *pass, uint64_t value, int64_t now_ns)
{
	uint64_t max =
		now_ns > pass->read_ns ? (uint64_t)(now_ns - pass->read_ns) / BATCH_NS_MIN + BATCHES_SPARE : BATCHES_SPARE;
	return value >= pass->value && value - pass->value <= max;
}

/* A number that cannot be is read again, and again: where it stays so, this is another pass. */
static enum py_reading read_twice(const struct py_process *process, struct pass *pass, int64_t now_ns, uint64_t *value)
{
	uint64_t first = 0, second = 0;
	enum py_reading reading = py_number_read(process, &pass->number, &first);
	if (reading == PY_READ_GOOD && !is_possible(pass, first, now_ns)) {
		reading = py_number_read(process, &pass->number, &second);
		if (reading == PY_READ_GOOD && !is_possible(pass, second, now_ns))
			return second >= first && second - first <= BATCHES_SPARE ? PY_READ_OTHER : PY_READ_UNSURE;
		first = second;
	}
	if (reading == PY_READ_GOOD)
		*value = first;
	return reading;
}

/* -- passes -- */

static void find_length(const struct py_process *process, struct pass *pass)
{
	uint64_t workers, count;
	pass->length_tries++;
	if (py_attribute_get(process, pass->number.iterator, "_num_workers", &workers) &&
		py_int_read(process, workers, &count) && count <= UINT32_MAX)
		pass->worker_count = (uint32_t)count;
	pass->length = py_length_read(process, pass->number.iterator, &pass->batch_size);
}

/* False: there is no such iterator, or its number cannot be read. */
static bool begin(struct py_counter *counter, uint64_t iterator, int64_t now_ns, struct pass *out)
{
	*out = (struct pass){ .number.iterator = iterator, .read_ns = now_ns };
	if (!py_number_find(counter->process, &out->number) ||
		py_number_read(counter->process, &out->number, &out->value) != PY_READ_GOOD)
		return false;
	out->serial = ++counter->serial;
	py_attribute_get(counter->process, iterator, "_index_sampler", &out->sampler);
	find_length(counter->process, out);
	return true;
}

static void end(struct py_counter *counter, const struct pass *pass, int64_t now_ns)
{
	/* Where one ends, another mostly begins. */
	if (counter->search_ns > now_ns + SEARCH_SOON_NS)
		counter->search_ns = now_ns + SEARCH_SOON_NS;
	if (counter->over_count == PY_ITERATORS_MAX) {
		counter->over_count--;
		memmove(counter->over, counter->over + 1, counter->over_count * sizeof *counter->over);
	}
	counter->over[counter->over_count++] = *pass;
}

static void forget_emitted(struct py_counter *counter)
{
	counter->over_count -= counter->over_emitted;
	memmove(counter->over, counter->over + counter->over_emitted, counter->over_count * sizeof *counter->over);
	counter->over_emitted = 0;
}

/* False: it is over, and nothing is in its place. */
static bool follow(struct py_counter *counter, struct pass *pass, int64_t now_ns, bool *has_ended)
{
	uint64_t value;
	struct pass next;
	enum py_reading reading = read_twice(counter->process, pass, now_ns, &value);
	*has_ended = reading == PY_READ_ENDED;
	if (reading == PY_READ_GOOD) {
		bool is_further = value > pass->value;
		pass->value = value;
		pass->read_ns = now_ns;
		if (is_further && !pass->length && pass->length_tries < LENGTH_TRIES)
			find_length(counter->process, pass);
	}
	if (reading == PY_READ_GOOD || reading == PY_READ_UNSURE)
		return true;
	end(counter, pass, now_ns);
	if (reading != PY_READ_OTHER || !begin(counter, pass->number.iterator, now_ns, &next))
		return false;
	*pass = next;
	return true;
}

static void drop(struct py_counter *counter, size_t at)
{
	counter->count--;
	memmove(&counter->passes[at], &counter->passes[at + 1], (counter->count - at) * sizeof *counter->passes);
}

/* -- the stack -- */

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), size = strlen(end);
	return length >= size && strcmp(text + length - size, end) == 0;
}

static bool is_next(const struct py_code *code)
{
	return (strcmp(code->function, "__next__") == 0 || ends_with(code->function, ".__next__")) &&
		ends_with(code->file, "/torch/utils/data/dataloader.py");
}

/* What stands between a loop and its loader. */
static bool is_between(const char *file)
{
	static const char *const parts[] = { "/torch/utils/data/", "/tqdm/", "/rich/progress.py",
		"/accelerate/data_loader.py", "/lightning/pytorch/utilities/", "/lightning/pytorch/loops/fetchers.py",
		"/pytorch_lightning/utilities/", "/pytorch_lightning/loops/fetchers.py" };
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strstr(file, parts[i]))
			return true;
	return false;
}

static void set_place(const struct py_site *site, int line, struct place *out)
{
	snprintf(out->function, sizeof out->function, "%s", site->known->code.function);
	snprintf(out->file, sizeof out->file, "%s", site->known->code.file);
	out->line = line;
}

static void set_loop(const struct py_sample *sample, size_t next, struct place *out)
{
	size_t at = next + 1;
	while (at < sample->count && is_between(sample->sites[at].known->code.file))
		at++;
	if (at < sample->count)
		set_place(&sample->sites[at], sample->sites[at].line, out);
}

/* Where there are too many, the one that has been read least lately gives way. */
static struct pass *new_pass(struct py_counter *counter, int64_t now_ns)
{
	size_t oldest = 0;
	for (size_t i = 1; i < counter->count; i++)
		if (counter->passes[i].read_ns < counter->passes[oldest].read_ns)
			oldest = i;
	if (counter->count == PY_ITERATORS_MAX) {
		end(counter, &counter->passes[oldest], now_ns);
		drop(counter, oldest);
	}
	return &counter->passes[counter->count];
}

static struct pass *meet(struct py_counter *counter, uint64_t iterator, int64_t now_ns)
{
	bool has_ended;
	struct pass begun;
	for (size_t i = 0; i < counter->count; i++) {
		if (counter->passes[i].number.iterator != iterator)
			continue;
		if (follow(counter, &counter->passes[i], now_ns, &has_ended))
			return &counter->passes[i];
		drop(counter, i);
		break;
	}
	if (!begin(counter, iterator, now_ns, &begun))
		return NULL;
	struct pass *pass = new_pass(counter, now_ns);
	*pass = begun;
	counter->count++;
	return pass;
}

static bool note_next(struct py_counter *counter, const struct py_sample *sample, int64_t now_ns)
{
	bool is_found = false;
	for (size_t i = 0; i < sample->count; i++) {
		const struct py_site *site = &sample->sites[i];
		uint64_t self;
		if (!is_next(&site->known->code) ||
			!py_local_first(counter->process, &(struct py_activation){ site->frame, site->code }, &self))
			continue;
		struct pass *pass = meet(counter, self, now_ns);
		if (pass)
			set_loop(sample, i, &pass->place);
		is_found |= pass != NULL;
	}
	return is_found;
}

/* A loop that computes for seconds is hardly ever seen in __next__; but its frame holds the iterator all the time. */
static bool note_held(struct py_counter *counter, const struct py_sample *sample, int64_t now_ns)
{
	uint64_t held[PY_ITERATORS_MAX];
	unsigned budget = SEARCHED_MAX;
	bool is_found = false;
	for (size_t i = 0; i < sample->count; i++) {
		const struct py_site *site = &sample->sites[i];
		if (is_between(site->known->code.file))
			continue;
		size_t count = py_search_frame(counter->process, &counter->search,
			&(struct py_activation){ site->frame, site->code }, &budget, held, PY_ITERATORS_MAX);
		for (size_t at = 0; at < count; at++) {
			struct pass *pass = meet(counter, held[at], now_ns);
			if (pass && !*pass->place.file)
				set_place(site, 0, &pass->place);
			is_found |= pass != NULL;
		}
	}
	return is_found;
}

bool py_counter_note(struct py_counter *counter, const struct py_sample *sample, int64_t now_ns)
{
	forget_emitted(counter);
	bool is_found = note_next(counter, sample, now_ns);
	if (sample->count > 0 && now_ns >= counter->search_ns) {
		int64_t before_ns = clock_thread_cpu_ns();
		is_found |= note_held(counter, sample, now_ns);
		int64_t apart_ns = SEARCH_APART * (clock_thread_cpu_ns() - before_ns),
				min_ns = counter->count > 0 ? SEARCH_NS : SEARCH_SOON_NS;
		counter->search_ns = now_ns + (apart_ns > min_ns ? apart_ns : min_ns);
	}
	return is_found;
}

/* -- telling -- */

static void emit(struct py_counter *counter, const struct pass *pass, bool is_over, size_t *count)
{
	counter->emitted[(*count)++] = (struct py_counted){
		.serial = pass->serial,
		.iterator = pass->number.iterator,
		.sampler = pass->sampler,
		.yielded = pass->value,
		.read_ns = pass->read_ns,
		.is_over = is_over,
		.length = pass->length,
		.worker_count = pass->worker_count,
		.batch_size = pass->batch_size,
		.function = pass->place.function,
		.file = pass->place.file,
		.line = pass->place.line,
	};
}

enum status py_counter_poll(struct py_counter *counter, int64_t now_ns, const struct py_counted **out, size_t *count)
{
	bool has_ended = false;
	size_t at = 0;
	*count = 0;
	forget_emitted(counter);
	while (at < counter->count) {
		bool is_gone = false;
		if (follow(counter, &counter->passes[at], now_ns, &is_gone))
			at++;
		else
			drop(counter, at);
		has_ended |= is_gone;
	}
	for (size_t i = 0; i < counter->over_count; i++)
		emit(counter, &counter->over[i], true, count);
	for (size_t i = 0; i < counter->count; i++)
		emit(counter, &counter->passes[i], false, count);
	counter->over_emitted = counter->over_count;
	*out = counter->emitted;
	return has_ended ? STATUS_END : STATUS_OK;
}

enum status py_counter_open(const struct py_process *process, struct py_counter **out, struct reason *why_not)
{
	enum status status = py_objects_known(&process->place, why_not);
	if (status != STATUS_OK)
		return status;
	struct py_counter *counter = calloc(1, sizeof *counter);
	if (!counter)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	counter->process = process;
	*out = counter;
	return STATUS_OK;
}

void py_counter_close(struct py_counter *counter) { free(counter); }
