#include "src/sources/ras/ras_answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/formats/json_tree.h"
#include "src/base/text.h"

enum { RANKS_MAX = 1 << 20, IN_PROGRESS = 7 /* ncclInProgress */, BYTES_PER_VALUE_MIN = 8, VALUES_FREE = 1000 };

static const double count_max = 9007199254740992.0; /* 2^53: above it JSON numbers are not exact */

/* -- the text -- */

/* In JSON, only { [ , and : precede a string. Also counts the values: text of almost nothing but commas would need a
 * hundred times its size as a tree. */
static bool repair(char *text, size_t length)
{
	char before = '{', *space = NULL;
	size_t values = 0;
	for (size_t i = 0; i < length; i++) {
		if (strchr(" \t\r\n", text[i]) && text[i]) {
			space = &text[i];
			continue;
		}
		if (text[i] == '"' && !strchr("{[,:", before) && space)
			*space = ',';
		values += text[i] == ',' || text[i] == '[' || text[i] == '{';
		if (text[i] == '"')
			for (i++; i < length && text[i] != '"'; i++)
				i += text[i] == '\\';
		before = i < length && text[i] ? text[i] : '"';
		space = NULL;
	}
	return values <= length / BYTES_PER_VALUE_MIN + VALUES_FREE;
}

/* -- numbers -- */

/* −1: it is missing, or no whole number from 0 to `max`. */
static int64_t whole(const struct json_value *object, const char *key, double max)
{
	double number = json_member_number(object, key);
	return number >= 0 && number <= max && number == floor(number) ? (int64_t)number : -1;
}

static bool is_true(const struct json_value *object, const char *key)
{
	const struct json_value *value = json_member(object, key, JSON_BOOL);
	return value && value->number != 0;
}

/* -- ranks -- */

static bool grow(void **list, size_t *capacity, size_t count, size_t size)
{
	if (count < *capacity)
		return true;
	size_t wanted = *capacity ? 2 * *capacity : 64;
	void *grown = realloc(*list, wanted * size);
	if (!grown)
		return false;
	*list = grown;
	*capacity = wanted;
	return true;
}

/* Ranks of one host are neighbours. */
static bool host_of(struct ras_answer *answer, const char *text, uint32_t *host)
{
	char clean[RAS_HOST_SIZE];
	text_clean(clean, sizeof clean, text ? text : "", text ? strlen(text) : 0);
	for (size_t i = answer->host_count; i-- > 0;)
		if (strcmp(answer->hosts[i], clean) == 0) {
			*host = (uint32_t)i;
			return true;
		}
	if (!grow((void **)&answer->hosts, &answer->host_capacity, answer->host_count, sizeof *answer->hosts))
		return false;
	strcpy(answer->hosts[answer->host_count], clean);
	*host = (uint32_t)answer->host_count++;
	return true;
}

static void take_counts(const struct json_value *counts, struct ras_row *row)
{
	static const char *const names[] = {
#define OP_NAME(name, text) [RAS_OP_##name] = (text),
		RAS_OPS(OP_NAME)
#undef OP_NAME
	};
	for (const struct json_value *at = counts ? counts->first : NULL; at; at = at->next) {
		size_t op = 0;
		while (op < RAS_OP_OTHER && strcmp(at->key, names[op]) != 0)
			op++;
		if (at->kind == JSON_NUMBER && at->number >= 0 && at->number <= count_max)
			row->counts[op] += (uint64_t)at->number;
	}
}

static enum ras_state state_of(const struct json_value *status, bool is_missing, uint32_t error)
{
	if (is_missing)
		return is_true(status, "considered_dead") ? RAS_DEAD
			: is_true(status, "unresponsive")     ? RAS_UNRESPONSIVE
												  : RAS_LEFT;
	return is_true(status, "abort_flag") ? RAS_ABORTED : error ? RAS_FAILED : RAS_RUNNING;
}

static enum status take_row(struct ras_answer *answer, uint32_t size, const struct json_value *rank, bool is_missing)
{
	const struct json_value *status = json_member(rank, "status", JSON_OBJECT);
	int64_t number = whole(rank, "rank", (double)size - 1), error = whole(status, "async_error", 255);
	if (number < 0 || !status)
		return STATUS_DAMAGED;
	if (!grow((void **)&answer->rows, &answer->row_capacity, answer->row_count, sizeof *answer->rows))
		return STATUS_NO_MEMORY;
	struct ras_answer_row *new = &answer->rows[answer->row_count];
	*new = (struct ras_answer_row){ .row = { .rank = (int32_t)number,
										.pid = (int32_t)whole(rank, "pid", INT32_MAX),
										.gpu = (int32_t)whole(rank, "cuda_dev", INT32_MAX),
										.error = error > 0 && error != IN_PROGRESS ? (uint32_t)error : 0 } };
	new->row.state = state_of(status, is_missing, new->row.error);
	take_counts(json_member(rank, "collective_counts", JSON_OBJECT), &new->row);
	if (!host_of(answer, json_member_text(rank, "host"), &new->host))
		return STATUS_NO_MEMORY;
	answer->row_count++;
	return STATUS_OK;
}

/* -- communicators -- */

struct found {
	const struct json_value *value;
	size_t missing, size;
};

static int compare_found(const void *left, const void *right)
{
	const struct found *a = left, *b = right;
	if ((a->missing > 0) != (b->missing > 0))
		return a->missing > 0 ? -1 : 1;
	return a->size != b->size ? (a->size > b->size ? -1 : 1) : (a->value < b->value ? -1 : a->value > b->value);
}

static int compare_rows(const void *left, const void *right)
{
	const struct ras_answer_row *a = left, *b = right;
	return a->row.rank < b->row.rank ? -1 : a->row.rank > b->row.rank;
}

static enum status take_group(struct ras_answer *answer, const struct json_value *value)
{
	static const char *const lists[] = { "ranks", "missing_ranks" };
	const char *hash = json_member_text(value, "hash");
	int64_t size = whole(value, "size", RANKS_MAX);
	if (!hash || size < 1)
		return STATUS_DAMAGED;
	struct ras_answer_group *group = &answer->groups[answer->group_count];
	*group = (struct ras_answer_group){
		.hash = strtoull(hash, NULL, 16), .size = (uint32_t)size, .first = answer->row_count
	};
	for (size_t i = 0; i < 2; i++) {
		const struct json_value *list = json_member(value, lists[i], JSON_ARRAY);
		for (const struct json_value *rank = list ? list->first : NULL; rank; rank = rank->next) {
			bool is_full = answer->row_count >= RAS_ROWS_MAX;
			enum status status = is_full ? STATUS_OK : take_row(answer, group->size, rank, i == 1);
			if (status != STATUS_OK)
				return status;
			group->left_out += is_full;
		}
	}
	group->count = answer->row_count - group->first;
	if (group->count > 0)
		qsort(answer->rows + group->first, group->count, sizeof *answer->rows, compare_rows);
	answer->group_count++;
	return STATUS_OK;
}

static enum status take_groups(struct ras_answer *answer, const struct json_value *list)
{
	struct found *found = calloc(list->count + 1, sizeof *found);
	size_t count = list->count < RAS_GROUPS_MAX ? list->count : RAS_GROUPS_MAX, at = 0;
	enum status status = STATUS_OK;
	answer->groups = calloc(count + 1, sizeof *answer->groups);
	if (!found || !answer->groups)
		status = STATUS_NO_MEMORY;
	for (const struct json_value *value = list->first; value && status == STATUS_OK; value = value->next) {
		const struct json_value *missing = json_member(value, "missing_ranks", JSON_ARRAY);
		int64_t size = whole(value, "size", RANKS_MAX);
		found[at++] = (struct found){ value, missing ? missing->count : 0, size > 0 ? (size_t)size : 0 };
	}
	if (status == STATUS_OK && at > 1)
		qsort(found, at, sizeof *found, compare_found);
	for (size_t i = 0; i < count && status == STATUS_OK && answer->row_count < RAS_ROWS_MAX; i++)
		status = take_group(answer, found[i].value);
	answer->left_out = (uint32_t)(list->count - answer->group_count);
	free(found);
	return status;
}

static enum status take_root(struct ras_answer *answer, const struct json_value *root)
{
	const struct json_value *list = json_member(root, "communicators", JSON_ARRAY),
							*ras = json_member(root, "ras", JSON_OBJECT);
	const char *version = json_member_text(root, "nccl_version");
	if (!list || !ras || !version)
		return STATUS_DAMAGED;
	int64_t timeouts = whole(ras, "timeouts_count", INT32_MAX);
	text_clean(answer->version, sizeof answer->version, version, strlen(version));
	answer->collection_s = json_member_number(ras, "collection_time_sec");
	answer->timeouts = timeouts > 0 ? (uint32_t)timeouts : 0;
	return take_groups(answer, list);
}

/* -- public -- */

enum status ras_answer_read(char *text, size_t length, struct ras_answer *out, struct reason *why_not)
{
	struct ras_answer answer = { .own_host = -1 };
	struct json_tree *tree = NULL;
	struct reason why;
	enum status status = repair(text, length) ? json_tree_read(text, length, &tree, &why) : STATUS_DAMAGED;
	if (status == STATUS_OK) {
		status = take_root(&answer, json_tree_root(tree));
		json_tree_free(tree);
	}
	if (status == STATUS_OK) {
		*out = answer;
		return status;
	}
	ras_answer_release(&answer);
	return reason_set(why_not, status, NULL,
		status == STATUS_NO_MEMORY ? "out of memory" : "the answer of NCCL's RAS is cut off or not what NCCL writes");
}

static const struct ras_process *find_process(const struct ras_process *processes, size_t count, int32_t inner_pid)
{
	for (size_t i = 0; i < count; i++)
		if (inner_pid > 0 && processes[i].inner_pid == inner_pid)
			return &processes[i];
	return NULL;
}

bool ras_answer_join(struct ras_answer *answer, const struct ras_process *processes, size_t count)
{
	size_t *matches = calloc(answer->host_count + 1, sizeof *matches), most = 0;
	answer->own_host = -1;
	for (size_t i = 0; matches && i < answer->row_count; i++)
		matches[answer->rows[i].host] += find_process(processes, count, answer->rows[i].row.pid) != NULL;
	for (size_t i = 0; matches && i < answer->host_count; i++)
		if (matches[i] > most) {
			most = matches[i];
			answer->own_host = (int32_t)i;
		}
	free(matches);
	for (size_t i = 0; i < answer->row_count && answer->own_host >= 0; i++) {
		struct ras_answer_row *row = &answer->rows[i];
		const struct ras_process *process =
			row->host == (uint32_t)answer->own_host ? find_process(processes, count, row->row.pid) : NULL;
		row->row.pid = process ? process->pid : row->row.pid;
	}
	return answer->own_host >= 0;
}

static void emit_group(const struct ras_answer *answer, const struct ras_answer_group *group, const char *const *hosts,
	int64_t now_ns, struct sample_set *out)
{
	struct ras_row *rows = sample_set_allocate(out, (group->count + 1) * sizeof *rows);
	struct record *record = rows ? sample_set_add(out, RECORD_RAS_GROUP, 0, now_ns) : NULL;
	if (!record)
		return;
	for (size_t i = 0; i < group->count; i++) {
		rows[i] = answer->rows[group->first + i].row;
		rows[i].host = hosts[answer->rows[group->first + i].host];
	}
	record->ras_group.hash = group->hash;
	record->ras_group.size = group->size;
	record->ras_group.left_out = group->left_out;
	record->ras_group.rows = group->count ? rows : NULL;
	record->ras_group.count = group->count;
}

void ras_answer_emit(const struct ras_answer *answer, int32_t pid, int64_t now_ns, struct sample_set *out)
{
	const char **hosts = sample_set_allocate(out, (answer->host_count + 1) * sizeof *hosts);
	const char *version = sample_set_text(out, answer->version, strlen(answer->version));
	struct record *record = hosts ? sample_set_add(out, RECORD_RAS, 0, now_ns) : NULL;
	if (!record)
		return;
	for (size_t i = 0; i < answer->host_count; i++)
		hosts[i] = sample_set_text(out, answer->hosts[i], strlen(answer->hosts[i]));
	record->ras.pid = pid;
	record->ras.version = version;
	record->ras.host = answer->own_host >= 0 ? hosts[answer->own_host] : NULL;
	record->ras.collection_s = answer->collection_s;
	record->ras.timeouts = answer->timeouts;
	record->ras.left_out = answer->left_out;
	for (size_t i = 0; i < answer->group_count; i++)
		emit_group(answer, &answer->groups[i], hosts, now_ns, out);
}

void ras_answer_release(struct ras_answer *answer)
{
	free(answer->groups);
	free(answer->rows);
	free(answer->hosts);
	*answer = (struct ras_answer){ .own_host = -1 };
}
