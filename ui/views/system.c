#include "ui/view.h"

const struct view system_view = {
	.name = "System", .short_name = "Sys", .digit = '6',
	.keys = "q quit  Tab view  1 overview  Space pause  ? help",
	.keys_short = "q quit  Tab view  1 overview  ? help",
	.absent = "This version has no picture of the whole machine yet.\n"
	          "What the run's own processes do is on 4 (state, CPU, memory, waiting for disk) and, for one slow batch, on 2 after Enter.",
};
