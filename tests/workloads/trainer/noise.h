/* noise.h: numbers that look random and are the same for the same seed (splitmix64: Steele, Lea and Flood, 2014). */
#ifndef TRAINER_NOISE_H
#define TRAINER_NOISE_H

#include <stdint.h>

static inline uint64_t noise_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static inline unsigned noise_below(uint64_t *state, unsigned limit) { return (unsigned)(noise_next(state) % limit); }

/* −1 … 1 */
static inline float noise_signed(uint64_t *state) { return (float)(noise_next(state) >> 40) / (float)(1 << 23) - 1.0f; }

#endif
