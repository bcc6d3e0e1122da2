#include "src/sources/gpu/drm/drm_link.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASS_BRIDGE = 0x0604, LANES_MAX = 32 };

/* Parses "16.0 GT/s PCIe". */
static double generation(const char *folder, const char *file)
{
	static const double speeds[] = { 2.5, 5, 8, 16, 32, 64, 128 };
	char text[64], *end;
	if (!sys_text(folder, file, text, sizeof text))
		return NAN;
	double speed = strtod(text, &end);
	for (size_t i = 0; end != text && strncmp(end, " GT/s", 5) == 0 && i < sizeof speeds / sizeof *speeds; i++)
		if (speed == speeds[i])
			return (double)i + 1;
	return NAN;
}

static double width(const char *folder, const char *file)
{
	double lanes;
	return sys_number(folder, file, &lanes) && lanes >= 1 && lanes <= LANES_MAX ? lanes : NAN;
}

/* Cuts off the last folder; false at the top. */
static bool go_up(char folder[SYS_PATH_SIZE])
{
	char *slash = strrchr(folder, '/');
	if (!slash || slash == folder)
		return false;
	*slash = '\0';
	return true;
}

static bool is_bridge_of(const char *folder, uint64_t maker)
{
	uint64_t class, vendor;
	return sys_hex(folder, "class", &class) && class >> 8 == CLASS_BRIDGE && sys_hex(folder, "vendor", &vendor) &&
		vendor == maker;
}

/* A switch consists of two bridges below another bridge of the machine; a root port has none above it. */
static void leave_switch(char folder[SYS_PATH_SIZE])
{
	char lower[SYS_PATH_SIZE], upper[SYS_PATH_SIZE], above[SYS_PATH_SIZE];
	uint64_t maker, class;
	memcpy(lower, folder, sizeof lower);
	if (!sys_hex(folder, "vendor", &maker) || !go_up(lower) || !is_bridge_of(lower, maker))
		return;
	memcpy(upper, lower, sizeof upper);
	if (!go_up(upper) || !is_bridge_of(upper, maker))
		return;
	memcpy(above, upper, sizeof above);
	if (go_up(above) && sys_hex(above, "class", &class) && class >> 8 == CLASS_BRIDGE)
		memcpy(folder, upper, SYS_PATH_SIZE);
}

static double lesser(double a, double b) { return isnan(a) ? a : isnan(b) || a < b ? a : b; }

void drm_link_refresh(const char *folder, struct drm_link *out)
{
	char above[SYS_PATH_SIZE];
	*out = (struct drm_link){ .max_generation = NAN, .max_width = NAN };
	if (strlen(folder) >= sizeof out->folder)
		return;
	strcpy(out->folder, folder);
	leave_switch(out->folder);
	out->max_generation = generation(out->folder, "max_link_speed");
	out->max_width = width(out->folder, "max_link_width");
	strcpy(above, out->folder);
	if (!go_up(above))
		return;
	out->max_generation = lesser(out->max_generation, generation(above, "max_link_speed"));
	out->max_width = lesser(out->max_width, width(above, "max_link_width"));
}

void drm_link_emit(const struct drm_link *link, int32_t instance, int64_t now_ns, struct sample_set *out)
{
	if (!link->folder[0])
		return;
	const struct {
		enum metric metric;
		double value;
	} figures[] = {
		{ METRIC_GPU_PCIE_GENERATION, generation(link->folder, "current_link_speed") },
		{ METRIC_GPU_PCIE_GENERATION_MAX, link->max_generation },
		{ METRIC_GPU_PCIE_WIDTH, width(link->folder, "current_link_width") },
		{ METRIC_GPU_PCIE_WIDTH_MAX, link->max_width },
	};
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		if (!isnan(figures[i].value))
			sample_set_figure(out, now_ns, figures[i].metric, instance, figures[i].value);
}
