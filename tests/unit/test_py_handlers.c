/* Loops that an exception leaves, or in which one is handled, in the instructions of CPython 3.8 to 3.13:
 *
 * def broken(loader, n):                       def restarted(loader, n):
 *     for epoch in range(n):                       for step in range(n):
 *         it = iter(loader)                            try:
 *         while True:                                      batch = next(it)
 *             try:                                     except StopIteration:
 *                 batch = next(it)                         it = iter(loader)
 *             except StopIteration:                        batch = next(it)
 *                 break                                train(batch)
 *             step(batch)
 *
 * def around(loader, n):                       def suppressed(loader, n):
 *     for epoch in range(n):                       for epoch in range(n):
 *         try:                                         with suppress(StopIteration):
 *             it = iter(loader)                            it = iter(loader)
 *             while True:                                  while True:
 *                 train(next(it))                              with context():
 *         except StopIteration:                                    train(next(it))
 *             pass
 *
 * async def awaited(loader, n):                def retried(n):
 *     for epoch in range(n):                       for attempt in range(n):
 *         async for batch in loader:                   try:
 *             await train(batch)                           train(n)
 *                                                          break
 * def returning(loader, n):                            except RuntimeError:
 *     for epoch in range(n):                               continue
 *         with context():
 *             for batch in loader:             def ended(loader, n):
 *                 if batch:                        for step in range(n):
 *                     return batch                     try:
 *                                                          batch = next(loader)
 *                                                      except StopIteration:
 *                                                          break
 *                                                      train(batch) */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "src/sources/python/loops/py_bytecode.h"
#include "tests/support/suite.h"

/* clang-format off */
static const unsigned char broken_8[] = { 116, 0, 124, 1, 131, 1, 68, 0, 93, 60, 125, 2, 116, 1, 124, 0, 131, 1, 125,
	3, 122, 12, 116, 2, 124, 3, 131, 1, 125, 4, 87, 0, 110, 24, 4, 0, 116, 3, 107, 10, 114, 56, 1, 0, 1, 0, 1, 0, 89, 0,
	113, 8, 89, 0, 110, 2, 88, 0, 116, 4, 124, 4, 131, 1, 1, 0, 113, 20, 113, 8, 100, 0, 83, 0 };
static const unsigned char restarted_8[] = { 116, 0, 124, 1, 131, 1, 68, 0, 93, 62, 125, 2, 122, 12, 116, 1, 124, 3,
	131, 1, 125, 4, 87, 0, 110, 36, 4, 0, 116, 2, 107, 10, 114, 60, 1, 0, 1, 0, 1, 0, 116, 3, 124, 0, 131, 1, 125, 3,
	116, 1, 124, 3, 131, 1, 125, 4, 89, 0, 110, 2, 88, 0, 116, 4, 124, 4, 131, 1, 1, 0, 113, 8, 100, 0, 83, 0 };
static const unsigned char around_8[] = { 116, 0, 124, 1, 131, 1, 68, 0, 93, 52, 125, 2, 122, 26, 116, 1, 124, 0, 131,
	1, 125, 3, 116, 2, 116, 3, 124, 3, 131, 1, 131, 1, 1, 0, 113, 22, 87, 0, 113, 8, 4, 0, 116, 4, 107, 10, 114, 58, 1,
	0, 1, 0, 1, 0, 89, 0, 113, 8, 88, 0, 113, 8, 100, 0, 83, 0 };
static const unsigned char suppressed_8[] = { 116, 0, 124, 1, 131, 1, 68, 0, 93, 64, 125, 2, 116, 1, 116, 2, 131, 1,
	143, 46, 1, 0, 116, 3, 124, 0, 131, 1, 125, 3, 116, 4, 131, 0, 143, 18, 1, 0, 116, 5, 116, 6, 124, 3, 131, 1, 131, 1,
	1, 0, 87, 0, 53, 0, 81, 0, 82, 0, 88, 0, 113, 30, 87, 0, 53, 0, 81, 0, 82, 0, 88, 0, 113, 8, 100, 0, 83, 0 };
static const unsigned char ended_8[] = { 116, 0, 124, 1, 131, 1, 68, 0, 93, 52, 125, 2, 122, 12, 116, 1, 124, 0, 131,
	1, 125, 3, 87, 0, 110, 26, 4, 0, 116, 2, 107, 10, 114, 50, 1, 0, 1, 0, 1, 0, 89, 0, 1, 0, 113, 62, 89, 0, 110, 2, 88,
	0, 116, 3, 124, 3, 131, 1, 1, 0, 113, 8, 100, 0, 83, 0 };
static const unsigned char awaited_8[] = { 116, 0, 124, 1, 131, 1, 68, 0, 93, 38, 125, 2, 124, 0, 50, 0, 122, 26, 51,
	0, 100, 0, 72, 0, 87, 0, 125, 3, 116, 1, 124, 3, 131, 1, 73, 0, 100, 0, 72, 0, 1, 0, 113, 16, 54, 0, 113, 8, 100, 0,
	83, 0 };
static const unsigned char retried_8[] = { 116, 0, 124, 0, 131, 1, 68, 0, 93, 48, 125, 1, 122, 18, 116, 1, 124, 0,
	131, 1, 1, 0, 87, 0, 1, 0, 113, 58, 87, 0, 113, 8, 4, 0, 116, 2, 107, 10, 114, 54, 1, 0, 1, 0, 1, 0, 89, 0, 113, 8,
	89, 0, 113, 8, 88, 0, 113, 8, 100, 0, 83, 0 };
static const unsigned char returning_8[] = { 116, 0, 124, 1, 131, 1, 68, 0, 93, 60, 125, 2, 116, 1, 131, 0, 143, 44,
	1, 0, 124, 0, 68, 0, 93, 32, 125, 3, 124, 3, 114, 24, 124, 3, 2, 0, 1, 0, 87, 0, 2, 0, 53, 0, 81, 0, 82, 0, 163, 0,
	2, 0, 1, 0, 83, 0, 113, 24, 87, 0, 53, 0, 81, 0, 82, 0, 88, 0, 113, 8, 100, 0, 83, 0 };
static const unsigned char broken_10[] = { 116, 0, 124, 1, 131, 1, 68, 0, 93, 28, 125, 2, 116, 1, 124, 0, 131, 1, 125,
	3, 9, 0, 122, 6, 116, 2, 124, 3, 131, 1, 125, 4, 87, 0, 110, 9, 4, 0, 116, 3, 121, 26, 1, 0, 1, 0, 1, 0, 89, 0, 110,
	6, 119, 0, 116, 4, 124, 4, 131, 1, 1, 0, 113, 11, 113, 4, 100, 0, 83, 0 };
static const unsigned char restarted_10[] = { 116, 0, 124, 1, 131, 1, 68, 0, 93, 30, 125, 2, 122, 6, 116, 1, 124, 3,
	131, 1, 125, 4, 87, 0, 110, 17, 4, 0, 116, 2, 121, 29, 1, 0, 1, 0, 1, 0, 116, 3, 124, 0, 131, 1, 125, 3, 116, 1, 124,
	3, 131, 1, 125, 4, 89, 0, 110, 1, 119, 0, 116, 4, 124, 4, 131, 1, 1, 0, 113, 4, 100, 0, 83, 0 };
static const unsigned char around_10[] = { 116, 0, 124, 1, 131, 1, 68, 0, 93, 23, 125, 2, 122, 12, 116, 1, 124, 0,
	131, 1, 125, 3, 9, 0, 116, 2, 116, 3, 124, 3, 131, 1, 131, 1, 1, 0, 113, 12, 4, 0, 116, 4, 121, 27, 1, 0, 1, 0, 1, 0,
	89, 0, 113, 4, 119, 0, 100, 0, 83, 0 };
static const unsigned char suppressed_10[] = { 116, 0, 124, 1, 131, 1, 68, 0, 93, 46, 125, 2, 116, 1, 116, 2, 131, 1,
	143, 32, 1, 0, 116, 3, 124, 0, 131, 1, 125, 3, 9, 0, 116, 4, 131, 0, 143, 14, 1, 0, 116, 5, 116, 6, 124, 3, 131, 1,
	131, 1, 1, 0, 87, 0, 100, 0, 4, 0, 4, 0, 131, 3, 1, 0, 110, 8, 49, 0, 115, 36, 119, 1, 1, 0, 1, 0, 1, 0, 89, 0, 1, 0,
	113, 16, 49, 0, 115, 45, 119, 1, 1, 0, 1, 0, 1, 0, 89, 0, 1, 0, 113, 4, 100, 0, 83, 0 };
static const unsigned char ended_10[] = { 116, 0, 124, 1, 131, 1, 68, 0, 93, 24, 125, 2, 122, 6, 116, 1, 124, 0, 131,
	1, 125, 3, 87, 0, 110, 11, 4, 0, 116, 2, 121, 23, 1, 0, 1, 0, 1, 0, 89, 0, 1, 0, 100, 0, 83, 0, 119, 0, 116, 3, 124,
	3, 131, 1, 1, 0, 113, 4, 100, 0, 83, 0 };
static const unsigned char awaited_10[] = { 129, 1, 116, 0, 124, 1, 131, 1, 68, 0, 93, 19, 125, 2, 124, 0, 50, 0, 122,
	13, 51, 0, 100, 0, 72, 0, 87, 0, 125, 3, 116, 1, 124, 3, 131, 1, 73, 0, 100, 0, 72, 0, 1, 0, 113, 9, 54, 0, 113, 5,
	100, 0, 83, 0 };
static const unsigned char retried_10[] = { 116, 0, 124, 0, 131, 1, 68, 0, 93, 19, 125, 1, 122, 8, 116, 1, 124, 0,
	131, 1, 1, 0, 87, 0, 1, 0, 100, 0, 83, 0, 4, 0, 116, 2, 121, 23, 1, 0, 1, 0, 1, 0, 89, 0, 113, 4, 119, 0, 100, 0, 83,
	0 };
static const unsigned char returning_10[] = { 116, 0, 124, 1, 131, 1, 68, 0, 93, 41, 125, 2, 116, 1, 131, 0, 143, 28,
	1, 0, 124, 0, 68, 0, 93, 17, 125, 3, 124, 3, 114, 29, 124, 3, 2, 0, 1, 0, 87, 0, 2, 0, 100, 0, 4, 0, 4, 0, 131, 3, 1,
	0, 2, 0, 1, 0, 83, 0, 113, 12, 87, 0, 100, 0, 4, 0, 4, 0, 131, 3, 1, 0, 110, 8, 49, 0, 115, 40, 119, 1, 1, 0, 1, 0,
	1, 0, 89, 0, 1, 0, 113, 4, 100, 0, 83, 0 };
static const unsigned char broken_11[] = { 151, 0, 116, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 1, 166, 1, 0, 0, 171, 1,
	0, 0, 0, 0, 0, 0, 0, 0, 68, 0, 93, 67, 125, 2, 116, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 0, 166, 1, 0, 0, 171, 1, 0,
	0, 0, 0, 0, 0, 0, 0, 125, 3, 9, 0, 9, 0, 116, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 3, 166, 1, 0, 0, 171, 1, 0, 0, 0,
	0, 0, 0, 0, 0, 125, 4, 110, 16, 35, 0, 116, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 36, 0, 114, 3, 1, 0, 89, 0, 110, 20,
	119, 0, 120, 3, 89, 0, 119, 1, 116, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 4, 166, 1, 0, 0, 171, 1, 0, 0, 0, 0, 0, 0,
	0, 0, 1, 0, 140, 49, 140, 68, 100, 0, 83, 0 };
static const unsigned char broken_handlers_11[] = { 163, 15, 51, 2, 179, 10, 65, 0, 5, 191, 1, 65, 0, 5 };
static const unsigned char restarted_11[] = { 151, 0, 116, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 1, 166, 1, 0, 0, 171,
	1, 0, 0, 0, 0, 0, 0, 0, 0, 68, 0, 93, 80, 125, 2, 9, 0, 116, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 3, 166, 1, 0, 0,
	171, 1, 0, 0, 0, 0, 0, 0, 0, 0, 125, 4, 110, 46, 35, 0, 116, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 36, 0, 114, 33, 1, 0,
	116, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 0, 166, 1, 0, 0, 171, 1, 0, 0, 0, 0, 0, 0, 0, 0, 125, 3, 116, 3, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 124, 3, 166, 1, 0, 0, 171, 1, 0, 0, 0, 0, 0, 0, 0, 0, 125, 4, 89, 0, 110, 4, 119, 0, 120, 3, 89,
	0, 119, 1, 116, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 4, 166, 1, 0, 0, 171, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 140, 81,
	100, 0, 83, 0 };
static const unsigned char restarted_handlers_11[] = { 147, 15, 35, 2, 163, 40, 65, 14, 5, 193, 13, 1, 65, 14, 5 };
static const unsigned char around_11[] = { 151, 0, 116, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 1, 166, 1, 0, 0, 171, 1,
	0, 0, 0, 0, 0, 0, 0, 0, 68, 0, 93, 63, 125, 2, 9, 0, 116, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 0, 166, 1, 0, 0, 171,
	1, 0, 0, 0, 0, 0, 0, 0, 0, 125, 3, 9, 0, 116, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 116, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	124, 3, 166, 1, 0, 0, 171, 1, 0, 0, 0, 0, 0, 0, 0, 0, 166, 1, 0, 0, 171, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 140, 29,
	35, 0, 116, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 36, 0, 114, 3, 1, 0, 89, 0, 140, 60, 119, 0, 120, 3, 89, 0, 119, 1, 100,
	0, 83, 0 };
static const unsigned char around_handlers_11[] = { 147, 45, 65, 0, 2, 193, 0, 10, 65, 13, 5, 193, 12, 1, 65, 13, 5 };
static const unsigned char suppressed_11[] = { 151, 0, 116, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 1, 166, 1, 0, 0,
	171, 1, 0, 0, 0, 0, 0, 0, 0, 0, 68, 0, 93, 117, 125, 2, 116, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 116, 4, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 166, 1, 0, 0, 171, 1, 0, 0, 0, 0, 0, 0, 0, 0, 53, 0, 1, 0, 116, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124,
	0, 166, 1, 0, 0, 171, 1, 0, 0, 0, 0, 0, 0, 0, 0, 125, 3, 9, 0, 116, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 166, 0, 0, 0,
	171, 0, 0, 0, 0, 0, 0, 0, 0, 0, 53, 0, 1, 0, 116, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 116, 13, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 124, 3, 166, 1, 0, 0, 171, 1, 0, 0, 0, 0, 0, 0, 0, 0, 166, 1, 0, 0, 171, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 100,
	0, 100, 0, 100, 0, 166, 2, 0, 0, 171, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 110, 11, 35, 0, 49, 0, 115, 4, 119, 2, 120, 3,
	89, 0, 119, 1, 1, 0, 89, 0, 1, 0, 1, 0, 140, 67, 35, 0, 49, 0, 115, 4, 119, 2, 120, 3, 89, 0, 119, 1, 1, 0, 89, 0, 1,
	0, 1, 0, 140, 118, 100, 0, 83, 0 };
static const unsigned char suppressed_handlers_11[] = { 166, 31, 65, 58, 5, 193, 5, 29, 65, 46, 7, 193, 34, 12, 65,
	58, 5, 193, 46, 4, 65, 50, 11, 193, 50, 3, 65, 58, 5, 193, 53, 1, 65, 50, 11, 193, 54, 4, 65, 58, 5, 193, 58, 4, 65,
	62, 9, 194, 1, 1, 65, 62, 9 };
static const unsigned char ended_11[] = { 151, 0, 116, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 1, 166, 1, 0, 0, 171, 1,
	0, 0, 0, 0, 0, 0, 0, 0, 68, 0, 93, 52, 125, 2, 9, 0, 116, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 0, 166, 1, 0, 0, 171,
	1, 0, 0, 0, 0, 0, 0, 0, 0, 125, 3, 110, 18, 35, 0, 116, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 36, 0, 114, 5, 1, 0, 89, 0,
	1, 0, 100, 0, 83, 0, 119, 0, 120, 3, 89, 0, 119, 1, 116, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 3, 166, 1, 0, 0, 171,
	1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 140, 53, 100, 0, 83, 0 };
static const unsigned char ended_handlers_11[] = { 147, 15, 35, 2, 163, 10, 50, 5, 177, 1, 50, 5 };
static const unsigned char awaited_11[] = { 75, 0, 1, 0, 151, 0, 116, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 1, 166, 1,
	0, 0, 171, 1, 0, 0, 0, 0, 0, 0, 0, 0, 68, 0, 93, 34, 125, 2, 124, 0, 50, 0, 51, 0, 100, 0, 123, 3, 86, 0, 151, 3,
	134, 4, 125, 3, 116, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 3, 166, 1, 0, 0, 171, 1, 0, 0, 0, 0, 0, 0, 0, 0, 131, 0,
	100, 0, 123, 3, 86, 0, 151, 3, 134, 4, 1, 0, 140, 29, 54, 0, 140, 35, 100, 0, 83, 0 };
static const unsigned char awaited_handlers_11[] = { 150, 6, 51, 4 };
static const unsigned char retried_11[] = { 151, 0, 116, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 0, 166, 1, 0, 0, 171,
	1, 0, 0, 0, 0, 0, 0, 0, 0, 68, 0, 93, 36, 125, 1, 9, 0, 116, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 0, 166, 1, 0, 0,
	171, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 100, 0, 83, 0, 35, 0, 116, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 36, 0, 114,
	3, 1, 0, 89, 0, 140, 33, 119, 0, 120, 3, 89, 0, 119, 1, 100, 0, 83, 0 };
static const unsigned char retried_handlers_11[] = { 147, 15, 37, 2, 165, 10, 50, 5, 177, 1, 50, 5 };
static const unsigned char returning_11[] = { 151, 0, 116, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 1, 166, 1, 0, 0, 171,
	1, 0, 0, 0, 0, 0, 0, 0, 0, 68, 0, 93, 66, 125, 2, 116, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 166, 0, 0, 0, 171, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 53, 0, 1, 0, 124, 0, 68, 0, 93, 22, 125, 3, 124, 3, 114, 18, 124, 3, 99, 2, 1, 0, 99, 2, 100, 0,
	100, 0, 100, 0, 166, 2, 0, 0, 171, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 99, 2, 1, 0, 83, 0, 140, 23, 9, 0, 100, 0, 100,
	0, 100, 0, 166, 2, 0, 0, 171, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 110, 11, 35, 0, 49, 0, 115, 4, 119, 2, 120, 3, 89, 0,
	119, 1, 1, 0, 89, 0, 1, 0, 1, 0, 140, 67, 100, 0, 83, 0 };
static const unsigned char returning_handlers_11[] = { 160, 10, 65, 7, 5, 185, 1, 65, 7, 5, 193, 7, 4, 65, 11, 9, 193,
	14, 1, 65, 11, 9 };
static const unsigned char broken_12[] = { 151, 0, 116, 1, 0, 0, 0, 0, 0, 0, 0, 0, 124, 1, 171, 1, 0, 0, 0, 0, 0, 0,
	68, 0, 93, 37, 0, 0, 125, 2, 116, 3, 0, 0, 0, 0, 0, 0, 0, 0, 124, 0, 171, 1, 0, 0, 0, 0, 0, 0, 125, 3, 9, 0, 9, 0,
	116, 5, 0, 0, 0, 0, 0, 0, 0, 0, 124, 3, 171, 1, 0, 0, 0, 0, 0, 0, 125, 4, 116, 9, 0, 0, 0, 0, 0, 0, 0, 0, 124, 4,
	171, 1, 0, 0, 0, 0, 0, 0, 1, 0, 140, 24, 4, 0, 121, 0, 35, 0, 116, 6, 0, 0, 0, 0, 0, 0, 0, 0, 36, 0, 114, 3, 1, 0,
	89, 0, 140, 52, 119, 0, 120, 3, 89, 0, 119, 1 };
static const unsigned char broken_handlers_12[] = { 156, 11, 53, 2, 181, 9, 65, 1, 5, 193, 0, 1, 65, 1, 5 };
static const unsigned char restarted_12[] = { 151, 0, 116, 1, 0, 0, 0, 0, 0, 0, 0, 0, 124, 1, 171, 1, 0, 0, 0, 0, 0,
	0, 68, 0, 93, 25, 0, 0, 125, 2, 9, 0, 116, 3, 0, 0, 0, 0, 0, 0, 0, 0, 127, 3, 171, 1, 0, 0, 0, 0, 0, 0, 125, 4, 116,
	9, 0, 0, 0, 0, 0, 0, 0, 0, 124, 4, 171, 1, 0, 0, 0, 0, 0, 0, 1, 0, 140, 27, 4, 0, 121, 0, 35, 0, 116, 4, 0, 0, 0, 0,
	0, 0, 0, 0, 36, 0, 114, 25, 1, 0, 116, 7, 0, 0, 0, 0, 0, 0, 0, 0, 124, 0, 171, 1, 0, 0, 0, 0, 0, 0, 125, 3, 116, 3,
	0, 0, 0, 0, 0, 0, 0, 0, 124, 3, 171, 1, 0, 0, 0, 0, 0, 0, 125, 4, 89, 0, 140, 47, 119, 0, 120, 3, 89, 0, 119, 1 };
static const unsigned char restarted_handlers_12[] = { 144, 11, 41, 2, 169, 31, 65, 11, 5, 193, 10, 1, 65, 11, 5 };
static const unsigned char around_12[] = { 151, 0, 116, 1, 0, 0, 0, 0, 0, 0, 0, 0, 124, 1, 171, 1, 0, 0, 0, 0, 0, 0,
	68, 0, 93, 35, 0, 0, 125, 2, 9, 0, 116, 3, 0, 0, 0, 0, 0, 0, 0, 0, 124, 0, 171, 1, 0, 0, 0, 0, 0, 0, 125, 3, 9, 0,
	116, 5, 0, 0, 0, 0, 0, 0, 0, 0, 116, 7, 0, 0, 0, 0, 0, 0, 0, 0, 124, 3, 171, 1, 0, 0, 0, 0, 0, 0, 171, 1, 0, 0, 0, 0,
	0, 0, 1, 0, 140, 21, 4, 0, 121, 0, 35, 0, 116, 8, 0, 0, 0, 0, 0, 0, 0, 0, 36, 0, 114, 3, 1, 0, 89, 0, 140, 50, 119,
	0, 120, 3, 89, 0, 119, 1 };
static const unsigned char around_handlers_12[] = { 144, 33, 51, 2, 179, 9, 63, 5, 190, 1, 63, 5 };
static const unsigned char suppressed_12[] = { 151, 0, 116, 1, 0, 0, 0, 0, 0, 0, 0, 0, 124, 1, 171, 1, 0, 0, 0, 0, 0,
	0, 68, 0, 93, 69, 0, 0, 125, 2, 116, 3, 0, 0, 0, 0, 0, 0, 0, 0, 116, 4, 0, 0, 0, 0, 0, 0, 0, 0, 171, 1, 0, 0, 0, 0,
	0, 0, 53, 0, 1, 0, 116, 7, 0, 0, 0, 0, 0, 0, 0, 0, 124, 0, 171, 1, 0, 0, 0, 0, 0, 0, 125, 3, 9, 0, 116, 9, 0, 0, 0,
	0, 0, 0, 0, 0, 171, 0, 0, 0, 0, 0, 0, 0, 53, 0, 1, 0, 116, 11, 0, 0, 0, 0, 0, 0, 0, 0, 116, 13, 0, 0, 0, 0, 0, 0, 0,
	0, 124, 3, 171, 1, 0, 0, 0, 0, 0, 0, 171, 1, 0, 0, 0, 0, 0, 0, 1, 0, 100, 0, 100, 0, 100, 0, 171, 2, 0, 0, 0, 0, 0,
	0, 1, 0, 140, 40, 4, 0, 121, 0, 35, 0, 49, 0, 115, 1, 119, 2, 1, 0, 89, 0, 1, 0, 1, 0, 140, 12, 120, 3, 89, 0, 119,
	1, 35, 0, 49, 0, 115, 1, 119, 2, 1, 0, 89, 0, 1, 0, 1, 0, 140, 94, 120, 3, 89, 0, 119, 1 };
static const unsigned char suppressed_handlers_12[] = { 158, 23, 65, 33, 5, 181, 21, 65, 21, 7, 193, 10, 9, 65, 33, 5,
	193, 21, 5, 65, 30, 11, 193, 26, 7, 65, 33, 5, 193, 33, 5, 65, 42, 9 };
static const unsigned char ended_12[] = { 151, 0, 116, 1, 0, 0, 0, 0, 0, 0, 0, 0, 124, 1, 171, 1, 0, 0, 0, 0, 0, 0,
	68, 0, 93, 25, 0, 0, 125, 2, 9, 0, 116, 3, 0, 0, 0, 0, 0, 0, 0, 0, 124, 0, 171, 1, 0, 0, 0, 0, 0, 0, 125, 3, 116, 7,
	0, 0, 0, 0, 0, 0, 0, 0, 124, 3, 171, 1, 0, 0, 0, 0, 0, 0, 1, 0, 140, 27, 4, 0, 121, 0, 35, 0, 116, 4, 0, 0, 0, 0, 0,
	0, 0, 0, 36, 0, 114, 4, 1, 0, 89, 0, 1, 0, 121, 0, 119, 0, 120, 3, 89, 0, 119, 1 };
static const unsigned char ended_handlers_12[] = { 144, 11, 41, 2, 169, 9, 54, 5, 181, 1, 54, 5 };
static const unsigned char awaited_12[] = { 75, 0, 1, 0, 151, 0, 116, 1, 0, 0, 0, 0, 0, 0, 0, 0, 124, 1, 171, 1, 0, 0,
	0, 0, 0, 0, 68, 0, 93, 32, 0, 0, 125, 2, 124, 0, 50, 0, 51, 0, 100, 0, 123, 3, 0, 0, 150, 3, 151, 3, 134, 5, 5, 0,
	125, 3, 116, 3, 0, 0, 0, 0, 0, 0, 0, 0, 124, 3, 171, 1, 0, 0, 0, 0, 0, 0, 131, 0, 100, 0, 123, 3, 0, 0, 150, 2, 151,
	3, 134, 5, 5, 0, 1, 0, 140, 29, 4, 0, 121, 0, 55, 0, 140, 26, 55, 0, 140, 9, 54, 0, 140, 42, 173, 3, 119, 1 };
static const unsigned char awaited_handlers_12[] = { 130, 17, 56, 1, 147, 4, 54, 4, 151, 1, 50, 8, 152, 3, 54, 4, 155,
	15, 56, 1, 170, 1, 52, 8, 171, 7, 56, 1, 178, 1, 54, 4, 180, 1, 56, 1, 182, 2, 56, 1 };
static const unsigned char retried_12[] = { 151, 0, 116, 1, 0, 0, 0, 0, 0, 0, 0, 0, 124, 0, 171, 1, 0, 0, 0, 0, 0, 0,
	68, 0, 93, 15, 0, 0, 125, 1, 9, 0, 116, 3, 0, 0, 0, 0, 0, 0, 0, 0, 124, 0, 171, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 121,
	0, 4, 0, 121, 0, 35, 0, 116, 4, 0, 0, 0, 0, 0, 0, 0, 0, 36, 0, 114, 3, 1, 0, 89, 0, 140, 30, 119, 0, 120, 3, 89, 0,
	119, 1 };
static const unsigned char retried_handlers_12[] = { 144, 11, 31, 2, 159, 9, 43, 5, 170, 1, 43, 5 };
static const unsigned char returning_12[] = { 151, 0, 116, 1, 0, 0, 0, 0, 0, 0, 0, 0, 124, 1, 171, 1, 0, 0, 0, 0, 0,
	0, 68, 0, 93, 46, 0, 0, 125, 2, 116, 3, 0, 0, 0, 0, 0, 0, 0, 0, 171, 0, 0, 0, 0, 0, 0, 0, 53, 0, 1, 0, 124, 0, 68, 0,
	93, 19, 0, 0, 125, 3, 124, 3, 115, 1, 140, 6, 124, 3, 99, 2, 1, 0, 99, 2, 100, 0, 100, 0, 100, 0, 171, 2, 0, 0, 0, 0,
	0, 0, 1, 0, 99, 2, 1, 0, 83, 0, 4, 0, 9, 0, 100, 0, 100, 0, 100, 0, 171, 2, 0, 0, 0, 0, 0, 0, 1, 0, 140, 48, 4, 0,
	121, 0, 35, 0, 49, 0, 115, 1, 119, 2, 1, 0, 89, 0, 1, 0, 1, 0, 140, 59, 120, 3, 89, 0, 119, 1 };
static const unsigned char returning_handlers_12[] = { 153, 8, 62, 5, 162, 3, 62, 5, 177, 1, 62, 5, 190, 5, 65, 7, 9
	};
static const unsigned char broken_13[] = { 149, 0, 91, 1, 0, 0, 0, 0, 0, 0, 0, 0, 85, 1, 53, 1, 0, 0, 0, 0, 0, 0, 19,
	0, 72, 38, 0, 0, 110, 2, 91, 3, 0, 0, 0, 0, 0, 0, 0, 0, 85, 0, 53, 1, 0, 0, 0, 0, 0, 0, 110, 3, 30, 0, 30, 0, 91, 5,
	0, 0, 0, 0, 0, 0, 0, 0, 85, 3, 53, 1, 0, 0, 0, 0, 0, 0, 110, 4, 91, 9, 0, 0, 0, 0, 0, 0, 0, 0, 85, 4, 53, 1, 0, 0, 0,
	0, 0, 0, 32, 0, 77, 25, 0, 0, 11, 0, 32, 0, 103, 0, 33, 0, 91, 6, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 97, 4, 0, 0, 32, 0,
	31, 0, 77, 56, 0, 0, 102, 0, 61, 3, 31, 0, 102, 1 };
static const unsigned char broken_handlers_13[] = { 156, 11, 55, 2, 183, 10, 65, 5, 5, 193, 4, 1, 65, 5, 5 };
static const unsigned char restarted_13[] = { 149, 0, 91, 1, 0, 0, 0, 0, 0, 0, 0, 0, 85, 1, 53, 1, 0, 0, 0, 0, 0, 0,
	19, 0, 72, 26, 0, 0, 110, 2, 30, 0, 91, 3, 0, 0, 0, 0, 0, 0, 0, 0, 87, 3, 53, 1, 0, 0, 0, 0, 0, 0, 110, 4, 91, 9, 0,
	0, 0, 0, 0, 0, 0, 0, 85, 4, 53, 1, 0, 0, 0, 0, 0, 0, 32, 0, 77, 28, 0, 0, 11, 0, 32, 0, 103, 0, 33, 0, 91, 4, 0, 0,
	0, 0, 0, 0, 0, 0, 7, 0, 97, 25, 0, 0, 32, 0, 91, 7, 0, 0, 0, 0, 0, 0, 0, 0, 85, 0, 53, 1, 0, 0, 0, 0, 0, 0, 110, 3,
	91, 3, 0, 0, 0, 0, 0, 0, 0, 0, 85, 3, 53, 1, 0, 0, 0, 0, 0, 0, 110, 4, 31, 0, 78, 50, 102, 0, 61, 3, 31, 0, 102, 1 };
static const unsigned char restarted_handlers_13[] = { 144, 11, 43, 2, 171, 32, 65, 14, 5, 193, 13, 1, 65, 14, 5 };
static const unsigned char around_13[] = { 149, 0, 91, 1, 0, 0, 0, 0, 0, 0, 0, 0, 85, 1, 53, 1, 0, 0, 0, 0, 0, 0, 19,
	0, 72, 36, 0, 0, 110, 2, 30, 0, 91, 3, 0, 0, 0, 0, 0, 0, 0, 0, 85, 0, 53, 1, 0, 0, 0, 0, 0, 0, 110, 3, 30, 0, 91, 5,
	0, 0, 0, 0, 0, 0, 0, 0, 91, 7, 0, 0, 0, 0, 0, 0, 0, 0, 85, 3, 53, 1, 0, 0, 0, 0, 0, 0, 53, 1, 0, 0, 0, 0, 0, 0, 32,
	0, 77, 22, 0, 0, 11, 0, 32, 0, 103, 0, 33, 0, 91, 8, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 97, 4, 0, 0, 32, 0, 31, 0, 77, 54,
	0, 0, 102, 0, 61, 3, 31, 0, 102, 1 };
static const unsigned char around_handlers_13[] = { 144, 34, 53, 2, 181, 10, 65, 3, 5, 193, 2, 1, 65, 3, 5 };
static const unsigned char suppressed_13[] = { 149, 0, 91, 1, 0, 0, 0, 0, 0, 0, 0, 0, 85, 1, 53, 1, 0, 0, 0, 0, 0, 0,
	19, 0, 72, 70, 0, 0, 110, 2, 91, 3, 0, 0, 0, 0, 0, 0, 0, 0, 91, 4, 0, 0, 0, 0, 0, 0, 0, 0, 53, 1, 0, 0, 0, 0, 0, 0,
	2, 0, 32, 0, 91, 7, 0, 0, 0, 0, 0, 0, 0, 0, 85, 0, 53, 1, 0, 0, 0, 0, 0, 0, 110, 3, 30, 0, 91, 9, 0, 0, 0, 0, 0, 0,
	0, 0, 53, 0, 0, 0, 0, 0, 0, 0, 2, 0, 32, 0, 91, 11, 0, 0, 0, 0, 0, 0, 0, 0, 91, 13, 0, 0, 0, 0, 0, 0, 0, 0, 85, 3,
	53, 1, 0, 0, 0, 0, 0, 0, 53, 1, 0, 0, 0, 0, 0, 0, 32, 0, 83, 0, 83, 0, 83, 0, 53, 2, 0, 0, 0, 0, 0, 0, 32, 0, 77, 41,
	0, 0, 11, 0, 32, 0, 103, 0, 33, 0, 44, 0, 40, 0, 0, 0, 0, 0, 0, 0, 100, 1, 0, 0, 102, 2, 32, 0, 31, 0, 32, 0, 32, 0,
	78, 19, 61, 3, 31, 0, 102, 1, 33, 0, 44, 0, 40, 0, 0, 0, 0, 0, 0, 0, 100, 1, 0, 0, 102, 2, 32, 0, 31, 0, 32, 0, 32,
	0, 77, 107, 0, 0, 61, 3, 31, 0, 102, 1 };
static const unsigned char suppressed_handlers_13[] = { 158, 23, 65, 40, 5, 181, 21, 65, 23, 7, 193, 10, 10, 65, 40,
	5, 193, 23, 10, 65, 37, 11, 193, 33, 7, 65, 40, 5, 193, 40, 10, 65, 55, 9 };
static const unsigned char ended_13[] = { 149, 0, 91, 1, 0, 0, 0, 0, 0, 0, 0, 0, 85, 1, 53, 1, 0, 0, 0, 0, 0, 0, 19,
	0, 72, 26, 0, 0, 110, 2, 30, 0, 91, 3, 0, 0, 0, 0, 0, 0, 0, 0, 85, 0, 53, 1, 0, 0, 0, 0, 0, 0, 110, 3, 91, 7, 0, 0,
	0, 0, 0, 0, 0, 0, 85, 3, 53, 1, 0, 0, 0, 0, 0, 0, 32, 0, 77, 28, 0, 0, 11, 0, 32, 0, 103, 0, 33, 0, 91, 4, 0, 0, 0,
	0, 0, 0, 0, 0, 7, 0, 97, 4, 0, 0, 32, 0, 31, 0, 32, 0, 103, 0, 102, 0, 61, 3, 31, 0, 102, 1 };
static const unsigned char ended_handlers_13[] = { 144, 11, 43, 2, 171, 10, 57, 5, 184, 1, 57, 5 };
static const unsigned char awaited_13[] = { 35, 0, 32, 0, 149, 0, 91, 1, 0, 0, 0, 0, 0, 0, 0, 0, 85, 1, 53, 1, 0, 0,
	0, 0, 0, 0, 19, 0, 72, 33, 0, 0, 110, 2, 85, 0, 16, 0, 18, 0, 83, 0, 104, 3, 0, 0, 118, 1, 149, 3, 78, 5, 12, 0, 110,
	3, 91, 3, 0, 0, 0, 0, 0, 0, 0, 0, 85, 3, 53, 1, 0, 0, 0, 0, 0, 0, 73, 0, 83, 0, 104, 3, 0, 0, 118, 1, 149, 3, 78, 5,
	12, 0, 32, 0, 77, 30, 0, 0, 11, 0, 32, 0, 103, 0, 8, 0, 78, 28, 8, 0, 78, 11, 10, 0, 77, 45, 0, 0, 55, 3, 102, 1 };
static const unsigned char awaited_handlers_13[] = { 130, 17, 59, 1, 147, 4, 56, 4, 151, 1, 52, 8, 152, 3, 56, 4, 155,
	15, 59, 1, 170, 1, 54, 8, 171, 9, 59, 1, 180, 1, 56, 4, 182, 1, 59, 1, 184, 3, 59, 1 };
static const unsigned char retried_13[] = { 149, 0, 91, 1, 0, 0, 0, 0, 0, 0, 0, 0, 85, 0, 53, 1, 0, 0, 0, 0, 0, 0, 19,
	0, 72, 15, 0, 0, 110, 1, 30, 0, 91, 3, 0, 0, 0, 0, 0, 0, 0, 0, 85, 0, 53, 1, 0, 0, 0, 0, 0, 0, 32, 0, 32, 0, 103, 0,
	11, 0, 32, 0, 103, 0, 33, 0, 91, 4, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 97, 4, 0, 0, 32, 0, 31, 0, 77, 33, 0, 0, 102, 0,
	61, 3, 31, 0, 102, 1 };
static const unsigned char retried_handlers_13[] = { 144, 11, 32, 2, 160, 10, 46, 5, 173, 1, 46, 5 };
static const unsigned char returning_13[] = { 149, 0, 91, 1, 0, 0, 0, 0, 0, 0, 0, 0, 85, 1, 53, 1, 0, 0, 0, 0, 0, 0,
	19, 0, 72, 53, 0, 0, 110, 2, 91, 3, 0, 0, 0, 0, 0, 0, 0, 0, 53, 0, 0, 0, 0, 0, 0, 0, 2, 0, 32, 0, 85, 0, 19, 0, 72,
	25, 0, 0, 110, 3, 85, 3, 40, 0, 0, 0, 0, 0, 0, 0, 100, 2, 0, 0, 77, 12, 0, 0, 85, 3, 115, 2, 32, 0, 115, 2, 83, 0,
	83, 0, 83, 0, 53, 2, 0, 0, 0, 0, 0, 0, 32, 0, 115, 2, 32, 0, 36, 0, 11, 0, 32, 0, 83, 0, 83, 0, 83, 0, 53, 2, 0, 0,
	0, 0, 0, 0, 32, 0, 77, 55, 0, 0, 11, 0, 32, 0, 103, 0, 33, 0, 44, 0, 40, 0, 0, 0, 0, 0, 0, 0, 100, 1, 0, 0, 102, 2,
	32, 0, 31, 0, 32, 0, 32, 0, 77, 73, 0, 0, 61, 3, 31, 0, 102, 1 };
static const unsigned char returning_handlers_13[] = { 153, 11, 65, 6, 5, 168, 3, 65, 6, 5, 183, 2, 65, 6, 5, 193, 6,
	10, 65, 21, 9 };
/* clang-format on */

struct function {
	struct py_code_bytes instructions, handlers;
};

#define BYTES(name) \
	{ \
		name, sizeof name \
	}
#define OLD(name, minor) \
	{ \
		BYTES(name##_##minor), { NULL, 0 } \
	}
#define NEW(name, minor) \
	{ \
		BYTES(name##_##minor), BYTES(name##_handlers_##minor) \
	}
#define ALL(FORM, minor) \
	{ \
		minor, FORM(broken, minor), FORM(restarted, minor), FORM(around, minor), FORM(suppressed, minor), \
			FORM(ended, minor), FORM(awaited, minor), FORM(retried, minor), FORM(returning, minor) \
	}

static const struct functions {
	unsigned minor;
	struct function broken, restarted, around, suppressed, ended, awaited, retried, returning;
} functions[] = { ALL(OLD, 8), ALL(OLD, 10), ALL(NEW, 11), ALL(NEW, 12), ALL(NEW, 13) };
enum { VERSIONS = sizeof functions / sizeof *functions };

static struct py_bytecode code;

static void parse(unsigned minor, const struct function *of)
{
	ck_assert(py_bytecode_parse(minor, of->instructions, of->handlers, &code));
}

/* The loop at this depth; a coroutine waits in others. */
static const struct py_code_loop *only_loop(unsigned depth)
{
	const struct py_code_loop *found = NULL;
	for (size_t i = 0; i < code.loop_count; i++) {
		const struct py_code_loop *loop = &code.loops[i];
		if (loop->is_delegation || loop->depth != depth)
			continue;
		ck_assert_ptr_null(found);
		found = loop;
	}
	ck_assert_ptr_nonnull(found);
	return found;
}

static void check_nesting(const struct py_code_loop *outer, const struct py_code_loop *inner)
{
	ck_assert(outer->is_for);
	ck_assert_ptr_eq(&code.loops[inner->parent], outer);
	ck_assert(py_bytecode_is_in(&code, inner->offset, (int)(outer - code.loops)));
	ck_assert(py_bytecode_is_in(&code, inner->offset_back, (int)(inner - code.loops)));
	for (size_t i = 0; i < code.loop_count; i++)
		ck_assert_uint_lt(code.loops[i].depth, 2 + code.loops[i].is_delegation);
}

START_TEST(a_loop_that_a_handler_breaks_is_in_the_one_around_it)
{
	parse(functions[_i].minor, &functions[_i].broken);
	check_nesting(only_loop(0), only_loop(1));
	ck_assert(!only_loop(1)->is_for && !only_loop(0)->has_break);
	py_bytecode_release(&code);
}
END_TEST

/* A handler that goes on behind its `try` makes no loop. */
START_TEST(a_handler_within_a_loop_is_part_of_it)
{
	parse(functions[_i].minor, &functions[_i].restarted);
	ck_assert_uint_eq(code.loop_count, 1);
	ck_assert(only_loop(0)->is_for && !only_loop(0)->has_break);
	py_bytecode_release(&code);
}
END_TEST

START_TEST(a_handler_that_breaks_is_a_break)
{
	parse(functions[_i].minor, &functions[_i].ended);
	ck_assert_uint_eq(code.loop_count, 1);
	ck_assert(only_loop(0)->is_for && only_loop(0)->has_break);
	py_bytecode_release(&code);
}
END_TEST

START_TEST(a_loop_that_an_exception_ends_is_in_the_one_around_its_try)
{
	parse(functions[_i].minor, &functions[_i].around);
	check_nesting(only_loop(0), only_loop(1));
	ck_assert(!only_loop(1)->is_for);
	py_bytecode_release(&code);
}
END_TEST

START_TEST(a_loop_whose_exception_a_with_suppresses_is_in_the_one_around_it)
{
	parse(functions[_i].minor, &functions[_i].suppressed);
	check_nesting(only_loop(0), only_loop(1));
	py_bytecode_release(&code);
}
END_TEST

START_TEST(an_async_for_is_in_the_loop_around_it)
{
	parse(functions[_i].minor, &functions[_i].awaited);
	check_nesting(only_loop(0), only_loop(1));
	ck_assert(!only_loop(1)->has_break);
	py_bytecode_release(&code);
}
END_TEST

START_TEST(a_with_around_a_loop_that_returns_changes_nothing)
{
	parse(functions[_i].minor, &functions[_i].returning);
	check_nesting(only_loop(0), only_loop(1));
	ck_assert(only_loop(1)->is_for && only_loop(1)->has_break);
	py_bytecode_release(&code);
}
END_TEST

/* What a `try` does once and then leaves the loop is no part of it. */
START_TEST(what_is_only_tried_again_is_no_part_of_a_loop)
{
	const struct function *retried = &functions[_i].retried;
	parse(functions[_i].minor, retried);
	ck_assert(only_loop(0)->is_for && only_loop(0)->has_break);
	size_t inside = 0;
	for (size_t at = 0; at < retried->instructions.size; at += 2)
		inside += py_bytecode_loop_at(&code, (int64_t)at) != PY_NO_LOOP;
	ck_assert_uint_lt(inside, retried->instructions.size / 2);
	py_bytecode_release(&code);
}
END_TEST

START_TEST(a_table_that_is_none_is_refused)
{
	/* its end is missing; behind the code; into the middle of an instruction; not in order; numbers without end */
	static const unsigned char cut[] = { 0x80 | 2, 4, 9 }, outside[] = { 0x80 | 2, 0x7f, 0x7f, 1, 9, 0 },
							   middle[] = { 0x80 | 2, 4, 3, 0 }, disorder[] = { 0x80 | 4, 4, 2, 0, 0x80 | 2, 4, 2, 0 },
							   endless[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	static const struct py_code_bytes tables[] = { BYTES(cut), BYTES(outside), BYTES(middle), BYTES(disorder),
		BYTES(endless) };
	const struct function *broken = &functions[2].broken;
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
		ck_assert(!py_bytecode_parse(11, broken->instructions, tables[i], &code));
}
END_TEST

/* The sanitizers check that the parser stays within what it was given. */
START_TEST(random_tables_do_no_harm)
{
	const struct functions *of = &functions[_i];
	unsigned char table[64];
	unsigned seed = 1 + (unsigned)_i, parsed = 0;
	for (unsigned round = 0; round < 3000; round++) {
		size_t size = of->suppressed.handlers.size < sizeof table ? of->suppressed.handlers.size : sizeof table;
		if (size)
			memcpy(table, of->suppressed.handlers.bytes, size);
		for (unsigned i = 0; size && i < (round % 2 ? 2 : size); i++)
			table[(unsigned)rand_r(&seed) % size] = (unsigned char)rand_r(&seed);
		if (!py_bytecode_parse(of->minor, of->suppressed.instructions, (struct py_code_bytes){ table, size }, &code))
			continue;
		parsed++;
		for (size_t i = 0; i < code.loop_count; i++)
			ck_assert_int_lt(code.loops[i].parent, (int)i);
		py_bytecode_release(&code);
	}
	ck_assert_uint_gt(parsed, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("py handlers");
	TCase *tests = tcase_create("py handlers");
	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, a_loop_that_a_handler_breaks_is_in_the_one_around_it, 0, VERSIONS);
	tcase_add_loop_test(tests, a_handler_within_a_loop_is_part_of_it, 0, VERSIONS);
	tcase_add_loop_test(tests, a_handler_that_breaks_is_a_break, 0, VERSIONS);
	tcase_add_loop_test(tests, a_loop_that_an_exception_ends_is_in_the_one_around_its_try, 0, VERSIONS);
	tcase_add_loop_test(tests, a_loop_whose_exception_a_with_suppresses_is_in_the_one_around_it, 0, VERSIONS);
	tcase_add_loop_test(tests, an_async_for_is_in_the_loop_around_it, 0, VERSIONS);
	tcase_add_loop_test(tests, a_with_around_a_loop_that_returns_changes_nothing, 0, VERSIONS);
	tcase_add_loop_test(tests, what_is_only_tried_again_is_no_part_of_a_loop, 0, VERSIONS);
	tcase_add_test(tests, a_table_that_is_none_is_refused);
	tcase_add_loop_test(tests, random_tables_do_no_harm, 0, VERSIONS);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
