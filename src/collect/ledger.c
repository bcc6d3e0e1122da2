#include "src/collect/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/buffer.h"
#include "src/samples/codec.h"
#include "src/samples/codec_read.h"
#include "src/samples/codec_write.h"

/* For each kind: which records are about the same thing, and which record removes it. Linear searches are enough:
 * entries are few (processes and devices). */
enum { ENTRIES_MAX = 1024, TEXTS_MAX = 3 };

struct entry {
	struct record record; /* the entry owns its texts */
	char *texts[TEXTS_MAX];
	/* a record with rows, encoded by the codec; the pointers of `record` are not valid then */
	struct buffer bytes;
	int32_t gpu; /* the GPU of the rows */
};

struct ledger {
	size_t count;
	struct codec_numbers numbers;
	struct entry entries[ENTRIES_MAX];
};

struct ledger *ledger_new(void)
{
	struct ledger *ledger = calloc(1, sizeof *ledger);
	if (ledger)
		codec_own_numbers(&ledger->numbers);
	return ledger;
}

static void release(struct entry *entry)
{
	for (size_t i = 0; i < TEXTS_MAX; i++)
		free(entry->texts[i]);
	buffer_release(&entry->bytes);
}

void ledger_free(struct ledger *ledger)
{
	for (size_t i = 0; ledger && i < ledger->count; i++)
		release(&ledger->entries[i]);
	free(ledger);
}

/* The family is the part before the first dot of a metric's name: "disk", "network". */
static bool is_same_family(enum metric a, enum metric b)
{
	const char *left = metric_table[a].name, *right = metric_table[b].name;
	size_t length = strcspn(left, ".");
	return strncmp(left, right, length) == 0 && right[length] == '.';
}

static bool is_about_same(const struct record *a, const struct record *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case RECORD_PROCESS_SEEN: return a->process.pid == b->process.pid;
	case RECORD_PROCESS_WAIT: return a->wait.pid == b->wait.pid;
	case RECORD_PROCESS_PLACE: return a->placement.pid == b->placement.pid;
	case RECORD_PERF_EVENT: return a->perf_event.event == b->perf_event.event;
	case RECORD_INSTANCE:
		return a->instance.instance == b->instance.instance && is_same_family(a->instance.metric, b->instance.metric);
	default: return strcmp(a->missing.figure, b->missing.figure) == 0;
	}
}

static bool has_rows(const struct record *record)
{
	return record->kind == RECORD_GPU || record->kind == RECORD_GPU_PROCESSES;
}

static int32_t gpu_of(const struct record *record)
{
	return record->kind == RECORD_GPU ? record->gpu->instance : record->gpu_processes.gpu;
}

static struct entry *find_entry(struct ledger *ledger, const struct record *record)
{
	for (size_t i = 0; i < ledger->count; i++)
		if (has_rows(record)
				? ledger->entries[i].record.kind == record->kind && ledger->entries[i].gpu == gpu_of(record)
				: is_about_same(&ledger->entries[i].record, record))
			return &ledger->entries[i];
	return NULL;
}

static void remove_entry(struct ledger *ledger, const struct record *record)
{
	struct entry *entry = find_entry(ledger, record);
	if (!entry)
		return;
	release(entry);
	ledger->count--;
	memmove(entry, entry + 1, (size_t)(&ledger->entries[ledger->count] - entry) * sizeof *entry);
}

static bool copy_entry_text(struct entry *entry, size_t i, const char **text)
{
	entry->texts[i] = *text ? strdup(*text) : NULL;
	bool is_retained = !*text || entry->texts[i];
	*text = entry->texts[i];
	return is_retained;
}

static bool copy_texts(struct entry *entry)
{
	struct record *record = &entry->record;
	switch (record->kind) {
	case RECORD_PROCESS_SEEN: return copy_entry_text(entry, 0, &record->process.command);
	case RECORD_PROCESS_WAIT: return copy_entry_text(entry, 0, &record->wait.text);
	case RECORD_PROCESS_PLACE: return copy_entry_text(entry, 0, &record->placement.visible_devices);
	case RECORD_PERF_EVENT: return copy_entry_text(entry, 0, &record->perf_event.name);
	case RECORD_INSTANCE: return copy_entry_text(entry, 0, &record->instance.name);
	default:
		return copy_entry_text(entry, 0, &record->missing.figure) && copy_entry_text(entry, 1, &record->missing.text) &&
			copy_entry_text(entry, 2, &record->missing.remedy);
	}
}

/* A new record takes the position of the old one, so that a process still precedes the records about it. */
static void put_entry(struct ledger *ledger, const struct record *record)
{
	struct entry entry = { .record = *record }, *before = find_entry(ledger, record);
	if ((!before && ledger->count == ENTRIES_MAX) || !copy_texts(&entry)) {
		release(&entry);
		remove_entry(ledger, record);
		return;
	}
	if (before)
		release(before);
	*(before ? before : &ledger->entries[ledger->count++]) = entry;
}

static void put_rows(struct ledger *ledger, const struct record *record)
{
	struct entry entry = { .record = { .kind = record->kind }, .bytes = BUFFER_INIT, .gpu = gpu_of(record) };
	struct record own = *record;
	struct sample_set set = { .time_ns = own.time_ns, .records = &own, .count = 1 };
	remove_entry(ledger, record);
	if (ledger->count < ENTRIES_MAX && codec_write(&set, 0, SIZE_MAX, &entry.bytes) == 1 && !entry.bytes.failed)
		ledger->entries[ledger->count++] = entry;
	else
		release(&entry);
}

static void end_process(struct ledger *ledger, const struct record *gone)
{
	struct record waits = { .kind = RECORD_PROCESS_WAIT }, seen = { .kind = RECORD_PROCESS_SEEN },
				  placement = { .kind = RECORD_PROCESS_PLACE };
	seen.process.pid = waits.wait.pid = placement.placement.pid = gone->process.pid;
	remove_entry(ledger, &seen);
	remove_entry(ledger, &waits);
	remove_entry(ledger, &placement);
}

void ledger_note(struct ledger *ledger, const struct sample_set *set, size_t from)
{
	for (; ledger && from < set->count; from++) {
		const struct record *record = &set->records[from];
		struct record seen = *record;
		switch (record->kind) {
		case RECORD_PROCESS_REPLACED:
			seen.kind = RECORD_PROCESS_SEEN;
			put_entry(ledger, &seen);
			break;
		case RECORD_PROCESS_SEEN:
		case RECORD_INSTANCE:
		case RECORD_PROCESS_WAIT:
		case RECORD_PROCESS_PLACE:
		case RECORD_PERF_EVENT: put_entry(ledger, record); break;
		case RECORD_GPU:
		case RECORD_GPU_PROCESSES: put_rows(ledger, record); break;
		case RECORD_PROCESS_GONE: end_process(ledger, record); break;
		case RECORD_MISSING:
			if (record->missing.text)
				put_entry(ledger, record);
			else
				remove_entry(ledger, record);
			break;
		default: break;
		}
	}
}

static void copy_text(struct sample_set *out, const char **text)
{
	*text = *text ? sample_set_text(out, *text, strlen(*text)) : NULL;
}

void ledger_emit(const struct ledger *ledger, int64_t now_ns, struct sample_set *out)
{
	for (size_t i = 0; ledger && i < ledger->count; i++) {
		const struct record *from = &ledger->entries[i].record;
		const struct buffer *bytes = &ledger->entries[i].bytes;
		uint64_t unknown = 0;
		if (has_rows(from)) {
			codec_read((const unsigned char *)bytes->data, bytes->length, &ledger->numbers, now_ns, out, &unknown);
			continue;
		}
		struct record *record = sample_set_add(out, (enum record_kind)from->kind, 0, now_ns);
		if (!record)
			return;
		*record = *from;
		record->time_ns = now_ns;
		switch (record->kind) {
		case RECORD_PROCESS_SEEN: copy_text(out, &record->process.command); break;
		case RECORD_PROCESS_WAIT: copy_text(out, &record->wait.text); break;
		case RECORD_PROCESS_PLACE: copy_text(out, &record->placement.visible_devices); break;
		case RECORD_PERF_EVENT: copy_text(out, &record->perf_event.name); break;
		case RECORD_INSTANCE: copy_text(out, &record->instance.name); break;
		default:
			copy_text(out, &record->missing.figure);
			copy_text(out, &record->missing.text);
			copy_text(out, &record->missing.remedy);
		}
	}
}
