/* summary.h: the lines printed after the screen or a recording has ended. */
#ifndef PMTOP_COMMANDS_SUMMARY_H
#define PMTOP_COMMANDS_SUMMARY_H

#include "src/base/buffer.h"
#include "src/session/session.h"

/* "pmtop: train.py 4711 has ended, peak resident 1.20 GB" */
void summary_target(struct buffer *out, const struct model *model, bool is_replay);
/* "pmtop: resnet: 3 epochs, 1200 batches, step mean 0.201 s, max 0.412 s, 12 flagged, 3 warnings" */
void summary_run(struct buffer *out, const struct run *run, size_t warnings);
/* "pmtop: recorded 2 h 03 to run.pmtop: 12.3 MB, nothing lost"; adds nothing without a recording. To be called after
 * recording_end. */
void summary_recording(struct buffer *out, const struct recording *recording, const struct model *model);
/* Prints the lines on a terminal, which may not read them (a stopped ssh, ^S): a signal or 2 s end the wait. */
void summary_flush(struct buffer *out, int signal_fd);

#endif
