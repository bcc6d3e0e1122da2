/* profile_modules_out.h: the tree of modules as text and as JSON. */
#ifndef PMTOP_TRACE_PROFILE_MODULES_OUT_H
#define PMTOP_TRACE_PROFILE_MODULES_OUT_H

#include "src/base/formats/json.h"
#include "src/trace/output/profile_view.h"

void profile_modules_as_text(
	struct buffer *out, const struct profile_analysis *analysis, const struct profile_view *view);
/* The array `modules`. */
void profile_modules_as_json(
	struct json *json, const struct profile_analysis *analysis, const struct profile_view *view);
/* "Linear_0", indented by `depth`: without what all modules begin with. Returns `out`. */
const char *profile_module_label(
	const struct profile_names *names, uint32_t name, uint32_t depth, char *out, size_t size);

#endif
