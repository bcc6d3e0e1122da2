/* drm_link.h: a device's PCIe link, now and at best. What a card with a switch of its own says of its chip is the
 * switch's inside (Navi, Arc: any generation, or 2.5 GT/s × 1): then the link of the switch to the machine is what
 * counts. */
#ifndef PMTOP_SOURCES_GPU_DRM_DRM_LINK_H
#define PMTOP_SOURCES_GPU_DRM_DRM_LINK_H

#include "src/sources/gpu/sys_file.h"

struct drm_link {
	char folder[SYS_PATH_SIZE];       /* "" = not on PCIe */
	double max_generation, max_width; /* that both ends can; NAN = not told */
};

/* `folder` is the device's own, without symbolic links. */
void drm_link_refresh(const char *folder, struct drm_link *out);
void drm_link_emit(const struct drm_link *link, int32_t instance, int64_t now_ns, struct sample_set *out);

#endif
