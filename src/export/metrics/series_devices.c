#include "src/export/metrics/series_devices.h"

#include <math.h>
#include <stdio.h>

#include "src/base/formats/cells.h"
#include "src/export/wide.h"
#include "src/model/model.h"

/* "disk.sda.read_bytes_per_s" */
static void add(struct wide *wide, const char *of, const struct device *device, const char *name, double value)
{
	char column[DEVICE_NAME_SIZE + 64];
	if (!isfinite(value))
		return;
	snprintf(column, sizeof column, "%s.%s.%s", of, device->name, name);
	cell_number(wide_cell(wide, wide_column(wide, column)), value);
}

void series_devices(struct wide *wide, const struct model *model)
{
	const struct system *system = &model->system;
	for (size_t i = 0; i < system->disk_count; i++) {
		const struct device *disk = &system->disks[i];
		if (!disk->series)
			continue;
		add(wide, "disk", disk, "busy_ratio", disk->busy_ratio);
		add(wide, "disk", disk, "read_bytes_per_s", disk->read_bytes_per_s);
		add(wide, "disk", disk, "write_bytes_per_s", disk->write_bytes_per_s);
	}
	for (size_t i = 0; i < system->network_count; i++) {
		const struct device *network = &system->networks[i];
		if (!network->series)
			continue;
		add(wide, "network", network, "received_bytes_per_s", network->read_bytes_per_s);
		add(wide, "network", network, "sent_bytes_per_s", network->write_bytes_per_s);
	}
}
