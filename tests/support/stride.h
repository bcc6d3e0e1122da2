/* stride.h: of what is more and more of the same, every how many is enough where a sanitizer makes it several times as
 * slow. Without one all of it is tested. Odd, so that a stride over bits meets each place in a byte. */
#ifndef PMTOP_TESTS_STRIDE_H
#define PMTOP_TESTS_STRIDE_H

#ifdef IS_SANITIZED
enum { STRIDE = 9 };
#else
enum { STRIDE = 1 };
#endif

#endif
