#include "src/commands/silent_files.h"

#include <stdio.h>

void silent_files_show(struct silent_files *silent, const struct model *model, struct screen *screen)
{
	const struct missing *newest = NULL;
	size_t count = 0;
	for (size_t i = 0; i < model->missing_count; i++) {
		if (model->missing[i].figure[0] != '/')
			continue;
		newest = &model->missing[i];
		count++;
	}
	if (count > silent->count)
		screen_message(screen, newest->text);
	else if (count > 0)
		screen_message_again(screen, silent->text, newest->text);
	snprintf(silent->text, sizeof silent->text, "%s", count ? newest->text : "");
	silent->count = count;
}
