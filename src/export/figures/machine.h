/* machine.h: means and peaks of the machine since pmtop attached: CPUs, memory, disks, networks, GPUs. */
#ifndef PMTOP_EXPORT_MACHINE_H
#define PMTOP_EXPORT_MACHINE_H

#include "src/base/buffer.h"
#include "src/base/formats/json.h"
#include "src/model/model.h"

/* Nothing if none of it was read. */
void machine_as_json(struct json *json, const struct model *model);
void machine_as_table(struct buffer *out, const struct model *model);

#endif
