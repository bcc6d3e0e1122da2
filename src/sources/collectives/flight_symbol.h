/* flight_symbol.h: finds the pointer to PyTorch's flight recorder (torch/csrc/distributed/c10d/FlightRecorder.hpp) in
 * a library on disk: a local variable of FlightRecorder<EventType>::get(), so only .symtab has it. Also the registry of
 * process groups (GroupRegistry.cpp), which libtorch_cpu.so has.
 *
 * The file is read in pieces, for libraries of a gigabyte. Results are cached by build id. For one thread. */
#ifndef PMTOP_SOURCES_COLLECTIVES_FLIGHT_SYMBOL_H
#define PMTOP_SOURCES_COLLECTIVES_FLIGHT_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/status.h"

enum { FLIGHT_BUILD_ID_MAX = 32, FLIGHT_LIBRARIES_MAX = 8 };

struct flight_build_id {
	size_t length; /* 0 = it has none */
	unsigned char bytes[FLIGHT_BUILD_ID_MAX];
};

/* As the library has them, without the address at which it is loaded; 0 = it has none. */
struct flight_addresses {
	uint64_t recorder, registry;
};

struct flight_symbols {
	size_t count;
	struct {
		struct flight_build_id id;
		enum status status;
		struct flight_addresses addresses;
	} list[FLIGHT_LIBRARIES_MAX];
};

/* The build id among the notes (PT_NOTE, SHT_NOTE) in `bytes`. */
void flight_build_id_parse(const unsigned char *bytes, size_t length, struct flight_build_id *out);
/* `id`: that of the loaded library. NOT_FOUND: it has symbols, but not the recorder's; UNSUPPORTED: it has no symbol
 * table; INVALID: the file is another library than the loaded one; DAMAGED, IO, NO_MEMORY. */
enum status flight_symbol_find(
	struct flight_symbols *symbols, const struct flight_build_id *id, int fd, struct flight_addresses *out);

#endif
