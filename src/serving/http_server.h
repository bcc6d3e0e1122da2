/* http_server.h: serves one page over HTTP/1.1 to scrapers, from the main thread's poll loop.
 *
 * Nothing that a client does can block it or make it grow: at most HTTP_CONNECTIONS_MAX connections, a head of at most
 * HTTP_HEAD_MAX bytes, a deadline for each half of a connection, and a new connection takes the place of the oldest one
 * that has not sent its request, else of the oldest that has been reading its answer for HTTP_SLOW_NS. A page is shared
 * by the connections that are sending it; each answer closes its connection. Only GET and HEAD.
 *
 *   count = http_server_poll(server, ready); poll(ready, count, http_server_wait_ms(server, now_ns));
 *   http_server_step(server, now_ns); */
#ifndef PMTOP_SERVING_HTTP_SERVER_H
#define PMTOP_SERVING_HTTP_SERVER_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/base/buffer.h"
#include "src/base/status.h"

enum { HTTP_CONNECTIONS_MAX = 32, HTTP_POLL_MAX = HTTP_CONNECTIONS_MAX + 1 };
#define HTTP_REQUEST_MAX_NS (5 * INT64_C(1000000000))   /* from the connection to the whole head */
#define HTTP_RESPONSE_MAX_NS (20 * INT64_C(1000000000)) /* from there to the last byte read */
#define HTTP_SLOW_NS (2 * INT64_C(1000000000))

/* The page, in one of its two formats. It is written again only when its version has changed, however often it is asked
 * for. */
struct http_content {
	void (*write)(void *context, bool is_openmetrics, struct buffer *out);
	uint64_t (*version)(void *context);
	void *context;
};

struct http_server;

/* ADDRESS:PORT, with a numeric address, "localhost", or [ADDRESS6]:PORT; port 0: any. */
enum status http_server_open(
	const char *listen, const struct http_content *content, struct http_server **out, struct reason *why_not);
void http_server_close(struct http_server *server);
/* "127.0.0.1:9750" */
const char *http_server_address(const struct http_server *server);
/* Fills descriptors to poll; returns how many, at most HTTP_POLL_MAX. */
unsigned http_server_poll(const struct http_server *server, struct pollfd out[HTTP_POLL_MAX]);
/* Until the next deadline, in milliseconds; −1: there is none. */
int http_server_wait_ms(const struct http_server *server, int64_t now_ns);
/* Accepts, reads and writes what is possible without waiting. */
void http_server_step(struct http_server *server, int64_t now_ns);
/* Answered requests, and connections that were closed before their answer was complete. */
uint64_t http_server_answered(const struct http_server *server);
uint64_t http_server_dropped(const struct http_server *server);

#endif
