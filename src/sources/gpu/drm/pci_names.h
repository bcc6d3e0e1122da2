/* pci_names.h: what a PCI device is called, by the list that most systems have (pci.ids of hwdata or pciutils; format
 * in its head). */
#ifndef PMTOP_SOURCES_GPU_DRM_PCI_NAMES_H
#define PMTOP_SOURCES_GPU_DRM_PCI_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "Arc A770" of "DG2 [Arc A770]". `list` NULL: where systems have it. */
bool pci_name(const char *list, uint64_t maker, uint64_t model, char *out, size_t size);

#endif
