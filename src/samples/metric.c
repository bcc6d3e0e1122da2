#include "src/samples/metric.h"

const struct metric_info metric_table[METRIC_COUNT] = {
#define METRIC_ROW(id, name, unit, kind) [METRIC_##id] = { name, UNIT_##unit, KIND_##kind },
	METRICS(METRIC_ROW)
#undef METRIC_ROW
};
