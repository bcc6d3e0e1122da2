#include "ui/terminal/term_restore.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

/* Crashes, and other signals that end a program without being a request to end; SIGTERM, SIGHUP and the like are
 * handled by the owner of the screen. */
static const int fatal_signals[] = {
	SIGSEGV,
	SIGBUS,
	SIGFPE,
	SIGILL,
	SIGABRT,
	SIGSYS,
	SIGTRAP,
	SIGXCPU,
	SIGALRM,
	SIGVTALRM,
	SIGPROF,
	SIGUSR1,
	SIGUSR2,
	SIGIO,
	SIGPWR,
	SIGSTKFLT,
};
enum { FATAL_COUNT = sizeof fatal_signals / sizeof fatal_signals[0], STACK_SIZE = 16384 };

/* Global, because a signal handler gets no context. */
static struct {
	volatile sig_atomic_t is_armed;
	pid_t owner;
	int fd;
	struct termios modes;
	char text[RESTORE_SIZE];
	size_t length;
	struct sigaction before[FATAL_COUNT];
	char stack[STACK_SIZE];
} armed;

static void die_restoring(int number)
{
	if (armed.is_armed && getpid() == armed.owner) {
		armed.is_armed = 0;
		ssize_t written = write(armed.fd, armed.text, armed.length);
		(void)written;
		tcsetattr(armed.fd, TCSANOW, &armed.modes);
	}
	for (int i = 0; i < FATAL_COUNT; i++)
		if (fatal_signals[i] == number)
			sigaction(number, &armed.before[i], NULL);
	raise(number);
}

void restore_arm(int fd, const struct termios *modes, const char *text, size_t length)
{
	struct sigaction action = { .sa_handler = die_restoring, .sa_flags = SA_ONSTACK };
	stack_t stack = { .ss_sp = armed.stack, .ss_size = sizeof armed.stack };
	if (armed.is_armed)
		restore_disarm();
	armed.owner = getpid();
	armed.fd = fd;
	armed.modes = *modes;
	armed.length = length < RESTORE_SIZE ? length : RESTORE_SIZE;
	memcpy(armed.text, text, armed.length);
	sigaltstack(&stack, NULL);
	sigemptyset(&action.sa_mask);
	armed.is_armed = 1;
	for (int i = 0; i < FATAL_COUNT; i++) {
		sigaction(fatal_signals[i], NULL, &armed.before[i]);
		if (armed.before[i].sa_handler != SIG_IGN)
			sigaction(fatal_signals[i], &action, NULL);
	}
}

void restore_disarm(void)
{
	if (!armed.is_armed)
		return;
	armed.is_armed = 0;
	for (int i = 0; i < FATAL_COUNT; i++)
		sigaction(fatal_signals[i], &armed.before[i], NULL);
}
