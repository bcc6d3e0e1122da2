/* thin.h: of what is more and more of the same, every how many is enough where a sanitizer makes it several times as
 * slow. Without one all of it is tested. Odd, so that a stride over bits meets each place in a byte. */
#ifndef PMTOP_TESTS_THIN_H
#define PMTOP_TESTS_THIN_H

#ifdef IS_SANITIZED
enum { THIN = 9 };
#else
enum { THIN = 1 };
#endif

#endif
