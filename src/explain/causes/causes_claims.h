/* causes_claims.h: what each pool was spent on. Each function claims the time that it can explain, and takes it out of
 * the pool. */
#ifndef PMTOP_EXPLAIN_CAUSES_CAUSES_CLAIMS_H
#define PMTOP_EXPLAIN_CAUSES_CAUSES_CLAIMS_H

struct case_file;
struct claim;
struct pool;

/* Ignores NAN. */
void claim_evidence(struct claim *claim, const char *key, double this_value, double baseline_value);
void claim_by_name(struct case_file *file, struct pool *pool);
void claim_bigger(struct case_file *file, struct pool *pool);
void claim_away(struct case_file *file, struct pool *pool);
void claim_queue(struct case_file *file, struct pool *pool);
void claim_cpu(struct case_file *file, struct pool *pool);

#endif
