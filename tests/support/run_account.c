#include "tests/support/run_account.h"

#include <stdio.h>
#include <string.h>

static void wrong(struct run_account *account, const struct record *record, const char *what)
{
	if (account->wrong[0] == '\0')
		snprintf(account->wrong, sizeof account->wrong, "%s: %s (lane %u, sequence %llu)",
			record_kind_name((enum record_kind)record->kind), what, record->lane, (unsigned long long)record->sequence);
}

static void use_name(struct run_account *account, const struct record *record, uint32_t name)
{
	if (name > account->names)
		wrong(account, record, "a name that was not emitted before");
}

static struct account_row *row_of(
	struct run_account *account, uint16_t lane, uint32_t kind, uint32_t name, uint32_t parent, uint32_t mode)
{
	for (size_t i = 0; i < account->row_count; i++) {
		struct account_row *row = &account->rows[i];
		if (row->lane == lane && row->kind == kind && row->name == name && row->parent == parent && row->mode == mode)
			return row;
	}
	struct account_row *row =
		&account->rows[account->row_count < ACCOUNT_ROWS - 1 ? account->row_count++ : account->row_count];
	*row = (struct account_row){ .lane = lane, .kind = kind, .name = name, .parent = parent, .mode = mode };
	return row;
}

static void count_event(
	struct run_account *account, const struct record *record, uint32_t kind, uint32_t name, uint32_t parent)
{
	struct account_row *row = row_of(account, record->lane, kind, name, parent, account->mode);
	if (record->sequence >= row->upto)
		row->count++;
}

static void apply_total(struct run_account *account, const struct record *record)
{
	const struct total_row *total = record->total;
	use_name(account, record, total->name);
	use_name(account, record, total->parent);
	use_name(account, record, total->mode);
	struct account_row *row = row_of(account, record->lane, total->kind, total->name, total->parent, total->mode);
	row->count = total->count;
	row->upto = total->upto;
}

static void check_event(struct run_account *account, const struct record *record)
{
	uint64_t *next = &account->next_sequence[record->lane % ACCOUNT_LANES];
	/* A mode may come again before its batch, with that event's sequence number: see region_emitter.h. */
	bool was_its_mode = account->last_was_mode && record->sequence + 1 == *next;
	account->last_was_mode = record->kind == RECORD_MODE;
	if (record->sequence < *next && !was_its_mode)
		wrong(account, record, "the lane goes back");
	if (record->time_ns < account->last_time_ns)
		wrong(account, record, "older than the event before it");
	*next = record->sequence + 1;
	account->last_time_ns = record->time_ns;
	account->events += !was_its_mode;
}

static void copy_text(char *out, size_t size, const char *text) { snprintf(out, size, "%s", text); }

/* Contents of the region other than events. */
static void apply_contents(struct run_account *account, const struct record *record)
{
	switch ((enum record_kind)record->kind) {
	case RECORD_NAME:
		if (record->name.id != account->names + 1)
			wrong(account, record, "numbers have a gap");
		account->names = record->name.id;
		if (account->names < ACCOUNT_NAMES)
			copy_text(account->name[account->names], sizeof account->name[0], record->name.text);
		break;
	case RECORD_META:
		snprintf(account->last_meta, sizeof account->last_meta, "%s=%s", record->meta.key, record->meta.value);
		break;
	case RECORD_STATE:
		use_name(account, record, record->state->mode);
		account->state = *record->state;
		account->mode = record->state->mode;
		break;
	case RECORD_TOTAL: apply_total(account, record); break;
	case RECORD_HISTORY:
		account->histories_emitted++;
		account->history_batches = 0;
		for (size_t i = 0; i < record->history.count; i++)
			account->history_batches += record->history.rows[i].count;
		break;
	case RECORD_EPOCHS: account->epochs_emitted++; break;
	case RECORD_COUNTER:
		use_name(account, record, record->counter.name);
		account->last_counter = record->counter.total;
		break;
	case RECORD_OPEN_SPAN:
		use_name(account, record, record->span.name);
		account->open_spans = record->span.depth + 1;
		break;
	case RECORD_OPEN_SPANS_NONE: account->open_spans = 0; break;
	case RECORD_LOST: account->lost += record->lost.count; break;
	case RECORD_BEFORE_ATTACH: account->before = record->lost.count; break;
	case RECORD_REFUSED: account->refused = record->lost.count; break;
	default: break;
	}
}

static bool is_event(const struct record *record) { return record->kind >= RECORD_EPOCH_BEGIN; }

static void apply_event(struct run_account *account, const struct record *record)
{
	switch ((enum record_kind)record->kind) {
	case RECORD_MODE:
		use_name(account, record, record->mode.name);
		account->mode = record->mode.name;
		break;
	case RECORD_GAUGE:
		use_name(account, record, record->gauge.name);
		account->last_gauge = record->gauge.value;
		if (record->sequence == 0 && account->events > 0)
			return; /* the last value, apart from the events */
		account->gauges++;
		break;
	case RECORD_BATCH_END:
		account->batch_ends++;
		count_event(account, record, TOTAL_BATCH, 0, 0);
		break;
	case RECORD_EVIDENCE: account->evidences++; break;
	case RECORD_SPAN:
		use_name(account, record, record->span.name);
		use_name(account, record, record->span.parent);
		count_event(account, record, TOTAL_SPAN, record->span.name, record->span.parent);
		break;
	case RECORD_MARK: copy_text(account->last_mark, sizeof account->last_mark, record->text); break;
	default: break;
	}
	check_event(account, record);
}

void run_account_apply(struct run_account *account, const struct sample_set *set)
{
	account->last_time_ns = INT64_MIN;
	for (size_t i = 0; i < set->count; i++) {
		const struct record *record = &set->records[i];
		if (record->kind < RECORD_RUN_OPENED || record->run != account->run)
			continue;
		if (record->kind == RECORD_RUN_OPENED) {
			unsigned run = account->run, opened = account->opened, closed = account->closed;
			*account = (struct run_account){ .run = run, .opened = opened + 1, .closed = closed };
			account->last_time_ns = INT64_MIN;
			account->pid = record->opened.pid;
			account->inner_pid = record->opened.inner_pid;
			copy_text(account->run_name, sizeof account->run_name, record->opened.name);
			copy_text(account->uuid, sizeof account->uuid, record->opened.uuid);
		} else if (account->opened != account->closed + 1) {
			wrong(account, record, "the run is not open");
		} else if (record->kind == RECORD_RUN_CLOSED) {
			account->closed++;
			copy_text(account->why, sizeof account->why, record->text);
		} else if (is_event(record)) {
			apply_event(account, record);
		} else {
			apply_contents(account, record);
		}
	}
}

static bool has_name(const struct run_account *account, uint32_t id, const char *name)
{
	return id > 0 && id < ACCOUNT_NAMES && id <= account->names && strcmp(account->name[id], name) == 0;
}

uint64_t run_account_count(const struct run_account *account, enum total_kind kind, const char *name)
{
	uint64_t count = 0;
	for (size_t i = 0; i < account->row_count; i++)
		if (account->rows[i].kind == kind && (!name || has_name(account, account->rows[i].name, name)))
			count += account->rows[i].count;
	return count;
}

uint64_t run_account_count_mode(const struct run_account *account, enum total_kind kind, const char *mode)
{
	uint64_t count = 0;
	for (size_t i = 0; i < account->row_count; i++)
		if (account->rows[i].kind == kind &&
			(account->rows[i].mode ? has_name(account, account->rows[i].mode, mode) : !strcmp(mode, "train")))
			count += account->rows[i].count;
	return count;
}
