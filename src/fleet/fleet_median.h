/* fleet_median.h: medians of unsorted values. */
#ifndef PMTOP_FLEET_FLEET_MEDIAN_H
#define PMTOP_FLEET_FLEET_MEDIAN_H

#include <stddef.h>

/* The value with the position `index` in ascending order, by quickselect; reorders the values. */
double fleet_select(double *values, size_t count, size_t index);
/* NAN: no values. */
double fleet_median(double *values, size_t count);

#endif
