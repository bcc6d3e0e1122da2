/* earlier.h: step times of an earlier run, to be drawn under the plot of those of now, batch by batch from the beginning of the run. */
#ifndef PMTOP_UI_EARLIER_H
#define PMTOP_UI_EARLIER_H

#include <stdbool.h>
#include <stddef.h>

struct earlier {
	bool is_shown, is_reading;
	int read_percent;
	char name[64];               /* of its file */
	const float *steps;          /* seconds by ordinal; NAN = not known */
	size_t count;
	double median_s;             /* NAN until all is read */
};

#endif
