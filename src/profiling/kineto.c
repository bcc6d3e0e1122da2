#include "src/profiling/kineto.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define REQUEST "req"
#define REGISTRATION "ctxt"
#define CLIENT "dynoconfigclient00000000-0000-0000-0000-000000000000"

enum { PIDS_MAX = 64, NAME_SIZE = 24, ANSWER_SIZE = sizeof(struct kineto_header) + KINETO_CONFIGURATION_SIZE };

struct datagram {
	struct kineto_header header;
	struct kineto_request request;
	int32_t pids[PIDS_MAX];
};

struct sender {
	struct sockaddr_un address;
	socklen_t length;
	struct ucred who; /* pid 0: unknown, or of another PID namespace */
};

/* -- the socket -- */

/* The terminating NUL belongs to the name. */
static socklen_t address_length(const struct sockaddr_un *address)
{
	size_t begin = address->sun_path[0] ? 0 : 1;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + begin + strlen(address->sun_path + begin) + 1);
}

static enum status name_socket(struct sockaddr_un *address, const char *folder, struct reason *why_not)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (!folder) {
		strcpy(address->sun_path + 1, "dynolog");
		return STATUS_OK;
	}
	if (folder[0] != '/')
		return reason_set(why_not, STATUS_INVALID, "start the job with an absolute path",
			"KINETO_IPC_SOCKET_DIR=%.80s is no absolute path", folder);
	/* PyTorch does not check that its own name, the longer one, fits. */
	if (strlen(folder) + sizeof "/" CLIENT > sizeof address->sun_path)
		return reason_set(why_not, STATUS_INVALID, "start the job with a shorter one",
			"KINETO_IPC_SOCKET_DIR=%.40s… is too long for a socket", folder);
	snprintf(address->sun_path, sizeof address->sun_path, "%s/dynolog", folder);
	return STATUS_OK;
}

/* The socket of a daemon that has ended stays as a file. */
static bool is_left_over(const struct sockaddr_un *address)
{
	struct stat file;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_refused = fd >= 0 && address->sun_path[0] && lstat(address->sun_path, &file) == 0 &&
		S_ISSOCK(file.st_mode) && connect(fd, (const struct sockaddr *)address, address_length(address)) < 0 &&
		errno == ECONNREFUSED;
	if (fd >= 0)
		close(fd);
	return is_refused;
}

/* "FOLDER/NAME" */
static void name_beside(const struct kineto *kineto, const char *name, struct sockaddr_un *out)
{
	*out = kineto->address;
	snprintf(strrchr(out->sun_path, '/') + 1, NAME_SIZE, "%s", name);
}

/* A renamed socket is reached by its new name, and answers come from the old one, which is in the folder, too. */
static bool replace_idle(struct kineto *kineto, const struct stat *idle)
{
	struct sockaddr_un own;
	struct stat now;
	char name[NAME_SIZE];
	if (lstat(kineto->address.sun_path, &now) == 0 && now.st_ino != idle->st_ino && !is_left_over(&kineto->address)) {
		errno = EADDRINUSE;
		return false;
	}
	snprintf(name, sizeof name, "pmtop.%d", (int)getpid());
	name_beside(kineto, name, &own);
	unlink(own.sun_path);
	kineto->replaces_idle = bind(kineto->fd, (const struct sockaddr *)&own, address_length(&own)) == 0 &&
		rename(own.sun_path, kineto->address.sun_path) == 0;
	return kineto->replaces_idle;
}

static void restore_idle(const struct kineto *kineto)
{
	struct sockaddr_un idle, beside;
	char name[NAME_SIZE];
	snprintf(name, sizeof name, "back.%d", (int)getpid());
	name_beside(kineto, "idle", &idle);
	name_beside(kineto, name, &beside);
	if (link(idle.sun_path, beside.sun_path) == 0)
		rename(beside.sun_path, kineto->address.sun_path);
}

static bool bind_socket(struct kineto *kineto)
{
	struct sockaddr_un idle;
	struct stat file;
	if (kineto->address.sun_path[0]) {
		name_beside(kineto, "idle", &idle);
		if (lstat(idle.sun_path, &file) == 0 && S_ISSOCK(file.st_mode))
			return replace_idle(kineto, &file);
	}
	const struct sockaddr *address = (const struct sockaddr *)&kineto->address;
	socklen_t length = address_length(&kineto->address);
	if (bind(kineto->fd, address, length) == 0)
		return true;
	int error = errno;
	if (error == EADDRINUSE && is_left_over(&kineto->address)) {
		unlink(kineto->address.sun_path);
		return bind(kineto->fd, address, length) == 0;
	}
	errno = error;
	return false;
}

enum status kineto_open(struct kineto *kineto, const char *folder, uid_t uid, struct reason *why_not)
{
	int yes = 1;
	*kineto = (struct kineto){ .fd = -1, .uid = uid };
	enum status status = name_socket(&kineto->address, folder, why_not);
	if (status != STATUS_OK)
		return status;
	kineto->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* The mode of the file that bind() makes. */
	bool is_made = kineto->fd >= 0 && fchmod(kineto->fd, 0600) == 0 &&
		setsockopt(kineto->fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) == 0;
	if (is_made && bind_socket(kineto)) {
		if (folder && uid != geteuid() && lchown(kineto->address.sun_path, uid, (gid_t)-1) != 0)
			is_made = false;
		if (is_made)
			return STATUS_OK;
	}
	int error = errno;
	if (kineto->fd >= 0)
		close(kineto->fd);
	kineto->fd = -1;
	if (error == EADDRINUSE)
		return reason_set(why_not, STATUS_UNSUPPORTED,
			"use its command: dyno gputrace --pids=PID --iterations=3 --log-file=/tmp/trace.json",
			"another daemon (dynolog, or another pmtop profile) listens to PyTorch");
	return reason_set(why_not, error == EACCES || error == EPERM ? STATUS_DENIED : STATUS_IO,
		folder ? "check KINETO_IPC_SOCKET_DIR of the job" : NULL, "cannot listen to PyTorch at %.108s: %s",
		folder ? kineto->address.sun_path : "the abstract name dynolog", strerror(error));
}

bool kineto_is_at(const struct kineto *kineto, const char *folder, uid_t uid)
{
	struct sockaddr_un address;
	struct reason reason;
	return kineto->fd >= 0 && kineto->uid == uid && name_socket(&address, folder, &reason) == STATUS_OK &&
		memcmp(&address, &kineto->address, sizeof address) == 0;
}

void kineto_close(struct kineto *kineto)
{
	if (kineto->fd < 0)
		return;
	if (kineto->replaces_idle)
		restore_idle(kineto);
	else if (kineto->address.sun_path[0])
		unlink(kineto->address.sun_path);
	close(kineto->fd);
	kineto->fd = -1;
}

/* -- datagrams -- */

/* Returns the length of the whole datagram, which may be larger than *out; −1: none. */
static ssize_t receive(const struct kineto *kineto, struct datagram *out, struct sender *from)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec part = { out, sizeof *out };
	struct msghdr message = { .msg_name = &from->address,
		.msg_namelen = sizeof from->address,
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof control };
	memset(out, 0, sizeof *out);
	memset(from, 0, sizeof *from);
	ssize_t length = recvmsg(kineto->fd, &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
	from->length = message.msg_namelen;
	for (struct cmsghdr *at = length < 0 ? NULL : CMSG_FIRSTHDR(&message); at; at = CMSG_NXTHDR(&message, at))
		if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SCM_CREDENTIALS)
			memcpy(&from->who, CMSG_DATA(at), sizeof from->who);
	return length;
}

static bool is_type(const struct datagram *datagram, const char *type)
{
	return strncmp(datagram->header.type, type, KINETO_TYPE_SIZE) == 0;
}

/* The counts in it are the sender's: they must agree with what came. */
static bool is_request(const struct datagram *datagram, size_t length)
{
	size_t fixed = sizeof datagram->header + sizeof datagram->request;
	return length >= fixed && length <= sizeof *datagram && is_type(datagram, REQUEST) &&
		datagram->header.size == length - sizeof datagram->header && datagram->request.pid_count >= 0 &&
		(size_t)datagram->request.pid_count == (length - fixed) / sizeof(int32_t) &&
		(length - fixed) % sizeof(int32_t) == 0;
}

static bool send_to(
	const struct kineto *kineto, const struct sender *to, const char *type, const void *body, size_t size)
{
	char bytes[ANSWER_SIZE];
	struct kineto_header header = { .size = size };
	if (size > KINETO_CONFIGURATION_SIZE || to->length <= offsetof(struct sockaddr_un, sun_path))
		return false;
	snprintf(header.type, sizeof header.type, "%s", type);
	memcpy(bytes, &header, sizeof header);
	memcpy(bytes + sizeof header, body, size);
	return sendto(kineto->fd, bytes, sizeof header + size, MSG_DONTWAIT | MSG_NOSIGNAL,
			   (const struct sockaddr *)&to->address, to->length) == (ssize_t)(sizeof header + size);
}

enum kineto_poll kineto_answer(struct kineto *kineto, const char *(*find)(void *context, pid_t pid), void *context)
{
	struct datagram datagram;
	struct sender from;
	ssize_t length = receive(kineto, &datagram, &from);
	if (length < 0)
		return KINETO_NONE;
	if ((size_t)length > sizeof datagram.header && is_type(&datagram, REGISTRATION)) {
		int32_t instances = 1;
		send_to(kineto, &from, REGISTRATION, &instances, sizeof instances);
		return KINETO_OTHER;
	}
	if (!is_request(&datagram, (size_t)length))
		return KINETO_OTHER;
	bool is_ours = from.who.pid > 0 && from.who.uid == kineto->uid;
	const char *configuration = is_ours ? find(context, from.who.pid) : NULL;
	bool is_busy = !(datagram.request.type & KINETO_ACTIVITIES);
	const char *body = configuration && !is_busy ? configuration : "";
	bool is_sent = send_to(kineto, &from, REQUEST, body, strlen(body));
	return !configuration ? KINETO_OTHER
		: is_busy         ? KINETO_BUSY
		: !body[0]        ? KINETO_IDLE
		: is_sent         ? KINETO_GIVEN
						  : KINETO_OTHER;
}

void kineto_configure(char out[KINETO_CONFIGURATION_SIZE], const char *folder, unsigned steps, int64_t start_ms)
{
	/* Never PROFILE_PROFILE_MEMORY: its loop in PyTorch does not sleep and burns a core for the rest of the run. */
	int length = snprintf(out, KINETO_CONFIGURATION_SIZE,
		"ACTIVITIES_LOG_FILE=%s/trace.json\n"
		"PROFILE_REPORT_INPUT_SHAPES=true\n",
		folder);
	if (start_ms)
		snprintf(out + length, KINETO_CONFIGURATION_SIZE - (size_t)length,
			"PROFILE_START_TIME=%lld\n"
			"ACTIVITIES_WARMUP_PERIOD_SECS=1\n"
			"ACTIVITIES_DURATION_MSECS=%d\n",
			(long long)start_ms, KINETO_WINDOW_MS);
	else
		snprintf(out + length, KINETO_CONFIGURATION_SIZE - (size_t)length,
			"PROFILE_START_ITERATION=0\n"
			"PROFILE_START_ITERATION_ROUNDUP=1\n"
			"ACTIVITIES_WARMUP_ITERATIONS=1\n"
			"ACTIVITIES_ITERATIONS=%u\n",
			steps);
}
