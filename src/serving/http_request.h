/* http_request.h: parses the head of an HTTP/1 request that may be hostile. Only what a scraper needs is read: method,
 * path, Host and Accept; a body is never read. Allocates nothing. */
#ifndef PMTOP_SERVING_HTTP_REQUEST_H
#define PMTOP_SERVING_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

enum { HTTP_HEAD_MAX = 8192, HTTP_PATH_SIZE = 64, HTTP_HOST_SIZE = 256 };

enum http_parse { HTTP_INCOMPLETE, HTTP_COMPLETE, HTTP_MALFORMED };

struct http_request {
	bool is_get, is_head;      /* neither: another method */
	char path[HTTP_PATH_SIZE]; /* without the query; "" = longer than any path that is served */
	char host[HTTP_HOST_SIZE]; /* without the port; "" = none, "?" = no name of a host */
	bool wants_openmetrics;    /* Accept has application/openmetrics-text, and not with a lower q than text/plain */
};

/* `text` is what has arrived so far, of any bytes. INCOMPLETE: no empty line yet. *out is set if COMPLETE. */
enum http_parse http_request_parse(const char *text, size_t length, struct http_request *out);

/* Whether a Host header names this machine by address, or is "localhost": any other name, resolved to a loopback
 * address by an attacker's DNS, would let a web page read what is served there. */
bool http_host_is_local(const char *host);

#endif
