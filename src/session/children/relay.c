#include "src/session/children/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { END_MS = 500, DESCRIPTORS_MAX = 4096, CHUNK_SIZE = 1 << 16 };

/* -- in the relay -- */

/* Of pmtop's descriptors only these three stay. It holds no terminal but its own, so that the user's can close. */
static void keep_descriptors(int master, int log, int control)
{
	int nothing = open("/dev/null", O_RDWR);
	for (int fd = 0; fd <= 2; fd++)
		dup2(nothing, fd);
	long count = sysconf(_SC_OPEN_MAX);
	for (int fd = 3; fd < (count > 0 && count < DESCRIPTORS_MAX ? count : DESCRIPTORS_MAX); fd++)
		if (fd != master && fd != log && fd != control)
			close(fd);
}

/* The keys and signals that end pmtop or the command must not end the relay. */
static void ignore_signals(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXFSZ, SIGTSTP, SIGUSR1, SIGUSR2 };
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		signal(signals[i], SIG_IGN);
}

/* Returns the bytes that could not be written: a full disk must not stop the command. */
static size_t write_all(int log, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t written = write(log, bytes, length);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return length;
		bytes += written;
		length -= (size_t)written;
	}
	return 0;
}

/* Says in the file what is missing there, as soon as it can be written again. */
static void copy(int log, const char *bytes, size_t length, unsigned long long *lost)
{
	char note[96];
	if (*lost > 0) {
		int size = snprintf(note, sizeof note, "\n[pmtop: %llu bytes of output could not be written]\n", *lost);
		if (write_all(log, note, (size_t)size) == 0)
			*lost = 0;
	}
	*lost += *lost > 0 ? length : write_all(log, bytes, length);
}

/* False: pmtop has ended. */
static bool take_size(int control, int master)
{
	struct winsize size;
	ssize_t count = read(control, &size, sizeof size);
	if (count == (ssize_t)sizeof size)
		ioctl(master, TIOCSWINSZ, &size);
	return count > 0 || (count < 0 && errno == EINTR);
}

/* Until the last descriptor of the terminal's other side is closed. */
static void run(int master, int log, int control)
{
	static char bytes[CHUNK_SIZE];
	unsigned long long lost = 0;
	struct pollfd ready[] = { { .fd = master, .events = POLLIN }, { .fd = control, .events = POLLIN } };
	for (;;) {
		if (poll(ready, 2, -1) < 0)
			continue;
		if (ready[1].revents && !take_size(control, master))
			ready[1].fd = -1;
		if (!ready[0].revents)
			continue;
		ssize_t count = read(master, bytes, sizeof bytes);
		if (count > 0)
			copy(log, bytes, (size_t)count, &lost);
		else if (count == 0 || (errno != EINTR && errno != EAGAIN))
			return;
	}
}

static void become_relay(int master, int log, int control)
{
	ignore_signals();
	setsid();
	prctl(PR_SET_NAME, "output-relay"); /* killall pmtop means pmtop */
	keep_descriptors(master, log, control);
	if (chdir("/") != 0)
		_exit(1);
	run(master, log, control);
	_exit(0);
}

/* -- in pmtop -- */

/* Of the same size as pmtop's. The file gets the bytes that the command writes: no "\n" becomes "\r\n". */
static int open_slave(int master)
{
	char name[128];
	struct termios modes;
	struct winsize size;
	if (grantpt(master) != 0 || unlockpt(master) != 0 || ptsname_r(master, name, sizeof name) != 0)
		return -1;
	int slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave >= 0 && tcgetattr(slave, &modes) == 0) {
		modes.c_oflag &= ~(tcflag_t)OPOST;
		modes.c_lflag &= ~(tcflag_t)(ECHO | ICANON | ISIG);
		tcsetattr(slave, TCSANOW, &modes);
	}
	if (slave >= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		ioctl(slave, TIOCSWINSZ, &size);
	return slave;
}

int relay_start(struct relay *relay, int log)
{
	int control[2];
	*relay = (struct relay){ .control = -1 };
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave = master >= 0 ? open_slave(master) : -1;
	if (slave < 0 || pipe2(control, O_CLOEXEC) < 0) {
		if (master >= 0)
			close(master);
		if (slave >= 0)
			close(slave);
		return -1;
	}
	relay->pid = fork();
	if (relay->pid == 0)
		become_relay(master, log, control[0]);
	close(master);
	close(control[0]);
	relay->control = control[1];
	if (relay->pid > 0) {
		fcntl(control[1], F_SETFL, O_NONBLOCK);
		return slave;
	}
	relay->pid = 0;
	close(control[1]);
	close(slave);
	return -1;
}

void relay_resize(struct relay *relay, int width, int height)
{
	struct winsize size = { .ws_col = (unsigned short)width, .ws_row = (unsigned short)height };
	if (!relay->pid || (width == relay->width && height == relay->height))
		return;
	if (write(relay->control, &size, sizeof size) == (ssize_t)sizeof size) {
		relay->width = width;
		relay->height = height;
	}
}

void relay_end(struct relay *relay)
{
	struct pollfd ended = { .fd = relay->control };
	if (!relay->pid)
		return;
	if (poll(&ended, 1, END_MS) > 0)
		waitpid(relay->pid, NULL, 0);
	close(relay->control);
	relay->pid = 0;
}
