#include "src/sources/containers/container_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/sources/containers/container_key.h"

enum { ANSWER_SIZE = 1 << 20, WAIT_S = 2 };

/* −1: nobody answers there. */
static int connect_to(struct container_search *search, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct timeval wait = { .tv_sec = WAIT_S };
	if ((size_t)snprintf(address.sun_path, sizeof address.sun_path, "%s%s", search->roots->root, path) >=
		sizeof address.sun_path)
		return -1;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	search->is_denied |= errno == EACCES || errno == EPERM;
	close(fd);
	return -1;
}

/* The whole answer, with its NUL; free it. NULL: none in time. */
static char *ask(int fd, const char *name)
{
	char request[CONTAINER_NAME_SIZE + 80], *answer = malloc(ANSWER_SIZE);
	int length = snprintf(request, sizeof request, "GET /containers/%s/json HTTP/1.0\r\nHost: localhost\r\n\r\n", name);
	size_t used = 0;
	int64_t until_ns = clock_monotonic_ns() + WAIT_S * INT64_C(1000000000);
	if (!answer || send(fd, request, (size_t)length, MSG_NOSIGNAL) != length) {
		free(answer);
		return NULL;
	}
	for (;;) {
		ssize_t got = recv(fd, answer + used, ANSWER_SIZE - 1 - used, 0);
		if (got == 0)
			break;
		if (got > 0)
			used += (size_t)got;
		if ((got < 0 && errno != EINTR) || used == ANSWER_SIZE - 1 || clock_monotonic_ns() > until_ns) {
			free(answer);
			return NULL;
		}
	}
	answer[used] = '\0';
	return answer;
}

static void read_answer(struct container_search *search, const char *answer)
{
	struct json_tree *tree = NULL;
	struct reason reason;
	const char *body = strstr(answer, "\r\n\r\n");
	if (!body || strncmp(answer, "HTTP/1.", 7) != 0 || strncmp(answer + 8, " 200", 4) != 0)
		return;
	if (json_tree_read(body + 4, strlen(body + 4), &tree, &reason) != STATUS_OK)
		return;
	const struct json_value *root = json_tree_root(tree);
	double pid = json_member_number(json_member(root, "State", JSON_OBJECT), "Pid");
	const char *id = json_member_text(root, "Id");
	struct container_key *key = id ? container_add_key(search, "", id) : NULL;
	if (key && pid >= 1 && pid <= 4194304)
		key->pid = (pid_t)pid;
	json_tree_free(tree);
}

void container_ask_socket(struct container_search *search)
{
	static const char *const sockets[] = {
		[CONTAINER_DOCKER] = "/var/run/docker.sock",
		[CONTAINER_PODMAN] = "/run/podman/podman.sock",
		[CONTAINER_POD] = NULL,
	};
	const char *path = sockets[search->kind];
	int fd = path ? connect_to(search, path) : -1;
	if (fd < 0)
		return;
	char *answer = ask(fd, search->name);
	if (answer)
		read_answer(search, answer);
	free(answer);
	close(fd);
}
