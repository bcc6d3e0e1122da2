#include "src/export/json/json_stall.h"

#include "src/explain/stall.h"

void json_stall(struct json *json, const struct model *model, const struct run *run)
{
	struct stall stall;
	if (!stall_find(model, run, &stall))
		return;
	json_open_object(json, "stall");
	json_number(json, "seconds", stall.seconds);
	json_number(json, "usual_s", stall.baseline_s);
	json_bool(json, "is_between_batches", stall.is_between);
	json_text(json, "stack", stall.stack[0] ? stall.stack : NULL);
	json_text(json, "why", stall.why[0] ? stall.why : NULL);
	json_close_object(json);
}
