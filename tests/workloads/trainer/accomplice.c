#include "accomplice.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"

struct order {
	pid_t pid;
	int64_t duration_ns;
	char folder[480];
}; /* pid 0: a folder */

static void stop_on_order(int orders)
{
	struct order order;
	char folder[sizeof order.folder] = "";

	prctl(PR_SET_NAME, "stopper");
	while (read(orders, &order, sizeof order) == (ssize_t)sizeof order) {
		int64_t begin_ns = now_ns();

		if (order.pid == 0) {
			memcpy(folder, order.folder, sizeof folder);
			continue;
		}
		kill(order.pid, SIGSTOP);
		sleep_until(begin_ns + order.duration_ns);
		kill(order.pid, SIGCONT);
	}
	for (int tries = 0; folder[0] && rmdir(folder) != 0 && tries < 50; tries++)
		sleep_until(now_ns() + 100000000);
}

static void hog_on_order(int orders, volatile int *is_hogging)
{
	char order;

	prctl(PR_SET_NAME, "hog");
	while (read(orders, &order, 1) == 1)
		while (*is_hogging)
			;
}

/* What others hold open must not be held here: the end of a pipe is how its reader learns that the trainer is gone. */
static void leave_the_run(int kept)
{
	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	for (int fd = 0; fd < 64; fd++)
		if (fd != kept)
			close(fd);
}

/* Forked twice, so that init, or whoever stands in for it, is the parent. False: errno says why. */
static bool fork_away(int orders[2], const struct accomplice *accomplice, bool is_hog)
{
	pid_t child = fork();

	if (child == 0) {
		for (int i = 0; i < (is_hog ? HOGS : 1); i++) {
			if (fork() != 0)
				continue;
			close(orders[1]);
			leave_the_run(orders[0]);
			if (is_hog)
				hog_on_order(orders[0], accomplice->is_hogging);
			else
				stop_on_order(orders[0]);
			_exit(0);
		}
		_exit(0);
	}
	close(orders[0]);
	return child > 0 && waitpid(child, NULL, 0) == child;
}

bool accomplice_start(struct accomplice *accomplice)
{
	int stop[2], hog[2];
	void *shared =
		mmap(NULL, sizeof *accomplice->is_hogging, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED || pipe2(stop, O_CLOEXEC) != 0)
		return false;
	accomplice->is_hogging = shared;
	accomplice->stop_fd = stop[1];
	if (!fork_away(stop, accomplice, false) || pipe2(hog, O_CLOEXEC) != 0)
		return false;
	accomplice->hog_fd = hog[1];
	return fork_away(hog, accomplice, true);
}

static void give_order(const struct accomplice *accomplice, const struct order *order)
{
	if (write(accomplice->stop_fd, order, sizeof *order) != (ssize_t)sizeof *order)
		_exit(1);
}

void accomplice_will_remove(const struct accomplice *accomplice, const char *folder)
{
	struct order order = { 0 };

	memcpy(order.folder, folder, strnlen(folder, sizeof order.folder - 1));
	give_order(accomplice, &order);
}

void accomplice_stop(const struct accomplice *accomplice, pid_t pid, int64_t duration_ns)
{
	give_order(accomplice, &(struct order){ .pid = pid, .duration_ns = duration_ns });
}

void accomplice_hog(const struct accomplice *accomplice, bool is_on)
{
	static const char orders[HOGS];

	*accomplice->is_hogging = is_on;
	if (is_on && write(accomplice->hog_fd, orders, HOGS) != HOGS)
		_exit(1);
}

void accomplice_end(struct accomplice *accomplice)
{
	if (accomplice->stop_fd > 0)
		close(accomplice->stop_fd);
	if (accomplice->hog_fd > 0)
		close(accomplice->hog_fd);
	if (accomplice->is_hogging) {
		*accomplice->is_hogging = 0;
		munmap(accomplice->is_hogging, sizeof *accomplice->is_hogging);
	}
}
