/* drm_link.h: a device's PCIe link, now and at best. A card with a PCIe switch of its own reports the inside of that
 * switch for its chip (Navi, Arc: any generation, or 2.5 GT/s × 1): pmtop then reads the link between switch and
 * machine. */
#ifndef PMTOP_SOURCES_GPU_DRM_DRM_LINK_H
#define PMTOP_SOURCES_GPU_DRM_DRM_LINK_H

#include "src/sources/gpu/sys_file.h"

struct drm_link {
	char folder[SYS_PATH_SIZE];       /* "" = not on PCIe */
	double max_generation, max_width; /* that both ends support; NAN = unknown */
};

/* `folder` is the device's folder, without symbolic links. */
void drm_link_refresh(const char *folder, struct drm_link *out);
void drm_link_emit(const struct drm_link *link, int32_t instance, int64_t now_ns, struct sample_set *out);

#endif
