#include "src/session/signals.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "ui/terminal/terminal.h"

static void wanted(sigset_t *set)
{
	static const int signals[] = { SIGWINCH, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT };
	sigemptyset(set);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		sigaddset(set, signals[i]);
}

int signals_open(void)
{
	sigset_t set;
	wanted(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int signals_open_ending(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		struct sigaction action;
		if (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(&set, signals[i]);
	}
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool signals_have_ended(int signal_fd, pid_t child)
{
	struct signalfd_siginfo info;
	bool is_over = false;
	while (read(signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
		is_over = true;
		if (child > 0 && info.ssi_code <= 0)
			kill(child, (int)info.ssi_signo);
	}
	return is_over;
}

void signals_close(int signal_fd)
{
	sigset_t set;
	wanted(&set);
	if (signal_fd >= 0)
		close(signal_fd);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

bool signals_answer(int signal_fd, struct terminal *terminal)
{
	struct signalfd_siginfo info;
	bool is_over = false;
	while (read(signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
		switch (info.ssi_signo) {
		case SIGWINCH: terminal_resized(terminal); break;
		case SIGTSTP:
			terminal_suspend(terminal);
			kill(getpid(), SIGSTOP);
			terminal_resumed(terminal);
			break;
		case SIGCONT: terminal_resumed(terminal); break;
		default: is_over = true;
		}
	}
	return is_over;
}
