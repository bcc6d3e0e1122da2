#include "src/rules/stall.h"

bool stall_find(const struct model *model, const struct run *run, struct stall *out)
{
	(void)model;
	(void)run;
	(void)out;
	return false;
}
