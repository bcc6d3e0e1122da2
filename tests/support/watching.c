#include "tests/support/watching.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t trainer_pid;
char watching_pmtop[PATH_MAX], watching_home[64], trainer_pid_text[16];
static char trainer[PATH_MAX];

bool watching_open(void)
{
	const char *build = getenv("PMTOP_BUILD") ? getenv("PMTOP_BUILD") : "build";
	char whole[PATH_MAX - 64];
	if (!realpath(build, whole))
		return false;
	snprintf(watching_pmtop, sizeof watching_pmtop, "%s/pmtop", whole);
	snprintf(trainer, sizeof trainer, "%s/tests/workloads/trainer", whole);
	snprintf(watching_home, sizeof watching_home, "/tmp/pmtop-watch-XXXXXX");
	return mkdtemp(watching_home) != NULL;
}

bool watching_close(void)
{
	char command[128];
	snprintf(command, sizeof command, "rm -rf %s", watching_home);
	return system(command) == 0;
}

void start_trainer(const char *const options[])
{
	char *argv[32] = { trainer };
	size_t count = 1;
	while (*options && count < 31)
		argv[count++] = (char *)(uintptr_t)*options++;
	argv[count] = NULL;
	trainer_pid = fork();
	if (trainer_pid == 0) {
		int nothing = open("/dev/null", O_RDWR);
		dup2(nothing, 1);
		dup2(nothing, 2);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execv(trainer, argv);
		_exit(127);
	}
	snprintf(trainer_pid_text, sizeof trainer_pid_text, "%d", (int)trainer_pid);
}

void stop_trainer(void)
{
	char command[128];
	if (trainer_pid <= 0)
		return;
	kill(trainer_pid, SIGKILL);
	waitpid(trainer_pid, NULL, 0);
	snprintf(command, sizeof command, "rm -f /dev/shm/pmtop.*.%d.*", (int)trainer_pid);
	ck_assert_int_eq(system(command), 0);
	trainer_pid = 0;
}

bool is_training(void) { return waitpid(trainer_pid, NULL, WNOHANG) == 0; }

struct vt *watch_with(int width, int height, const char *const more[], const char *const environment[])
{
	static char home_setting[80];
	const char *settings[16] = { "TERM=xterm-256color", "LC_ALL=C.UTF-8", home_setting, "XDG_CONFIG_HOME", "NO_COLOR" };
	char *argv[16] = { watching_pmtop, (char[]){ "-p" }, trainer_pid_text, (char[]){ "-d" }, (char[]){ "0.1" } };
	size_t count = 5;
	snprintf(home_setting, sizeof home_setting, "HOME=%s", watching_home);
	while (environment && *environment && count < 15)
		settings[count++] = *environment++;
	for (count = 5; more && *more && count < 15;)
		argv[count++] = (char *)(uintptr_t)*more++;
	return vt_start(width, height, argv, settings);
}

struct vt *watch(int width, int height) { return watch_with(width, height, NULL, NULL); }

int quit(struct vt *vt)
{
	int status = -1;
	vt_press(vt, "q");
	ck_assert(vt_wait_exit(vt, &status, SOON_MS));
	return status;
}

void assert_shows(struct vt *vt, const char *text, int line)
{
	if (vt_wait_text(vt, text, SOON_MS))
		return;
	struct buffer screen = BUFFER_INIT;
	vt_screen(vt, &screen);
	fprintf(stderr, "%s", screen.data);
	buffer_release(&screen);
	ck_abort_msg("line %d: \"%s\" is not on the screen (above)", line, text);
}
