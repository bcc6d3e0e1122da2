#include "src/sources/gpu/drm/pci_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINE_SIZE = 512, LINES_MAX = 200000 };

static const char *const list_paths[] = { "/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids", "/usr/share/pci.ids",
	"/var/lib/pciutils/pci.ids" };

/* The product name is in brackets; the chip's code name comes before it. */
static bool take_name(char *name, char *out, size_t size)
{
	name[strcspn(name, "\n")] = '\0';
	char *open = strrchr(name, '['), *close = strrchr(name, ']');
	if (open && close && close > open + 1) {
		name = open + 1;
		*close = '\0';
	}
	if (!*name || strlen(name) >= size)
		return false;
	strcpy(out, name);
	return true;
}

/* "8086  Intel Corporation", then "\t56a0  DG2 [Arc A770]" for each of its devices. */
static bool find_in(FILE *file, uint64_t maker, uint64_t model, char *out, size_t size)
{
	char line[LINE_SIZE], wanted_maker[8], wanted_model[8];
	bool is_of_maker = false;
	snprintf(wanted_maker, sizeof wanted_maker, "%04x  ", (unsigned)(maker & 0xffff));
	snprintf(wanted_model, sizeof wanted_model, "\t%04x  ", (unsigned)(model & 0xffff));
	for (unsigned i = 0; i < LINES_MAX && fgets(line, sizeof line, file); i++) {
		if (line[0] != '\t' && line[0] != '#' && line[0] != '\n') {
			if (is_of_maker)
				return false;
			is_of_maker = strncmp(line, wanted_maker, 6) == 0;
		} else if (is_of_maker && strncmp(line, wanted_model, 7) == 0) {
			return take_name(line + 7, out, size);
		}
	}
	return false;
}

bool pci_name(const char *list, uint64_t maker, uint64_t model, char *out, size_t size)
{
	for (size_t i = 0; i < (list ? 1 : sizeof list_paths / sizeof *list_paths); i++) {
		FILE *file = fopen(list ? list : list_paths[i], "re");
		if (!file)
			continue;
		bool is_found = find_in(file, maker, model, out, size);
		fclose(file);
		return is_found;
	}
	return false;
}
