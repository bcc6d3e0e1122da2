/* Rule files: valid ones, and every error with its line and the next step. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/rules/rule.h"
#include "src/rules/rule_book.h"
#include "tests/support/suite.h"
#include "tests/support/stride.h"

static struct rule_book *book;
static struct reason reason;

static void start(void)
{
	book = rule_book_new();
	ck_assert_ptr_nonnull(book);
}

static void stop(void) { rule_book_free(book); }

static enum status parse(const char *text)
{
	reason = (struct reason){ 0 };
	return rule_book_parse(book, "mine.yaml", text, strlen(text), &reason);
}

static void ck_taken(const char *text)
{
	ck_assert_msg(parse(text) == STATUS_OK, "%s: %s: %s", text, reason.text, reason.remedy);
}

/* `remedy`: how it begins. */
static void ck_refused(const char *text, const char *what, const char *remedy)
{
	size_t count = book->count;
	const struct rule *before = rule_find(book, "variance");
	ck_assert_msg(parse(text) == STATUS_INVALID, "taken: %s", text);
	ck_assert_str_eq(reason.text, what);
	ck_assert_msg(strncmp(reason.remedy, remedy, strlen(remedy)) == 0, "%s: \"%s\"", text, reason.remedy);
	ck_assert_uint_eq(book->count, count);
	ck_assert_ptr_eq(rule_find(book, "variance"), before);
}

/* -- the built-in ones -- */

START_TEST(the_built_in_rules_are_understood)
{
	const struct reason *faults;
	ck_assert_msg(rule_book_faults(book, &faults) == 0, "%s: %s", faults[0].text, faults[0].remedy);
	ck_assert_uint_ge(book->count, 35);
	for (size_t i = 0; i < book->count; i++) {
		const struct rule *rule = book->list[i];
		if (!rule->figure.row)
			continue;
		ck_assert_msg(
			rule->meaning.count && rule->evidence_count && rule->advice_count, "%s says too little", rule->name);
		ck_assert_msg(!rule->is_off, "%s is off", rule->name);
	}
}
END_TEST

/* The levels that the guides name, each with its guide. */
START_TEST(every_threshold_of_the_guides_is_a_rule)
{
	static const struct {
		const char *rule, *guide;
		double level;
	} wanted[] = {
		{ "bottleneck", "000_92dc6d78458fd3fe", 0.5 },
		{ "consider_optimizing", "000_92dc6d78458fd3fe", 0.2 },
		{ "data_loading", "000_92dc6d78458fd3fe", 0.3 },
		{ "gpu_waits_for_data", "000_92dc6d78458fd3fe", 0.3 },
		{ "slow_forward", "000_92dc6d78458fd3fe", 0.5 },
		{ "slow_backward", "000_92dc6d78458fd3fe", 0.4 },
		{ "slow_first_batch", "000_92dc6d78458fd3fe", 2 },
		{ "variance", "000_92dc6d78458fd3fe", 2 },
		{ "slow_line", "001_5f69f59825f81c53", 0.1 },
		{ "memory_growth", "001_5f69f59825f81c53", 100e6 },
		{ "memory_spike", "002_1e1720742371b3e0", 0.5 },
		{ "gpu_memory_spike", "002_1e1720742371b3e0", 0.25 },
		{ "gpu_memory", "001_5f69f59825f81c53", 0.9 },
		{ "busy_machine", "001_5f69f59825f81c53", 0.9 },
		{ "cpu_bound", "001_5f69f59825f81c53", 0.95 },
		{ "machine_memory", "001_5f69f59825f81c53", 0.85 },
		{ "busy_disk", "001_5f69f59825f81c53", 0.8 },
		{ "io_wait", "001_5f69f59825f81c53", 0.2 },
		{ "gpu_underused", "001_5f69f59825f81c53", 0.7 },
		{ "high_memory", "001_5f69f59825f81c53", 16e9 },
		{ "latency_over_sla", "001_5f69f59825f81c53", 2 },
	};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		const struct rule *rule = rule_find(book, wanted[i].rule);
		ck_assert_msg(rule != NULL, "no %s", wanted[i].rule);
		ck_assert_msg(strncmp(rule->guide, wanted[i].guide, strlen(wanted[i].guide)) == 0, "%s cites %s", rule->name,
			rule->guide);
		ck_assert_double_eq_tol(rule->level, wanted[i].level, 1e-9 * wanted[i].level);
	}
}
END_TEST

START_TEST(every_figure_has_words_and_one_name)
{
	const struct figure *row, *other;
	for (size_t i = 0; (row = figure_at(i)); i++) {
		ck_assert_msg(row->what && row->what[0], "%s", row->name);
		for (size_t k = 0; k < i && (other = figure_at(k)); k++)
			ck_assert_str_ne(row->name, other->name);
	}
}
END_TEST

/* -- what is understood -- */

START_TEST(an_entry_changes_only_the_keys_that_it_gives)
{
	struct rule before = *rule_find(book, "data_loading");
	ck_taken("data_loading: {above: 40 %}\n");
	const struct rule *rule = rule_find(book, "data_loading");
	ck_assert_double_eq_tol(rule->level, 0.4, 1e-12);
	ck_assert_str_eq(rule->file, "mine.yaml");
	ck_assert_uint_eq(rule->line, 1);
	ck_assert_ptr_eq(rule->message.list, before.message.list);
	ck_assert_uint_eq(rule->advice_count, before.advice_count);
	ck_assert_int_eq(rule->severity, before.severity);
	ck_taken("data_loading: {off: true}\n");
	ck_assert(!rule_judges(rule_find(book, "data_loading")));
	ck_assert_double_eq_tol(rule_find(book, "data_loading")->level, 0.4, 1e-12);
	ck_taken("data_loading: {off: false, severity: critical, advice: [\"one line\"]}\n");
	ck_assert_int_eq(rule_find(book, "data_loading")->severity, SEVERITY_CRITICAL);
	ck_assert_uint_eq(rule_find(book, "data_loading")->advice_count, 1);
	ck_assert_int_eq(rule_find(book, "data_loading")->action, ALERT_ACTS_NOT);
	ck_taken("data_loading: {action: profile}\n");
	ck_assert_int_eq(rule_find(book, "data_loading")->action, ALERT_TAKES_TRACE);
	ck_taken("data_loading: {action: snapshot}\n");
	ck_assert_int_eq(rule_find(book, "data_loading")->action, ALERT_TAKES_SNAPSHOT);
}
END_TEST

START_TEST(levels_have_units)
{
	static const struct {
		const char *figure, *level;
		double wanted;
	} cases[] = {
		{ "memory.rss_bytes", "16 GB", 16e9 },
		{ "memory.rss_bytes", "100MB", 100e6 },
		{ "memory.rss_bytes", "5e3", 5000 },
		{ "phase.share_ratio", "30 %", 0.3 },
		{ "phase.share_ratio", "0.3", 0.3 },
		{ "run.step_mean_s", "250 ms", 0.25 },
		{ "stall.seconds", "2 min", 120 },
		{ "system.swap_bytes_per_s", "1 MB/s", 1e6 },
		{ "gauge.depth", "-3", -3 },
		{ "stall.seconds", "1 h", 3600 },
		{ "spread.ratio", "250 %", 2.5 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[200];
		snprintf(text, sizeof text, "mine: {of: phase, figure: %s, above: %s, message: hm}\n", cases[i].figure,
			cases[i].level);
		ck_taken(text);
		ck_assert_double_eq_tol(rule_find(book, "mine")->level, cases[i].wanted, 1e-9 * fabs(cases[i].wanted));
	}
}
END_TEST

START_TEST(quieting_rules_precede_the_quieted)
{
	ck_taken(
		"late: {of: phase, figure: phase.share_ratio, above: 90 %, message: hm, quiets: [data_loading, variance]}\n");
	size_t at[3] = { 0 };
	static const char *const names[] = { "late", "data_loading", "bottleneck" };
	for (size_t i = 0; i < book->count; i++)
		for (size_t k = 0; k < 3; k++)
			if (strcmp(book->list[i]->name, names[k]) == 0)
				at[k] = i;
	ck_assert(at[0] < at[1] && at[1] < at[2]);
}
END_TEST

START_TEST(nothing_is_no_rule_and_no_fault)
{
	static const char *const nothing[] = { "", "# only a comment\n", "---\n...\n", "{}\n", "~\n" };
	for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
		ck_taken(nothing[i]);
}
END_TEST

/* -- what is refused -- */

#define RULE "mine:\n  figure: run.steps\n  above: 5\n  message: hm\n"

START_TEST(keys_and_names_are_refused_with_the_likeliest)
{
	ck_refused("data_loading:\n  abvoe: 0.4\n", "mine.yaml:2: unknown key \"abvoe\" in rule \"data_loading\"",
		"did you mean \"above\"? keys are: of, guide, if, figure, above, below");
	ck_refused("data_loadng: {above: 0.4}\n", "mine.yaml:1: rule \"data_loadng\" has no figure",
		"did you mean the rule \"data_loading\"? A new one needs: figure, above");
	ck_refused("variance: {figure: spread.ration}\n", "mine.yaml:1: unknown figure \"spread.ration\"",
		"did you mean \"spread.ratio\"? `pmtop rules --figures` lists them all");
	ck_refused("variance: {figure: meta.}\n", "mine.yaml:1: unknown figure \"meta.\"", "");
	ck_refused("variance: {figure: zzzzzzzz}\n", "mine.yaml:1: unknown figure \"zzzzzzzz\"", "`pmtop rules --figures`");
	ck_refused(
		"Loud Rule: {above: 1}\n", "mine.yaml:1: \"Loud Rule\" is not a valid rule name", "write a name of at most 32");
	ck_refused("[a]: {above: 1}\n", "mine.yaml:1: \"\" is not a valid rule name", "write a name");
	ck_refused("variance:\n  [a]: 1\n", "mine.yaml:2: a key of rule \"variance\" is not a word", "write one");
	ck_refused("variance: {severity: loud}\n", "mine.yaml:1: \"severity\" cannot be \"loud\"",
		"write info, warning or critical");
	ck_refused("variance: {of: gpu}\n", "mine.yaml:1: \"of\" cannot be \"gpu\"", "write model, run or phase");
	ck_refused("variance: {off: yes}\n", "mine.yaml:1: \"off\" cannot be \"yes\"", "write true or false");
	ck_refused(
		"variance: {quiets: [nobody]}\n", "mine.yaml:1: rule \"variance\" quiets an unknown rule", "see `pmtop rules`");
	ck_refused("variance: {advice: [{as: nobody}]}\n",
		"mine.yaml:1: rule \"variance\" takes advice from an unknown rule", "see `pmtop rules`");
	ck_refused("consider_optimizing: {quiets: [data_loading]}\n",
		"mine.yaml:1: rule \"consider_optimizing\" and another quiet each other", "remove one of them");
	ck_refused(
		"variance: {quiets: [variance]}\n", "mine.yaml:1: rule \"variance\" and another quiet each other", "remove");
}
END_TEST

START_TEST(values_of_the_wrong_kind_are_refused)
{
	ck_refused(
		"variance: {above: much}\n", "mine.yaml:1: \"above\" cannot be \"much\"", "write a number, such as 0.3, 30 %");
	ck_refused("variance: {above: 0x10}\n", "mine.yaml:1: \"above\" cannot be \"0x10\"", "write a number");
	ck_refused("variance: {above: nan}\n", "mine.yaml:1: \"above\" cannot be \"nan\"", "write a number");
	ck_refused("variance: {above: 1e999}\n", "mine.yaml:1: \"above\" cannot be \"1e999\"", "write a number");
	ck_refused("variance: {above: 3 parsec}\n", "mine.yaml:1: \"above\" cannot be \"3 parsec\"", "write a number");
	ck_refused("variance: {above: [2]}\n", "mine.yaml:1: \"above\" is not one value", "write a number");
	ck_refused("variance: {above: }\n", "mine.yaml:1: \"above\" is not one value", "write a number");
	ck_refused("memory_growth: {above: 30 %}\n", "mine.yaml:1: \"above\" has another unit than memory.growth_bytes",
		"it is in bytes");
	ck_refused("variance: {for: 3 MB}\n", "mine.yaml:1: \"for\" cannot be \"3 MB\"", "write a time of at most a day");
	ck_refused("variance: {for: -1 s}\n", "mine.yaml:1: \"for\" cannot be \"-1 s\"", "write a time");
	ck_refused("variance: {clear_for: 3 d}\n", "mine.yaml:1: \"clear_for\" cannot be \"3 d\"", "write a number");
	ck_refused("variance: {clear_at: 3}\n", "mine.yaml:1: rule \"variance\" clears beyond its own level",
		"write a \"clear_at\" below it");
	ck_refused(
		"variance: {least: 201}\n", "mine.yaml:1: \"least\" cannot be \"201\"", "write a whole number from 0 to 200");
	ck_refused("variance: {least: 2.5}\n", "mine.yaml:1: \"least\" cannot be \"2.5\"", "write a whole number");
	ck_refused("variance: {guide: \"0123456789012345678901234567890123456789012345678901234567890123\"}\n",
		"mine.yaml:1: \"guide\" is too long", "write at most 63 bytes");
	ck_refused(
		"variance: {figure: run.name}\n", "mine.yaml:1: run.name is a text, not a number", "compare it under \"if\"");
	ck_refused(
		"variance: {action: stop}\n", "mine.yaml:1: \"action\" cannot be \"stop\"", "write profile, snapshot or none");
	ck_refused("variance: {quiets: bottleneck}\n", "mine.yaml:1: \"quiets\" is not a list", "write \"[rule, rule]\"");
	ck_refused("variance: {advice: do it}\n", "mine.yaml:1: \"advice\" is not a list", "write \"- \" before each item");
	ck_refused("variance: {evidence: [a]}\n", "mine.yaml:1: \"evidence\" is not a list of \"name: figure\"",
		"write \"{share_ratio: phase.share_ratio}\"");
	ck_refused("variance: {evidence: {a: nothing}}\n", "mine.yaml:1: unknown figure \"nothing\"", "");
	ck_refused("variance: {evidence: {a: run.steps, b: run.steps, c: run.steps, d: run.steps, e: run.steps, f: "
			   "run.steps, g: run.steps}}\n",
		"mine.yaml:1: too much evidence", "write at most 6");
}
END_TEST

START_TEST(conditions_are_refused_with_their_form)
{
	const char *form = "write \"figure > number\", joined by \"and\"";
	ck_refused("variance: {if: run.steps}\n", "mine.yaml:1: \"run.steps\" has no value to compare with", form);
	ck_refused("variance: {if: run.steps >}\n", "mine.yaml:1: \"run.steps\" has no value to compare with", form);
	ck_refused("variance: {if: run.steps ~ 3}\n", "mine.yaml:1: \"run.steps\" has no value to compare with", form);
	ck_refused("variance: {if: \"> 3\"}\n", "mine.yaml:1: no condition in \"> 3\"", form);
	ck_refused("variance: {if: run.steps > 3 and }\n", "mine.yaml:1: \"3 and\" is not a number", "write a number");
	ck_refused("variance: {if: run.steps > many}\n", "mine.yaml:1: \"many\" is not a number", "write a number");
	ck_refused("variance: {if: run.steps > 3 MB}\n", "mine.yaml:1: \"3 MB\" has another unit than run.steps",
		"it is in count");
	ck_refused("variance: {if: run.name > 3}\n",
		"mine.yaml:1: run.name is a text, and can only be compared with = and !=", "write = or !=");
	ck_refused("variance: {if: run.name is big}\n", "mine.yaml:1: \"is big\" is not a condition", form);
	ck_refused("variance: {if: meta.size > big}\n", "mine.yaml:1: \"big\" is not a number", "write a number");
	ck_refused(
		"variance: {if: run.step = 3}\n", "mine.yaml:1: unknown figure \"run.step\"", "did you mean \"run.steps\"?");
	ck_refused("variance: {if: run.steps > 1 and run.steps > 1 and run.steps > 1 and run.steps > 1 and run.steps > 1 "
			   "and run.steps > 1 and run.steps > 1 and "
			   "run.steps > 1 and run.steps > 1}\n",
		"mine.yaml:1: too many conditions", "join at most 8");
}
END_TEST

START_TEST(texts_are_refused_with_what_to_write)
{
	ck_refused("variance: {message: \"{run.steps\"}\n", "mine.yaml:1: \"{run.steps\" is not closed",
		"write {figure}; for a literal brace write {{");
	ck_refused("variance: {message: \"{}\"}\n", "mine.yaml:1: no figure in \"{}\"", "write {figure}");
	ck_refused("variance: {message: \"{run.stops}\"}\n", "mine.yaml:1: unknown figure \"run.stops\"",
		"did you mean \"run.steps\"?");
	ck_refused("variance: {message: \"{run.steps|loud}\"}\n", "mine.yaml:1: unknown form \"loud\"",
		"forms are: number, count");
	ck_refused("variance: {message: \"{run.steps*x}\"}\n",
		"mine.yaml:1: the factor in \"{run.steps*x}\" is not a number", "write {figure*2}");
	ck_refused("variance: {message: \"{run.name*2}\"}\n", "mine.yaml:1: the factor in \"{run.name*2}\" is not a number",
		"write {figure*2}");
	ck_refused("variance: {message: \"[a [b]]\"}\n", "mine.yaml:1: a bracket within brackets", "brackets enclose text");
	ck_refused(
		"variance: {message: \"a]\"}\n", "mine.yaml:1: a closing bracket without an opening one", "brackets enclose");
	ck_refused("variance: {message: \"[a\"}\n", "mine.yaml:1: a bracket is not closed", "close it with ]");
	ck_refused("variance: {message: {if: run.steps > 1}}\n",
		"mine.yaml:1: an item of \"message\" has neither \"say\" nor \"as\", or both", "write {if:");
	ck_refused("variance: {advice: [{say: a, as: bottleneck}]}\n",
		"mine.yaml:1: an item of \"advice\" has neither \"say\" nor \"as\", or both", "write {if:");
	ck_refused("variance:\n  advice:\n    - {iff: a, say: b}\n", "mine.yaml:3: unknown key \"iff\"",
		"did you mean \"if\"? keys are: if, say, as");
	ck_refused("variance: {message: {as: bottleneck}}\n",
		"mine.yaml:1: rule \"variance\" takes a text from another rule", "\"as\" works in advice only");
	char text[900] = "variance: {message: \"";
	memset(text + strlen(text), 'x', 700);
	strcat(text, "\"}\n");
	ck_refused(text, "mine.yaml:1: the text is too long", "write at most 600 bytes");
}
END_TEST

START_TEST(a_rule_must_be_whole_and_of_its_figures)
{
	ck_refused("mine: {above: 3, message: hm}\n", "mine.yaml:1: rule \"mine\" has no figure",
		"figure, above (or below) and message");
	ck_refused("mine:\n  figure: run.steps\n  message: hm\n", "mine.yaml:2: rule \"mine\" has no level",
		"write \"above: NUMBER\"");
	ck_refused(
		"mine: {figure: run.steps, above: 3}\n", "mine.yaml:1: rule \"mine\" has no message", "write \"message: …\"");
	ck_refused(
		RULE "  below: 3\n", "mine.yaml:5: rule \"mine\" has both \"above\" and \"below\"", "keep one of the two");
	ck_refused("mine:\n  figure: phase.share_ratio\n  above: 3\n  message: hm\n",
		"mine.yaml:2: rule \"mine\" is of the run, and phase.share_ratio is of a phase", "write \"of: phase\"");
	ck_refused(RULE "  of: model\n", "mine.yaml:2: rule \"mine\" is of the model, and run.steps is of a run",
		"write \"of: run\"");
	ck_refused(RULE "  if: phase.kind = data\n",
		"mine.yaml:5: rule \"mine\" is of the run, and phase.kind is of a phase", "write \"of: phase\"");
	ck_refused("mine:\n  figure: run.steps\n  above: 5\n  message: \"{phase.name}\"\n",
		"mine.yaml:4: rule \"mine\" is of the run, and phase.name is of a phase", "write \"of: phase\"");
	ck_refused(RULE "  evidence: {a: phase.mean_s}\n",
		"mine.yaml:5: rule \"mine\" is of the run, and phase.mean_s is of a phase", "write \"of: phase\"");
	ck_refused(RULE RULE, "mine.yaml:5: rule \"mine\" is already defined in line 1", "keep one of the two");
	ck_refused(RULE "  above: 6\n", "mine.yaml:5: key \"above\" is already in line 3", "remove one of the two");
}
END_TEST

START_TEST(a_file_that_is_no_mapping_of_rules_is_refused)
{
	ck_refused("- variance\n", "mine.yaml:1: no rule here", "begin with a rule's name");
	ck_refused(
		"variance: off\n", "mine.yaml:1: rule \"variance\" has no \"key: value\" lines", "write its keys below it");
	ck_refused("variance: {above: &a 3}\n", "mine.yaml:1: anchors and aliases (&, *) are not supported",
		"write the value out");
	ck_refused("variance: {above: !!int 3}\n", "mine.yaml:1: tags (!) are not supported", "write the value alone");
	ck_refused("variance: {above: 3}\n---\nvariance: {above: 4}\n", "mine.yaml:2: a second document begins", "remove");
	ck_refused("variance:\n\tabove: 3\n", "mine.yaml:2: not YAML: found character that cannot start any token",
		"indent with spaces");
	ck_refused("variance:\n  message: gr\xF6\xDF"
			   "er\n",
		"mine.yaml:2: not UTF-8 text: invalid trailing UTF-8 octet", "save the file as UTF-8 text");
}
END_TEST

START_TEST(more_rules_than_there_is_room_for_are_refused)
{
	char *text = calloc(1, 64 * (RULES_MAX + 2)), *end = text;
	for (int i = 0; i <= RULES_MAX; i++)
		end += sprintf(end, "more_%d: {figure: run.steps, above: 5, message: hm}\n", i);
	size_t count = book->count;
	ck_assert_int_eq(parse(text), STATUS_INVALID);
	ck_assert_ptr_nonnull(strstr(reason.text, "more than 256 rules"));
	ck_assert_uint_eq(book->count, count);
	free(text);
}
END_TEST

/* -- hostile files -- */

START_TEST(damaged_rules_are_refused_with_a_line_and_never_crash)
{
	FILE *file = fopen("config/rules/time.yaml", "r");
	ck_assert_ptr_nonnull(file);
	char text[16384], damaged[16384];
	size_t length = fread(text, 1, sizeof text, file), refused = 0;
	fclose(file);
	for (size_t at = 0; at < length; at += 3 * STRIDE) {
		memcpy(damaged, text, length);
		damaged[at] ^= (char)(1 << at % 8);
		struct rule_book *other = rule_book_new();
		reason = (struct reason){ 0 };
		if (rule_book_parse(other, "t.yaml", damaged, at % 2 ? length : at, &reason) != STATUS_OK) {
			unsigned line = 0;
			ck_assert_msg(
				sscanf(reason.text, "t.yaml:%u: ", &line) == 1 || sscanf(reason.text, "%*[a-z].yaml:%u: ", &line) == 1,
				"%s", reason.text);
			ck_assert(reason.remedy[0] != '\0');
			refused++;
		}
		rule_book_free(other);
	}
	ck_assert_uint_gt(refused, 100 / STRIDE);
}
END_TEST

START_TEST(deep_nesting_costs_nothing)
{
	size_t length = 1 << 20;
	char *text = malloc(length);
	for (const char *bracket = "[{-?"; *bracket; bracket++) {
		struct rusage before, after;
		for (size_t i = 0; i < length; i++)
			text[i] = *bracket == '[' || *bracket == '{' || i % 2 == 0 ? *bracket : ' ';
		getrusage(RUSAGE_SELF, &before);
		ck_assert_int_eq(rule_book_parse(book, "mine.yaml", text, length, &reason), STATUS_INVALID);
		getrusage(RUSAGE_SELF, &after);
		ck_assert_int_lt(after.ru_utime.tv_sec - before.ru_utime.tv_sec, 3);
	}
	free(text);
}
END_TEST

/* -- the folder -- */

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[200];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	fclose(file);
}

START_TEST(files_of_the_folder_are_read_by_name_and_a_broken_one_is_left_out)
{
	char folder[] = "/tmp/pmtop-rules-XXXXXX", path[200];
	const struct reason *faults;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	write_file(folder, "b.yaml", "variance: {above: 4}\n");
	write_file(folder, "a.yaml", "variance: {above: 3, severity: info}\n");
	write_file(folder, "c.yaml", "variance: {above: 5}\nmine: {abve: 3}\n");
	write_file(folder, ".d.yaml", "variance: {above: 6}\n");
	write_file(folder, "e.yaml~", "variance: {above: 7}\n");
	snprintf(path, sizeof path, "%s/f.yaml", folder);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	alarm(5);
	rule_book_load_folder(book, folder);
	alarm(0);
	ck_assert_double_eq_tol(rule_find(book, "variance")->level, 4, 1e-12);
	ck_assert_int_eq(rule_find(book, "variance")->severity, SEVERITY_INFO);
	ck_assert_uint_eq(rule_book_faults(book, &faults), 2);
	ck_assert_ptr_nonnull(strstr(faults[0].text, "c.yaml:2: unknown key \"abve\""));
	ck_assert_ptr_nonnull(strstr(faults[1].text, "f.yaml: not a regular file"));
	char command[128];
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
	rule_book_load_folder(book, folder);
	ck_assert_uint_eq(rule_book_faults(book, &faults), 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rule files");
	TCase *tests = tcase_create("rule files");
	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, start, stop);
	tcase_add_test(tests, the_built_in_rules_are_understood);
	tcase_add_test(tests, every_threshold_of_the_guides_is_a_rule);
	tcase_add_test(tests, every_figure_has_words_and_one_name);
	tcase_add_test(tests, an_entry_changes_only_the_keys_that_it_gives);
	tcase_add_test(tests, levels_have_units);
	tcase_add_test(tests, quieting_rules_precede_the_quieted);
	tcase_add_test(tests, nothing_is_no_rule_and_no_fault);
	tcase_add_test(tests, keys_and_names_are_refused_with_the_likeliest);
	tcase_add_test(tests, values_of_the_wrong_kind_are_refused);
	tcase_add_test(tests, conditions_are_refused_with_their_form);
	tcase_add_test(tests, texts_are_refused_with_what_to_write);
	tcase_add_test(tests, a_rule_must_be_whole_and_of_its_figures);
	tcase_add_test(tests, a_file_that_is_no_mapping_of_rules_is_refused);
	tcase_add_test(tests, more_rules_than_there_is_room_for_are_refused);
	tcase_add_test(tests, damaged_rules_are_refused_with_a_line_and_never_crash);
	tcase_add_test(tests, deep_nesting_costs_nothing);
	tcase_add_test(tests, files_of_the_folder_are_read_by_name_and_a_broken_one_is_left_out);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
