#include "src/session/command.h"

#include <stdio.h>
#include <string.h>

#include "src/base/text.h"
#include "ui/widgets/view.h"

enum exit_code command_fail(enum status status, const struct reason *reason)
{
	fprintf(stderr, "pmtop: %s%s%s\n", reason->text, reason->remedy[0] ? ": " : "", reason->remedy);
	switch (status) {
	case STATUS_NOT_FOUND: return EXIT_NO_TARGET;
	case STATUS_DENIED: return EXIT_NO_PERMISSION;
	case STATUS_INVALID: return EXIT_USAGE;
	default: return EXIT_RUNTIME;
	}
}

#define VIEW_WORD(view) #view,
static const char *const words[] = { VIEWS(VIEW_WORD) };
#undef VIEW_WORD
enum { COUNT = sizeof words / sizeof *words };

void view_list(FILE *out)
{
	for (size_t i = 0; i < COUNT; i++)
		fprintf(out, "%s\n", words[i]);
}

enum status view_unknown(const char *name, struct reason *reason)
{
	char shown[64], views[sizeof reason->remedy] = "";
	for (size_t i = 0, used = 0; i < COUNT && used < sizeof views; i++)
		used += (size_t)snprintf(views + used, sizeof views - used, "%s%s",
			i == 0              ? ""
				: i + 1 < COUNT ? ", "
								: " or ",
			words[i]);
	text_clean(shown, sizeof shown, name, strlen(name));
	return reason_set(reason, STATUS_INVALID, views, "unknown view %s: the views are", shown);
}
