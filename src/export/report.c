#include "src/export/export.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "src/export/table.h"
#include "src/rules/explain.h"
