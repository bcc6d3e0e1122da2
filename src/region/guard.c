#include "src/region/guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct guard {
	uintptr_t base, size;
	int is_used, is_cut;
};

static struct guard guards[GUARDS_MAX];
static struct sigaction before;
static uintptr_t page_size;

static bool cover(uintptr_t address)
{
	for (int i = 0; i < GUARDS_MAX; i++) {
		uintptr_t base = __atomic_load_n(&guards[i].base, __ATOMIC_ACQUIRE), size = guards[i].size;
		if (!base || address < base || address - base >= size)
			continue;
		uintptr_t page = address & ~(page_size - 1);
		void *zeros = mmap((void *)page, base + size - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		__atomic_store_n(&guards[i].is_cut, 1, __ATOMIC_RELAXED);
		return zeros != MAP_FAILED;
	}
	return false;
}

static void on_sigbus(int number, siginfo_t *info, void *context)
{
	static volatile sig_atomic_t is_passing_on;
	int saved_errno = errno;
	if (info->si_code > 0 && cover((uintptr_t)info->si_addr)) {
		errno = saved_errno;
		return;
	}
	if (!is_passing_on && before.sa_flags & SA_SIGINFO && before.sa_sigaction) {
		is_passing_on = 1;
		before.sa_sigaction(number, info, context);
		is_passing_on = 0;
	} else if (!is_passing_on && !(before.sa_flags & SA_SIGINFO) && before.sa_handler != SIG_DFL &&
		before.sa_handler != SIG_IGN) {
		is_passing_on = 1;
		before.sa_handler(number);
		is_passing_on = 0;
	} else {
		signal(SIGBUS, SIG_DFL);
		raise(SIGBUS);
	}
	errno = saved_errno;
}

void guard_install(void)
{
	struct sigaction now, ours;
	sigset_t sigbus;
	/* If its signal is blocked, a fault kills the process without calling the handler. */
	sigemptyset(&sigbus);
	sigaddset(&sigbus, SIGBUS);
	pthread_sigmask(SIG_UNBLOCK, &sigbus, NULL);
	page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
	if (sigaction(SIGBUS, NULL, &now) || (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_sigbus))
		return;
	memset(&ours, 0, sizeof ours);
	sigemptyset(&ours.sa_mask);
	ours.sa_sigaction = on_sigbus;
	ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
	before = now;
	sigaction(SIGBUS, &ours, NULL);
}

int guard_add(const void *map, size_t size)
{
	for (int i = 0; i < GUARDS_MAX; i++) {
		if (__atomic_exchange_n(&guards[i].is_used, 1, __ATOMIC_ACQ_REL))
			continue;
		guards[i].size = size;
		guards[i].is_cut = 0;
		__atomic_store_n(&guards[i].base, (uintptr_t)map, __ATOMIC_RELEASE);
		return i;
	}
	return -1;
}

bool guard_is_cut(int guard) { return __atomic_load_n(&guards[guard].is_cut, __ATOMIC_RELAXED); }

void guard_remove(int guard)
{
	__atomic_store_n(&guards[guard].base, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&guards[guard].is_used, 0, __ATOMIC_RELEASE);
}
