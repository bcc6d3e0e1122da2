/* stride.h: long loops over similar cases test every STRIDE-th case under a sanitizer, which is several times as slow,
 * and all of them otherwise. Odd, so that a stride over bits meets each bit of a byte. */
#ifndef PMTOP_TESTS_STRIDE_H
#define PMTOP_TESTS_STRIDE_H

#ifdef IS_SANITIZED
enum { STRIDE = 9 };
#else
enum { STRIDE = 1 };
#endif

#endif
