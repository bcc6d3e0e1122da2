/* The head of a request to `pmtop exporter`, whole and as it would arrive in two pieces. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "src/serving/http_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int is_good)
{
	if (!is_good)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_request whole, part;
	/* Of exactly its size, so that a byte too far is seen. */
	char *text = malloc(size ? size : 1);
	must(text != NULL);
	memcpy(text, data, size);
	enum http_parse parse = http_request_parse(text, size, &whole);
	if (parse == HTTP_COMPLETE) {
		must(memchr(whole.path, '\0', sizeof whole.path) && memchr(whole.host, '\0', sizeof whole.host));
		must(!(whole.is_get && whole.is_head));
		http_host_is_local(whole.host);
	}
	/* What is complete is complete with more bytes behind it, and an incomplete head has no complete beginning. */
	enum http_parse first = http_request_parse(text, size / 2, &part);
	must(first == HTTP_INCOMPLETE || first == parse);
	must(first != HTTP_COMPLETE || strcmp(part.path, whole.path) == 0);
	free(text);
	return 0;
}
