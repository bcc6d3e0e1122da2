/* A user's file of rules, beside the built-in ones, through to the warnings that it raises in a synthetic run.
 *
 * A book holds all rules that were taken so far, as many files would, and begins anew when it has many. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "src/explain/explain_flagged.h"
#include "src/model/model.h"
#include "src/rules/alerts.h"
#include "src/rules/rule_book.h"
#include "src/sources/synthetic/synthetic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SETS = 400, FILES_MAX = 200 };
#define START_NS (INT64_C(1000) * NS_PER_S)

static struct model *model;
static struct rule_book *book;
static unsigned files;

static void must(int is_good)
{
	if (!is_good)
		abort();
}

static void make_model(void)
{
	struct model_options options;
	struct synthetic *run;
	struct sample_set set = SAMPLE_SET_INIT;
	struct reason why;
	model_options_default(&options);
	model = model_new(&options);
	must(model && synthetic_new("slow-worker", START_NS, &run, &why) == STATUS_OK);
	for (int i = 0; i < SETS; i++) {
		sample_set_clear(&set);
		set.time_ns = START_NS + i * NS_PER_S / 5;
		set.source = "synthetic";
		synthetic_emit(run, set.time_ns, &set);
		model_apply(model, &set);
	}
	explain_flagged(model);
	sample_set_release(&set);
	synthetic_free(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reason why = { "", "" };
	struct alerts alerts = { 0 };
	struct settings settings;
	char *text = malloc(size ? size : 1);
	if (!model)
		make_model();
	if (files++ % FILES_MAX == 0) {
		rule_book_free(book);
		book = rule_book_new();
	}
	must(text && book);
	memcpy(text, data, size);
	settings_default(&settings);
	settings.rules = book;
	if (rule_book_parse(book, "mine.yaml", text, size, &why) == STATUS_OK)
		alerts_update(&alerts, model, &settings);
	else
		must(why.text[0]);
	alerts_release(&alerts);
	free(text);
	return 0;
}
