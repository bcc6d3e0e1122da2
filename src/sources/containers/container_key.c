#include "src/sources/containers/container_key.h"

#include <stdio.h>
#include <string.h>

enum { ID_MIN = 12 };

struct container_key *container_add_key(struct container_search *search, const char *prefix, const char *text)
{
	if (!text || strlen(text) < ID_MIN || strlen(prefix) + strlen(text) >= CONTAINER_KEY_SIZE ||
		search->key_count == CONTAINER_KEYS_MAX)
		return NULL;
	struct container_key *key = &search->keys[search->key_count++];
	*key = (struct container_key){ 0 };
	snprintf(key->text, sizeof key->text, "%s%s", prefix, text);
	return key;
}
