#include "src/serving/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/serving/http_request.h"

/* Without a free descriptor the listening socket stays readable, and poll would return at once. */
#define PAUSE_NS NS_PER_S

/* A page, as long as it is the newest of its format or a connection sends it. */
struct page {
	struct buffer text;
	uint64_t version;
	unsigned users;
};

struct connection {
	int fd; /* −1 = free */
	bool is_answered;
	int64_t deadline_ns, answered_ns;
	uint64_t number;
	char head[HTTP_HEAD_MAX];
	size_t head_length;
	char status[256]; /* status line and headers of the answer */
	size_t status_length, sent;
	struct page *page; /* the body; NULL: none */
	size_t page_length;
};

struct http_server {
	int fd;
	bool is_loopback, is_full; /* is_full: no place for another connection now */
	char address[80];
	struct http_content content;
	struct page *pages[2]; /* the newest of each format; NULL: none */
	uint64_t numbers, answered, dropped;
	int64_t paused_until_ns; /* no descriptors were left; 0 = it accepts */
	struct connection connections[HTTP_CONNECTIONS_MAX];
};

/* -- pages -- */

static void leave_page(struct page *page)
{
	if (!page || --page->users)
		return;
	buffer_release(&page->text);
	free(page);
}

/* NULL: out of memory. */
static struct page *enter_page(struct http_server *server, bool is_openmetrics)
{
	struct page **newest = &server->pages[is_openmetrics];
	uint64_t version = server->content.version(server->content.context);
	if (!*newest || (*newest)->version != version) {
		struct page *page = calloc(1, sizeof *page);
		if (!page)
			return NULL;
		server->content.write(server->content.context, is_openmetrics, &page->text);
		page->version = version;
		page->users = 1;
		if (page->text.failed) {
			leave_page(page);
			return NULL;
		}
		leave_page(*newest);
		*newest = page;
	}
	(*newest)->users++;
	return *newest;
}

/* -- connections -- */

static void drop(struct connection *connection)
{
	close(connection->fd);
	leave_page(connection->page);
	connection->fd = -1;
	connection->page = NULL;
}

static void abandon(struct http_server *server, struct connection *connection)
{
	drop(connection);
	server->dropped++;
}

#define STATUSES(X) \
	X(OK, "200 OK") \
	X(MALFORMED, "400 Bad Request") \
	X(FOREIGN, "403 Forbidden") \
	X(UNKNOWN, "404 Not Found") \
	X(METHOD, "405 Method Not Allowed\r\nAllow: GET, HEAD") \
	X(LARGE, "431 Request Header Fields Too Large") \
	X(FAILED, "503 Service Unavailable")
enum answer {
#define STATUS_ID(id, text) ANSWER_##id,
	STATUSES(STATUS_ID)
#undef STATUS_ID
};

static void answer(struct connection *connection, enum answer status, bool is_openmetrics, int64_t now_ns)
{
	static const char *const texts[] = {
#define STATUS_TEXT(id, text) text,
		STATUSES(STATUS_TEXT)
#undef STATUS_TEXT
	};
	size_t length = connection->page ? connection->page->text.length : 0;
	int written = snprintf(connection->status, sizeof connection->status,
		"HTTP/1.1 %s\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
		texts[status], is_openmetrics ? "application/openmetrics-text; version=1.0.0" : "text/plain; version=0.0.4",
		length);
	connection->status_length = (size_t)written;
	connection->is_answered = true;
	connection->answered_ns = now_ns;
	connection->deadline_ns = now_ns + HTTP_RESPONSE_MAX_NS;
}

static enum answer choose_answer(
	struct http_server *server, struct connection *connection, const struct http_request *request)
{
	static const char path[] = "/metrics";
	if (server->is_loopback && !http_host_is_local(request->host))
		return ANSWER_FOREIGN;
	if (!request->is_get && !request->is_head)
		return ANSWER_METHOD;
	if (strcmp(request->path, path) != 0)
		return ANSWER_UNKNOWN;
	connection->page = enter_page(server, request->wants_openmetrics);
	return connection->page ? ANSWER_OK : ANSWER_FAILED;
}

static void take_head(struct http_server *server, struct connection *connection, int64_t now_ns)
{
	struct http_request request = { 0 };
	enum http_parse parse = http_request_parse(connection->head, connection->head_length, &request);
	if (parse == HTTP_INCOMPLETE && connection->head_length < sizeof connection->head)
		return;
	enum answer status = parse == HTTP_INCOMPLETE ? ANSWER_LARGE
		: parse == HTTP_MALFORMED                 ? ANSWER_MALFORMED
												  : choose_answer(server, connection, &request);
	answer(connection, status, request.wants_openmetrics, now_ns);
	connection->page_length = connection->page && !request.is_head ? connection->page->text.length : 0;
}

static void read_head(struct http_server *server, struct connection *connection, int64_t now_ns)
{
	while (!connection->is_answered) {
		ssize_t got = recv(connection->fd, connection->head + connection->head_length,
			sizeof connection->head - connection->head_length, MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (got <= 0) {
			abandon(server, connection);
			return;
		}
		connection->head_length += (size_t)got;
		take_head(server, connection, now_ns);
	}
}

/* What was sent may still be on its way: closing a socket with unread input would discard it. */
static void finish(struct http_server *server, struct connection *connection)
{
	char rest[4096];
	shutdown(connection->fd, SHUT_WR);
	for (unsigned i = 0; i < 4 && recv(connection->fd, rest, sizeof rest, MSG_DONTWAIT) > 0; i++)
		continue;
	drop(connection);
	server->answered++;
}

static void write_answer(struct http_server *server, struct connection *connection)
{
	size_t whole = connection->status_length + connection->page_length;
	while (connection->sent < whole) {
		bool is_status = connection->sent < connection->status_length;
		const char *from = is_status ? connection->status + connection->sent
									 : connection->page->text.data + (connection->sent - connection->status_length);
		size_t left = (is_status ? connection->status_length : whole) - connection->sent;
		ssize_t sent =
			send(connection->fd, from, left, MSG_DONTWAIT | MSG_NOSIGNAL | (is_status && whole > left ? MSG_MORE : 0));
		if (sent < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (sent <= 0) {
			abandon(server, connection);
			return;
		}
		connection->sent += (size_t)sent;
	}
	finish(server, connection);
}

static void go_on(struct http_server *server, struct connection *connection, int64_t now_ns)
{
	if (!connection->is_answered)
		read_head(server, connection, now_ns);
	if (connection->fd >= 0 && connection->is_answered)
		write_answer(server, connection);
	if (connection->fd >= 0 && now_ns >= connection->deadline_ns)
		abandon(server, connection);
}

/* Who would make way before another: who has not sent its request, then who reads slowly; the oldest first. */
static bool makes_way_before(const struct connection *a, const struct connection *b)
{
	if (a->is_answered != b->is_answered)
		return !a->is_answered;
	return a->number < b->number;
}

static bool may_make_way(const struct connection *connection, int64_t now_ns)
{
	return !connection->is_answered || now_ns >= connection->answered_ns + HTTP_SLOW_NS;
}

/* A free place, else that of a connection that has to make way; NULL: none has to. */
static struct connection *find_place(struct http_server *server, int64_t now_ns)
{
	struct connection *found = NULL;
	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		struct connection *connection = &server->connections[i];
		if (connection->fd < 0)
			return connection;
		if (may_make_way(connection, now_ns) && (!found || makes_way_before(connection, found)))
			found = connection;
	}
	return found;
}

/* At most one round, so that a flood of connections leaves time for the rest of the program. */
static void accept_some(struct http_server *server, int64_t now_ns)
{
	struct connection *connection;
	for (unsigned i = 0; i < HTTP_CONNECTIONS_MAX && (connection = find_place(server, now_ns)); i++) {
		int fd = accept4(server->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0 && errno != EAGAIN && errno != ECONNABORTED)
			server->paused_until_ns = now_ns + PAUSE_NS;
		if (fd < 0)
			return;
		if (connection->fd >= 0)
			abandon(server, connection);
		connection->fd = fd;
		connection->is_answered = false;
		connection->head_length = connection->sent = connection->page_length = connection->status_length = 0;
		connection->deadline_ns = now_ns + HTTP_REQUEST_MAX_NS;
		connection->number = server->numbers++;
		go_on(server, connection, now_ns);
	}
}

void http_server_step(struct http_server *server, int64_t now_ns)
{
	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++)
		if (server->connections[i].fd >= 0)
			go_on(server, &server->connections[i], now_ns);
	if (now_ns < server->paused_until_ns)
		return;
	server->paused_until_ns = 0;
	accept_some(server, now_ns);
	server->is_full = !find_place(server, now_ns);
}

unsigned http_server_poll(const struct http_server *server, struct pollfd out[HTTP_POLL_MAX])
{
	unsigned count = 0;
	if (!server->is_full && !server->paused_until_ns)
		out[count++] = (struct pollfd){ .fd = server->fd, .events = POLLIN };
	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		const struct connection *connection = &server->connections[i];
		if (connection->fd >= 0)
			out[count++] =
				(struct pollfd){ .fd = connection->fd, .events = connection->is_answered ? POLLOUT : POLLIN };
	}
	return count;
}

int http_server_wait_ms(const struct http_server *server, int64_t now_ns)
{
	int64_t first_ns = server->paused_until_ns ? server->paused_until_ns : INT64_MAX;
	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		const struct connection *connection = &server->connections[i];
		/* While it is full, the listening socket is not polled. */
		int64_t until_ns = server->is_full ? connection->answered_ns + HTTP_SLOW_NS : connection->deadline_ns;
		if (connection->fd >= 0 && until_ns < first_ns)
			first_ns = until_ns;
	}
	if (first_ns == INT64_MAX)
		return -1;
	return first_ns <= now_ns ? 0 : (int)((first_ns - now_ns) / NS_PER_MS) + 1;
}

/* -- opening -- */

union address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

/* Splits "ADDRESS:PORT" and reads both. */
static bool read_address(const char *listen, union address *out, socklen_t *length, bool *is_loopback)
{
	const char *colon = strrchr(listen, ':');
	char host[64] = "", *end;
	size_t size = colon ? (size_t)(colon - listen) : sizeof host;
	unsigned long port = colon && colon[1] >= '0' && colon[1] <= '9' ? strtoul(colon + 1, &end, 10) : 65536;
	if (size >= sizeof host || port > 65535 || *end)
		return false;
	bool is_bracketed = size > 2 && listen[0] == '[' && listen[size - 1] == ']';
	memcpy(host, listen + is_bracketed, size - 2u * is_bracketed);
	if (strcmp(host, "localhost") == 0)
		strcpy(host, "127.0.0.1");
	memset(out, 0, sizeof *out);
	if (!is_bracketed && inet_pton(AF_INET, host, &out->four.sin_addr) == 1) {
		out->four.sin_family = AF_INET;
		out->four.sin_port = htons((uint16_t)port);
		*length = sizeof out->four;
		*is_loopback = ntohl(out->four.sin_addr.s_addr) >> 24 == 127;
		return true;
	}
	if (!is_bracketed || inet_pton(AF_INET6, host, &out->six.sin6_addr) != 1)
		return false;
	out->six.sin6_family = AF_INET6;
	out->six.sin6_port = htons((uint16_t)port);
	*length = sizeof out->six;
	*is_loopback = IN6_IS_ADDR_LOOPBACK(&out->six.sin6_addr);
	return true;
}

static void name_address(struct http_server *server)
{
	union address bound;
	socklen_t length = sizeof bound;
	char text[INET6_ADDRSTRLEN] = "";
	if (getsockname(server->fd, &bound.any, &length) < 0)
		return;
	if (bound.any.sa_family == AF_INET)
		snprintf(server->address, sizeof server->address, "%s:%u",
			inet_ntop(AF_INET, &bound.four.sin_addr, text, sizeof text), ntohs(bound.four.sin_port));
	else
		snprintf(server->address, sizeof server->address, "[%s]:%u",
			inet_ntop(AF_INET6, &bound.six.sin6_addr, text, sizeof text), ntohs(bound.six.sin6_port));
}

enum status http_server_open(
	const char *listen_at, const struct http_content *content, struct http_server **out, struct reason *why_not)
{
	union address address;
	socklen_t length;
	int yes = 1;
	struct http_server *server = calloc(1, sizeof *server);
	if (!server)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	server->content = *content;
	server->fd = -1;
	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++)
		server->connections[i].fd = -1;
	if (!read_address(listen_at, &address, &length, &server->is_loopback)) {
		http_server_close(server);
		return reason_set(why_not, STATUS_INVALID, "write 127.0.0.1:9750, 0.0.0.0:9750 or [::]:9750",
			"cannot listen on %.80s: no numeric address with a port", listen_at);
	}
	server->fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (server->fd < 0 || setsockopt(server->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) < 0 ||
		bind(server->fd, &address.any, length) < 0 || listen(server->fd, HTTP_CONNECTIONS_MAX) < 0) {
		int error = errno;
		http_server_close(server);
		return reason_set(why_not, STATUS_IO, error == EADDRINUSE ? "choose another port with --listen" : NULL,
			"cannot listen on %.80s: %s", listen_at, strerror(error));
	}
	name_address(server);
	*out = server;
	return STATUS_OK;
}

void http_server_close(struct http_server *server)
{
	if (!server)
		return;
	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++)
		if (server->connections[i].fd >= 0)
			drop(&server->connections[i]);
	for (size_t i = 0; i < 2; i++)
		leave_page(server->pages[i]);
	if (server->fd >= 0)
		close(server->fd);
	free(server);
}

const char *http_server_address(const struct http_server *server) { return server->address; }
uint64_t http_server_answered(const struct http_server *server) { return server->answered; }
uint64_t http_server_dropped(const struct http_server *server) { return server->dropped; }
