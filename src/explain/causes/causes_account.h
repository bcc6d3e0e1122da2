/* causes_account.h: the pools: seconds of a phase on the CPU, in a run queue, and away. */
#ifndef PMTOP_EXPLAIN_CAUSES_CAUSES_ACCOUNT_H
#define PMTOP_EXPLAIN_CAUSES_CAUSES_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>

struct case_file;
struct evidence;
struct explain_row;
struct pool;

/* Divides the CPU time and run-queue wait of the records among the unassigned time of the phases. */
void account_share_out(struct case_file *file, struct pool *pools, size_t count);
/* Whether most of that row lies after the batch's end. */
bool account_is_behind(const struct case_file *file, const struct explain_row *row);
/* The record that covers that row: the batch's; the next batch's if the row lies after the batch's end. NULL = none. */
const struct evidence *account_evidence(const struct case_file *file, const struct explain_row *row);
/* The excess over the baseline; 0 if below it, NAN if either is unknown. */
double excess_over(double this_value, double baseline_value);
/* Takes at most max_s out of a pool and returns how much it took. NAN takes nothing. */
double pool_take(double *from_s, double max_s);
/* Takes at most max_s on the CPU, plus the run-queue wait that belongs to it. */
double pool_take_cpu(struct pool *pool, double max_s);

#endif
