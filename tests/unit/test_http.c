#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/serving/http_request.h"
#include "src/serving/http_server.h"
#include "tests/support/suite.h"
#include "tests/support/waiting.h"

/* The server of `pmtop exporter`, attacked through real sockets; its clock is the test's. */
enum { LARGE = 8 << 20 };

static struct http_server *server;
static int64_t now_ns;
static uint64_t version;
static unsigned written; /* pages */
static size_t page_size;

static void write_page(void *context, bool is_openmetrics, struct buffer *out)
{
	(void)context;
	written++;
	buffer_puts(out, is_openmetrics ? "openmetrics\n" : "plain\n");
	while (out->length < page_size)
		buffer_puts(out, "................................................................\n");
}

static uint64_t page_version(void *context)
{
	(void)context;
	return version;
}

static void setup(void)
{
	struct http_content content = { write_page, page_version, NULL };
	struct reason why;
	now_ns = NS_PER_S;
	version = written = 0;
	page_size = 0;
	ck_assert_msg(http_server_open("127.0.0.1:0", &content, &server, &why) == STATUS_OK, "%s", why.text);
}

static void teardown(void) { http_server_close(server); }

static int dial(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	to.sin_port = htons((uint16_t)atoi(strrchr(http_server_address(server), ':') + 1));
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

static void say(int fd, const char *text) { ck_assert_int_eq(write(fd, text, strlen(text)), (int)strlen(text)); }

/* Reads until the server closes; false: it was reset. The server runs meanwhile. */
static bool hear(int fd, struct buffer *out)
{
	char part[65536];
	int64_t deadline_ns = wait_deadline(20);
	buffer_clear(out);
	buffer_puts(out, "");
	do {
		http_server_step(server, now_ns);
		ssize_t got = recv(fd, part, sizeof part, MSG_DONTWAIT);
		if (got == 0)
			return true;
		if (got > 0)
			buffer_add(out, part, (size_t)got);
		else if (errno != EAGAIN)
			return false;
	} while (wait_nap(deadline_ns));
	ck_abort_msg("no end of the answer");
	return false;
}

/* The whole answer to a request on a connection of its own. */
static const char *ask(const char *request)
{
	static struct buffer heard;
	int fd = dial();
	say(fd, request);
	ck_assert(hear(fd, &heard));
	close(fd);
	return heard.data;
}

static bool has(const char *text, const char *what) { return strstr(text, what) != NULL; }

/* -- requests -- */

START_TEST(page_is_served_in_the_format_that_accept_asks_for)
{
	const char *text = ask("GET /metrics HTTP/1.1\r\nHost: localhost:9750\r\n\r\n");
	ck_assert(strncmp(text, "HTTP/1.1 200 OK\r\n", 17) == 0);
	ck_assert(has(text, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
	ck_assert(has(text, "Content-Length: 6\r\n") && has(text, "\r\n\r\nplain\n"));
	/* As Prometheus 2.42 asks. */
	text = ask("GET /metrics?x=1 HTTP/1.1\r\nHost: [::1]:9\r\nAccept: "
			   "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/"
			   "plain;version=0.0.4;q=0.5,*/*;q=0.1\r\n\r\n");
	ck_assert(has(text, "application/openmetrics-text; version=1.0.0") && has(text, "\r\n\r\nopenmetrics\n"));
	text = ask("GET /metrics HTTP/1.0\r\nAccept: application/openmetrics-text;q=0.2, text/plain\r\n\r\n");
	ck_assert(has(text, "\r\n\r\nplain\n"));
	ck_assert_uint_eq(http_server_answered(server), 3);
}
END_TEST

START_TEST(other_requests_are_refused)
{
	const char *text = ask("HEAD /metrics HTTP/1.1\r\n\r\n");
	ck_assert(has(text, "200 OK") && has(text, "Content-Length: 6\r\n") && !has(text, "plain\n"));
	ck_assert(has(ask("POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"),
		"405 Method Not Allowed\r\nAllow: GET, HEAD\r\n"));
	ck_assert(has(ask("GET / HTTP/1.1\r\n\r\n"), "404 Not Found"));
	ck_assert(has(ask("GET /metrics/../../../../etc/passwd HTTP/1.1\r\n\r\n"), "404 Not Found"));
	ck_assert(has(ask("GET http://localhost/metrics HTTP/1.1\r\n\r\n"), "400 Bad Request"));
	ck_assert(has(ask("\n\n"), "400 Bad Request"));
	ck_assert(has(ask("\x16\x03\x01\x02\r\n\r\n"), "400 Bad Request"));
}
END_TEST

/* A web page may let its name resolve to 127.0.0.1, but a browser then sends that name. */
START_TEST(foreign_names_of_a_loopback_address_are_refused)
{
	ck_assert(has(ask("GET /metrics HTTP/1.1\r\nHost: attacker.example\r\n\r\n"), "403 Forbidden"));
	ck_assert(has(ask("GET /metrics HTTP/1.1\r\nHost: attacker.example:9750\r\n\r\n"), "403 Forbidden"));
	ck_assert(has(ask("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9750\r\n\r\n"), "200 OK"));
	ck_assert(has(ask("GET /metrics HTTP/1.1\r\nHost : attacker.example\r\n\r\n"), "403 Forbidden"));
}
END_TEST

START_TEST(a_host_that_is_too_long_to_be_a_name_is_foreign)
{
	char request[400];
	snprintf(request, sizeof request, "GET /metrics HTTP/1.1\r\nHost: %0300d\r\n\r\n", 0);
	ck_assert(has(ask(request), "403 Forbidden"));
	ck_assert(has(ask("GET /metrics HTTP/1.1\r\nHost: localhost.example\r\nHost: localhost\r\n\r\n"), "200 OK"));
}
END_TEST

START_TEST(head_has_a_limit)
{
	char line[1100];
	int fd = dial();
	struct buffer heard = BUFFER_INIT;
	memset(line, 'x', sizeof line);
	memcpy(line, "X-Header: ", 10);
	memcpy(line + sizeof line - 3, "\r\n", 3);
	say(fd, "GET /metrics HTTP/1.1\r\n");
	for (unsigned i = 0; i < 8; i++)
		say(fd, line);
	hear(fd, &heard);
	ck_assert(has(heard.data, "431 Request Header Fields Too Large") || heard.length == 0);
	close(fd);
	buffer_release(&heard);
	ck_assert(has(ask("GET /metrics HTTP/1.1\r\n\r\n"), "200 OK"));
}
END_TEST

START_TEST(bytes_may_come_one_by_one)
{
	const char *request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct buffer heard = BUFFER_INIT;
	int fd = dial();
	for (; *request; request++) {
		ck_assert_int_eq(write(fd, request, 1), 1);
		http_server_step(server, now_ns);
	}
	ck_assert(hear(fd, &heard));
	ck_assert(has(heard.data, "200 OK"));
	close(fd);
	buffer_release(&heard);
}
END_TEST

/* -- clients that are slow, or many -- */

START_TEST(half_a_request_is_dropped_at_its_deadline)
{
	struct buffer heard = BUFFER_INIT;
	struct pollfd ready[HTTP_POLL_MAX];
	ck_assert_int_eq(http_server_wait_ms(server, now_ns), -1);
	int fd = dial();
	say(fd, "GET /metr");
	while (http_server_poll(server, ready) < 2)
		http_server_step(server, now_ns);
	int wait_ms = http_server_wait_ms(server, now_ns);
	ck_assert_int_ge(wait_ms, 5000);
	ck_assert_int_le(wait_ms, 5001);
	now_ns += HTTP_REQUEST_MAX_NS;
	hear(fd, &heard);
	ck_assert_uint_eq(heard.length, 0);
	ck_assert_uint_eq(http_server_dropped(server), 1);
	ck_assert_uint_eq(http_server_poll(server, ready), 1);
	close(fd);
	buffer_release(&heard);
}
END_TEST

START_TEST(silent_connections_keep_nobody_out)
{
	enum { SILENT = 200 };
	int fds[SILENT];
	struct pollfd ready[HTTP_POLL_MAX];
	for (unsigned i = 0; i < SILENT; i++) {
		fds[i] = dial();
		http_server_step(server, now_ns);
		ck_assert_uint_le(http_server_poll(server, ready), HTTP_POLL_MAX);
	}
	ck_assert(has(ask("GET /metrics HTTP/1.1\r\n\r\n"), "200 OK"));
	ck_assert_uint_ge(http_server_dropped(server), SILENT - HTTP_CONNECTIONS_MAX);
	for (unsigned i = 0; i < SILENT; i++)
		close(fds[i]);
}
END_TEST

/* They do not read: the page is shared, and the next scraper waits two seconds at most. */
START_TEST(clients_that_do_not_read_share_one_page_and_are_dropped)
{
	int fds[HTTP_CONNECTIONS_MAX];
	struct pollfd ready[HTTP_POLL_MAX];
	page_size = LARGE;
	for (unsigned i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		fds[i] = dial();
		say(fds[i], "GET /metrics HTTP/1.1\r\n\r\n");
		int64_t deadline_ns = wait_deadline(20);
		do
			http_server_step(server, now_ns);
		while (http_server_poll(server, ready) - (i + 1 < HTTP_CONNECTIONS_MAX) < i + 1 && wait_nap(deadline_ns));
	}
	ck_assert_uint_eq(written, 1);
	/* Not even the listening socket is polled: a waiting connection would wake the program again and again. */
	ck_assert_uint_eq(http_server_poll(server, ready), HTTP_CONNECTIONS_MAX);
	for (unsigned i = 0; i < HTTP_CONNECTIONS_MAX; i++)
		ck_assert_int_eq(ready[i].events, POLLOUT);
	int waiting = dial();
	say(waiting, "HEAD /metrics HTTP/1.1\r\n\r\n");
	http_server_step(server, now_ns);
	ck_assert_uint_eq(http_server_answered(server), 0);
	int wait_ms = http_server_wait_ms(server, now_ns);
	ck_assert_int_ge(wait_ms, 2000);
	ck_assert_int_le(wait_ms, 2001);
	now_ns += HTTP_SLOW_NS;
	struct buffer heard = BUFFER_INIT;
	ck_assert(hear(waiting, &heard));
	ck_assert(has(heard.data, "200 OK"));
	ck_assert_uint_eq(http_server_dropped(server), 1);
	now_ns += HTTP_RESPONSE_MAX_NS;
	http_server_step(server, now_ns);
	ck_assert_uint_eq(http_server_dropped(server), HTTP_CONNECTIONS_MAX);
	ck_assert_uint_eq(http_server_poll(server, ready), 1);
	buffer_release(&heard);
	close(waiting);
	for (unsigned i = 0; i < HTTP_CONNECTIONS_MAX; i++)
		close(fds[i]);
}
END_TEST

START_TEST(many_requests_write_the_page_once_until_it_changes)
{
	for (unsigned i = 0; i < 20; i++)
		ask("GET /metrics HTTP/1.1\r\n\r\n");
	ck_assert_uint_eq(written, 1);
	version++;
	ask("GET /metrics HTTP/1.1\r\n\r\n");
	ck_assert_uint_eq(written, 2);
}
END_TEST

START_TEST(a_large_page_arrives_whole)
{
	page_size = LARGE;
	const char *text = ask("GET /metrics HTTP/1.1\r\n\r\n");
	ck_assert_uint_ge(strlen(text), LARGE);
	ck_assert_int_eq(text[strlen(text) - 1], '\n');
}
END_TEST

START_TEST(without_descriptors_it_pauses)
{
	struct rlimit before, none;
	struct pollfd ready[HTTP_POLL_MAX];
	int fd = dial();
	getrlimit(RLIMIT_NOFILE, &before);
	none = before;
	none.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &none);
	http_server_step(server, now_ns);
	ck_assert_uint_eq(http_server_poll(server, ready), 0);
	ck_assert_int_ge(http_server_wait_ms(server, now_ns), 1000);
	setrlimit(RLIMIT_NOFILE, &before);
	now_ns += NS_PER_S;
	ck_assert(has(ask("GET /metrics HTTP/1.1\r\n\r\n"), "200 OK"));
	close(fd);
}
END_TEST

/* -- addresses -- */

static enum status open_at(const char *address, struct reason *why)
{
	struct http_content content = { write_page, page_version, NULL };
	struct http_server *another = NULL;
	enum status status = http_server_open(address, &content, &another, why);
	http_server_close(another);
	return status;
}

START_TEST(addresses_are_numeric_with_a_port)
{
	static const char *const wrong[] = { "", ":", "9750", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:99999",
		"127.0.0.1:1x", "host.example:80", "::1:80", "[127.0.0.1]:80", "[]:1" };
	struct reason why;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_msg(open_at(wrong[i], &why) == STATUS_INVALID, "%s", wrong[i]);
	ck_assert_int_eq(open_at("localhost:0", &why), STATUS_OK);
	ck_assert_int_eq(open_at(http_server_address(server), &why), STATUS_IO);
	ck_assert(has(why.text, "Address already in use"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("http");
	TCase *tests = tcase_create("http");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, page_is_served_in_the_format_that_accept_asks_for);
	tcase_add_test(tests, other_requests_are_refused);
	tcase_add_test(tests, foreign_names_of_a_loopback_address_are_refused);
	tcase_add_test(tests, a_host_that_is_too_long_to_be_a_name_is_foreign);
	tcase_add_test(tests, head_has_a_limit);
	tcase_add_test(tests, bytes_may_come_one_by_one);
	tcase_add_test(tests, half_a_request_is_dropped_at_its_deadline);
	tcase_add_test(tests, silent_connections_keep_nobody_out);
	tcase_add_test(tests, clients_that_do_not_read_share_one_page_and_are_dropped);
	tcase_add_test(tests, many_requests_write_the_page_once_until_it_changes);
	tcase_add_test(tests, a_large_page_arrives_whole);
	tcase_add_test(tests, without_descriptors_it_pauses);
	tcase_add_test(tests, addresses_are_numeric_with_a_port);
	suite_add_tcase(suite, tests);
	return suite_run(suite);
}
