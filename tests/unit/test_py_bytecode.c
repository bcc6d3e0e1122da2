/* Loops in the instructions of CPython 3.8 to 3.13, specialized as in a running process; and bytes that are none.
 * tests/terminal/loops.py reads real ones. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "src/sources/python/code/py_instructions.h"
#include "src/sources/python/loops/py_bytecode.h"
#include "tests/support/suite.h"

/* def train(items):                         def batches(n):                  def odd(n):                  def
 * delegating(x): step = 0                                  for i in range(0, n, 4):         for i in range(n): yield
 * from x for i, x in enumerate(items, 1):              yield i                          if i % 2: with open(x) as f:
 * yield -1                                 yield i for y in range(10): try: step += y except ValueError: continue while
 * step < 1000000: step += 300000 return step */
static const unsigned char train_8[] = { 100, 1, 125, 1, 116, 0, 124, 0, 100, 2, 131, 2, 68, 0, 93, 80, 92, 2, 125, 2,
	125, 3, 116, 1, 124, 3, 131, 1, 143, 58, 125, 4, 116, 2, 100, 3, 131, 1, 68, 0, 93, 42, 125, 5, 122, 12, 124, 1,
	124, 5, 55, 0, 125, 1, 87, 0, 113, 40, 4, 0, 116, 3, 107, 10, 114, 80, 1, 0, 1, 0, 1, 0, 89, 0, 113, 40, 89, 0, 113,
	40, 88, 0, 113, 40, 87, 0, 53, 0, 81, 0, 82, 0, 88, 0, 113, 14, 124, 1, 100, 4, 107, 0, 114, 114, 124, 1, 100, 5,
	55, 0, 125, 1, 113, 96, 124, 1, 83, 0 };
static const unsigned char batches_8[] = { 116, 0, 100, 1, 124, 0, 100, 2, 131, 3, 68, 0, 93, 10, 125, 1, 124, 1, 86, 0,
	1, 0, 113, 12, 100, 3, 86, 0, 1, 0, 100, 0, 83, 0 };
static const unsigned char odd_8[] = { 116, 0, 124, 0, 131, 1, 68, 0, 93, 18, 125, 1, 124, 1, 100, 1, 22, 0, 114, 8,
	124, 1, 86, 0, 1, 0, 113, 8, 100, 0, 83, 0 };
static const unsigned char delegating_8[] = { 124, 0, 69, 0, 100, 0, 72, 0, 1, 0, 100, 0, 83, 0 };
static const unsigned char train_10[] = { 100, 1, 125, 1, 116, 0, 124, 0, 100, 2, 131, 2, 68, 0, 93, 46, 92, 2, 125, 2,
	125, 3, 116, 1, 124, 3, 131, 1, 143, 30, 125, 4, 116, 2, 100, 3, 131, 1, 68, 0, 93, 17, 125, 5, 122, 6, 124, 1, 124,
	5, 55, 0, 125, 1, 87, 0, 113, 20, 4, 0, 116, 3, 121, 37, 1, 0, 1, 0, 1, 0, 89, 0, 113, 20, 119, 0, 87, 0, 100, 0, 4,
	0, 4, 0, 131, 3, 1, 0, 110, 8, 49, 0, 115, 48, 119, 1, 1, 0, 1, 0, 1, 0, 89, 0, 1, 0, 113, 7, 124, 1, 100, 4, 107,
	0, 114, 66, 124, 1, 100, 5, 55, 0, 125, 1, 124, 1, 100, 4, 107, 0, 115, 58, 124, 1, 83, 0 };
static const unsigned char batches_10[] = { 129, 0, 116, 0, 100, 1, 124, 0, 100, 2, 131, 3, 68, 0, 93, 5, 125, 1, 124,
	1, 86, 0, 1, 0, 113, 7, 100, 3, 86, 0, 1, 0, 100, 0, 83, 0 };
static const unsigned char odd_10[] = { 129, 0, 116, 0, 124, 0, 131, 1, 68, 0, 93, 9, 125, 1, 124, 1, 100, 1, 22, 0,
	114, 14, 124, 1, 86, 0, 1, 0, 113, 5, 100, 0, 83, 0 };
static const unsigned char delegating_10[] = { 129, 0, 124, 0, 69, 0, 100, 0, 72, 0, 1, 0, 100, 0, 83, 0 };
static const unsigned char train_11[] = { 150, 0, 100, 1, 125, 1, 48, 1, 53, 0, 61, 0, 77, 0, 0, 0, 71, 0, 45, 0, 100,
	2, 66, 2, 53, 0, 22, 2, 0, 0, 0, 0, 0, 0, 0, 0, 68, 0, 93, 85, 180, 2, 53, 0, 167, 2, 125, 3, 55, 3, 53, 0, 18, 0,
	77, 0, 0, 0, 0, 0, 124, 3, 143, 1, 53, 0, 23, 1, 53, 0, 102, 0, 0, 0, 1, 0, 53, 0, 125, 4, 48, 5, 53, 0, 70, 0, 77,
	0, 0, 0, 71, 0, 100, 3, 66, 1, 53, 0, 22, 1, 0, 0, 0, 0, 0, 0, 0, 0, 68, 0, 93, 24, 125, 5, 9, 0, 46, 1, 124, 5, 5,
	13, 53, 0, 125, 1, 38, 9, 35, 0, 47, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 36, 0, 114, 3, 1, 0, 89, 0, 38, 21, 119, 0,
	120, 3, 89, 0, 119, 1, 9, 0, 100, 0, 100, 0, 100, 0, 65, 2, 29, 0, 22, 2, 74, 52, 0, 0, 0, 0, 0, 0, 1, 0, 110, 11,
	35, 0, 49, 0, 115, 4, 119, 2, 120, 3, 89, 0, 119, 1, 1, 0, 89, 0, 1, 0, 1, 0, 38, 86, 45, 1, 100, 4, 28, 0, 53, 0,
	6, 0, 114, 11, 45, 1, 100, 5, 5, 13, 53, 0, 161, 1, 45, 1, 100, 4, 28, 0, 53, 0, 8, 0, 176, 11, 124, 1, 83, 0 };
static const unsigned char batches_11[] = { 75, 0, 1, 0, 150, 0, 48, 1, 53, 0, 70, 0, 77, 0, 0, 0, 71, 0, 44, 1, 45, 0,
	100, 2, 66, 3, 53, 0, 22, 3, 0, 0, 0, 0, 0, 0, 0, 0, 68, 0, 93, 6, 161, 1, 124, 1, 86, 0, 150, 1, 1, 0, 38, 7, 100,
	3, 86, 0, 150, 1, 1, 0, 100, 0, 83, 0 };
static const unsigned char odd_11[] = { 75, 0, 1, 0, 150, 0, 48, 1, 53, 0, 70, 0, 77, 0, 0, 0, 71, 0, 124, 0, 66, 1, 53,
	0, 22, 1, 0, 0, 0, 0, 0, 0, 0, 0, 68, 0, 93, 11, 161, 1, 45, 1, 100, 1, 122, 6, 0, 0, 114, 4, 124, 1, 86, 0, 150, 1,
	1, 0, 38, 12, 100, 0, 83, 0 };
static const unsigned char delegating_11[] = { 75, 0, 1, 0, 150, 0, 124, 0, 69, 0, 100, 0, 123, 3, 86, 0, 150, 2, 134,
	4, 1, 0, 100, 0, 83, 0 };
static const unsigned char train_12[] = { 151, 0, 100, 1, 125, 1, 111, 1, 64, 3, 61, 0, 47, 0, 40, 0, 86, 0, 100, 2, 29,
	2, 64, 3, 0, 0, 0, 0, 68, 0, 93, 48, 138, 48, 167, 2, 64, 3, 158, 2, 125, 3, 112, 3, 64, 3, 18, 0, 47, 0, 0, 0, 124,
	3, 23, 1, 64, 3, 31, 3, 0, 0, 53, 0, 125, 4, 111, 5, 64, 3, 70, 0, 47, 0, 40, 0, 100, 3, 29, 1, 64, 3, 0, 0, 0, 0,
	68, 0, 64, 8, 64, 3, 125, 5, 9, 0, 88, 1, 124, 5, 7, 13, 64, 3, 125, 1, 140, 10, 4, 0, 9, 0, 100, 0, 100, 0, 100, 0,
	171, 2, 74, 52, 0, 0, 0, 0, 1, 0, 140, 50, 4, 0, 86, 1, 100, 4, 58, 2, 64, 3, 114, 11, 86, 1, 100, 5, 7, 13, 64, 3,
	154, 1, 86, 1, 100, 4, 58, 2, 64, 3, 114, 1, 140, 11, 124, 1, 83, 0, 35, 0, 116, 6, 17, 0, 0, 0, 0, 0, 0, 0, 36, 0,
	114, 3, 1, 0, 89, 0, 140, 51, 119, 0, 120, 3, 89, 0, 119, 1, 35, 0, 49, 0, 115, 1, 119, 2, 1, 0, 89, 0, 1, 0, 1, 0,
	140, 93, 120, 3, 89, 0, 119, 1 };
static const unsigned char batches_12[] = { 75, 0, 1, 0, 151, 0, 111, 1, 64, 3, 70, 0, 47, 0, 40, 0, 84, 1, 86, 0, 100,
	2, 29, 3, 64, 3, 0, 0, 0, 0, 68, 0, 64, 6, 64, 3, 154, 1, 124, 1, 150, 1, 151, 1, 1, 0, 140, 8, 4, 0, 100, 3, 150,
	1, 151, 1, 1, 0, 121, 0, 173, 3, 119, 1 };
static const unsigned char odd_12[] = { 75, 0, 1, 0, 151, 0, 111, 1, 64, 3, 70, 0, 47, 0, 40, 0, 124, 0, 29, 1, 64, 3,
	0, 0, 0, 0, 68, 0, 64, 12, 64, 3, 154, 1, 86, 1, 100, 1, 122, 6, 44, 136, 115, 1, 140, 9, 124, 1, 150, 1, 151, 1, 1,
	0, 140, 14, 4, 0, 121, 0, 173, 3, 119, 1 };
static const unsigned char delegating_12[] = { 75, 0, 1, 0, 151, 0, 124, 0, 69, 0, 100, 0, 123, 3, 217, 25, 150, 2, 151,
	2, 134, 5, 5, 0, 1, 0, 121, 0, 55, 0, 140, 5, 173, 3, 119, 1 };
static const unsigned char train_13[] = { 207, 0, 83, 1, 110, 1, 203, 1, 64, 3, 47, 0, 42, 0, 61, 0, 85, 0, 83, 2, 165,
	2, 64, 3, 0, 0, 0, 0, 19, 0, 72, 48, 138, 48, 222, 2, 64, 3, 112, 35, 204, 3, 64, 3, 47, 0, 0, 0, 18, 0, 85, 3, 177,
	1, 64, 3, 236, 2, 0, 0, 2, 0, 110, 4, 203, 5, 64, 3, 47, 0, 42, 0, 70, 0, 83, 3, 165, 1, 64, 3, 0, 0, 0, 0, 19, 0,
	189, 8, 64, 3, 110, 5, 30, 0, 88, 21, 151, 13, 64, 3, 110, 1, 77, 10, 4, 1, 11, 0, 32, 0, 83, 0, 83, 0, 83, 0, 164,
	2, 16, 3, 234, 2, 0, 0, 32, 0, 77, 50, 4, 1, 11, 0, 32, 0, 85, 1, 83, 4, 183, 18, 64, 3, 97, 13, 0, 0, 85, 1, 83, 5,
	151, 13, 64, 3, 110, 1, 85, 1, 83, 4, 183, 18, 64, 3, 97, 2, 17, 17, 77, 13, 4, 1, 85, 1, 36, 0, 33, 0, 91, 6, 17,
	0, 0, 0, 0, 0, 0, 0, 7, 0, 97, 4, 85, 85, 32, 0, 31, 0, 77, 58, 4, 1, 102, 0, 61, 3, 31, 0, 102, 1, 33, 0, 44, 0,
	40, 0, 17, 0, 0, 0, 0, 0, 100, 1, 85, 85, 102, 2, 32, 0, 31, 0, 32, 0, 32, 0, 77, 105, 4, 1, 61, 3, 31, 0, 102, 1 };
static const unsigned char batches_13[] = { 35, 0, 32, 0, 207, 0, 203, 1, 64, 3, 47, 0, 42, 0, 70, 0, 83, 1, 85, 0, 83,
	2, 165, 3, 64, 3, 0, 0, 0, 0, 19, 0, 189, 7, 64, 3, 110, 1, 85, 1, 118, 0, 207, 5, 32, 0, 77, 9, 4, 1, 11, 0, 32, 0,
	83, 3, 118, 0, 207, 5, 32, 0, 103, 0, 55, 3, 102, 1 };
static const unsigned char odd_13[] = { 35, 0, 32, 0, 207, 0, 203, 1, 64, 3, 47, 0, 42, 0, 70, 0, 85, 0, 165, 1, 64, 3,
	0, 0, 0, 0, 19, 0, 189, 19, 64, 3, 110, 1, 85, 1, 83, 1, 45, 6, 44, 136, 216, 0, 64, 3, 0, 0, 0, 0, 100, 2, 85, 85,
	77, 15, 4, 1, 85, 1, 118, 0, 207, 5, 32, 0, 77, 21, 4, 1, 11, 0, 32, 0, 103, 0, 55, 3, 102, 1 };
static const unsigned char delegating_13[] = { 35, 0, 32, 0, 207, 0, 85, 0, 21, 0, 83, 0, 104, 3, 217, 25, 118, 1, 207,
	2, 78, 5, 12, 0, 32, 0, 103, 0, 8, 0, 78, 5, 55, 3, 102, 1 };

#define FUNCTIONS(minor) \
	{ \
		minor, { train_##minor, sizeof train_##minor }, { batches_##minor, sizeof batches_##minor }, \
			{ odd_##minor, sizeof odd_##minor }, \
		{ \
			delegating_##minor, sizeof delegating_##minor \
		} \
	}

static const struct functions {
	unsigned minor;
	struct py_code_bytes train, batches, odd, delegating;
} functions[] = { FUNCTIONS(8), FUNCTIONS(10), FUNCTIONS(11), FUNCTIONS(12), FUNCTIONS(13) };
enum { VERSIONS = sizeof functions / sizeof *functions };

static struct py_bytecode code;
static const struct py_code_bytes no_handlers;

static void parse(unsigned minor, const struct py_code_bytes *of)
{
	ck_assert(py_bytecode_parse(minor, *of, no_handlers, &code));
}

/* The loops of `train` in the order of their instructions. */
static const struct py_code_loop *nth_loop(size_t n)
{
	const struct py_code_loop *sorted[PY_CODE_LOOPS_MAX];
	for (size_t i = 0; i < code.loop_count; i++) {
		size_t at = i;
		for (; at > 0 && sorted[at - 1]->offset > code.loops[i].offset; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = &code.loops[i];
	}
	ck_assert_uint_lt(n, code.loop_count);
	return sorted[n];
}

START_TEST(loops_have_their_kind_and_nesting)
{
	parse(functions[_i].minor, &functions[_i].train);
	ck_assert_uint_eq(code.loop_count, 3);
	const struct py_code_loop *outer = nth_loop(0), *inner = nth_loop(1), *last = nth_loop(2);
	ck_assert(outer->is_for && inner->is_for && !last->is_for);
	ck_assert_uint_eq(outer->depth, 0);
	ck_assert_uint_eq(inner->depth, 1);
	ck_assert_uint_eq(last->depth, 0);
	ck_assert_ptr_eq(&code.loops[inner->parent], outer);
	ck_assert_int_eq(last->parent, PY_NO_LOOP);
	py_bytecode_release(&code);
}
END_TEST

/* Each instruction from the inner loop's first to the next one's is in the inner loop or leaves it. */
START_TEST(instructions_are_in_their_loops)
{
	parse(functions[_i].minor, &functions[_i].train);
	const struct py_code_loop *outer = nth_loop(0), *inner = nth_loop(1);
	int outer_number = (int)(outer - code.loops), inner_number = (int)(inner - code.loops);
	ck_assert_int_eq(py_bytecode_loop_at(&code, 0), PY_NO_LOOP);
	ck_assert_int_eq(py_bytecode_loop_at(&code, -2), PY_NO_LOOP);
	ck_assert_int_eq(py_bytecode_loop_at(&code, (int64_t)functions[_i].train.size), PY_NO_LOOP);
	ck_assert_int_eq(py_bytecode_loop_at(&code, outer->offset), outer_number);
	ck_assert_int_eq(py_bytecode_loop_at(&code, outer->offset_end), outer_number);
	ck_assert_int_eq(py_bytecode_loop_at(&code, inner->offset), inner_number);
	ck_assert_int_eq(py_bytecode_loop_at(&code, inner->offset_end), inner_number);
	ck_assert(py_bytecode_is_in(&code, inner->offset, outer_number));
	ck_assert(!py_bytecode_is_in(&code, outer->offset, inner_number));
	py_bytecode_release(&code);
}
END_TEST

START_TEST(calls_that_are_iterated_are_understood)
{
	parse(functions[_i].minor, &functions[_i].train);
	const struct py_iterated *outer = &nth_loop(0)->iterated, *inner = &nth_loop(1)->iterated;
	ck_assert_uint_ne(outer->callee, PY_NO_INDEX);
	ck_assert_uint_ne(inner->callee, outer->callee);
	ck_assert_uint_eq(outer->argument_count, 2);
	ck_assert_uint_eq(outer->first, PY_NO_INDEX);
	ck_assert_uint_ne(outer->last, PY_NO_INDEX);
	ck_assert_uint_eq(inner->argument_count, 1);
	ck_assert_uint_eq(inner->first, inner->last);
	ck_assert_uint_ne(inner->last, PY_NO_INDEX);
	py_bytecode_release(&code);
}
END_TEST

/* `step` is assigned in the inner loop and in the last one; i, x, f and y once each. */
START_TEST(assignments_belong_to_the_innermost_loop)
{
	unsigned sums = 0, inner = 0, last = 0;
	parse(functions[_i].minor, &functions[_i].train);
	for (size_t i = 0; i < code.store_count; i++) {
		ck_assert_int_eq(code.stores[i].role, PY_ROLE_STORE_FAST);
		sums += code.stores[i].is_sum;
		inner += &code.loops[code.stores[i].loop] == nth_loop(1);
		last += &code.loops[code.stores[i].loop] == nth_loop(2);
	}
	ck_assert_uint_eq(code.store_count, 6);
	ck_assert_uint_eq(sums, 2);
	ck_assert_uint_eq(inner, 2);
	ck_assert_uint_eq(last, 1);
	py_bytecode_release(&code);
}
END_TEST

/* Not `step`, which is a sum, and assigned by a loop inside. */
START_TEST(what_each_iteration_assigns_is_known)
{
	parse(functions[_i].minor, &functions[_i].train);
	const struct py_code_loop *outer = nth_loop(0), *inner = nth_loop(1);
	ck_assert_uint_lt(outer->assigned, code.store_count);
	ck_assert_uint_lt(inner->assigned, code.store_count);
	ck_assert_ptr_eq(&code.loops[code.stores[outer->assigned].loop], outer);
	ck_assert_uint_eq(code.stores[outer->assigned].index, 2);
	ck_assert_uint_eq(code.stores[inner->assigned].index, 5);
	ck_assert_uint_eq(nth_loop(2)->assigned, PY_STORES_MAX);
	py_bytecode_release(&code);
}
END_TEST

START_TEST(a_loop_that_yields_once_each_time_is_known)
{
	parse(functions[_i].minor, &functions[_i].batches);
	ck_assert_uint_eq(code.loop_count, 1);
	ck_assert(code.loops[0].yields_once && code.loops[0].iterated.argument_count == 3);
	ck_assert(!code.is_after_yield[code.loops[0].offset_end / 2]);
	py_bytecode_release(&code);
	parse(functions[_i].minor, &functions[_i].odd);
	ck_assert_uint_eq(code.loop_count, 1);
	ck_assert(!code.loops[0].yields_once);
	py_bytecode_release(&code);
}
END_TEST

START_TEST(a_delegation_is_no_loop_of_its_own_depth)
{
	parse(functions[_i].minor, &functions[_i].delegating);
	ck_assert_uint_eq(code.loop_count, 1);
	ck_assert(code.loops[0].is_delegation && code.loops[0].is_first_delegation && !code.loops[0].is_for);
	py_bytecode_release(&code);
}
END_TEST

/* while step < 1000000 */
START_TEST(what_ends_a_while_is_known)
{
	parse(functions[_i].minor, &functions[_i].train);
	const struct py_code_loop *last = nth_loop(2);
	ck_assert_uint_eq(code.exit_count, 1);
	const struct py_exit *exit = &code.exits[0];
	ck_assert_ptr_eq(&code.loops[exit->loop], last);
	ck_assert_int_eq(exit->sides[0].operand.role, PY_ROLE_LOCAL);
	ck_assert_uint_eq(exit->sides[0].operand.index, 1);
	ck_assert_int_eq(exit->sides[1].operand.role, PY_ROLE_CONSTANT);
	ck_assert(!exit->sides[0].must_exceed && exit->sides[1].must_exceed);
	ck_assert_uint_eq(exit->sides[0].operand.name_count, 0);
	py_bytecode_release(&code);
}
END_TEST

START_TEST(only_its_iterator_ends_a_for_without_break)
{
	parse(functions[_i].minor, &functions[_i].batches);
	ck_assert(!code.loops[0].has_break);
	py_bytecode_release(&code);
}
END_TEST

/* def search(items):
 *     for x in items:
 *         if x: break
 *     for x in items:
 *         if x > 5: raise ValueError
 *     while True:
 *         if items > 7: raise ValueError */
static const unsigned char search_11[] = { 151, 0, 124, 0, 68, 0, 93, 6, 125, 1, 124, 1, 114, 2, 1, 0, 110, 1, 140, 7,
	124, 0, 68, 0, 93, 15, 125, 1, 124, 1, 100, 1, 107, 4, 0, 0, 0, 0, 114, 7, 116, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	130, 1, 140, 16, 9, 0, 124, 0, 100, 3, 107, 4, 0, 0, 0, 0, 114, 7, 116, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 130, 1,
	140, 14 };

START_TEST(a_break_is_seen_and_an_exception_is_no_end)
{
	ck_assert(py_bytecode_parse(11, (struct py_code_bytes){ search_11, sizeof search_11 }, no_handlers, &code));
	ck_assert_uint_eq(code.loop_count, 3);
	ck_assert(nth_loop(0)->has_break && nth_loop(1)->has_break);
	ck_assert_uint_eq(code.exit_count, 0);
	py_bytecode_release(&code);
}
END_TEST

/* def train(state, args):
 *     while True:
 *         last = state['step'] == args.steps - 1
 *         work()
 *         if last: break
 *         state['step'] += 1
 *         args.seen.total += 1
 *         while args.left > 0: work() */
static const unsigned char kept_8[] = { 124, 0, 100, 1, 25, 0, 124, 1, 106, 0, 100, 2, 24, 0, 107, 2, 125, 2, 116, 1,
	131, 0, 1, 0, 124, 2, 114, 30, 113, 82, 124, 0, 100, 1, 5, 0, 25, 0, 100, 2, 55, 0, 3, 0, 60, 0, 124, 1, 106, 2, 4,
	0, 106, 3, 100, 2, 55, 0, 2, 0, 95, 3, 124, 1, 106, 4, 100, 3, 107, 4, 114, 0, 116, 1, 131, 0, 1, 0, 113, 62, 113,
	0, 100, 0, 83, 0 };
static const unsigned char kept_11[] = { 151, 0, 9, 0, 124, 0, 100, 2, 25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 124, 1, 106, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 100, 3, 122, 10, 0, 0, 107, 2, 0, 0, 0, 0, 125, 2, 116, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 166,
	0, 0, 0, 171, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 124, 2, 114, 2, 100, 0, 83, 0, 124, 0, 100, 2, 120, 2, 120, 2, 25, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 100, 3, 122, 13, 0, 0, 99, 3, 99, 2, 60, 0, 0, 0, 124, 1, 106, 2, 0, 0, 0, 0, 0, 0, 0, 0,
	120, 1, 106, 3, 0, 0, 0, 0, 0, 0, 0, 0, 100, 3, 122, 13, 0, 0, 99, 2, 95, 3, 0, 0, 0, 0, 0, 0, 0, 0, 124, 1, 106, 4,
	0, 0, 0, 0, 0, 0, 0, 0, 100, 4, 107, 4, 0, 0, 0, 0, 114, 25, 116, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 166, 0, 0, 0,
	171, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 124, 1, 106, 4, 0, 0, 0, 0, 0, 0, 0, 0, 100, 4, 107, 4, 0, 0, 0, 0, 176, 25,
	140, 112 };
static const unsigned char kept_13[] = { 149, 0, 30, 0, 85, 0, 83, 1, 5, 0, 0, 0, 85, 1, 82, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 83, 2, 45, 10, 0, 0, 58, 72, 0, 0, 110, 2, 91, 3, 0, 0, 0, 0, 0, 0, 0, 0, 53, 0, 0, 0,
	0, 0, 0, 0, 32, 0, 85, 2, 40, 0, 0, 0, 0, 0, 0, 0, 97, 1, 0, 0, 103, 0, 85, 0, 83, 1, 61, 2, 61, 2, 5, 0, 0, 0, 83,
	2, 45, 13, 0, 0, 115, 3, 115, 2, 39, 0, 0, 0, 85, 1, 82, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	61, 1, 82, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 83, 2, 45, 13, 0, 0, 115, 2, 108, 3, 0, 0, 0, 0,
	0, 0, 0, 0, 85, 1, 82, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 83, 3, 58, 148, 0, 0, 97, 28, 0, 0,
	91, 3, 0, 0, 0, 0, 0, 0, 0, 0, 53, 0, 0, 0, 0, 0, 0, 0, 32, 0, 85, 1, 82, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 83, 3, 58, 148, 0, 0, 97, 2, 0, 0, 77, 28, 0, 0, 77, 129, 0, 0 };
static const struct kept {
	unsigned minor, step; /* step: the constant */
	struct py_code_bytes train;
} kept[] = { { 8, 1, { kept_8, sizeof kept_8 } }, { 11, 2, { kept_11, sizeof kept_11 } },
	{ 13, 1, { kept_13, sizeof kept_13 } } };

static const struct py_store *store_of(enum py_role role, uint32_t index)
{
	for (size_t i = 0; i < code.store_count; i++)
		if (code.stores[i].role == role && code.stores[i].index == index)
			return &code.stores[i];
	ck_abort_msg("no such store");
	return NULL;
}

START_TEST(sums_of_items_and_of_attributes_of_attributes_are_assignments)
{
	enum { SEEN = 2, TOTAL = 3, LEFT = 4 };
	parse(kept[_i].minor, &kept[_i].train);
	const struct py_store *item = store_of(PY_ROLE_STORE_SUBSCRIPT, PY_OPERAND_KEY | kept[_i].step),
						  *total = store_of(PY_ROLE_STORE_ATTRIBUTE, TOTAL),
						  *left = store_of(PY_ROLE_STORE_ATTRIBUTE, LEFT);
	ck_assert(item->is_sum && item->holder.role == PY_ROLE_LOCAL && item->holder.index == 0);
	ck_assert_uint_eq(item->holder.name_count, 0);
	ck_assert(total->is_sum && total->holder.index == 1);
	ck_assert_uint_eq(total->holder.name_count, 1);
	ck_assert_uint_eq(total->holder.names[0], SEEN);
	/* what the inner loop only compares */
	ck_assert(left->is_compared && !left->is_sum && left->holder.index == 1);
	ck_assert_uint_eq(code.loops[left->loop].depth, 1);
	ck_assert(!item->is_compared && !total->is_compared);
	py_bytecode_release(&code);
}
END_TEST

/* def strides(total, args, bs):
 *     i = 0
 *     while i < total:
 *         work()
 *         i += bs
 *         args.seen += args.bs
 *         n = work()
 *         args.left += n
 *         args.other += work() */
static const unsigned char strides_8[] = { 100, 1, 125, 3, 124, 3, 124, 0, 107, 0, 114, 80, 116, 0, 131, 0, 1, 0, 124,
	3, 124, 2, 55, 0, 125, 3, 124, 1, 4, 0, 106, 1, 124, 1, 106, 2, 55, 0, 2, 0, 95, 1, 116, 0, 131, 0, 125, 4, 124, 1,
	4, 0, 106, 3, 124, 4, 55, 0, 2, 0, 95, 3, 124, 1, 4, 0, 106, 4, 116, 0, 131, 0, 55, 0, 2, 0, 95, 4, 113, 4, 100, 0,
	83, 0 };
static const unsigned char strides_11[] = { 151, 0, 100, 1, 125, 3, 124, 3, 124, 0, 107, 0, 0, 0, 0, 0, 114, 106, 116,
	1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 166, 0, 0, 0, 171, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 124, 3, 124, 2, 122, 13, 0, 0,
	125, 3, 124, 1, 120, 1, 106, 1, 0, 0, 0, 0, 0, 0, 0, 0, 124, 1, 106, 2, 0, 0, 0, 0, 0, 0, 0, 0, 122, 13, 0, 0, 99,
	2, 95, 1, 0, 0, 0, 0, 0, 0, 0, 0, 116, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 166, 0, 0, 0, 171, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 125, 4, 124, 1, 120, 1, 106, 3, 0, 0, 0, 0, 0, 0, 0, 0, 124, 4, 122, 13, 0, 0, 99, 2, 95, 3, 0, 0, 0, 0, 0, 0, 0,
	0, 124, 1, 120, 1, 106, 4, 0, 0, 0, 0, 0, 0, 0, 0, 116, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 166, 0, 0, 0, 171, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 122, 13, 0, 0, 99, 2, 95, 4, 0, 0, 0, 0, 0, 0, 0, 0, 124, 3, 124, 0, 107, 0, 0, 0, 0, 0, 176, 104,
	100, 0, 83, 0, 100, 0, 83, 0 };
static const unsigned char strides_13[] = { 149, 0, 83, 1, 110, 3, 88, 48, 58, 18, 0, 0, 97, 113, 0, 0, 91, 1, 0, 0, 0,
	0, 0, 0, 0, 0, 53, 0, 0, 0, 0, 0, 0, 0, 32, 0, 88, 50, 45, 13, 0, 0, 110, 3, 85, 1, 61, 1, 82, 2, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 85, 1, 82, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 45, 13, 0,
	0, 115, 2, 108, 1, 0, 0, 0, 0, 0, 0, 0, 0, 91, 1, 0, 0, 0, 0, 0, 0, 0, 0, 53, 0, 0, 0, 0, 0, 0, 0, 110, 4, 85, 1,
	61, 1, 82, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 85, 4, 45, 13, 0, 0, 115, 2, 108, 3, 0, 0, 0, 0,
	0, 0, 0, 0, 85, 1, 61, 1, 82, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 91, 1, 0, 0, 0, 0, 0, 0, 0,
	0, 53, 0, 0, 0, 0, 0, 0, 0, 45, 13, 0, 0, 115, 2, 108, 4, 0, 0, 0, 0, 0, 0, 0, 0, 88, 48, 58, 18, 0, 0, 97, 2, 0, 0,
	77, 112, 0, 0, 103, 0, 103, 0 };
static const struct {
	unsigned minor;
	struct py_code_bytes strides;
} strided[] = { { 8, { strides_8, sizeof strides_8 } }, { 11, { strides_11, sizeof strides_11 } },
	{ 13, { strides_13, sizeof strides_13 } } };

START_TEST(what_a_sum_adds_is_known_if_nothing_assigns_it)
{
	enum { ARGS = 1, SIZE = 2, I = 3, SEEN = 1, SIZE_NAME = 2, LEFT = 3, OTHER = 4 };
	parse(strided[_i].minor, &strided[_i].strides);
	const struct py_store *i = store_of(PY_ROLE_STORE_FAST, I), *seen = store_of(PY_ROLE_STORE_ATTRIBUTE, SEEN);
	ck_assert(i->is_sum && i->added.role == PY_ROLE_LOCAL && i->added.index == SIZE);
	ck_assert_uint_eq(i->added.name_count, 0);
	ck_assert(seen->is_sum && seen->added.role == PY_ROLE_LOCAL && seen->added.index == ARGS);
	ck_assert_uint_eq(seen->added.name_count, 1);
	ck_assert_uint_eq(seen->added.names[0], SIZE_NAME);
	ck_assert(store_of(PY_ROLE_STORE_ATTRIBUTE, LEFT)->is_sum);
	ck_assert_int_eq(store_of(PY_ROLE_STORE_ATTRIBUTE, LEFT)->added.role, 0);
	for (size_t k = 0; k < code.store_count; k++)
		ck_assert(code.stores[k].role != PY_ROLE_STORE_ATTRIBUTE || code.stores[k].index != OTHER);
	py_bytecode_release(&code);
	parse(functions[0].minor, &functions[0].train); /* step += 300000 */
	for (size_t k = 0; k < code.store_count; k++)
		ck_assert(&code.loops[code.stores[k].loop] != nth_loop(2) || code.stores[k].added.role == PY_ROLE_CONSTANT);
	py_bytecode_release(&code);
}
END_TEST

START_TEST(a_comparison_that_a_variable_keeps_ends_its_loop)
{
	unsigned found = 0;
	parse(kept[_i].minor, &kept[_i].train);
	for (size_t i = 0; i < code.exit_count; i++) {
		const struct py_exit *exit = &code.exits[i];
		if (code.loops[exit->loop].depth > 0)
			continue;
		found++;
		ck_assert_uint_gt(exit->left, exit->offset);
		ck_assert_uint_eq(exit->sides[0].operand.name_count, 1);
		ck_assert_uint_eq(exit->sides[0].operand.names[0], PY_OPERAND_KEY | kept[_i].step);
		ck_assert_int_eq(exit->sides[1].operand.shift_sign, -1);
		ck_assert_uint_eq(exit->sides[1].operand.name_count, 1);
	}
	ck_assert_uint_eq(found, 1);
	py_bytecode_release(&code);
}
END_TEST

/* Random bytes, and real ones with a few replaced: the parser ends, and stays within them (the sanitizers check). */
START_TEST(bytes_that_are_no_code_do_no_harm)
{
	const struct functions *of = &functions[_i];
	unsigned char bytes[512];
	unsigned seed = 1 + (unsigned)_i, parsed = 0;
	for (unsigned round = 0; round < 3000; round++) {
		size_t size = of->train.size < sizeof bytes ? of->train.size : sizeof bytes;
		memcpy(bytes, of->train.bytes, size);
		for (unsigned i = 0; i < (round % 2 ? 3 : size); i++)
			bytes[(unsigned)rand_r(&seed) % size] = (unsigned char)rand_r(&seed);
		if (!py_bytecode_parse(of->minor, (struct py_code_bytes){ bytes, size - round % 2 }, no_handlers, &code))
			continue;
		parsed++;
		for (int64_t offset = -4; offset < (int64_t)size + 4; offset++)
			ck_assert_int_lt(py_bytecode_loop_at(&code, offset), (int)code.loop_count);
		py_bytecode_release(&code);
	}
	ck_assert_uint_gt(parsed, 0);
}
END_TEST

START_TEST(other_versions_and_sizes_are_refused)
{
	static unsigned char many[2 * PY_BYTES_MAX];
	struct py_code_bytes of_8 = { train_8, sizeof train_8 }, of_13 = { train_13, sizeof train_13 };
	ck_assert(!py_bytecode_parse(7, of_8, no_handlers, &code));
	ck_assert(!py_bytecode_parse(14, of_13, no_handlers, &code));
	ck_assert(!py_bytecode_parse(8, (struct py_code_bytes){ train_8, 0 }, no_handlers, &code));
	memset(many, 9, sizeof many);
	ck_assert(!py_bytecode_parse(8, (struct py_code_bytes){ many, sizeof many }, no_handlers, &code));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("py bytecode");
	TCase *tests = tcase_create("py bytecode");
	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, loops_have_their_kind_and_nesting, 0, VERSIONS);
	tcase_add_loop_test(tests, instructions_are_in_their_loops, 0, VERSIONS);
	tcase_add_loop_test(tests, calls_that_are_iterated_are_understood, 0, VERSIONS);
	tcase_add_loop_test(tests, assignments_belong_to_the_innermost_loop, 0, VERSIONS);
	tcase_add_loop_test(tests, what_each_iteration_assigns_is_known, 0, VERSIONS);
	tcase_add_loop_test(tests, a_loop_that_yields_once_each_time_is_known, 0, VERSIONS);
	tcase_add_loop_test(tests, a_delegation_is_no_loop_of_its_own_depth, 0, VERSIONS);
	tcase_add_loop_test(tests, what_ends_a_while_is_known, 0, VERSIONS);
	tcase_add_loop_test(tests, only_its_iterator_ends_a_for_without_break, 0, VERSIONS);
	tcase_add_test(tests, a_break_is_seen_and_an_exception_is_no_end);
	tcase_add_loop_test(
		tests, sums_of_items_and_of_attributes_of_attributes_are_assignments, 0, sizeof kept / sizeof *kept);
	tcase_add_loop_test(tests, a_comparison_that_a_variable_keeps_ends_its_loop, 0, sizeof kept / sizeof *kept);
	tcase_add_loop_test(tests, what_a_sum_adds_is_known_if_nothing_assigns_it, 0, sizeof strided / sizeof *strided);
	tcase_add_loop_test(tests, bytes_that_are_no_code_do_no_harm, 0, VERSIONS);
	tcase_add_test(tests, other_versions_and_sizes_are_refused);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
