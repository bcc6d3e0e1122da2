/* What pmtop itself, its terminal and the machine have, each a row of a table. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/base/text.h"
#include "src/doctor/doctor.h"
#include "src/rules/rule_book.h"
#include "src/session/output.h"
#include "src/sources/python/remote.h"

enum { TEXT_SIZE = 16 * 1024, COLUMNS_MIN = 40, ROWS_MIN = 10 };
#define SHM_MIN_BYTES 16e6

typedef void check_function(struct doctor *doctor);

static bool read_line(const char *path, char *out, size_t size)
{
	size_t length;
	if (file_read(AT_FDCWD, path, out, size, &length) != STATUS_OK)
		return false;
	out[strcspn(out, "\n")] = '\0';
	return true;
}

static const char *environment(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

/* -- pmtop -- */

static void check_version(struct doctor *doctor)
{
	struct utsname system;
	if (uname(&system) == 0)
		doctor_say(doctor, FINDING_OK, NULL, PMTOP_VERSION ", Linux %.60s, %.20s", system.release, system.machine);
}

static void check_config(struct doctor *doctor)
{
	char path[4096];
	struct reason why = { 0 };
	struct settings settings;
	settings_default(&settings);
	if (doctor->options->config)
		snprintf(path, sizeof path, "%s", doctor->options->config);
	else if (settings_path(path, sizeof path) != STATUS_OK) {
		doctor_say(
			doctor, FINDING_OFF, "export HOME=/home/you", "neither XDG_CONFIG_HOME nor HOME is set: the defaults hold");
		return;
	}
	enum status status = settings_load(&settings, path, &why);
	if (status == STATUS_OK)
		doctor_say(doctor, FINDING_OK, NULL, "%.200s", path);
	else if (status == STATUS_NOT_FOUND && !doctor->options->config)
		doctor_say(doctor, FINDING_OFF, NULL, "no %.180s: the defaults hold", path);
	else
		doctor_say(doctor, FINDING_MISSING, why.remedy, "%s", why.text[0] ? why.text : "it could not be read");
}

static void check_rules(struct doctor *doctor)
{
	char folder[4096];
	struct rule_book *book = rule_book_new();
	const struct reason *faults;
	if (!book) {
		doctor_say(doctor, FINDING_MISSING, NULL, "out of memory");
		return;
	}
	bool has_folder = rule_book_path(folder, sizeof folder) == STATUS_OK;
	if (has_folder)
		rule_book_load_folder(book, folder);
	size_t count = rule_book_faults(book, &faults);
	if (count > 0)
		doctor_say(doctor, FINDING_MISSING, faults[0].remedy, "%s", faults[0].text);
	else if (has_folder && access(folder, R_OK) == 0)
		doctor_say(doctor, FINDING_OK, NULL, "the built-in ones, and those in %.150s", folder);
	else
		doctor_say(doctor, FINDING_OK, NULL, "the built-in ones");
	rule_book_free(book);
}

static void check_clock(struct doctor *doctor)
{
	char source[64];
	if (!read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source)) {
		doctor_say(doctor, FINDING_OFF, NULL, "the kernel does not tell its clock source");
		return;
	}
	bool is_slow =
		strcmp(source, "hpet") == 0 || strcmp(source, "acpi_pm") == 0 || strcmp(source, "refined-jiffies") == 0;
	if (is_slow)
		doctor_say(doctor, FINDING_MISSING, "boot with tsc=reliable where the hardware allows it",
			"%s: reading it costs a microsecond in each event", source);
	else
		doctor_say(doctor, FINDING_OK, NULL, "%s", source);
}

/* -- the terminal -- */

/* As ncurses looks: folders by first letter, or by its hexadecimal code. */
static bool has_terminfo(const char *term)
{
	const char *home = environment("HOME"), *own = environment("TERMINFO");
	const char *const folders[] = { own ? own : "", "/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo",
		"/usr/lib/terminfo", "/usr/local/share/terminfo" };
	char path[4096];
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		for (int hexadecimal = 0; hexadecimal < 2 && folders[i][0]; hexadecimal++) {
			snprintf(path, sizeof path, hexadecimal ? "%s/%x/%.80s" : "%s/%c/%.80s", folders[i], term[0], term);
			if (access(path, R_OK) == 0)
				return true;
		}
	}
	snprintf(path, sizeof path, "%s/.terminfo/%c/%.80s", home ? home : "", term[0], term);
	return home && access(path, R_OK) == 0;
}

static void check_terminal(struct doctor *doctor)
{
	const char *term = environment("TERM");
	struct winsize window = { 0 };
	char name[64];
	text_clean(name, sizeof name, term ? term : "", term ? strlen(term) : 0);
	if (!isatty(STDOUT_FILENO))
		doctor_say(doctor, FINDING_OFF, NULL,
			"standard output is no terminal: -b and --once write there, the screen does not");
	else if (!term || strcmp(term, "dumb") == 0)
		doctor_say(doctor, FINDING_MISSING, "export TERM=xterm-256color", "%s: lines instead of the screen",
			term ? "TERM is dumb" : "TERM is not set");
	else if (strchr(term, '/') || !has_terminfo(term))
		doctor_say(doctor, FINDING_MISSING, "install ncurses-term, or export TERM=xterm-256color",
			"no terminal is known by the name of %s", name);
	else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 &&
		(window.ws_col < COLUMNS_MIN || window.ws_row < ROWS_MIN))
		doctor_say(doctor, FINDING_MISSING, "make the window larger", "%s, %dx%d: too small for more than a line", name,
			window.ws_col, window.ws_row);
	else
		doctor_say(doctor, FINDING_OK, NULL, "%s, %dx%d", name, window.ws_col, window.ws_row);
}

static void check_colors(struct doctor *doctor)
{
	const char *term = environment("TERM");
	if (doctor->settings->color == COLOR_NEVER)
		doctor_say(doctor, FINDING_OFF, "--color=auto", "by --color=never, or in pmtop.yaml");
	else if (doctor->settings->color == COLOR_AUTO && environment("NO_COLOR"))
		doctor_say(doctor, FINDING_OFF, "unset NO_COLOR", "NO_COLOR is set");
	else if (!term || strcmp(term, "dumb") == 0 || strncmp(term, "vt", 2) == 0)
		doctor_say(doctor, FINDING_OFF, "export TERM=xterm-256color", "the terminal has none");
	else
		doctor_say(doctor, FINDING_OK, NULL, "%s",
			strstr(term, "256")            ? "256"
				: environment("COLORTERM") ? "COLORTERM is set"
										   : "as the terminal has them");
}

static void check_characters(struct doctor *doctor)
{
	if (doctor->settings->ascii)
		doctor_say(doctor, FINDING_OFF, NULL, "plots are drawn with ASCII, as asked for");
	else if (!output_is_utf8())
		doctor_say(
			doctor, FINDING_MISSING, "export LC_ALL=C.UTF-8", "the locale is not UTF-8: plots are drawn with ASCII");
	else
		doctor_say(doctor, FINDING_OK, NULL, "UTF-8");
}

/* -- the machine -- */

static void check_proc(struct doctor *doctor)
{
	char text[TEXT_SIZE];
	size_t length;
	if (file_read(AT_FDCWD, "/proc/self/stat", text, sizeof text, &length) != STATUS_OK) {
		doctor_say(doctor, FINDING_MISSING, "mount -t proc proc /proc",
			"/proc is not mounted: nothing of any process can be read");
		return;
	}
	bool is_hidden = false;
	if (file_read(AT_FDCWD, "/proc/self/mounts", text, sizeof text, &length) == STATUS_OK) {
		const char *line = strstr(text, " /proc proc ");
		const char *hidden = line ? strstr(line, "hidepid=") : NULL, *end = line ? strchr(line, '\n') : NULL;
		is_hidden = hidden && (!end || hidden < end) && hidden[8] != '0' && hidden[8] != 'o';
	}
	if (is_hidden && geteuid() != 0)
		doctor_say(doctor, FINDING_MISSING, doctor_access_remedy(),
			"mounted with hidepid: other users' processes cannot be seen");
	else
		doctor_say(doctor, FINDING_OK, NULL, "%s",
			geteuid() == 0 ? "as root: processes of all users"
						   : "your own processes in full; of others, memory and CPU");
}

static void check_shm(struct doctor *doctor)
{
	struct statvfs space;
	char size[NUMBER_SIZE], room[NUMBER_SIZE];
	if (statvfs("/dev/shm", &space) != 0 || access("/dev/shm", W_OK) != 0) {
		doctor_say(doctor, FINDING_MISSING, "mount -t tmpfs -o mode=1777 tmpfs /dev/shm",
			"/dev/shm: %s: runs publish into anonymous memory instead, which does not "
			"outlive them",
			strerror(errno));
		return;
	}
	double whole_bytes = (double)space.f_blocks * (double)space.f_frsize,
		   room_bytes = (double)space.f_bavail * (double)space.f_frsize;
	format_bytes(size, whole_bytes);
	format_bytes(room, room_bytes);
	if (room_bytes < SHM_MIN_BYTES)
		doctor_say(doctor, FINDING_MISSING,
			"ls -lS /dev/shm, and remove what nobody uses; in a container: --shm-size=8g",
			"%s of %s left: too little to publish", room, size);
	else
		doctor_say(doctor, FINDING_OK, NULL, "writable, %s of %s left", room, size);
}

static void check_memfd(struct doctor *doctor)
{
	int fd = memfd_create("pmtop", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		doctor_say(
			doctor, FINDING_MISSING, "none is needed while /dev/shm is writable", "memfd_create: %s", strerror(errno));
	else
		doctor_say(doctor, FINDING_OK, NULL, "for runs that cannot write to /dev/shm");
	if (fd >= 0)
		close(fd);
}

static void check_pressure(struct doctor *doctor)
{
	char text[512];
	if (read_line("/proc/pressure/memory", text, sizeof text))
		doctor_say(doctor, FINDING_OK, NULL, "how long tasks waited for CPU, memory and disks");
	else
		doctor_say(doctor, FINDING_MISSING, "boot with psi=1 (a kernel with CONFIG_PSI)",
			"the kernel does not count what tasks wait for");
}

static void check_delays(struct doctor *doctor)
{
	char text[64];
	if (!read_line("/proc/sys/kernel/task_delayacct", text, sizeof text))
		doctor_say(doctor, FINDING_MISSING, "boot with delayacct (a kernel with CONFIG_TASK_DELAY_ACCT)",
			"the kernel does not tell how long a process waits for its disk");
	else if (text[0] == '0')
		doctor_say(doctor, FINDING_OFF, "sudo sysctl kernel.task_delayacct=1, before the run starts",
			"how long a process waits for its disk is not counted");
	else
		doctor_say(doctor, FINDING_OK, NULL, "how long a process waits for its disk");
}

static void check_schedstat(struct doctor *doctor)
{
	char text[128];
	unsigned long long ran = 0, waited = 0;
	if (read_line("/proc/self/schedstat", text, sizeof text) && sscanf(text, "%llu %llu", &ran, &waited) == 2 &&
		ran + waited > 0)
		doctor_say(doctor, FINDING_OK, NULL, "how long a process waits for a CPU");
	else
		doctor_say(doctor, FINDING_MISSING, "boot a kernel with CONFIG_SCHED_INFO",
			"the kernel does not count how long a process waits for a CPU");
}

static void check_children(struct doctor *doctor)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	if (access(path, R_OK) == 0)
		doctor_say(doctor, FINDING_OK, NULL, "which processes are children of which");
	else
		doctor_say(doctor, FINDING_MISSING, "boot a kernel with CONFIG_PROC_CHILDREN",
			"loader workers and ranks are not found: %s", strerror(errno));
}

static void check_cgroup(struct doctor *doctor)
{
	if (access("/sys/fs/cgroup/cgroup.controllers", R_OK) == 0)
		doctor_say(doctor, FINDING_OK, NULL, "version 2: limits, memory and throttling of the run's own");
	else if (access("/sys/fs/cgroup/memory", R_OK) == 0)
		doctor_say(doctor, FINDING_OK, NULL, "version 1: limits, memory and throttling");
	else
		doctor_say(doctor, FINDING_MISSING, "mount -t cgroup2 none /sys/fs/cgroup",
			"not mounted: limits of containers and jobs are not known");
}

static void check_disks(struct doctor *doctor)
{
	char text[256];
	if (read_line("/proc/diskstats", text, sizeof text))
		doctor_say(doctor, FINDING_OK, NULL, "how busy disks are, and how long requests take");
	else
		doctor_say(doctor, FINDING_MISSING, NULL, "/proc/diskstats: %s", strerror(errno));
}

static void check_ptrace(struct doctor *doctor)
{
	char text[64];
	int error = remote_test_self();
	if (error)
		doctor_say(doctor, FINDING_OFF,
			"run pmtop outside the container, or allow process_vm_readv in its seccomp profile",
			"process_vm_readv: %s, even of pmtop's own memory: nothing is seen of Python that does not publish",
			strerror(error));
	else if (!read_line("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text) || text[0] == '0' || geteuid() == 0)
		doctor_say(doctor, FINDING_OK, NULL,
			"the memory of your processes may be read: which lines of Python the time goes to can be seen");
	else
		doctor_say(doctor, FINDING_OFF, "sudo sysctl kernel.yama.ptrace_scope=0",
			"ptrace_scope is %.8s: the memory of other processes may not be read, so nothing is seen of Python that "
			"does not publish",
			text);
}

static const struct {
	const char *group, *name;
	bool is_essential;
	check_function *check;
} checks[] = {
	{ "pmtop", "version", false, check_version },
	{ "pmtop", "pmtop.yaml", true, check_config },
	{ "pmtop", "rules", true, check_rules },
	{ "pmtop", "clock", false, check_clock },
	{ "terminal", "screen", false, check_terminal },
	{ "terminal", "colours", false, check_colors },
	{ "terminal", "characters", false, check_characters },
	{ "machine", "/proc", true, check_proc },
	{ "machine", "children", false, check_children },
	{ "machine", "CPU waits", false, check_schedstat },
	{ "machine", "disk waits", false, check_delays },
	{ "machine", "pressure", false, check_pressure },
	{ "machine", "disks", false, check_disks },
	{ "machine", "cgroup", false, check_cgroup },
	{ "machine", "/dev/shm", false, check_shm },
	{ "machine", "memfd", false, check_memfd },
	{ "machine", "stacks", false, check_ptrace },
};

void doctor_check_machine(struct doctor *doctor)
{
	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
		doctor->group = checks[i].group;
		doctor_row(doctor, checks[i].name, checks[i].is_essential);
		doctor_run(doctor, checks[i].check);
	}
	doctor_run(doctor, doctor_check_nvidia);
	doctor_run(doctor, doctor_check_other_gpus);
	doctor_run(doctor, doctor_check_counters);
}
