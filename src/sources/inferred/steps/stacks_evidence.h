/* stacks_evidence.h: whether a pass of a DataLoader, or of another loop, trains or validates, by what the samples saw
 * during the pass: backward or the optimizer runs in a pass that trains. If none runs in enough samples, while other
 * passes had them, the pass validates; so does a short one in another loop than that which trains, and one whose
 * batches pass far faster. */
#ifndef PMTOP_SOURCES_INFERRED_STACKS_EVIDENCE_H
#define PMTOP_SOURCES_INFERRED_STACKS_EVIDENCE_H

#include "src/sources/python/counters/py_counter.h"

enum { STACKS_PASSES_MAX = PY_ITERATORS_MAX, STACKS_KNOWN_MAX = 16 };

enum stacks_verdict { STACKS_UNKNOWN, STACKS_TRAINS, STACKS_VALIDATES };

struct stacks_pass {
	uint64_t serial;
	int64_t since_ns;
	uint64_t first, yielded; /* batches at the first sample, at the last one */
	unsigned in_batch;       /* samples of this batch */
	struct {
		uint64_t frame, ip;
	} newest; /* where the newest sample found it */
	unsigned samples, training;
	uint64_t shared_at;  /* the batch of another pass during which this one advanced, and training was sampled */
	unsigned shared;     /* how many such batches */
	uint64_t trained_at; /* the last batch in which training was sampled */
	unsigned apart;      /* samples of training that cannot be that of another pass, which trained before */
	bool is_unsure;      /* training was sampled that may be another pass's */
	bool is_seldom;      /* it advances far more seldom than a pass that trains */
	enum stacks_verdict verdict;
};

/* A loader in a loop, and what its passes do. */
struct stacks_known {
	uint64_t sampler, caller; /* as in struct py_counted */
	char function[PY_FUNCTION_SIZE];
	int line;
	uint64_t length; /* of its passes; 0 = unknown */
	enum stacks_verdict verdict;
	unsigned samples; /* while it is unknown: of its passes, all without training */
	unsigned placed;  /* of its passes, those that a sample has found in the loop */
	uint64_t placed_serial;
};

/* Zeroed at first. */
struct stacks_evidence {
	size_t pass_count, known_count, known_next;
	struct stacks_pass passes[STACKS_PASSES_MAX];
	struct stacks_known known[STACKS_KNOWN_MAX];
	uint64_t samples, training; /* of passes that train */
	uint64_t first_serial;      /* of the pass that was found first */
	double batch_s;             /* mean time of their batches; 0 = unknown */
	int64_t wanted_until_ns;    /* until then samples close to each other show soon what a pass does */
};

/* `live`: the passes in progress, read just after the sample. */
void stacks_evidence_note(struct stacks_evidence *evidence, const struct py_sample *sample,
	const struct py_counted *live, size_t count, int64_t now_ns);
/* The functions whose loops are known to train. Returns how many. */
size_t stacks_evidence_trainers(const struct stacks_evidence *evidence, char (*out)[PY_FUNCTION_SIZE]);
/* Sets trains, evaluates, is_undecided and is_unknown. */
void stacks_evidence_judge(struct stacks_evidence *evidence, struct py_counted *counted, int64_t now_ns);
/* Likewise of a pass of a loop that was seen to train, whose `sampler` says what called it. One that lasts trains,
 * unless samples contradict; one that is over before a sample showed training in it, or in another that was called
 * there, is unknown. */
void stacks_evidence_judge_loop(struct stacks_evidence *evidence, struct py_counted *counted, int64_t now_ns);
/* Sets `evaluates` of a pass within one step of one that trains, in which no training was sampled. */
void stacks_evidence_judge_nested(struct py_counted *counted, size_t count);

#endif
