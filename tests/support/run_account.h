/* run_account.h: sums up one run from its records, as the model must: totals plus the later events. Tests compare the
 * sums with what was published. It also checks the rules of every set (see run_account_apply). */
#ifndef PMTOP_TESTS_RUN_ACCOUNT_H
#define PMTOP_TESTS_RUN_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/samples/sample_set.h"

enum { ACCOUNT_NAMES = 256, ACCOUNT_ROWS = 512, ACCOUNT_LANES = 64 };

struct account_row {
	uint16_t lane;
	uint32_t kind, mode, name, parent;
	uint64_t upto, count;
};

struct run_account {
	unsigned run; /* the run's number in the sets; others are skipped */
	unsigned opened, closed;
	int32_t pid, inner_pid;
	char run_name[128], why[128], uuid[40];
	uint32_t names; /* emitted names: 1 … names */
	char name[ACCOUNT_NAMES][128];
	uint32_t mode;
	struct run_state state;
	size_t row_count;
	struct account_row rows[ACCOUNT_ROWS];
	uint64_t next_sequence[ACCOUNT_LANES];
	uint64_t events, lost, before, refused;
	uint64_t batch_ends, evidences, gauges;
	int64_t last_time_ns;
	bool last_was_mode;
	unsigned epochs_emitted, histories_emitted, open_spans;
	uint64_t history_batches;
	char last_mark[256], last_meta[256];
	double last_gauge, last_counter;
	char wrong[256]; /* the first broken rule; empty = none */
};

/* Checks: names come before their use and without gaps, a lane's sequences never decrease, records of different lanes
 * are sorted by time within a set, no record comes after RUN_CLOSED or before RUN_OPENED. */
void run_account_apply(struct run_account *account, const struct sample_set *set);
/* How many finished: of a kind, in all modes, lanes and parents; `name` NULL = any. */
uint64_t run_account_count(const struct run_account *account, enum total_kind kind, const char *name);
uint64_t run_account_count_mode(const struct run_account *account, enum total_kind kind, const char *mode);

#endif
