/* processes.h: the processes of the tree: their states, rates and memory. */
#ifndef PMTOP_MODEL_MACHINE_PROCESSES_H
#define PMTOP_MODEL_MACHINE_PROCESSES_H

struct model;
struct process;
struct record;

const struct process *model_target(const struct model *model); /* NULL: not seen yet */
void model_see_process(struct model *model, const struct record *record);
void model_lose_process(struct model *model, const struct record *record);
void model_replace_process(struct model *model, const struct record *record);
void model_take_figure(struct model *model, const struct record *record);
void model_take_wait(struct model *model, const struct record *record);
void model_take_placement(struct model *model, const struct record *record);
void model_add_resident(struct model *model, int index);

/* After a set: updates rates, series and states. */
void model_refresh_processes(struct model *model);

#endif
