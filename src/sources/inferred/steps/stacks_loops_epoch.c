#include "src/sources/inferred/steps/stacks_loops_epoch.h"

/* Which epoch the steps are in, by the loops and variables around them. What shows it, the best first: a trainer's
 * state; a `for` with "epoch" in its line; an int that is named as an epoch's number and advances by one with each pass
 * of the step loop; the `for` directly around the step loop. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/sources/inferred/steps/stacks_loops_choose.h"
#include "src/sources/inferred/steps/stacks_loops_part.h"

enum { SEARCH_LINES = 80, SELDOM_RATIO = 8 };

/* Of the step loop. */
struct place {
	const char *function;
	int line;                 /* 0 = unknown */
	const struct seen *steps; /* NULL: it is a DataLoader's own */
	bool goes_on;             /* their variable counts on through all epochs */
};

enum rank { RANK_NONE, RANK_AROUND, RANK_INT, RANK_NAMED, RANK_STATE };

bool stacks_loop_is_variable(const struct py_loop *loop)
{
	return loop->kind == PY_LOOP_INT || loop->kind == PY_LOOP_STATE;
}

bool stacks_loop_is_inside(const struct seen *a, const struct seen *b)
{
	return a->level != b->level ? a->level > b->level : a->loop.depth > b->loop.depth;
}

/* -- text -- */

size_t stacks_loop_header_length(const char *text)
{
	bool is_loop =
		strncmp(text, "for ", 4) == 0 || strncmp(text, "while ", 6) == 0 || strncmp(text, "async for ", 10) == 0;
	unsigned depth = 0;
	char quote = '\0';
	for (const char *at = text; is_loop && *at; at++) {
		if (quote || *at == '"' || *at == '\'')
			quote = !quote ? *at : *at == quote ? '\0' : quote;
		else if (strchr("([{", *at))
			depth++;
		else if (strchr(")]}", *at))
			depth -= depth > 0;
		else if (*at == ':' && depth == 0 && at[1] != '=')
			return (size_t)(at - text) + 1;
	}
	return strlen(text);
}

/* f"Epoch {epoch}", "Epoch %d" % epoch: a text that is made anew in each epoch. */
static bool is_formatted(const char *text, const char *at)
{
	char quote = '\0';
	const char *begin = text, *before = at;
	for (const char *c = text; c < at; c++)
		if (quote ? *c == quote : *c == '"' || *c == '\'') {
			quote = quote ? '\0' : *c;
			begin = c + 1;
		}
	if (quote) {
		size_t length = strcspn(begin, quote == '"' ? "\"" : "'");
		return memchr(begin, '{', length) || memchr(begin, '%', length);
	}
	while (before > text && (isalnum((unsigned char)before[-1]) || strchr("_. (", before[-1])))
		before--;
	return before > text && before[-1] == '%';
}

/* Not in "range(steps_per_epoch)", "steps_in_epoch" or "for batch in epoch_iterator": such loops are inside an epoch.
 */
static bool names_epochs(const char *text)
{
	static const char *const of_one[] = { "per_", "in_", "of_", "format(" };
	for (const char *at = text; (at = strcasestr(at, "epoch")); at++) {
		bool is_of_one =
			strncasecmp(at, "epoch_iter", 10) == 0 || strncasecmp(at, "epoch_data", 10) == 0 || is_formatted(text, at);
		for (size_t i = 0; i < sizeof of_one / sizeof *of_one; i++) {
			size_t length = strlen(of_one[i]);
			is_of_one |= (size_t)(at - text) >= length && strncasecmp(at - length, of_one[i], length) == 0;
		}
		if (!is_of_one)
			return true;
	}
	return false;
}

/* Of "self.state.epoch", "state['epoch']": "epoch". */
static size_t last_name(const char *name, const char **out)
{
	*out = name;
	for (const char *at = name; *at && *at != ']'; at++)
		if (strchr(".['", *at) && at[1] && at[1] != ']')
			*out = at + 1 + (at[1] == '\'');
	return strcspn(*out, "'");
}

bool stacks_loop_is_epoch_int(const struct py_loop *loop)
{
	static const char *const names[] = { "epoch", "_epoch", "i_epoch", "iepoch", "epoch_i", "epoch_num", "epoch_number",
		"epoch_idx", "epoch_index", "epoch_id", "epoch_count", "epoch_counter", "epoch_no", "epoch_step", "cur_epoch",
		"curr_epoch", "current_epoch", "n_epoch" };
	const char *name;
	size_t length = last_name(loop->name, &name);
	for (size_t i = 0; loop->kind == PY_LOOP_INT && i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == length && strncasecmp(name, names[i], length) == 0)
			return true;
	return false;
}

/* "epoch = 1" */
static bool is_assignment(const char *text, const char *name, uint64_t *value)
{
	size_t length = strlen(name);
	char *end;
	text += strspn(text, " \t");
	if (strncmp(text, name, length) != 0)
		return false;
	text += length;
	text += strspn(text, " \t");
	if (*text++ != '=')
		return false;
	text += strspn(text, " \t");
	if (!isdigit((unsigned char)*text))
		return false;
	*value = strtoull(text, &end, 10);
	end += strspn(end, " \t;\r\n");
	return *end == '\0' || *end == '#';
}

/* What the lines above the loop assign to its variable: 0 or 1. Returns the line; 0 = none does. */
static int assigned_line(
	const struct seen *seen, int loop_line, struct stacks_lines *lines, struct stacks_owner *owner, uint64_t *value)
{
	for (int line = loop_line - 1; line > 0 && line > loop_line - SEARCH_LINES; line--) {
		const char *text = stacks_lines_text(lines, owner, seen->file, line);
		if (text && is_assignment(text, seen->loop.name, value) && *value <= 1)
			return line;
	}
	return 0;
}

/* A while loop counts its epochs from what its variable is at first; if that is not known, "<=" in its line means that
 * they are counted from 1. */
static uint64_t first_value(
	const struct seen *seen, int loop_line, struct stacks_lines *lines, struct stacks_owner *owner)
{
	uint64_t value;
	const char *text = loop_line > 0 ? stacks_lines_text(lines, owner, seen->file, loop_line) : NULL;
	uint64_t first = text && strncmp(text, "while", 5) == 0 && strstr(text, "<=") ? 1 : 0;
	return assigned_line(seen, loop_line, lines, owner, &value) ? value : first;
}

/* "range(1, 10)", "range(start, epochs + 1)", "range(done + 1, 1 + epochs)" */
static enum stacks_first first_of_range(const char *text)
{
	const char *range = strstr(text, "range("), *arguments = range ? range + strlen("range(") : "", *comma;
	if (!*arguments)
		return STACKS_FIRST_UNKNOWN;
	comma = strchr(arguments, ',');
	bool is_from_one = strncmp(arguments, "1,", 2) == 0 || strstr(text, "+ 1)") || strstr(text, "+1)") ||
		(comma && (strncmp(comma - 3, "+ 1", 3) == 0 || strncmp(comma - 2, "+1", 2) == 0));
	return is_from_one ? STACKS_FIRST_ONE : STACKS_FIRST_ZERO;
}

/* "epochs = trange(1, last)" above "for epoch in epochs:" */
static bool assigns_range(const char *text, const char *header)
{
	const char *items = strstr(header, " in "), *found;
	text += strspn(text, " \t");
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
	if (!items || length == 0 || text[length + strspn(text + length, " ")] != '=' || !strstr(text, "range("))
		return false;
	for (found = items; (found = memmem(found, strlen(found), text, length)); found++)
		if (!isalnum((unsigned char)found[-1]) && !isalnum((unsigned char)found[length]) && !strchr("_.", found[-1]) &&
			found[length] != '_')
			return true;
	return false;
}

static bool begins_function(const char *text)
{
	text += strspn(text, " \t");
	return strncmp(text, "def ", 4) == 0 || strncmp(text, "async def ", 10) == 0;
}

/* The items may be made above the loop. */
static enum stacks_first first_item(
	const struct seen *seen, int loop_line, struct stacks_lines *lines, struct stacks_owner *owner)
{
	enum stacks_first first = strstr(seen->text, "range(") ? first_of_range(seen->text) : STACKS_FIRST_UNKNOWN;
	bool is_any = strstr(seen->text, "range(") || stacks_loop_is_variable(&seen->loop);
	for (int line = loop_line - 1; !is_any && line > 0 && line > loop_line - SEARCH_LINES; line--) {
		const char *text = stacks_lines_text(lines, owner, seen->file, line);
		if (text && begins_function(text) && strcmp(seen->function, "<module>") != 0)
			break;
		if (!text || !assigns_range(text, seen->text))
			continue;
		if (first != STACKS_FIRST_UNKNOWN && first != first_of_range(text))
			return STACKS_FIRST_UNKNOWN;
		first = first_of_range(text);
	}
	return first;
}

void stacks_loop_note_epoch(struct seen *seen, int loop_line, struct stacks_lines *lines, struct stacks_owner *owner)
{
	seen->is_epoch = names_epochs(seen->text) && strncmp(seen->text, "while", 5) != 0;
	seen->first = first_item(seen, loop_line, lines, owner);
	bool is_by_one = seen->loop.is_sum && seen->loop.guards.divisor < 2;
	seen->first_line = is_by_one ? assigned_line(seen, loop_line, lines, owner, &seen->first_step) : 0;
	seen->first_step = seen->first_line ? seen->first_step : 0;
	if (stacks_loop_is_epoch_int(&seen->loop))
		seen->first_value = first_value(seen, loop_line, lines, owner);
}

/* -- numbers -- */

/* Of a range the item counts: the program may have resumed in a later epoch. */
static bool number_of_for(const struct seen *seen, const struct py_loop *loop, struct stacks_epoch *out)
{
	uint64_t item, end;
	if (py_loop_range_item(loop, &item, &end)) {
		bool is_from_zero = !loop->is_relative && item + 1 == loop->position;
		bool is_from_one = !is_from_zero && seen->first == STACKS_FIRST_ONE;
		if (!is_from_zero && seen->first == STACKS_FIRST_UNKNOWN)
			return false;
		out->number = item + !is_from_one;
		out->count = end > 0 ? end - is_from_one : 0;
	} else if (!loop->is_relative) {
		out->number = loop->position;
		out->count = loop->length;
	}
	return out->number > 0;
}

static bool is_of_place(const struct seen *seen, const struct place *place)
{
	return strcmp(seen->function, place->function) == 0;
}

/* A loop of the function with the steps, as last read; the line of the steps may not be known yet. */
static const struct seen *find_of_place(const struct stacks_loops *loops, const struct place *place)
{
	const struct seen *found = place->steps;
	for (const struct seen *seen = loops->seen; !found && seen < loops->seen + loops->seen_count; seen++)
		if (seen->read_ns == loops->read_ns && !stacks_loop_is_variable(&seen->loop) && is_of_place(seen, place))
			found = seen;
	return found;
}

/* Whether an int has counted the epoch in progress, and how far it counts; 0 = unknown. False: that is unknown, for
 * something that the loop calls counts. */
static bool is_counted_before(
	struct stacks_loops *loops, const struct seen *seen, const struct place *place, bool *is_before, uint64_t *end)
{
	struct py_loop_bound bound;
	bool is_read = seen->work.ip && py_loop_bound(loops->reader, &seen->loop, seen->work.ip, &bound);
	*end = is_read && bound.has_end ? bound.end : 0;
	if (seen->loop.is_compared) {
		const struct seen *steps = find_of_place(loops, place);
		return steps && py_loops_sums(loops->reader, &seen->loop, steps->loop.code, steps->ip, is_before);
	}
	*is_before = is_of_place(seen, place) && place->line > 0 ? seen->loop.line > 0 && seen->loop.line < place->line
															 : is_read && bound.is_behind;
	return true;
}

/* It must have been seen to advance, and by one with each pass at most. */
static bool number_of_int(struct stacks_loops *loops, const struct seen *seen, const struct py_loop *loop,
	const struct place *place, struct stacks_epoch *out)
{
	const struct seen *steps = place->goes_on ? NULL : place->steps;
	uint64_t advanced = seen->advanced + (loop->position - seen->loop.position);
	bool is_before;
	if (seen->goes_back || loop->position < seen->loop.position || advanced == 0 ||
		loop->position < seen->first_value || (is_of_place(seen, place) && place->line == 0 && !seen->work.ip) ||
		(steps && steps->loop.has_position && advanced > steps->restarts + 1u))
		return false;
	/* What is assigned above the step loop counts the epoch that begins. */
	if (!is_counted_before(loops, seen, place, &is_before, &out->count))
		return false;
	out->number = loop->position - seen->first_value + !is_before;
	out->count = out->count > seen->first_value ? out->count - seen->first_value : seen->epochs;
	out->count = out->count >= out->number ? out->count : 0;
	return out->number > 0;
}

/* `loop`: as just read. Number 0: unknown. */
static struct stacks_epoch epoch_of(
	struct stacks_loops *loops, const struct seen *seen, const struct py_loop *loop, const struct place *place)
{
	struct stacks_epoch epoch = { 0, 0, 0 };
	if (loop->kind == PY_LOOP_STATE)
		epoch = (struct stacks_epoch){ .number = loop->position, .count = loop->length };
	else if (loop->kind == PY_LOOP_INT ? !number_of_int(loops, seen, loop, place, &epoch)
									   : !number_of_for(seen, loop, &epoch))
		epoch.number = 0;
	if (loop->kind != PY_LOOP_STATE && stacks_loops_is_part(loops, seen))
		epoch.count = 0;
	uint64_t count =
		epoch.number || stacks_loop_is_variable(loop) ? epoch.number : loop->guards.origin + loop->position;
	epoch.key = ((loop->object ? loop->object : loop->code) ^ count * UINT64_C(0x9e3779b97f4a7c15)) | 1;
	return epoch;
}

/* Also where the number is unknown, but a loop shows that it is another one. */
static bool read_epoch(
	struct stacks_loops *loops, const struct seen *seen, const struct place *place, struct stacks_epoch *out)
{
	struct py_loop loop = seen->loop;
	if (py_loop_poll(loops->reader, &loop) != PY_LOOP_GOOD)
		return false;
	struct stacks_epoch epoch = epoch_of(loops, seen, &loop, place);
	if (epoch.number > 0 || !stacks_loop_is_variable(&loop))
		*out = epoch;
	return epoch.number > 0;
}

/* -- the choice -- */

/* In the same frame, or as the innermost loop of the calling one. */
static bool is_directly_around(const struct seen *steps, const struct seen *seen)
{
	if (seen->loop.is_in_generator)
		return false;
	if (seen->level == steps->level)
		return seen->loop.code == steps->loop.code && seen->loop.depth + 1 == steps->loop.depth;
	return steps->loop.depth == 0 && seen->level + 1 == steps->level && seen->loop.depth + 1 == seen->around;
}

/* Readings may miss some passes. */
bool stacks_loop_has_seldom(const struct seen *outer, const struct seen *steps)
{
	return steps->loop.has_position && outer->advanced > SELDOM_RATIO * (steps->restarts + UINT64_C(1));
}

/* "while not self.is_done: for _ in range(epochs):": what is around it and cannot be read may count the epochs. In
 * "while self.epoch < self.epochs:" the int does. */
static bool is_within_counted(const struct stacks_loops *loops, const struct seen *epochs)
{
	if (!epochs->is_epoch && loops->uncounted_level && loops->uncounted_level < epochs->level)
		return true;
	for (unsigned depth = 0; depth < epochs->loop.depth; depth++)
		if (!stacks_loops_has_read(loops, epochs->loop.code, depth))
			return true;
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++)
		if (stacks_loop_is_epoch_int(&seen->loop) && seen->loop.is_compared && stacks_loop_is_inside(epochs, seen))
			return true;
	return false;
}

bool stacks_loop_names_runs(const char *text)
{
	static const char *const words[] = { "attempt", "retry", "retries", "fold", "seed", "trial", "episode", "layer" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcasestr(text, words[i]))
			return true;
	return false;
}

/* Of code without a text, such as that of standard input: what the loop assigns is named so. */
static bool assigns_epoch(const struct stacks_loops *loops, const struct seen *epochs)
{
	for (const struct seen *seen = loops->seen; !*epochs->text && seen < loops->seen + loops->seen_count; seen++)
		if (stacks_loop_is_epoch_int(&seen->loop) && stacks_loop_is_of(seen, epochs) &&
			seen->loop.line == epochs->loop.line)
			return true;
	return false;
}

static enum rank rank_of(const struct stacks_loops *loops, const struct seen *seen, const struct seen *steps)
{
	const struct py_loop *loop = &seen->loop;
	if (loop->counts_epochs)
		return RANK_STATE;
	if (!loop->has_position || (steps && !stacks_loop_is_inside(steps, seen)))
		return RANK_NONE;
	if (stacks_loop_is_variable(loop))
		return stacks_loop_is_epoch_int(loop) && !seen->is_target ? RANK_INT : RANK_NONE;
	if (is_within_counted(loops, seen))
		return RANK_NONE;
	if (seen->is_epoch || assigns_epoch(loops, seen))
		return RANK_NAMED;
	bool is_around = steps && is_directly_around(steps, seen) && !stacks_loop_has_seldom(seen, steps);
	return is_around && !stacks_loop_names_runs(seen->text) && !stacks_loops_is_part(loops, seen) ? RANK_AROUND
																								  : RANK_NONE;
}

/* Of `function` and `line`: "" and 0 = unknown. `steps` NULL: unknown. */
static const struct seen *find_around(
	const struct stacks_loops *loops, const struct seen *steps, const char *function, int line, int64_t since_ns)
{
	const struct seen *found = NULL;
	enum rank best = RANK_NONE;
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++) {
		enum rank rank = seen->read_ns >= since_ns ? rank_of(loops, seen, steps) : RANK_NONE;
		bool is_below = strcmp(seen->function, function) == 0 && line > 0 && seen->loop.line >= line;
		if (rank == RANK_NONE || (rank == RANK_NAMED && is_below))
			continue;
		if (rank > best || (rank == best && stacks_loop_is_inside(seen, found))) {
			found = seen;
			best = rank;
		}
	}
	return found;
}

/* A variable that goes on counting when an epoch ends has steps of no single epoch. */
struct stacks_epoch stacks_loops_epoch_of_steps(struct stacks_loops *loops)
{
	struct stacks_epoch epoch = { .key = 2 };
	struct place place = { loops->steps->function, loops->steps->loop.line, loops->steps, false };
	const struct seen *found = stacks_loop_is_variable(&loops->steps->loop) && loops->steps->restarts == 0
		? NULL
		: find_around(loops, loops->steps, "", 0, 0);
	if (found)
		read_epoch(loops, found, &place, &epoch);
	return epoch;
}

const struct seen *stacks_loops_find_across(const struct stacks_loops *loops)
{
	const struct seen *found = find_around(loops, loops->steps, "", 0, 0);
	return found && (found->is_epoch || stacks_loop_is_variable(&found->loop)) ? found : NULL;
}

bool stacks_loops_read_across(
	struct stacks_loops *loops, const struct seen *epochs, uint64_t *value, struct stacks_epoch *out)
{
	struct py_loop loop = epochs->loop;
	struct place place = { loops->steps->function, loops->steps->loop.line, loops->steps, true };
	if (py_loop_poll(loops->reader, &loop) != PY_LOOP_GOOD)
		return false;
	*value = loop.position;
	*out = epoch_of(loops, epochs, &loop, &place);
	return true;
}

/* A bar has a name, too, and goes on counting as an int does. */
uint64_t stacks_loops_origin(const struct stacks_loops *loops, const struct stacks_epoch *epoch)
{
	bool is_same = loops->serial && epoch->key == loops->epoch.key;
	bool goes_on = *loops->steps->loop.name && stacks_loop_position(loops->steps) >= loops->yielded - loops->origin;
	return !is_same ? 0 : goes_on ? loops->origin : loops->yielded;
}

bool stacks_loops_is_in_epochs(struct stacks_loops *loops)
{
	const struct seen *found = find_around(loops, loops->steps, "", 0, 0);
	struct py_loop loop;
	if (!found || found->loop.kind == PY_LOOP_STATE)
		return false;
	loop = found->loop;
	return py_loop_poll(loops->reader, &loop) == PY_LOOP_GOOD;
}

/* The loop over a DataLoader at this line. */
static const struct seen *find_loader(const struct stacks_loops *loops, const char *function, int line)
{
	const struct seen *found = NULL;
	for (const struct seen *seen = loops->seen; seen < loops->seen + loops->seen_count; seen++) {
		bool is_it = seen->read_ns == loops->read_ns && !stacks_loop_is_variable(&seen->loop) && line > 0 &&
			seen->loop.line == line && strcmp(seen->function, function) == 0;
		if (is_it && (!found || stacks_loop_is_inside(seen, found)))
			found = seen;
	}
	return found;
}

int stacks_loops_line_of(const struct stacks_loops *loops, const struct py_counted *counted)
{
	for (size_t i = 0; loops && counted->code && i < loops->seen_count; i++) {
		const struct seen *seen = &loops->seen[i];
		if (seen->loop.loader == counted->iterator && seen->loop.code == counted->code &&
			seen->read_ns >= counted->found_ns && !stacks_loop_is_variable(&seen->loop))
			return seen->loop.line;
	}
	return 0;
}

bool stacks_loops_epoch(struct stacks_loops *loops, const char *function, int line, struct stacks_epoch *out)
{
	struct place place = { function, line, find_loader(loops, function, line), false };
	const struct seen *found = find_around(loops, place.steps, function, line, loops->read_ns);
	bool is_known = found && read_epoch(loops, found, &place, out);
	loops->epoch_until_ns = is_known ? 0 : loops->epoch_until_ns;
	return is_known;
}
