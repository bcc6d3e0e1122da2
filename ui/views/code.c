#include "ui/view.h"

const struct view code_view = {
	.name = "Code", .short_name = "Code", .digit = '7',
	.keys = "q quit  Tab view  1 overview  Space pause  ? help",
	.keys_short = "q quit  Tab view  1 overview  ? help",
	.absent = "Which lines the time goes to is not watched yet.\n"
	          "Where the Python code stands at this moment: pmtop stack PID, in another terminal.\n"
	          "Spans say it by name: put PMTOP_SPAN(pm, \"decode\") { … } around a suspect and see it on 3.",
};
