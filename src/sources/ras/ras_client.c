#include "src/sources/ras/ras_client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/text.h"

enum { PORT_DEFAULT = 28028, PORT_MAX = 65535, LINE_SIZE = 256, CHUNK = 64 * 1024 };

/* -- the address -- */

static void add_v4(struct ras_addresses *out, struct in_addr address, in_port_t port)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&out->list[out->count].address;
	*in = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = address, .sin_port = htons(port) };
	out->list[out->count++].length = sizeof *in;
}

static void add_v6(struct ras_addresses *out, struct in6_addr address, in_port_t port)
{
	struct sockaddr_in6 *in = (struct sockaddr_in6 *)&out->list[out->count].address;
	*in = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_addr = address, .sin6_port = htons(port) };
	out->list[out->count++].length = sizeof *in;
}

bool ras_addresses_parse(const char *text, struct ras_addresses *out)
{
	char host[RAS_ADDRESS_TEXT_SIZE];
	struct in_addr v4;
	struct in6_addr v6;
	text = text && *text ? text : "localhost:28028";
	const char *colon = strrchr(text, ':');
	long port = colon ? text_count(colon + 1) : -1;
	memset(out, 0, sizeof *out);
	text_clean(out->text, sizeof out->text, text, strlen(text));
	if (port < 1 || port > PORT_MAX || (size_t)(colon - text) >= sizeof host)
		return false;
	bool is_bracketed = text[0] == '[' && colon > text + 1 && colon[-1] == ']';
	snprintf(host, sizeof host, "%.*s", (int)(colon - text) - 2 * is_bracketed, text + is_bracketed);
	if (strcmp(host, "localhost") == 0) {
		add_v4(out, (struct in_addr){ htonl(INADDR_LOOPBACK) }, (in_port_t)port);
		add_v6(out, in6addr_loopback, (in_port_t)port);
	} else if (inet_pton(AF_INET, host, &v4) == 1) {
		add_v4(out, v4, (in_port_t)port);
	} else if (inet_pton(AF_INET6, host, &v6) == 1) {
		add_v6(out, v6, (in_port_t)port);
	}
	return out->count > 0;
}

/* -- the socket -- */

static bool is_same_namespace(int a, int b)
{
	struct stat one, other;
	return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* A socket stays in the network namespace in which it was made. Sets errno. */
static int open_socket(int network_fd, int family)
{
	int own = network_fd < 0 ? -1 : open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	bool is_other = own >= 0 && !is_same_namespace(own, network_fd);
	int fd = -1, error = 0;
	if (is_other && setns(network_fd, CLONE_NEWNET) != 0)
		error = EPERM;
	else if ((fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) < 0)
		error = errno;
	if (is_other && error != EPERM && setns(own, CLONE_NEWNET) != 0)
		error = errno;
	if (own >= 0)
		close(own);
	errno = error;
	return fd;
}

/* Only an address of this machine can be bound. */
static bool is_local(int fd, const struct sockaddr_storage *address, socklen_t length)
{
	struct sockaddr_storage any_port = *address;
	if (any_port.ss_family == AF_INET)
		((struct sockaddr_in *)&any_port)->sin_port = 0;
	else
		((struct sockaddr_in6 *)&any_port)->sin6_port = 0;
	return bind(fd, (struct sockaddr *)&any_port, length) == 0;
}

struct connection {
	int fd, wake_fd;
	int64_t until_ns;
	char line[LINE_SIZE];
};

/* AGAIN: not in time; END: woken. */
static enum status wait_for(const struct connection *connection, short events)
{
	struct pollfd list[] = { { .fd = connection->fd, .events = events },
		{ .fd = connection->wake_fd, .events = POLLIN } };
	for (;;) {
		int64_t left_ns = connection->until_ns - clock_monotonic_ns();
		if (left_ns <= 0)
			return STATUS_AGAIN;
		int ready = poll(list, 2, (int)(left_ns / NS_PER_MS) + 1);
		if (list[1].revents && ready > 0)
			return STATUS_END;
		if (ready > 0)
			return STATUS_OK;
		if (ready < 0 && errno != EINTR)
			return STATUS_IO;
	}
}

/* NOT_FOUND: nothing listens there; DENIED: no right to enter the namespace; INVALID: not of this machine. */
static enum status connect_to(const struct ras_question *question, size_t at, struct connection *connection)
{
	const struct sockaddr_storage *address = &question->addresses->list[at].address;
	socklen_t length = question->addresses->list[at].length, error_length = sizeof(int);
	int error = 0;
	connection->fd = open_socket(question->network_fd, address->ss_family);
	if (connection->fd < 0)
		return errno == EPERM ? STATUS_DENIED : errno == EAFNOSUPPORT ? STATUS_NOT_FOUND : STATUS_IO;
	if (!is_local(connection->fd, address, length))
		return STATUS_INVALID;
	if (connect(connection->fd, (const struct sockaddr *)address, length) == 0)
		return STATUS_OK;
	if (errno != EINPROGRESS)
		return STATUS_NOT_FOUND;
	enum status status = wait_for(connection, POLLOUT);
	if (status != STATUS_OK)
		return status;
	return getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &error, &error_length) == 0 && error == 0
		? STATUS_OK
		: STATUS_NOT_FOUND;
}

/* -- the conversation -- */

static enum status send_line(struct connection *connection, const char *text)
{
	for (size_t length = strlen(text), done = 0; done < length;) {
		ssize_t sent = send(connection->fd, text + done, length - done, MSG_NOSIGNAL);
		enum status status = sent < 0 && errno == EAGAIN ? wait_for(connection, POLLOUT) : STATUS_OK;
		if (status != STATUS_OK)
			return status;
		if (sent < 0 && errno != EAGAIN && errno != EINTR)
			return STATUS_DAMAGED;
		done += sent > 0 ? (size_t)sent : 0;
	}
	return STATUS_OK;
}

/* DAMAGED: it has closed the connection, or the line is too long. */
static enum status read_line(struct connection *connection)
{
	for (size_t length = 0; length + 1 < sizeof connection->line;) {
		char *byte = &connection->line[length];
		ssize_t got = recv(connection->fd, byte, 1, 0);
		enum status status = got < 0 && errno == EAGAIN ? wait_for(connection, POLLIN) : STATUS_OK;
		if (status != STATUS_OK)
			return status;
		if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
			return STATUS_DAMAGED;
		if (got > 0 && *byte == '\n') {
			*byte = '\0';
			return STATUS_OK;
		}
		length += got > 0;
	}
	return STATUS_DAMAGED;
}

static enum status exchange(struct connection *connection, const char *text, const char *wanted)
{
	enum status status = send_line(connection, text);
	if (status == STATUS_OK)
		status = read_line(connection);
	if (status != STATUS_OK)
		return status;
	return strncmp(connection->line, wanted, strlen(wanted)) == 0 ? STATUS_OK
		: strncmp(connection->line, "ERROR", 5) == 0              ? STATUS_UNSUPPORTED
																  : STATUS_DAMAGED;
}

static enum status read_answer(struct connection *connection, struct buffer *answer)
{
	for (;;) {
		if (answer->length > RAS_ANSWER_MAX || !buffer_reserve(answer, CHUNK))
			return answer->length > RAS_ANSWER_MAX ? STATUS_DAMAGED : STATUS_NO_MEMORY;
		ssize_t got = recv(connection->fd, answer->data + answer->length, CHUNK, 0);
		enum status status = got < 0 && errno == EAGAIN ? wait_for(connection, POLLIN) : STATUS_OK;
		if (status != STATUS_OK)
			return status;
		if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
			return answer->length > 0 ? STATUS_OK : STATUS_DAMAGED;
		answer->length += got > 0 ? (size_t)got : 0;
		answer->data[answer->length] = '\0';
	}
}

static enum status converse(struct connection *connection, struct buffer *answer)
{
	static const char *const lines[][2] = { { "CLIENT PROTOCOL 2\n", "SERVER PROTOCOL " },
		{ "SET FORMAT json\n", "OK" }, { "TIMEOUT 5\n", "OK" } };
	enum status status = STATUS_OK;
	for (size_t i = 0; i < sizeof lines / sizeof *lines && status == STATUS_OK; i++)
		status = exchange(connection, lines[i][0], lines[i][1]);
	if (status == STATUS_OK)
		status = send_line(connection, "STATUS\n");
	return status == STATUS_OK ? read_answer(connection, answer) : status;
}

static enum status explain(enum status status, const struct ras_question *question, struct reason *why_not)
{
	const char *at = question->addresses->text;
	double limit_s = (double)question->limit_ns * 1e-9;
	switch (status) {
	case STATUS_NOT_FOUND: return reason_set(why_not, status, NULL, "nothing listens at %s", at);
	case STATUS_DENIED:
		return reason_set(why_not, status, "run pmtop as root, or inside the container",
			"NCCL's RAS is in another network namespace, which pmtop may not enter");
	case STATUS_UNSUPPORTED:
		return reason_set(
			why_not, status, "use NCCL 2.28.7 or newer", "NCCL's RAS at %s has no JSON: NCCL is older than 2.28.7", at);
	case STATUS_AGAIN: return reason_set(why_not, status, NULL, "NCCL's RAS at %s: no answer in %.3g s", at, limit_s);
	case STATUS_INVALID:
		return reason_set(why_not, status, NULL, "NCCL_RAS_ADDR: %s is no address of this machine", at);
	case STATUS_DAMAGED: return reason_set(why_not, status, NULL, "what answers at %s is not NCCL's RAS", at);
	default: return reason_set(why_not, status, NULL, "NCCL's RAS at %s cannot be asked", at);
	}
}

enum status ras_ask(const struct ras_question *question, struct buffer *answer, struct reason *why_not)
{
	enum status status = STATUS_NOT_FOUND;
	struct connection connection = {
		.fd = -1, .wake_fd = question->wake_fd, .until_ns = clock_monotonic_ns() + question->limit_ns
	};
	for (size_t i = 0; i < question->addresses->count && status == STATUS_NOT_FOUND; i++) {
		status = connect_to(question, i, &connection);
		if (status == STATUS_OK)
			status = converse(&connection, answer);
		else if (status == STATUS_INVALID && i + 1 < question->addresses->count)
			status = STATUS_NOT_FOUND; /* of localhost, this machine may have the other one */
		if (connection.fd >= 0)
			close(connection.fd);
	}
	return status == STATUS_OK ? status : explain(status, question, why_not);
}
