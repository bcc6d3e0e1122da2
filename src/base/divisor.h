/* divisor.h: the greatest common divisor of two numbers; of 0 and another one that other one. */
#ifndef PMTOP_BASE_DIVISOR_H
#define PMTOP_BASE_DIVISOR_H

#include <stdint.h>

static inline uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

#endif
