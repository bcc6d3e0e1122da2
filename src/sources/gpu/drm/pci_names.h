/* pci_names.h: the name of a PCI device, from the list that most systems have (pci.ids of hwdata or pciutils; the
 * file's header describes the format). */
#ifndef PMTOP_SOURCES_GPU_DRM_PCI_NAMES_H
#define PMTOP_SOURCES_GPU_DRM_PCI_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "Arc A770" from "DG2 [Arc A770]". `list` NULL: the default paths. */
bool pci_name(const char *list, uint64_t maker, uint64_t model, char *out, size_t size);

#endif
