/* digits.h: the data set: made-up handwriting of the ten digits, in a file of packed records that has to be read and
 * decoded. */
#ifndef TRAINER_DIGITS_H
#define TRAINER_DIGITS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	DIGITS_SIDE = 12,
	DIGITS_PIXELS = DIGITS_SIDE * DIGITS_SIDE,
	DIGITS_CLASSES = 10,
	/* the label, then 4 bits a pixel, each as the difference to the one before */
	DIGITS_RECORD = 1 + DIGITS_PIXELS / 2,
	DIGITS_TRAIN = 4096,     /* records 0 … */
	DIGITS_VALIDATION = 512, /* and those after them */
};

/* A temporary file that goes when its last descriptor is closed. −1: errno says why. */
int digits_create(uint64_t seed);
bool digits_read(int fd, unsigned index, uint8_t record[DIGITS_RECORD]);
/* Pixels are 0 … 15; returns the label. */
uint8_t digits_decode(const uint8_t record[DIGITS_RECORD], uint8_t pixels[DIGITS_PIXELS]);

#endif
