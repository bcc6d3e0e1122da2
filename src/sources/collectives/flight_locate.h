/* flight_locate.h: finds the flight recorders of a running PyTorch process: that of gloo in libtorch_cpu.so, that of
 * NCCL in libtorch_cuda.so. */
#ifndef PMTOP_SOURCES_COLLECTIVES_FLIGHT_LOCATE_H
#define PMTOP_SOURCES_COLLECTIVES_FLIGHT_LOCATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "src/sources/collectives/flight_symbol.h"

enum { FLIGHT_RECORDERS_MAX = 2 };

struct flight_place {
	bool is_device;   /* NCCL's */
	uint64_t pointer; /* address of the pointer to the recorder */
};

struct flight_places {
	size_t count;
	uint64_t registry; /* of process groups: flight_world.h; 0 = unknown */
	struct flight_place list[FLIGHT_RECORDERS_MAX];
};

/* `process_fd`: /proc/PID. NOT_FOUND: it has not loaded PyTorch; UNSUPPORTED, INVALID, DAMAGED: it has, but there is
 * no recorder that pmtop knows (`why_not` names the release); DENIED, END, IO. */
enum status flight_locate(
	pid_t pid, int process_fd, struct flight_symbols *symbols, struct flight_places *out, struct reason *why_not);
/* "PyTorch 2.13.0+cpu" of the process whose library has this path, or "this PyTorch". */
void flight_release(int process_fd, const char *library, char *out, size_t size);

#endif
