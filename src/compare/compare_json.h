/* compare_json.h: a run's figures as members of a JSON object, the same in every answer. Internal to src/compare. */
#ifndef PMTOP_COMPARE_COMPARE_JSON_H
#define PMTOP_COMPARE_COMPARE_JSON_H

#include "src/base/formats/json.h"
#include "src/compare/summary/summary.h"

#endif
