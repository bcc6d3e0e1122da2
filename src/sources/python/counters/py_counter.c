#include "src/sources/python/counters/py_counter.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/sources/python/counters/py_length.h"
#include "src/sources/python/counters/py_number.h"
#include "src/sources/python/counters/py_place.h"
#include "src/sources/python/counters/py_search.h"
#include "src/sources/python/py_objects.h"
#include "src/sources/python/remote.h"

/* Frames are searched every two seconds, or ten times a second if no iterator is known, but using less than 1/200 of a
 * CPU. */
#define SEARCH_NS (2 * NS_PER_S)
#define SEARCH_SOON_NS (NS_PER_S / 10)
#define SEARCH_APART 200
#define SEARCH_APART_SOON 20
#define HISTORY_NS (3 * NS_PER_S)
/* A count that was read so recently is not read again by py_counter_live. */
#define FRESH_NS (2 * NS_PER_MS)
/* A batch takes more than a microsecond: a larger growth of the count, plus some spare, is implausible. */
enum {
	LENGTH_TRIES = 4,
	BATCH_NS_MIN = 1000,
	SPARE_BATCHES = 64,
	SEARCHED_MAX = 2048,
	FOUND_MAX = 4 * PY_ITERATORS_MAX,
	DYING_MAX = 8
};

struct epoch {
	uint64_t serial, sampler;
	struct py_number number;
	uint64_t value;
	int64_t read_ns, advanced_ns, before_ns, found_ns;
	uint64_t base;
	uint64_t length;
	unsigned length_tries;
	uint32_t worker_count, batch_size;
	struct py_place place;
};

/* The length of a loader, which may not be read at the end of a pass. */
struct known_length {
	uint64_t sampler, dataset, length;
	uint32_t batch_size;
};

/* A pass that has ended: its iterator lives on while its __del__ stops the workers. */
struct dying {
	struct py_number number;
	uint64_t value;
};

struct py_counter {
	const struct py_process *process;
	uint64_t serial;
	size_t count, ended_count, ended_emitted;
	int64_t search_ns; /* when to search again */
	int64_t searched_ns, search_cost_ns, first_ns;
	struct py_search search;
	struct remote_copies *copies; /* of what the search reads */
	size_t found_count;
	struct found {
		struct py_found iterator;
		const struct py_site *site;
	} found[FOUND_MAX];
	size_t dying_next;
	struct dying dying[DYING_MAX];
	size_t length_next;
	struct known_length lengths[PY_ITERATORS_MAX];
	struct py_places places;
	struct epoch epochs[PY_ITERATORS_MAX], ended[PY_ITERATORS_MAX];
	struct py_counted emitted[PY_COUNTED_MAX];
};

static bool is_possible(const struct epoch *epoch, uint64_t value, int64_t now_ns)
{
	uint64_t max =
		now_ns > epoch->read_ns ? (uint64_t)(now_ns - epoch->read_ns) / BATCH_NS_MIN + SPARE_BATCHES : SPARE_BATCHES;
	return value >= epoch->value && value - epoch->value <= max;
}

/* An implausible count is read again: if it stays so, a new epoch has begun. */
static enum py_reading read_twice(
	const struct py_process *process, struct epoch *epoch, int64_t now_ns, uint64_t *value)
{
	uint64_t first = 0, second = 0;
	enum py_reading reading = py_number_read(process, &epoch->number, &first);
	if (reading == PY_READ_GOOD && !is_possible(epoch, first, now_ns)) {
		reading = py_number_read(process, &epoch->number, &second);
		if (reading == PY_READ_GOOD && !is_possible(epoch, second, now_ns))
			return second >= first && second - first <= SPARE_BATCHES ? PY_READ_OTHER : PY_READ_UNSURE;
		first = second;
	}
	if (reading == PY_READ_GOOD)
		*value = first;
	return reading;
}

/* -- epochs -- */

static void recall_length(struct py_counter *counter, struct epoch *epoch, uint64_t dataset)
{
	for (size_t i = 0; i < PY_ITERATORS_MAX; i++) {
		struct known_length *known = &counter->lengths[i];
		if (known->sampler != epoch->sampler || known->dataset != dataset || !dataset)
			continue;
		if (epoch->length)
			known->length = epoch->length;
		if (!epoch->length && epoch->value <= known->length) {
			epoch->length = known->length;
			epoch->batch_size = known->batch_size;
		}
		return;
	}
	if (!epoch->length)
		return;
	counter->lengths[counter->length_next] =
		(struct known_length){ epoch->sampler, dataset, epoch->length, epoch->batch_size };
	counter->length_next = (counter->length_next + 1) % PY_ITERATORS_MAX;
}

static void find_length(struct py_counter *counter, struct epoch *epoch)
{
	const struct py_process *process = counter->process;
	uint64_t workers, count, dataset = 0;
	epoch->length_tries++;
	if (py_attribute_get(process, epoch->number.iterator, "_num_workers", &workers) &&
		py_int_read(process, workers, &count) && count <= UINT32_MAX)
		epoch->worker_count = (uint32_t)count;
	epoch->length = py_length_read(process, epoch->number.iterator, &epoch->batch_size);
	if (epoch->sampler && py_attribute_get(process, epoch->number.iterator, "_dataset", &dataset))
		recall_length(counter, epoch, dataset);
}

static bool is_dying(const struct py_counter *counter, const struct epoch *epoch)
{
	for (size_t i = 0; i < DYING_MAX; i++) {
		const struct dying *dying = &counter->dying[i];
		if (epoch->value > 0 && dying->value > 0 && epoch->value >= dying->value &&
			py_number_is_same(&dying->number, &epoch->number))
			return true;
	}
	return false;
}

/* What all epochs of one loader have in common: its sampler. Loaders of iterable datasets can have one function for all
 * (fastai), there it is the dataset. */
static uint64_t read_sampler(const struct py_process *process, uint64_t iterator)
{
	enum { ITERABLE = 1 }; /* torch.utils.data.dataloader._DatasetKind */
	uint64_t kind, number, sampler = 0;
	bool is_iterable = py_attribute_get(process, iterator, "_dataset_kind", &kind) &&
		py_int_read(process, kind, &number) && number == ITERABLE;
	py_attribute_get(process, iterator, is_iterable ? "_dataset" : "_index_sampler", &sampler);
	return sampler;
}

/* False: there is no such iterator, or its count cannot be read. */
static bool begin(struct py_counter *counter, uint64_t iterator, int64_t now_ns, struct epoch *out)
{
	*out = (struct epoch){ .number.iterator = iterator, .read_ns = now_ns, .found_ns = now_ns };
	if (!py_number_find(counter->process, &out->number) ||
		py_number_read(counter->process, &out->number, &out->value) != PY_READ_GOOD || is_dying(counter, out))
		return false;
	out->serial = ++counter->serial;
	out->sampler = read_sampler(counter->process, iterator);
	find_length(counter, out);
	py_places_recall(&counter->places, out->sampler, &out->place);
	return true;
}

static void end(struct py_counter *counter, const struct epoch *epoch, int64_t now_ns)
{
	/* After an epoch the next one usually begins soon. */
	if (counter->search_ns > now_ns + SEARCH_SOON_NS)
		counter->search_ns = now_ns + SEARCH_SOON_NS;
	counter->dying[counter->dying_next] = (struct dying){ epoch->number, epoch->value };
	counter->dying_next = (counter->dying_next + 1) % DYING_MAX;
	if (counter->ended_count == PY_ITERATORS_MAX) {
		counter->ended_count--;
		memmove(counter->ended, counter->ended + 1, counter->ended_count * sizeof *counter->ended);
	}
	counter->ended[counter->ended_count++] = *epoch;
}

static void forget_emitted(struct py_counter *counter)
{
	counter->ended_count -= counter->ended_emitted;
	memmove(counter->ended, counter->ended + counter->ended_emitted, counter->ended_count * sizeof *counter->ended);
	counter->ended_emitted = 0;
}

/* False: the epoch has ended, and there is no next one at this address. */
static bool follow(struct py_counter *counter, struct epoch *epoch, int64_t now_ns, bool *has_ended)
{
	uint64_t value;
	struct epoch next;
	enum py_reading reading = read_twice(counter->process, epoch, now_ns, &value);
	*has_ended = reading == PY_READ_ENDED;
	if (reading == PY_READ_GOOD) {
		bool is_further = value > epoch->value;
		epoch->value = value;
		epoch->read_ns = now_ns;
		if (is_further) {
			epoch->before_ns = epoch->advanced_ns;
			epoch->advanced_ns = now_ns;
		}
		if (is_further && !epoch->length && epoch->length_tries < LENGTH_TRIES)
			find_length(counter, epoch);
	}
	if (reading == PY_READ_GOOD || reading == PY_READ_UNSURE)
		return true;
	end(counter, epoch, now_ns);
	if (reading != PY_READ_OTHER || !begin(counter, epoch->number.iterator, now_ns, &next))
		return false;
	*epoch = next;
	return true;
}

static void drop(struct py_counter *counter, size_t at)
{
	counter->count--;
	memmove(&counter->epochs[at], &counter->epochs[at + 1], (counter->count - at) * sizeof *counter->epochs);
}

/* -- the stack -- */

static bool is_next(const struct py_code *code)
{
	static const char file[] = "/torch/utils/data/dataloader.py";
	size_t length = strlen(code->file), size = strlen(file);
	return py_place_is_named_next(code) && length >= size && strcmp(code->file + length - size, file) == 0;
}

/* If there are too many, the least recently read one is dropped. */
static struct epoch *new_epoch(struct py_counter *counter, int64_t now_ns)
{
	size_t oldest = 0;
	for (size_t i = 1; i < counter->count; i++)
		if (counter->epochs[i].read_ns < counter->epochs[oldest].read_ns)
			oldest = i;
	if (counter->count == PY_ITERATORS_MAX) {
		end(counter, &counter->epochs[oldest], now_ns);
		drop(counter, oldest);
	}
	return &counter->epochs[counter->count];
}

static struct epoch *find_or_begin(struct py_counter *counter, uint64_t iterator, int64_t now_ns)
{
	bool has_ended;
	struct epoch begun;
	for (size_t i = 0; i < counter->count; i++) {
		if (counter->epochs[i].number.iterator != iterator)
			continue;
		if (counter->epochs[i].read_ns == now_ns || follow(counter, &counter->epochs[i], now_ns, &has_ended))
			return &counter->epochs[i];
		drop(counter, i);
		break;
	}
	if (!begin(counter, iterator, now_ns, &begun))
		return NULL;
	struct epoch *epoch = new_epoch(counter, now_ns);
	*epoch = begun;
	counter->count++;
	return epoch;
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
		struct epoch *epoch = find_or_begin(counter, self, now_ns);
		if (epoch)
			py_place_note_next(&counter->places, epoch->sampler, sample, i, &epoch->place);
		is_found |= epoch != NULL;
	}
	return is_found;
}

/* The loader of a pass that is over may keep its iterator: one from before pmtop's start is not counted. */
static bool note_found(struct py_counter *counter, const struct py_found *found, const struct py_sample *sample,
	const struct py_site *site, int64_t now_ns)
{
	uint64_t serial = counter->serial;
	struct epoch *epoch = find_or_begin(counter, found->iterator, now_ns);
	if (!epoch)
		return false;
	py_place_note_found(&counter->places, epoch->sampler, found, sample, (size_t)(site - sample->sites), &epoch->place);
	if (found->is_of_loader && epoch->serial > serial && epoch->value == epoch->length &&
		now_ns - counter->first_ns < HISTORY_NS)
		epoch->base = epoch->value;
	return true;
}

/* Comprehensions are functions of their own until 3.11, generator expressions always. */
static enum py_frame_kind frame_kind_of(const char *function)
{
	static const char *const comprehensions[] = { "<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>" };
	const char *dot = strrchr(function, '.'), *name = dot ? dot + 1 : function;
	for (size_t i = 0; i < sizeof comprehensions / sizeof *comprehensions; i++)
		if (strcmp(name, comprehensions[i]) == 0)
			return PY_FRAME_OF_COMPREHENSION;
	return strcmp(function, "<module>") == 0 ? PY_FRAME_OF_MODULE : PY_FRAME_OF_FUNCTION;
}

static void search_site(struct py_counter *counter, const struct py_site *site, unsigned *budget)
{
	struct py_found found[PY_ITERATORS_MAX];
	size_t room = FOUND_MAX - counter->found_count;
	size_t count = py_search_frame(counter->process, &counter->search,
		&(struct py_activation){ site->frame, site->code }, frame_kind_of(site->known->code.function), budget, found,
		room < PY_ITERATORS_MAX ? room : PY_ITERATORS_MAX);
	for (size_t i = 0; i < count; i++)
		counter->found[counter->found_count++] = (struct found){ found[i], site };
}

/* A loop with long steps is rarely sampled in __next__, but its frame always holds the iterator. Only the search reads
 * copies: a count must be read at one moment. */
static bool note_locals(struct py_counter *counter, const struct py_sample *sample, int64_t now_ns)
{
	unsigned budget = SEARCHED_MAX;
	bool is_found = false;
	counter->found_count = 0;
	remote_copies_begin(counter->copies, counter->process->pid);
	for (size_t i = 0; i < sample->count; i++)
		if (py_place_may_hold(sample, i))
			search_site(counter, &sample->sites[i], &budget);
	remote_copies_end();
	for (size_t i = 0; i < counter->found_count; i++)
		is_found |= note_found(counter, &counter->found[i].iterator, sample, counter->found[i].site, now_ns);
	return is_found;
}

bool py_counter_note(struct py_counter *counter, const struct py_sample *sample, int64_t now_ns)
{
	counter->first_ns = counter->first_ns ? counter->first_ns : now_ns;
	forget_emitted(counter);
	bool is_found = note_next(counter, sample, now_ns);
	for (size_t i = 0; i < counter->count; i++)
		if (counter->epochs[i].value > 0 && counter->epochs[i].found_ns != now_ns)
			py_place_confirm(sample, &counter->epochs[i].place);
	if (sample->count > 0 && now_ns >= counter->search_ns) {
		int64_t before_ns = clock_thread_cpu_ns();
		is_found |= note_locals(counter, sample, now_ns);
		counter->searched_ns = now_ns;
		counter->search_cost_ns = clock_thread_cpu_ns() - before_ns;
		int64_t apart_ns = SEARCH_APART * counter->search_cost_ns,
				min_ns = counter->count > 0 ? SEARCH_NS : SEARCH_SOON_NS;
		counter->search_ns = now_ns + (apart_ns > min_ns ? apart_ns : min_ns);
	}
	return is_found;
}

void py_counter_search_soon(struct py_counter *counter)
{
	int64_t soon_ns = counter->searched_ns + SEARCH_APART_SOON * counter->search_cost_ns;
	counter->search_ns = counter->search_ns < soon_ns ? counter->search_ns : soon_ns;
}

/* -- results -- */

static void emit(struct py_counter *counter, const struct epoch *epoch, bool is_over, size_t *count)
{
	counter->emitted[(*count)++] = (struct py_counted){
		.advanced_ns = epoch->advanced_ns,
		.before_ns = epoch->before_ns,
		.found_ns = epoch->found_ns,
		.base = epoch->base,
		.serial = epoch->serial,
		.iterator = epoch->number.iterator,
		.sampler = epoch->sampler,
		.yielded = epoch->value,
		.read_ns = epoch->read_ns,
		.is_over = is_over,
		.length = epoch->length,
		.worker_count = epoch->worker_count,
		.batch_size = epoch->batch_size,
		.function = epoch->place.function,
		.file = epoch->place.file,
		.line = epoch->place.line,
		.is_looped = epoch->place.is_stacked && !epoch->place.is_held,
		.code = epoch->place.code,
		.ip = epoch->place.ip,
		.caller_code = epoch->place.caller_code,
		.caller_ip = epoch->place.caller_ip,
		.generator = epoch->place.generator,
		.generators = epoch->place.generators,
		.callee = epoch->place.callee,
	};
}

/* Those that were read at fresh_ns or later are not read again. */
static bool follow_all(struct py_counter *counter, int64_t fresh_ns, int64_t now_ns)
{
	bool has_ended = false;
	size_t at = 0;
	forget_emitted(counter);
	while (at < counter->count) {
		bool is_gone = false;
		if (counter->epochs[at].read_ns >= fresh_ns || follow(counter, &counter->epochs[at], now_ns, &is_gone))
			at++;
		else
			drop(counter, at);
		has_ended |= is_gone;
	}
	return has_ended;
}

size_t py_counter_live(struct py_counter *counter, int64_t now_ns, const struct py_counted **out)
{
	size_t count = 0;
	follow_all(counter, now_ns - FRESH_NS, now_ns);
	for (size_t i = 0; i < counter->count; i++)
		emit(counter, &counter->epochs[i], false, &count);
	*out = counter->emitted;
	return count;
}

enum status py_counter_poll(struct py_counter *counter, int64_t now_ns, const struct py_counted **out, size_t *count)
{
	bool has_ended = follow_all(counter, INT64_MAX, now_ns);
	*count = 0;
	for (size_t i = 0; i < counter->ended_count; i++)
		emit(counter, &counter->ended[i], true, count);
	for (size_t i = 0; i < counter->count; i++)
		emit(counter, &counter->epochs[i], false, count);
	counter->ended_emitted = counter->ended_count;
	*out = counter->emitted;
	return has_ended ? STATUS_END : STATUS_OK;
}

enum status py_counter_open(const struct py_process *process, struct py_counter **out, struct reason *why_not)
{
	enum status status = py_objects_known(&process->location, why_not);
	if (status != STATUS_OK)
		return status;
	struct py_counter *counter = calloc(1, sizeof *counter);
	if (!counter)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	counter->process = process;
	counter->copies = remote_copies_new();
	*out = counter;
	return STATUS_OK;
}

void py_counter_close(struct py_counter *counter)
{
	remote_copies_free(counter->copies);
	free(counter);
}
