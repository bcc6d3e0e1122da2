#include "src/rules/note.h"
#include "src/rules/rule_book.h"
#include "src/rules/rule_context.h"
#include "src/rules/rule_text.h"

#include "src/rules/alerts_private.h"

bool alerts_note_of(const struct alerts *alerts, const char *name, const struct model *model, const struct run *run,
	const struct gpu *gpu, struct note *out)
{
	const struct rule *rule = alerts->priv ? rule_find(alerts->priv->book, name) : NULL;
	struct context context;
	struct rule_cache cache;
	*out = (struct note){ .severity = SEVERITY_INFO };
	if (!rule || rule->is_off)
		return false;
	rule_context_init(&context, &cache, model, run ? (int)(run - model->runs) : -1, NULL);
	context.gpu = gpu;
	const struct rule_choice *choice = rule_choose(&rule->message, &context);
	if (!choice || !rule_text_fill(&choice->say, &context, out->text, sizeof out->text))
		return false;
	out->severity = choice->severity;
	return true;
}
