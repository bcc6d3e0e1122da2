/* request_pattern.h: groups requests by the pattern of their route. */
#ifndef PMTOP_MODEL_REQUESTS_REQUEST_PATTERN_H
#define PMTOP_MODEL_REQUESTS_REQUEST_PATTERN_H

#include <stddef.h>

/* Replaces variable words by a star: "GET /user/17" becomes "GET /user/" and a star. Such words are numbers, eight or
 * more hexadecimal digits with at least one of 0 to 9, 0x numbers, and UUIDs. */
void request_pattern(char *out, size_t size, const char *name);

#endif
