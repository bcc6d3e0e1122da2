/* suite.h: how a test program ends. */
#ifndef PMTOP_TESTS_SUPPORT_SUITE_H
#define PMTOP_TESTS_SUPPORT_SUITE_H

#include <check.h>

/* Runs the suite and frees it; the program's exit status. */
int suite_run(Suite *suite);

#endif
