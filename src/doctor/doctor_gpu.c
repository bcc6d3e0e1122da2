/* GPUs: what each maker's figures need. Files are read and libraries loaded; no function of a driver is called, for it
 * can hang. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/text.h"
#include "src/doctor/doctor.h"

enum { CAPABILITY_SYS_ADMIN = 21, CAPABILITY_PERFMON = 38, VERSION_SIZE = 48 };
#define VENDOR_NVIDIA "0x10de"
#define FIRST_PID_NAMESPACE "pid:[4026531836]" /* PROC_PID_INIT_INO of the kernel's proc_ns.h */
#define CONTAINER_REMEDY "in a container: --gpus all (docker), or --device nvidia.com/gpu=all (podman)"

/* -- NVIDIA -- */

/* Display controllers of one vendor on PCI. The first one's place. */
static unsigned count_cards(const struct doctor *doctor, const char *vendor, char first[DOCTOR_NAME_SIZE])
{
	enum { DEVICES_MAX = 512 };
	char(*names)[DOCTOR_NAME_SIZE] = calloc(DEVICES_MAX, sizeof *names), text[64];
	size_t count = names ? doctor_names(doctor, "/sys/bus/pci/devices", "", names, DEVICES_MAX) : 0;
	unsigned cards = 0;
	first[0] = '\0';
	for (size_t i = 0; i < count && i < DEVICES_MAX; i++) {
		bool is_display = doctor_read(doctor, text, sizeof text, "/sys/bus/pci/devices/%s/class", names[i]) &&
			strncmp(text, "0x03", 4) == 0;
		if (!is_display || !doctor_read(doctor, text, sizeof text, "/sys/bus/pci/devices/%s/vendor", names[i]) ||
			strcmp(text, vendor) != 0)
			continue;
		if (cards++ == 0)
			snprintf(first, DOCTOR_NAME_SIZE, "%s", names[i]);
	}
	free(names);
	return cards;
}

/* "580.82.07" from "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.82.07  Wed …", or from the module. */
static bool driver_version(const struct doctor *doctor, char out[VERSION_SIZE])
{
	char text[256];
	if (doctor_read(doctor, text, sizeof text, "/sys/module/nvidia/version") && text[0]) {
		snprintf(out, VERSION_SIZE, "%.40s", text);
		return true;
	}
	if (!doctor_read(doctor, text, sizeof text, "/proc/driver/nvidia/version"))
		return false;
	for (char *rest = text, *word; (word = strtok_r(rest, " ", &rest));) {
		if (word[0] >= '0' && word[0] <= '9' && strchr(word, '.')) {
			snprintf(out, VERSION_SIZE, "%.40s", word);
			return true;
		}
	}
	snprintf(out, VERSION_SIZE, "of an unknown version");
	return true;
}

static bool check_nvidia_driver(struct doctor *doctor, char version[VERSION_SIZE])
{
	char place[DOCTOR_NAME_SIZE], driver[64] = "";
	unsigned cards = count_cards(doctor, VENDOR_NVIDIA, place);
	doctor_row(doctor, "NVIDIA driver", false);
	if (driver_version(doctor, version)) {
		doctor_say(doctor, FINDING_OK, NULL, "%s", version);
		return true;
	}
	version[0] = '\0';
	bool has_other = cards && doctor_link(doctor, driver, sizeof driver, "/sys/bus/pci/devices/%s/driver", place);
	if (!cards)
		doctor_say(doctor, FINDING_OFF, NULL, "no NVIDIA GPU here");
	else if (has_other)
		doctor_say(doctor, FINDING_MISSING, "install NVIDIA's driver (Debian: nvidia-driver)",
			"the GPU at %s is driven by %.30s", place, driver);
	else
		doctor_say(doctor, FINDING_MISSING,
			"install NVIDIA's driver (Debian: nvidia-driver), or load it: sudo modprobe nvidia",
			"the GPU at %s has none", place);
	return false;
}

static void check_nvidia_devices(struct doctor *doctor)
{
	char names[DOCTOR_NAMES_MAX][DOCTOR_NAME_SIZE];
	unsigned devices = 0;
	size_t count = doctor_names(doctor, "/dev", "nvidia", names, DOCTOR_NAMES_MAX);
	int why_not = doctor_access(doctor, R_OK | W_OK, "/dev/nvidiactl");
	for (size_t i = 0; i < count && i < DOCTOR_NAMES_MAX; i++) {
		if (strspn(names[i] + strlen("nvidia"), "0123456789") == 0)
			continue;
		devices++;
		if (why_not == 0)
			why_not = doctor_access(doctor, R_OK | W_OK, "/dev/%s", names[i]);
	}
	doctor_row(doctor, "NVIDIA devices", false);
	if (why_not == ENOENT)
		doctor_say(doctor, FINDING_MISSING, "sudo nvidia-modprobe -c0 -u; " CONTAINER_REMEDY,
			"a driver, but no /dev/nvidiactl");
	else if (why_not)
		doctor_say(doctor, FINDING_MISSING,
			"ls -l /dev/nvidia*: join the group that owns them (sudo usermod -aG video $USER), and log in again",
			"may not be opened: %s", strerror(why_not));
	else if (devices == 0)
		doctor_say(doctor, FINDING_MISSING, "nvidia-smi -L; " CONTAINER_REMEDY, "/dev/nvidiactl, but no /dev/nvidia0");
	else
		doctor_say(doctor, FINDING_OK, NULL, "%u GPU%s, and they may be opened", devices, devices > 1 ? "s" : "");
}

/* "580.82.07" from the file that the library's name stands for. */
static bool library_version(void *library, char out[VERSION_SIZE])
{
	Dl_info info;
	void *start = dlsym(library, "nvmlInit_v2");
	char *path = start && dladdr(start, &info) && info.dli_fname ? realpath(info.dli_fname, NULL) : NULL;
	const char *number = path ? strstr(path, ".so.") : NULL;
	bool good = number && strchr(number + 4, '.');
	if (good)
		text_clean(out, VERSION_SIZE, number + 4, strnlen(number + 4, 40));
	free(path);
	return good;
}

static void say_library(struct doctor *doctor, void *library, const char *driver)
{
	static const struct {
		const char *symbol, *without;
	} newer[] = {
		{ "nvmlDeviceGetComputeRunningProcesses_v3", "an old one: memory of processes by its older calls" },
		{ "nvmlDeviceGetMemoryInfo_v2", "an old one: what the driver keeps of the memory is not told" },
		{ "nvmlDeviceGetFieldValues", "an old one: no energy, NVLink and throttling times" },
	};
	char version[VERSION_SIZE];
	bool has_version = library_version(library, version);
	if (has_version && driver[0] >= '0' && driver[0] <= '9' && strcmp(version, driver) != 0) {
		doctor_say(doctor, FINDING_MISSING,
			"reboot, or reload the driver (sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia; nvidia-smi); in a "
			"container: start it again",
			"library %s and driver %s differ: NVML refuses to work", version, driver);
		return;
	}
	for (size_t i = 0; i < sizeof newer / sizeof *newer; i++) {
		if (dlsym(library, newer[i].symbol))
			continue;
		doctor_say(doctor, FINDING_OK, NULL, "libnvidia-ml.so.1, %s", newer[i].without);
		return;
	}
	doctor_say(doctor, FINDING_OK, NULL, "libnvidia-ml.so.1%s%s", has_version ? " " : "", has_version ? version : "");
}

static void check_activity(struct doctor *doctor, void *library)
{
	doctor_row(doctor, "GPU activity (GPM)", false);
	if (dlsym(library, "nvmlGpmQueryDeviceSupport") && dlsym(library, "nvmlGpmMetricsGet"))
		doctor_say(doctor, FINDING_OK, NULL, "how full a busy GPU is, where it is of the Hopper generation or newer");
	else
		doctor_say(doctor, FINDING_MISSING, "a driver from 525 on",
			"the library does not have it: busy is known, how full is not");
}

/* Returns whether NVML could be used. */
static void check_nvml(struct doctor *doctor, bool has_driver, const char *driver)
{
	const char *path = doctor->nvml_path ? doctor->nvml_path : "libnvidia-ml.so.1";
	doctor_row(doctor, "NVIDIA library", false);
	if (!doctor->settings->nvml) {
		doctor_say(doctor, FINDING_OFF, "gpu: nvml: true in pmtop.yaml, and no --no-nvml", "NVML is not to be opened");
		return;
	}
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!library && has_driver)
		doctor_say(doctor, FINDING_MISSING, "install the driver's library (Debian: libnvidia-ml1); " CONTAINER_REMEDY,
			"a driver, but no libnvidia-ml.so.1");
	else if (!library)
		doctor_say(doctor, FINDING_OFF, NULL, "none is needed");
	else if (!dlsym(library, "nvmlInit_v2") && !dlsym(library, "nvmlInit"))
		doctor_say(doctor, FINDING_MISSING, "install the driver's own (Debian: libnvidia-ml1)",
			"%.120s is not NVIDIA's library", path);
	else
		say_library(doctor, library, driver);
	if (library && (has_driver || doctor->nvml_path))
		check_activity(doctor, library);
	if (library)
		dlclose(library);
}

/* A user who was given one part of a GPU sees no others', and of his own only with the monitor's right. */
static void check_parts(struct doctor *doctor)
{
	char text[256], names[DOCTOR_NAMES_MAX][DOCTOR_NAME_SIZE], folder[64];
	unsigned minor = 0, parts = 0;
	for (unsigned gpu = 0; gpu < 16; gpu++) {
		snprintf(folder, sizeof folder, "/proc/driver/nvidia/capabilities/gpu%u/mig", gpu);
		parts += (unsigned)doctor_names(doctor, folder, "gi", names, DOCTOR_NAMES_MAX);
	}
	if (parts == 0)
		return;
	bool has_minor = doctor_read(doctor, text, sizeof text, "/proc/driver/nvidia/capabilities/mig/monitor") &&
		sscanf(text, "DeviceFileMinor: %u", &minor) == 1;
	doctor_row(doctor, "MIG", false);
	if (has_minor && doctor_access(doctor, R_OK, "/dev/nvidia-caps/nvidia-cap%u", minor) == 0)
		doctor_say(doctor, FINDING_OK, NULL, "%u part%s, all of which may be looked at", parts, parts > 1 ? "s" : "");
	else if (has_minor)
		doctor_say(doctor, FINDING_MISSING,
			"run pmtop as root; in a container: -e NVIDIA_MIG_MONITOR_DEVICES=all --cap-add=SYS_ADMIN",
			"%u part%s; only those that were given to you may be looked at", parts, parts > 1 ? "s" : "");
	else
		doctor_say(doctor, FINDING_OK, NULL, "%u part%s", parts, parts > 1 ? "s" : "");
}

static bool check_nvidia(struct doctor *doctor)
{
	char version[VERSION_SIZE];
	bool has_driver = check_nvidia_driver(doctor, version);
	if (has_driver)
		check_nvidia_devices(doctor);
	check_nvml(doctor, has_driver, version);
	if (has_driver)
		check_parts(doctor);
	return has_driver;
}

/* -- AMD, Intel and others: render nodes -- */

static const struct {
	const char *driver, *also;
} known_drivers[] = {
	{ "amdgpu", "AMD" },
	{ "i915", "Intel" },
	{ "xe", "Intel" },
	{ "nouveau", "NVIDIA's, without its own driver" },
};

static const char *maker_of(const char *driver)
{
	for (size_t i = 0; i < sizeof known_drivers / sizeof *known_drivers; i++)
		if (strcmp(known_drivers[i].driver, driver) == 0)
			return known_drivers[i].also;
	return "of another maker";
}

static void check_node(struct doctor *doctor, const char *node, const char *driver)
{
	char place[64] = "";
	doctor_link(doctor, place, sizeof place, "/sys/class/drm/%s/device", node);
	int why_not = doctor_access(doctor, R_OK | W_OK, "/dev/dri/%s", node);
	doctor_row(doctor, node, false);
	if (why_not == ENOENT)
		doctor_say(doctor, FINDING_MISSING, "in a container: --device=/dev/dri", "%s (%s) %s: no /dev/dri/%s", driver,
			maker_of(driver), place, node);
	else if (why_not)
		doctor_say(doctor, FINDING_MISSING, "sudo usermod -aG render $USER, and log in again",
			"%s (%s) %s: /dev/dri/%s may not be opened: what only its driver tells is missing, what "
			"/sys and its users' fdinfo tell is not",
			driver, maker_of(driver), place, node);
	else
		doctor_say(doctor, FINDING_OK, NULL, "%s (%s) %s", driver, maker_of(driver), place);
}

static void check_amd(struct doctor *doctor)
{
	doctor_row(doctor, "libdrm_amdgpu", false);
	doctor_say_library(doctor, "libdrm_amdgpu.so.1", "libdrm-amdgpu1", "clocks, power and heat by /sys alone");
	doctor_row(doctor, "KFD", false);
	if (doctor_access(doctor, F_OK, "/sys/class/kfd/kfd/topology") != 0)
		doctor_say(doctor, FINDING_MISSING, "boot a kernel with CONFIG_HSA_AMD",
			"not there: what ROCm programs use of a GPU is not told");
	else if (doctor_access(doctor, R_OK | X_OK, "/sys/class/kfd/kfd/proc") != 0)
		doctor_say(doctor, FINDING_MISSING,
			"a kernel from 5.9 on; in a container: --device=/dev/kfd, and /sys of the host",
			"does not tell what each process uses");
	else
		doctor_say(doctor, FINDING_OK, NULL, "what each ROCm program uses");
}

static void check_intel(struct doctor *doctor, const char *driver)
{
	doctor_row(doctor, "Intel, whole device", false);
	if (doctor_has_right(doctor, CAPABILITY_PERFMON) || doctor_has_right(doctor, CAPABILITY_SYS_ADMIN))
		doctor_say(doctor, FINDING_OK, NULL, "as root, or with CAP_PERFMON: processes of all users");
	else
		doctor_say(doctor, FINDING_OFF, "sudo setcap cap_perfmon=ep $(command -v pmtop)",
			"%s tells some figures of the whole device only with CAP_PERFMON; those of your processes are read",
			driver);
}

static bool check_drm(struct doctor *doctor)
{
	char nodes[DOCTOR_NAMES_MAX][DOCTOR_NAME_SIZE], driver[64], intel[64] = "";
	bool has_amd = false, has_any = false;
	size_t count = doctor_names(doctor, "/sys/class/drm", "renderD", nodes, DOCTOR_NAMES_MAX);
	for (size_t i = 0; i < count && i < DOCTOR_NAMES_MAX; i++) {
		if (!doctor_link(doctor, driver, sizeof driver, "/sys/class/drm/%s/device/driver", nodes[i]) ||
			strncmp(driver, "nvidia", 6) == 0)
			continue;
		check_node(doctor, nodes[i], driver);
		has_any = true;
		has_amd |= strcmp(driver, "amdgpu") == 0;
		if (strcmp(driver, "i915") == 0 || strcmp(driver, "xe") == 0)
			snprintf(intel, sizeof intel, "%s", driver);
	}
	if (!has_any) {
		doctor_row(doctor, "AMD, Intel, others", false);
		doctor_say(doctor, FINDING_OFF, NULL, "no render node of theirs");
		return false;
	}
	doctor_row(doctor, "libdrm", false);
	doctor_say_library(doctor, "libdrm.so.2", "libdrm2", "devices are told by /sys alone");
	if (has_amd)
		check_amd(doctor);
	if (intel[0])
		check_intel(doctor, intel);
	return has_any;
}

/* -- who uses them -- */

static void check_pids(struct doctor *doctor)
{
	char space[64] = "";
	doctor_link(doctor, space, sizeof space, "/proc/self/ns/pid");
	doctor_row(doctor, "GPU processes", false);
	if (!space[0] || strcmp(space, FIRST_PID_NAMESPACE) == 0)
		doctor_say(doctor, FINDING_OK, NULL, "drivers' pids are those that pmtop sees");
	else
		doctor_say(doctor, FINDING_MISSING, "docker run --pid=host, or run pmtop on the host",
			"in a container: NVIDIA's driver may name pids of the host; a run's GPUs are then taken from LOCAL_RANK "
			"and CUDA_VISIBLE_DEVICES");
}

void doctor_check_nvidia(struct doctor *doctor)
{
	doctor->group = "GPUs";
	doctor->has_gpus |= check_nvidia(doctor);
}

void doctor_check_other_gpus(struct doctor *doctor)
{
	doctor->group = "GPUs";
	doctor->has_gpus |= check_drm(doctor);
	if (doctor->has_gpus)
		check_pids(doctor);
}
