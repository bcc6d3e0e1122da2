#include "ui/view.h"

const struct view gpu_view = {
	.name = "GPU", .short_name = "GPU", .digit = '5',
	.keys = "q quit  Tab view  1 overview  Space pause  ? help",
	.keys_short = "q quit  Tab view  1 overview  ? help",
	.absent = "This version of pmtop reads no GPU, so nothing is shown here rather than zeros.\n"
	          "What it shows of a run is measured on the host's clock: work that a GPU does in the background counts where the host waits for it. nvidia-smi or nvtop show the device itself meanwhile.",
};
