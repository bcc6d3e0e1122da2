#include "src/commands/fleet/fleet_watch.h"

enum exit_code fleet_watch(const struct options *options, const struct settings *settings, struct fleet *fleet)
{
	(void)options;
	(void)settings;
	(void)fleet;
	return EXIT_RUNTIME;
}
