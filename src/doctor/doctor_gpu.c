/* Checks what the figures of GPUs require. It reads files and loads libraries, but calls no driver function, because
 * those can hang. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/text.h"
#include "src/doctor/doctor.h"
#include "src/doctor/doctor_inspect.h"

enum { CAPABILITY_SYS_ADMIN = 21, CAPABILITY_PERFMON = 38, VERSION_SIZE = 48 };
#define VENDOR_NVIDIA "0x10de"
#define FIRST_PID_NAMESPACE "pid:[4026531836]" /* PROC_PID_INIT_INO of the kernel's proc_ns.h */
#define CONTAINER_REMEDY "in a container: --gpus all (docker), or --device nvidia.com/gpu=all (podman)"

/* -- NVIDIA -- */

/* Counts the PCI display controllers of one vendor; `first` is the address of the first. */
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
	char address[DOCTOR_NAME_SIZE], driver[64] = "";
	unsigned cards = count_cards(doctor, VENDOR_NVIDIA, address);
	doctor_row(doctor, "NVIDIA driver", false);
	if (driver_version(doctor, version)) {
		doctor_say(doctor, FINDING_OK, NULL, "%s", version);
		return true;
	}
	version[0] = '\0';
	bool has_other = cards && doctor_link(doctor, driver, sizeof driver, "/sys/bus/pci/devices/%s/driver", address);
	if (!cards)
		doctor_say(doctor, FINDING_OFF, NULL, "this machine has no NVIDIA GPU");
	else if (has_other)
		doctor_say(doctor, FINDING_MISSING, "install NVIDIA's driver (Debian: nvidia-driver)",
			"the GPU at %s uses the driver %.30s", address, driver);
	else
		doctor_say(doctor, FINDING_MISSING,
			"install NVIDIA's driver (Debian: nvidia-driver), or load it: sudo modprobe nvidia",
			"the GPU at %s has no driver", address);
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
			"the driver is loaded, but there is no /dev/nvidiactl");
	else if (why_not)
		doctor_say(doctor, FINDING_MISSING,
			"join the group that owns them (ls -l /dev/nvidia*; sudo usermod -aG video $USER), and log in again",
			"cannot open /dev/nvidia*: %s", strerror(why_not));
	else if (devices == 0)
		doctor_say(doctor, FINDING_MISSING, "nvidia-smi -L; " CONTAINER_REMEDY,
			"there is /dev/nvidiactl, but no /dev/nvidia0");
	else
		doctor_say(doctor, FINDING_OK, NULL, "%u GPU%s, accessible", devices, devices > 1 ? "s" : "");
}

/* "580.82.07" from the name of the file that the library was loaded from. */
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
		{ "nvmlDeviceGetComputeRunningProcesses_v3", "an old version: older calls for the memory of processes" },
		{ "nvmlDeviceGetMemoryInfo_v2", "an old version: no memory reserved by the driver" },
		{ "nvmlDeviceGetFieldValues", "an old version: no energy, NVLink and throttling times" },
	};
	char version[VERSION_SIZE];
	bool has_version = library_version(library, version);
	if (has_version && driver[0] >= '0' && driver[0] <= '9' && strcmp(version, driver) != 0) {
		doctor_say(doctor, FINDING_MISSING,
			"reboot, or reload the driver (sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia; nvidia-smi); in a "
			"container: restart it",
			"library %s and driver %s differ: NVML does not work", version, driver);
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
		doctor_say(doctor, FINDING_OK, NULL, "SM and tensor core activity, on Hopper GPUs and newer");
	else
		doctor_say(doctor, FINDING_MISSING, "install driver 525 or newer",
			"the library has no GPM: GPU utilization only, no SM activity");
}

/* Returns whether NVML could be used. */
static void check_nvml(struct doctor *doctor, bool has_driver, const char *driver)
{
	const char *path = doctor->nvml_path ? doctor->nvml_path : "libnvidia-ml.so.1";
	doctor_row(doctor, "NVIDIA library", false);
	if (!doctor->settings->nvml) {
		doctor_say(doctor, FINDING_OFF, "set gpu: nvml: true in pmtop.yaml, and omit --no-nvml",
			"turned off in pmtop.yaml or by --no-nvml");
		return;
	}
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (!library && has_driver)
		doctor_say(doctor, FINDING_MISSING, "install the driver's library (Debian: libnvidia-ml1); " CONTAINER_REMEDY,
			"the driver is loaded, but there is no libnvidia-ml.so.1");
	else if (!library)
		doctor_say(doctor, FINDING_OFF, NULL, "not needed without the driver");
	else if (!dlsym(library, "nvmlInit_v2") && !dlsym(library, "nvmlInit"))
		doctor_say(doctor, FINDING_MISSING, "install the driver's library (Debian: libnvidia-ml1)",
			"%.120s is not NVIDIA's library", path);
	else
		say_library(doctor, library, driver);
	if (library && (has_driver || doctor->nvml_path))
		check_activity(doctor, library);
	if (library)
		dlclose(library);
}

/* MIG: a user sees only the instances assigned to him, and their figures only with access to the monitor capability
 * (NVIDIA's Multi-Instance GPU User Guide). */
static void check_mig(struct doctor *doctor)
{
	char text[256], names[DOCTOR_NAMES_MAX][DOCTOR_NAME_SIZE], folder[64];
	unsigned minor = 0, instances = 0;
	for (unsigned gpu = 0; gpu < 16; gpu++) {
		snprintf(folder, sizeof folder, "/proc/driver/nvidia/capabilities/gpu%u/mig", gpu);
		instances += (unsigned)doctor_names(doctor, folder, "gi", names, DOCTOR_NAMES_MAX);
	}
	if (instances == 0)
		return;
	bool has_minor = doctor_read(doctor, text, sizeof text, "/proc/driver/nvidia/capabilities/mig/monitor") &&
		sscanf(text, "DeviceFileMinor: %u", &minor) == 1;
	doctor_row(doctor, "MIG", false);
	if (has_minor && doctor_access(doctor, R_OK, "/dev/nvidia-caps/nvidia-cap%u", minor) == 0)
		doctor_say(doctor, FINDING_OK, NULL, "%u instance%s, all accessible", instances, instances > 1 ? "s" : "");
	else if (has_minor)
		doctor_say(doctor, FINDING_MISSING,
			"run pmtop as root; in a container: -e NVIDIA_MIG_MONITOR_DEVICES=all --cap-add=SYS_ADMIN",
			"%u instance%s; only those assigned to you are accessible", instances, instances > 1 ? "s" : "");
	else
		doctor_say(doctor, FINDING_OK, NULL, "%u instance%s", instances, instances > 1 ? "s" : "");
}

static bool check_nvidia(struct doctor *doctor)
{
	char version[VERSION_SIZE];
	bool has_driver = check_nvidia_driver(doctor, version);
	if (has_driver)
		check_nvidia_devices(doctor);
	check_nvml(doctor, has_driver, version);
	if (has_driver)
		check_mig(doctor);
	return has_driver;
}

/* -- AMD, Intel and others: render nodes -- */

static const struct {
	const char *driver, *vendor;
} known_drivers[] = {
	{ "amdgpu", "AMD" },
	{ "i915", "Intel" },
	{ "xe", "Intel" },
	{ "nouveau", "NVIDIA, open-source driver" },
};

static const char *vendor_of(const char *driver)
{
	for (size_t i = 0; i < sizeof known_drivers / sizeof *known_drivers; i++)
		if (strcmp(known_drivers[i].driver, driver) == 0)
			return known_drivers[i].vendor;
	return "another vendor";
}

static void check_node(struct doctor *doctor, const char *node, const char *driver)
{
	char address[64] = "";
	doctor_link(doctor, address, sizeof address, "/sys/class/drm/%s/device", node);
	int why_not = doctor_access(doctor, R_OK | W_OK, "/dev/dri/%s", node);
	doctor_row(doctor, node, false);
	if (why_not == ENOENT)
		doctor_say(doctor, FINDING_MISSING, "in a container: --device=/dev/dri", "%s (%s) %s: no /dev/dri/%s", driver,
			vendor_of(driver), address, node);
	else if (why_not)
		doctor_say(doctor, FINDING_MISSING, "sudo usermod -aG render $USER, and log in again",
			"%s (%s) %s: cannot open /dev/dri/%s: only the figures of /sys and fdinfo are available", driver,
			vendor_of(driver), address, node);
	else
		doctor_say(doctor, FINDING_OK, NULL, "%s (%s) %s", driver, vendor_of(driver), address);
}

static void check_amd(struct doctor *doctor)
{
	doctor_row(doctor, "libdrm_amdgpu", false);
	doctor_say_library(
		doctor, "libdrm_amdgpu.so.1", "libdrm-amdgpu1", "clocks, power and temperatures come from /sys only");
	doctor_row(doctor, "KFD", false);
	if (doctor_access(doctor, F_OK, "/sys/class/kfd/kfd/topology") != 0)
		doctor_say(doctor, FINDING_MISSING, "boot a kernel with CONFIG_HSA_AMD",
			"the kernel has none: no GPU use of each ROCm process");
	else if (doctor_access(doctor, R_OK | X_OK, "/sys/class/kfd/kfd/proc") != 0)
		doctor_say(doctor, FINDING_MISSING,
			"use kernel 5.9 or newer; in a container: --device=/dev/kfd, and /sys of the host",
			"cannot read its processes: no GPU use of each ROCm process");
	else
		doctor_say(doctor, FINDING_OK, NULL, "GPU use of each ROCm process");
}

static void check_intel(struct doctor *doctor, const char *driver)
{
	doctor_row(doctor, "Intel, whole device", false);
	if (doctor_has_right(doctor, CAPABILITY_PERFMON) || doctor_has_right(doctor, CAPABILITY_SYS_ADMIN))
		doctor_say(doctor, FINDING_OK, NULL, "as root, or with CAP_PERFMON: processes of all users");
	else
		doctor_say(doctor, FINDING_OFF, "sudo setcap cap_perfmon=ep $(command -v pmtop)",
			"%s shows some figures of the device only with CAP_PERFMON; those of your processes work", driver);
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
		doctor_say(doctor, FINDING_OFF, NULL, "no render node (/dev/dri/renderD*)");
		return false;
	}
	doctor_row(doctor, "libdrm", false);
	doctor_say_library(doctor, "libdrm.so.2", "libdrm2", "devices are known from /sys only");
	if (has_amd)
		check_amd(doctor);
	if (intel[0])
		check_intel(doctor, intel);
	return has_any;
}

/* -- processes -- */

static void check_pids(struct doctor *doctor)
{
	char space[64] = "";
	doctor_link(doctor, space, sizeof space, "/proc/self/ns/pid");
	doctor_row(doctor, "GPU processes", false);
	if (!space[0] || strcmp(space, FIRST_PID_NAMESPACE) == 0)
		doctor_say(doctor, FINDING_OK, NULL, "drivers report the pids that pmtop sees");
	else
		doctor_say(doctor, FINDING_MISSING, "docker run --pid=host, or run pmtop on the host",
			"pid namespace: NVIDIA's driver may report host pids; pmtop then uses LOCAL_RANK and "
			"CUDA_VISIBLE_DEVICES");
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
