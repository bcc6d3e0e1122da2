#include "ui/view.h"

const struct view counters_view = {
	.name = "Counters", .short_name = "Ctr", .digit = '9',
	.keys = "q quit  Tab view  1 overview  Space pause  ? help",
	.keys_short = "q quit  Tab view  1 overview  ? help",
	.absent = "This version reads no processor counters (instructions, cache misses, FLOPs).\n"
	          "perf stat -p PID counts them meanwhile, where kernel.perf_event_paranoid allows it.",
};
