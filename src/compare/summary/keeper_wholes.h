/* keeper_wholes.h: figures of a whole run that are no steps: requests, GPUs, energy, gauges. */
#ifndef PMTOP_COMPARE_SUMMARY_KEEPER_WHOLES_H
#define PMTOP_COMPARE_SUMMARY_KEEPER_WHOLES_H

struct model;
struct run;
struct summary;

/* After the steps and the operations. run NULL: the machine's figures only. */
void keeper_take_wholes(struct summary *summary, const struct model *model, const struct run *run);

#endif
