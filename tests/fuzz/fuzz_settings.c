/* pmtop.yaml. A text that is refused changes nothing and names its line or its file; one that is taken keeps every
 * number within its limits. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/settings/settings_yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int is_good)
{
	if (!is_good)
		abort();
}

static void check(const struct settings *settings)
{
#define CHECK(section, key, member, kind, value, min, max) \
	must((double)settings->member >= (double)(min) && (double)settings->member <= (double)(max));
	SETTINGS(CHECK)
#undef CHECK
	must(settings->on_info.count <= SETTING_WORDS_MAX && settings->counter_events.count <= SETTING_WORDS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Of exactly its size, so that a byte too far is seen. */
	char *text = malloc(size ? size : 1);
	struct settings settings, before;
	struct reason why = { "", "" };
	must(text != NULL);
	memcpy(text, data, size);
	settings_default(&settings);
	before = settings;
	if (settings_parse(&settings, "pmtop.yaml", text, size, &why) == STATUS_OK)
		check(&settings);
	else
		must(why.text[0] && memcmp(&settings, &before, sizeof settings) == 0);
	free(text);
	return 0;
}
