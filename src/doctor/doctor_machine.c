/* Checks pmtop itself, its terminal and the machine; each check is a row of the table `checks`. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/base/files/program_files.h"
#include "src/base/kernel.h"
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
			doctor, FINDING_OFF, "export HOME=/home/you", "neither XDG_CONFIG_HOME nor HOME is set: default settings");
		return;
	}
	enum status status = settings_load(&settings, path, &why);
	if (status == STATUS_OK)
		doctor_say(doctor, FINDING_OK, NULL, "%.200s", path);
	else if (status == STATUS_NOT_FOUND && !doctor->options->config)
		doctor_say(doctor, FINDING_OFF, NULL, "no %.180s: default settings", path);
	else
		doctor_say(doctor, FINDING_MISSING, why.remedy, "%s", why.text[0] ? why.text : "it cannot be read");
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
		doctor_say(doctor, FINDING_OK, NULL, "the built-in rules, and those in %.150s", folder);
	else
		doctor_say(doctor, FINDING_OK, NULL, "the built-in rules");
	rule_book_free(book);
}

static void check_clock(struct doctor *doctor)
{
	char source[64];
	if (!read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source)) {
		doctor_say(doctor, FINDING_OFF, NULL, "the kernel does not show its clock source");
		return;
	}
	bool is_slow =
		strcmp(source, "hpet") == 0 || strcmp(source, "acpi_pm") == 0 || strcmp(source, "refined-jiffies") == 0;
	if (is_slow)
		doctor_say(doctor, FINDING_MISSING, "boot with tsc=reliable if the hardware allows it",
			"%s: each event takes about 1 µs to read the clock", source);
	else
		doctor_say(doctor, FINDING_OK, NULL, "%s", source);
}

/* -- the terminal -- */

static bool comes_with_program(const char *term)
{
	char name[96];
	snprintf(name, sizeof name, "%c/%.80s", term[0], term);
	char *folder = program_folder("../share/pmtop/terminfo", "terminfo", name);
	free(folder);
	return folder;
}

/* Searches as ncurses does, in folders named by the first letter or its hexadecimal code (terminfo(5)). */
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
	return (home && access(path, R_OK) == 0) || comes_with_program(term);
}

static void check_terminal(struct doctor *doctor)
{
	const char *term = environment("TERM");
	struct winsize window = { 0 };
	char name[64];
	text_clean(name, sizeof name, term ? term : "", term ? strlen(term) : 0);
	if (!isatty(STDOUT_FILENO))
		doctor_say(doctor, FINDING_OFF, NULL, "standard output is not a terminal: no screen; -b and --once work");
	else if (!term || strcmp(term, "dumb") == 0)
		doctor_say(doctor, FINDING_MISSING, "export TERM=xterm-256color", "%s: pmtop prints lines, not the screen",
			term ? "TERM is dumb" : "TERM is not set");
	else if (strchr(term, '/') || !has_terminfo(term))
		doctor_say(doctor, FINDING_MISSING, "install ncurses-term, or export TERM=xterm-256color",
			"terminfo has no entry for TERM=%s", name);
	else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 &&
		(window.ws_col < COLUMNS_MIN || window.ws_row < ROWS_MIN))
		doctor_say(doctor, FINDING_MISSING, "make the window larger", "%s, %dx%d: too small for the screen", name,
			window.ws_col, window.ws_row);
	else
		doctor_say(doctor, FINDING_OK, NULL, "%s, %dx%d", name, window.ws_col, window.ws_row);
}

static void check_colors(struct doctor *doctor)
{
	const char *term = environment("TERM");
	if (doctor->settings->color == COLOR_NEVER)
		doctor_say(doctor, FINDING_OFF, "--color=auto", "turned off by --color=never or in pmtop.yaml");
	else if (doctor->settings->color == COLOR_AUTO && environment("NO_COLOR"))
		doctor_say(doctor, FINDING_OFF, "unset NO_COLOR", "NO_COLOR is set");
	else if (!term || strcmp(term, "dumb") == 0 || strncmp(term, "vt", 2) == 0)
		doctor_say(doctor, FINDING_OFF, "export TERM=xterm-256color", "the terminal has none");
	else
		doctor_say(doctor, FINDING_OK, NULL, "%s",
			strstr(term, "256")            ? "256"
				: environment("COLORTERM") ? "COLORTERM is set"
										   : "those of terminfo");
}

static void check_characters(struct doctor *doctor)
{
	if (doctor->settings->ascii)
		doctor_say(doctor, FINDING_OFF, NULL, "ASCII, by --ascii or in pmtop.yaml");
	else if (!output_is_utf8())
		doctor_say(doctor, FINDING_MISSING, "export LC_ALL=C.UTF-8", "the locale is not UTF-8: pmtop draws with ASCII");
	else
		doctor_say(doctor, FINDING_OK, NULL, "UTF-8");
}

/* -- the machine -- */

static void check_proc(struct doctor *doctor)
{
	char text[TEXT_SIZE];
	size_t length;
	if (file_read(AT_FDCWD, "/proc/self/stat", text, sizeof text, &length) != STATUS_OK) {
		doctor_say(
			doctor, FINDING_MISSING, "mount -t proc proc /proc", "/proc is not mounted: pmtop cannot read processes");
		return;
	}
	bool is_hidden = false;
	if (file_read(AT_FDCWD, "/proc/self/mounts", text, sizeof text, &length) == STATUS_OK) {
		const char *line = strstr(text, " /proc proc ");
		const char *hidden = line ? strstr(line, "hidepid=") : NULL, *end = line ? strchr(line, '\n') : NULL;
		is_hidden = hidden && (!end || hidden < end) && hidden[8] != '0' && hidden[8] != 'o';
	}
	if (is_hidden && geteuid() != 0)
		doctor_say(
			doctor, FINDING_MISSING, doctor_access_remedy(), "mounted with hidepid: other users' processes are hidden");
	else
		doctor_say(doctor, FINDING_OK, NULL, "%s",
			geteuid() == 0 ? "as root: processes of all users"
						   : "all figures of your processes; memory and CPU of others'");
}

static void check_shm(struct doctor *doctor)
{
	struct statvfs space;
	char size[NUMBER_SIZE], room[NUMBER_SIZE];
	if (statvfs("/dev/shm", &space) != 0 || access("/dev/shm", W_OK) != 0) {
		doctor_say(doctor, FINDING_MISSING, "mount -t tmpfs -o mode=1777 tmpfs /dev/shm",
			"/dev/shm: %s: events of a run are lost when it ends (pmtop uses a memfd)", strerror(errno));
		return;
	}
	double whole_bytes = (double)space.f_blocks * (double)space.f_frsize,
		   room_bytes = (double)space.f_bavail * (double)space.f_frsize;
	format_bytes(size, whole_bytes);
	format_bytes(room, room_bytes);
	if (room_bytes < SHM_MIN_BYTES)
		doctor_say(doctor, FINDING_MISSING, "remove unused files (ls -lS /dev/shm); in a container: --shm-size=8g",
			"%s of %s free: too little for an instrumented run", room, size);
	else
		doctor_say(doctor, FINDING_OK, NULL, "writable, %s of %s free", room, size);
}

static void check_memfd(struct doctor *doctor)
{
	int fd = kernel_memory_file("pmtop", MFD_ALLOW_SEALING);
	if (fd < 0)
		doctor_say(
			doctor, FINDING_MISSING, "not needed while /dev/shm is writable", "memfd_create: %s", strerror(errno));
	else
		doctor_say(doctor, FINDING_OK, NULL, "for runs that cannot write to /dev/shm");
	if (fd >= 0)
		close(fd);
}

static void check_pressure(struct doctor *doctor)
{
	char text[512];
	if (read_line("/proc/pressure/memory", text, sizeof text))
		doctor_say(doctor, FINDING_OK, NULL, "PSI: stall time of tasks on CPU, memory and I/O");
	else
		doctor_say(doctor, FINDING_MISSING, "boot with psi=1 (a kernel with CONFIG_PSI)",
			"the kernel has no pressure stall information (PSI)");
}

static void check_delays(struct doctor *doctor)
{
	char text[64];
	if (!read_line("/proc/sys/kernel/task_delayacct", text, sizeof text))
		doctor_say(doctor, FINDING_MISSING, "boot with delayacct (a kernel with CONFIG_TASK_DELAY_ACCT)",
			"the kernel has no delay accounting: no disk wait of a process");
	else if (text[0] == '0')
		doctor_say(doctor, FINDING_OFF, "sudo sysctl kernel.task_delayacct=1, before the run starts",
			"delay accounting is turned off: no disk wait of a process");
	else
		doctor_say(doctor, FINDING_OK, NULL, "delay accounting: time a process waits for I/O");
}

static void check_schedstat(struct doctor *doctor)
{
	char text[128];
	unsigned long long ran = 0, waited = 0;
	if (read_line("/proc/self/schedstat", text, sizeof text) && sscanf(text, "%llu %llu", &ran, &waited) == 2 &&
		ran + waited > 0)
		doctor_say(doctor, FINDING_OK, NULL, "schedstat: time a process waits for a CPU");
	else
		doctor_say(doctor, FINDING_MISSING, "boot a kernel with CONFIG_SCHED_INFO",
			"the kernel has no schedstat: no run-queue wait of a process");
}

static void check_children(struct doctor *doctor)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	if (access(path, R_OK) == 0)
		doctor_say(doctor, FINDING_OK, NULL, "DataLoader workers and ranks are found");
	else
		doctor_say(doctor, FINDING_MISSING, "boot a kernel with CONFIG_PROC_CHILDREN",
			"pmtop cannot find DataLoader workers and ranks: %s", strerror(errno));
}

static void check_cgroup(struct doctor *doctor)
{
	if (access("/sys/fs/cgroup/cgroup.controllers", R_OK) == 0)
		doctor_say(doctor, FINDING_OK, NULL, "version 2: limits, memory and throttling");
	else if (access("/sys/fs/cgroup/memory", R_OK) == 0)
		doctor_say(doctor, FINDING_OK, NULL, "version 1: limits, memory and throttling");
	else
		doctor_say(doctor, FINDING_MISSING, "mount -t cgroup2 none /sys/fs/cgroup",
			"not mounted: no limits of containers and jobs");
}

static void check_disks(struct doctor *doctor)
{
	char text[256];
	if (read_line("/proc/diskstats", text, sizeof text))
		doctor_say(doctor, FINDING_OK, NULL, "utilization of disks, and latency of requests");
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
			"process_vm_readv: %s: no Python stacks, no steps of runs without instrumentation", strerror(error));
	else if (!read_line("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text) || text[0] == '0' || geteuid() == 0)
		doctor_say(doctor, FINDING_OK, NULL, "pmtop may read the memory of your processes: Python stacks");
	else
		doctor_say(doctor, FINDING_OFF, "sudo sysctl kernel.yama.ptrace_scope=0",
			"ptrace_scope is %.8s: no Python stacks, no steps of runs without instrumentation", text);
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
	{ "machine", "CPU wait", false, check_schedstat },
	{ "machine", "disk wait", false, check_delays },
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
