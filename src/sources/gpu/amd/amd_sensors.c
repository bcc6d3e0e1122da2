#include "src/sources/gpu/amd/amd_sensors.h"

#include <amdgpu.h>
#include <amdgpu_drm.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/sources/gpu/drm/drm_gpus.h"

struct amd_sensors {
	void *handle;
	int fd;
	amdgpu_device_handle device;
	__typeof__(amdgpu_device_initialize) *initialize;
	__typeof__(amdgpu_device_deinitialize) *deinitialize;
	__typeof__(amdgpu_query_info) *query_info;
	__typeof__(amdgpu_query_sensor_info) *query_sensor;
	__typeof__(amdgpu_get_marketing_name) *get_name; /* NULL: the library is too old */
};

static bool find_symbols(struct amd_sensors *sensors)
{
	const struct {
		const char *name;
		size_t at;
		bool is_needed;
	} symbols[] = {
		{ "amdgpu_device_initialize", offsetof(struct amd_sensors, initialize), true },
		{ "amdgpu_device_deinitialize", offsetof(struct amd_sensors, deinitialize), true },
		{ "amdgpu_query_info", offsetof(struct amd_sensors, query_info), true },
		{ "amdgpu_query_sensor_info", offsetof(struct amd_sensors, query_sensor), true },
		{ "amdgpu_get_marketing_name", offsetof(struct amd_sensors, get_name), false },
	};
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *symbol = dlsym(sensors->handle, symbols[i].name);
		memcpy((char *)sensors + symbols[i].at, &symbol, sizeof symbol);
		if (!symbol && symbols[i].is_needed)
			return false;
	}
	return true;
}

static enum status open_node(const char *node, int *fd, struct reason *why_not)
{
	struct stat status;
	*fd = open(node, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (*fd >= 0 && (fstat(*fd, &status) != 0 || !S_ISCHR(status.st_mode)))
		return reason_set(why_not, STATUS_INVALID, NULL, "%s is not a device", node);
	if (*fd >= 0)
		return STATUS_OK;
	enum status why = status_of_errno(errno);
	return reason_set(why_not, why, why == STATUS_DENIED ? "add yourself to the group that owns it (render)" : NULL,
		"%s cannot be opened: %s", node, strerror(errno));
}

enum status amd_sensors_open(const char *node, struct amd_sensors **out, struct reason *why_not)
{
	uint32_t major, minor;
	struct amd_sensors *sensors = calloc(1, sizeof *sensors);
	if (!sensors)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	enum status status = open_node(node, &sensors->fd, why_not);
	if (status == STATUS_OK && !(sensors->handle = dlopen("libdrm_amdgpu.so.1", RTLD_NOW | RTLD_LOCAL)))
		status = reason_set(
			why_not, STATUS_NOT_FOUND, "install libdrm-amdgpu1 (libdrm)", "libdrm_amdgpu.so.1 was not found");
	if (status == STATUS_OK && !find_symbols(sensors))
		status = reason_set(why_not, STATUS_UNSUPPORTED, NULL, "libdrm_amdgpu.so.1 is too old");
	if (status == STATUS_OK && sensors->initialize(sensors->fd, &major, &minor, &sensors->device) != 0) {
		sensors->device = NULL;
		status = reason_set(why_not, STATUS_IO, NULL, "libdrm_amdgpu could not use %s", node);
	}
	if (status != STATUS_OK)
		amd_sensors_close(sensors);
	else
		*out = sensors;
	return status;
}

void amd_sensors_close(struct amd_sensors *sensors)
{
	if (!sensors)
		return;
	if (sensors->device)
		sensors->deinitialize(sensors->device);
	if (sensors->handle)
		dlclose(sensors->handle);
	if (sensors->fd >= 0)
		close(sensors->fd);
	free(sensors);
}

const char *amd_sensors_name(const struct amd_sensors *sensors)
{
	return sensors->get_name ? sensors->get_name(sensors->device) : NULL;
}

bool amd_sensors_is_apu(const struct amd_sensors *sensors)
{
	struct drm_amdgpu_info_device info = { 0 };
	return sensors->query_info(sensors->device, AMDGPU_INFO_DEV_INFO, sizeof info, &info) == 0 &&
		info.ids_flags & AMDGPU_IDS_FLAGS_FUSION;
}

static void emit_memory(
	const struct amd_sensors *sensors, size_t from, int32_t instance, int64_t now_ns, struct sample_set *out)
{
	struct drm_amdgpu_memory_info info = { 0 };
	if (drm_has_figure(out, from, METRIC_GPU_MEMORY_USED, instance) ||
		sensors->query_info(sensors->device, AMDGPU_INFO_MEMORY, sizeof info, &info) != 0)
		return;
	if (info.vram.total_heap_size == 0 || info.vram.heap_usage > info.vram.total_heap_size)
		return;
	sample_set_figure(out, now_ns, METRIC_GPU_MEMORY, instance, (double)info.vram.total_heap_size);
	sample_set_figure(out, now_ns, METRIC_GPU_MEMORY_USED, instance, (double)info.vram.heap_usage);
}

void amd_sensors_emit(
	const struct amd_sensors *sensors, size_t from, int32_t instance, int64_t now_ns, struct sample_set *out)
{
	static const struct {
		unsigned sensor;
		enum metric metric;
		double scale, min, max;
	} rows[] = {
		{ AMDGPU_INFO_SENSOR_GPU_LOAD, METRIC_GPU_BUSY, 0.01, 0, 1 },
		{ AMDGPU_INFO_SENSOR_GPU_AVG_POWER, METRIC_GPU_POWER, 1, 1, 20000 },
		{ AMDGPU_INFO_SENSOR_GPU_TEMP, METRIC_GPU_TEMPERATURE, 1e-3, 1, 250 },
		{ AMDGPU_INFO_SENSOR_GFX_SCLK, METRIC_GPU_CLOCK, 1e6, 1, 2e10 },
		{ AMDGPU_INFO_SENSOR_GFX_MCLK, METRIC_GPU_CLOCK_MEMORY, 1e6, 1, 2e10 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint32_t value = 0;
		if (drm_has_figure(out, from, rows[i].metric, instance) ||
			sensors->query_sensor(sensors->device, rows[i].sensor, sizeof value, &value) != 0)
			continue;
		double figure = (double)value * rows[i].scale;
		if (figure >= rows[i].min && figure <= rows[i].max)
			sample_set_figure(out, now_ns, rows[i].metric, instance, figure);
	}
	emit_memory(sensors, from, instance, now_ns, out);
}
