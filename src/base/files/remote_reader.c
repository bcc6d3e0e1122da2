#include "src/base/files/remote_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/base/files/remote_resident.h"

/* PIECES_MAX: UIO_MAXIOV. BYTES_MAX: more than one stack sample reads at once, because its copies must be taken at the
 * same time; pages are allocated only when used. */
enum {
	PIECES_MAX = 1024,
	BYTES_MAX = 4 << 20,
	SLICE_MS = 20,
	PATIENCE = 20,
	STAT_SIZE = 512,
	PAGE = 4096,
	BETWEEN_MAX = 256
};

enum operation { READ_MEMORY, OPEN_MAPS, READ_MAPS, READ_FILE, TEST_SELF };

/* A futex: one side increments the number, the other waits for it. */
struct bell {
	_Atomic uint32_t number;
	_Atomic bool is_awaited;
};

/* Shared with the child. */
struct channel {
	struct bell asked, answered; /* numbers of the newest request and answer */
	_Atomic bool is_left;        /* the reader has abandoned this child */
	enum operation operation;
	pid_t pid;
	int error;          /* errno; 0 = success */
	size_t count, size; /* pieces, and their bytes in total; in the answer, size is the bytes read */
	int64_t cpu_ns;
	struct iovec there[PIECES_MAX];
	unsigned char bytes[BYTES_MAX];
};

/* The thread reads the memory of a process itself, since then; 0 = it does not. */
struct remote_waiting {
	_Atomic int64_t since_ns;
	_Atomic pid_t pid;
};

struct remote_reader {
	int64_t limit_ns, stuck_ns;
	struct remote_resident *resident; /* NULL: none can be known */
	bool may_read;                    /* a child was allowed to read memory: so is this process */
	struct remote_waiting waiting;
	struct channel *channel; /* NULL: no child */
	pid_t child;
	int cpu;              /* where the child runs; −1: anywhere */
	int64_t ended_cpu_ns; /* of children before this one */
	pid_t stuck_child;    /* left behind since the last resume */
	size_t left_count;
	pid_t left[REMOTE_LEFT_MAX];
};

/* Per thread, because the functions of remote.h take only a pid and are called at every depth. */
static _Thread_local struct remote_reader *used;

void remote_reader_use(struct remote_reader *reader) { used = reader; }

struct remote_reader *remote_reader_used(void) { return used; }

static void bell_ring(struct bell *bell, uint32_t number)
{
	atomic_store(&bell->number, number);
	if (atomic_load(&bell->is_awaited))
		syscall(SYS_futex, &bell->number, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Waits until the number is no longer `number`, or for `limit`. */
static void bell_wait(struct bell *bell, uint32_t number, const struct timespec *limit)
{
	atomic_store(&bell->is_awaited, true);
	syscall(SYS_futex, &bell->number, FUTEX_WAIT, number, limit, NULL, 0);
	atomic_store(&bell->is_awaited, false);
}

/* -- the child: a fork of a program with threads, so only system calls are safe -- */

static int read_memory(struct channel *channel)
{
	struct iovec here = { channel->bytes, channel->size };
	ssize_t got = process_vm_readv(channel->pid, &here, 1, channel->there, channel->count, 0);
	return got < 0 ? errno : (size_t)got == channel->size ? 0 : EFAULT;
}

static int test_self(const struct channel *channel)
{
	char out, in = 1;
	struct iovec here = { &out, 1 }, there = { &in, 1 };
	(void)channel;
	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 ? 0 : errno;
}

/* The parent has written the path, because snprintf may allocate. */
static int open_maps(struct channel *channel, int *maps)
{
	if (*maps >= 0)
		close(*maps);
	*maps = open((const char *)channel->bytes, O_RDONLY | O_CLOEXEC);
	return *maps < 0 ? errno : 0;
}

static int read_all(struct channel *channel, int fd)
{
	size_t wanted = channel->size;
	channel->size = 0;
	while (channel->size < wanted) {
		ssize_t got = read(fd, channel->bytes + channel->size, wanted - channel->size);
		if (got < 0)
			return errno;
		if (got == 0)
			break;
		channel->size += (size_t)got;
	}
	return 0;
}

static int read_file(struct channel *channel)
{
	int fd = open((const char *)channel->bytes, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return errno;
	int error = read_all(channel, fd);
	close(fd);
	return error;
}

static int answer(struct channel *channel, int *maps)
{
	switch (channel->operation) {
	case READ_MEMORY: return read_memory(channel);
	case OPEN_MAPS: return open_maps(channel, maps);
	case READ_MAPS: return read_all(channel, *maps);
	case READ_FILE: return read_file(channel);
	case TEST_SELF: return test_self(channel);
	}
	return EINVAL;
}

/* An open descriptor would hold pmtop's locks, pipes and terminal for as long as the child is blocked. */
static void close_all(void)
{
	struct rlimit limit;
#ifdef SYS_close_range
	if (syscall(SYS_close_range, 0U, ~0U, 0U) == 0)
		return;
#endif
	rlim_t end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? limit.rlim_cur : 65536;
	for (int fd = 0; fd < (int)end; fd++)
		close(fd);
}

static _Noreturn void serve(struct channel *channel, pid_t parent)
{
	uint32_t done = 0;
	int maps = -1;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	prctl(PR_SET_NAME, "pmtop-reader");
	close_all();
	for (;; done++) {
		while (atomic_load(&channel->asked.number) == done)
			bell_wait(&channel->asked, done, NULL);
		if (channel->is_left)
			_exit(0);
		channel->error = answer(channel, &maps);
		channel->cpu_ns = clock_process_cpu_ns();
		bell_ring(&channel->answered, done + 1);
	}
}

/* -- starting and ending it -- */

/* Reaps abandoned children that have ended. */
static void collect(struct remote_reader *reader)
{
	size_t retained = 0;
	for (size_t i = 0; i < reader->left_count; i++)
		if (waitpid(reader->left[i], NULL, WNOHANG) == 0)
			reader->left[retained++] = reader->left[i];
	reader->left_count = retained;
}

static bool start(struct remote_reader *reader)
{
	sigset_t all, before;
	collect(reader);
	if (reader->left_count == REMOTE_LEFT_MAX) {
		errno = EAGAIN;
		return false;
	}
	struct channel *channel =
		mmap(NULL, sizeof *channel, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (channel == MAP_FAILED)
		return false;
	/* Block signals in the child: the parent handles them and ends the child. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t parent = getpid(), child = fork();
	if (child == 0)
		serve(channel, parent);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (child < 0) {
		munmap(channel, sizeof *channel);
		return false;
	}
	reader->channel = channel;
	reader->child = child;
	reader->cpu = -1;
	return true;
}

/* The next child gets new memory: a blocked child may still write to this. */
static void drop_channel(struct remote_reader *reader)
{
	reader->ended_cpu_ns += reader->channel->cpu_ns;
	munmap(reader->channel, sizeof *reader->channel);
	reader->channel = NULL;
}

/* A child blocked on a file is not killed: it exits when the read returns. */
static void give_up(struct remote_reader *reader, int64_t begin_ns)
{
	struct channel *channel = reader->channel;
	channel->is_left = true;
	if (channel->operation == READ_FILE)
		bell_ring(&channel->asked, atomic_load(&channel->asked.number) + 1);
	else
		kill(reader->child, SIGKILL);
	reader->left[reader->left_count++] = reader->stuck_child = reader->child;
	reader->stuck_ns = begin_ns;
	drop_channel(reader);
	collect(reader);
}

struct remote_reader *remote_reader_new(int64_t limit_ns)
{
	struct remote_reader *reader = calloc(1, sizeof *reader);
	if (reader) {
		reader->limit_ns = limit_ns;
		reader->resident = remote_resident_new();
	}
	return reader;
}

/* An idle child waits on a futex, so SIGKILL ends it at once and waitpid does not block. */
void remote_reader_free(struct remote_reader *reader)
{
	if (!reader)
		return;
	if (reader->channel) {
		kill(reader->child, SIGKILL);
		waitpid(reader->child, NULL, 0);
		drop_channel(reader);
	}
	collect(reader);
	remote_resident_free(reader->resident);
	free(reader);
}

void remote_reader_set_limit(struct remote_reader *reader, int64_t limit_ns) { reader->limit_ns = limit_ns; }

int64_t remote_reader_stuck_ns(const struct remote_reader *reader) { return reader->stuck_ns; }

pid_t remote_reader_resume(struct remote_reader *reader)
{
	pid_t child = reader->stuck_child;
	reader->stuck_child = 0;
	reader->stuck_ns = 0;
	return child;
}

bool remote_reader_is_left(struct remote_reader *reader, pid_t child)
{
	collect(reader);
	for (size_t i = 0; i < reader->left_count; i++)
		if (reader->left[i] == child)
			return true;
	return false;
}

int64_t remote_reader_cpu_ns(const struct remote_reader *reader)
{
	return reader->ended_cpu_ns + (reader->channel ? reader->channel->cpu_ns : 0);
}

/* -- requests -- */

/* On a busy machine the child may not have run yet: then the read is not blocked. */
static bool is_waiting_for_cpu(const struct remote_reader *reader)
{
	char path[32], text[STAT_SIZE];
	size_t length;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)reader->child);
	if (file_read(AT_FDCWD, path, text, sizeof text, &length) != STATUS_OK)
		return false;
	const char *state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] == 'R';
}

/* Has the child ended by itself? A seccomp filter kills it with SIGSYS (EPERM); the OOM killer may kill it too
 * (EIO). */
static bool has_ended(struct remote_reader *reader)
{
	int status;
	if (waitpid(reader->child, &status, WNOHANG) == 0)
		return false;
	drop_channel(reader);
	errno = WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS ? EPERM : EIO;
	return true;
}

static bool await_answer(struct remote_reader *reader, uint32_t number)
{
	static const struct timespec slice = { .tv_nsec = SLICE_MS * NS_PER_MS };
	struct channel *channel = reader->channel;
	int64_t begin_ns = clock_monotonic_ns();
	while (atomic_load(&channel->answered.number) != number) {
		int64_t waited_ns = clock_monotonic_ns() - begin_ns;
		if (waited_ns > SLICE_MS * NS_PER_MS && has_ended(reader))
			return false;
		if (waited_ns >= reader->limit_ns &&
			(waited_ns >= PATIENCE * reader->limit_ns || !is_waiting_for_cpu(reader))) {
			give_up(reader, begin_ns);
			errno = ETIMEDOUT;
			return false;
		}
		bell_wait(&channel->answered, number - 1, &slice);
	}
	return true;
}

/* Returns the channel, ready for a request, and starts the child if needed. NULL: errno is set. */
static struct channel *prepare(struct remote_reader *reader)
{
	if (reader->stuck_ns) {
		errno = ETIMEDOUT;
		return NULL;
	}
	return reader->channel || start(reader) ? reader->channel : NULL;
}

static void move_here(struct remote_reader *reader)
{
	cpu_set_t here;
	int cpu = sched_getcpu();
	if (cpu < 0 || cpu == reader->cpu || cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&here);
	CPU_SET((size_t)cpu, &here);
	sched_setaffinity(reader->child, sizeof here, &here);
	reader->cpu = cpu;
}

static bool ask(struct remote_reader *reader, enum operation operation, pid_t pid)
{
	struct channel *channel = reader->channel;
	move_here(reader);
	channel->operation = operation;
	channel->pid = pid;
	uint32_t number = atomic_load(&channel->asked.number) + 1;
	bell_ring(&channel->asked, number);
	if (!await_answer(reader, number))
		return false;
	errno = channel->error;
	return channel->error == 0;
}

/* One call. The kernel looks each stretch of the other's memory up: pieces that follow each other closely in one page
 * are a single one, with what lies between them. */
struct call {
	size_t here_count, there_count, size;
	struct iovec here[PIECES_MAX], there[PIECES_MAX];
	unsigned char between[BETWEEN_MAX]; /* never looked at */
};

static size_t bytes_between(const struct call *call, const struct remote_piece *piece)
{
	if (call->there_count == 0 || piece->size == 0)
		return SIZE_MAX;
	const struct iovec *last = &call->there[call->there_count - 1];
	uint64_t begin = (uintptr_t)last->iov_base, end = begin + last->iov_len;
	bool is_close = piece->address >= end && piece->address - end <= BETWEEN_MAX &&
		begin / PAGE == (piece->address + piece->size - 1) / PAGE;
	return is_close ? (size_t)(piece->address - end) : SIZE_MAX;
}

static void add_piece(struct call *call, const struct remote_piece *piece)
{
	size_t between = bytes_between(call, piece);
	if (between == SIZE_MAX)
		call->there[call->there_count++] = (struct iovec){ (void *)(uintptr_t)piece->address, piece->size };
	else
		call->there[call->there_count - 1].iov_len += between + piece->size;
	if (between != SIZE_MAX && between > 0) {
		call->here[call->here_count++] = (struct iovec){ call->between, between };
		call->size += between;
	}
	call->here[call->here_count++] = (struct iovec){ piece->out, piece->size };
	call->size += piece->size;
}

bool remote_read_direct(pid_t pid, const struct remote_piece *pieces, size_t count)
{
	struct call call;
	for (size_t i = 0; i < count;) {
		call.here_count = call.there_count = call.size = 0;
		while (i < count && call.here_count + 2 <= PIECES_MAX)
			add_piece(&call, &pieces[i++]);
		ssize_t got = process_vm_readv(pid, call.here, call.here_count, call.there, call.there_count, 0);
		if (got < 0)
			return false;
		if ((size_t)got != call.size) {
			errno = EFAULT;
			return false;
		}
	}
	return true;
}

/* A seccomp filter may kill a process that reads memory: a child has to try that first. */
static bool can_read_itself(struct remote_reader *reader, pid_t pid, const struct remote_piece *pieces, size_t count)
{
	if (!reader->may_read || reader->stuck_ns || !reader->resident)
		return false;
	int64_t now_ns = clock_monotonic_ns();
	atomic_store_explicit(&reader->waiting.pid, pid, memory_order_relaxed);
	atomic_store_explicit(&reader->waiting.since_ns, now_ns, memory_order_release);
	return remote_resident_has(reader->resident, pid, pieces, count, now_ns);
}

static bool read_by_child(struct remote_reader *reader, pid_t pid, const struct remote_piece *pieces, size_t count)
{
	for (size_t begin = 0, end = 0; begin < count; begin = end) {
		struct channel *channel = prepare(reader);
		if (!channel)
			return false;
		channel->size = 0;
		for (end = begin; end < count && end - begin < PIECES_MAX && pieces[end].size <= BYTES_MAX - channel->size;
			 end++) {
			channel->there[end - begin] = (struct iovec){ (void *)(uintptr_t)pieces[end].address, pieces[end].size };
			channel->size += pieces[end].size;
		}
		channel->count = end - begin;
		errno = E2BIG;
		if (end == begin || !ask(reader, READ_MEMORY, pid))
			return false;
		reader->may_read = true;
		const unsigned char *from = channel->bytes;
		for (size_t i = begin; i < end; from += pieces[i++].size)
			memcpy(pieces[i].out, from, pieces[i].size);
	}
	return true;
}

bool remote_reader_pieces(struct remote_reader *reader, pid_t pid, const struct remote_piece *pieces, size_t count)
{
	bool reads_itself = can_read_itself(reader, pid, pieces, count),
		 is_read = reads_itself && remote_read_direct(pid, pieces, count);
	atomic_store_explicit(&reader->waiting.since_ns, 0, memory_order_release);
	return reads_itself ? is_read : read_by_child(reader, pid, pieces, count);
}

int64_t remote_reader_waits_since_ns(const struct remote_reader *reader, pid_t *pid)
{
	*pid = atomic_load_explicit(&reader->waiting.pid, memory_order_relaxed);
	return atomic_load_explicit(&reader->waiting.since_ns, memory_order_acquire);
}

bool remote_reader_maps(struct remote_reader *reader, pid_t pid, bool is_first, char *out, size_t size, size_t *length)
{
	struct channel *channel = prepare(reader);
	if (!channel)
		return false;
	if (is_first) {
		snprintf((char *)channel->bytes, PATH_MAX, "/proc/%d/maps", (int)pid);
		if (!ask(reader, OPEN_MAPS, pid))
			return false;
	}
	channel->size = size < BYTES_MAX ? size : BYTES_MAX;
	if (!ask(reader, READ_MAPS, pid))
		return false;
	*length = channel->size;
	memcpy(out, channel->bytes, *length);
	return true;
}

bool remote_reader_file(struct remote_reader *reader, const char *path, char *out, size_t size, size_t *length)
{
	struct channel *channel = prepare(reader);
	if (!channel)
		return false;
	snprintf((char *)channel->bytes, PATH_MAX, "%s", path);
	channel->size = size < BYTES_MAX ? size : BYTES_MAX;
	if (!ask(reader, READ_FILE, 0))
		return false;
	*length = channel->size;
	memcpy(out, channel->bytes, *length);
	return true;
}

int remote_reader_test_self(struct remote_reader *reader)
{
	return prepare(reader) && ask(reader, TEST_SELF, 0) ? 0 : errno;
}
