#include "src/model/code/code_advice.h"

#include <stdio.h>
#include <string.h>

#include "src/base/frameworks.h"
#include "src/model/code/code.h"
#include "src/model/model.h"

/* The advice of the source that reads the mapped libraries; NULL = none. */
static const char *advice_by_libraries(const struct model *model)
{
	for (size_t i = 0; i < model->missing_count; i++)
		if (model->missing[i].subject == MISSING_REGION && model->missing[i].is_mere_absence &&
			model->missing[i].remedy[0])
			return model->missing[i].remedy;
	return NULL;
}

static const struct missing *missing_steps(const struct model *model)
{
	for (size_t i = 0; i < model->missing_count; i++)
		if (model->missing[i].subject == MISSING_STEPS)
			return &model->missing[i];
	return NULL;
}

const char *code_why_no_steps(const struct model *model)
{
	const struct missing *steps = missing_steps(model);
	return steps ? steps->text : "no loop found whose iterations pmtop can count";
}

const char *code_why_no_batch(const struct model *model)
{
	const struct missing *steps = missing_steps(model);
	return steps ? steps->text : "no batch has ended yet";
}

const struct missing *code_refused_region(const struct model *model)
{
	for (size_t i = 0; i < model->missing_count; i++)
		if (model->missing[i].subject == MISSING_REGION && !model->missing[i].is_mere_absence)
			return &model->missing[i];
	return NULL;
}

void code_write_advice(const struct model *model, char *out, size_t size)
{
	static const char imported[] = "<module>"; /* its file may be imported, but not used */
	const struct framework *framework = NULL;
	const char *by_libraries = advice_by_libraries(model);
	for (size_t i = 0; i < model->code.code_count; i++) {
		const struct code_name *code = &model->code.codes[i];
		if (code->function && !code->is_own && strcmp(code->function, imported) != 0)
			framework = framework_first(framework, code->file);
	}
	if (!framework && by_libraries)
		snprintf(out, size, "%s", by_libraries);
	else
		framework_write_advice(framework, code_main_group(model) >= 0, out, size);
}

bool code_write_no_steps(const struct model *model, char separator, char *out, size_t size)
{
	const struct missing *refused = code_refused_region(model);
	char advice[256];
	code_write_advice(model, advice, sizeof advice);
	if (refused)
		snprintf(out, size, "pmtop does not know whether this process is instrumented: %s.%cTry: %s.", refused->text,
			separator, refused->remedy);
	else
		snprintf(out, size, "No instrumentation, and %s; %s.", code_why_no_steps(model), advice);
	return refused || missing_steps(model);
}
