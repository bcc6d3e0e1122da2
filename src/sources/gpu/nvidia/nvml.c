#include "src/sources/gpu/nvidia/nvml.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "src/base/files/file.h"

enum { SYMBOLS_MAX = 3, VERSION_SIZE = 32 };

static const struct {
	size_t offset;
	const char *symbols[SYMBOLS_MAX];
} call_table[NVML_CALL_COUNT] = {
#define NVML_CALL_ROW(name, arguments, ...) { offsetof(struct nvml, name), { __VA_ARGS__ } },
	NVML_CALLS(NVML_CALL_ROW)
#undef NVML_CALL_ROW
};

static void resolve(struct nvml *nvml)
{
	for (size_t i = 0; i < NVML_CALL_COUNT; i++) {
		void *found = NULL;
		nvml->symbols[i] = NVML_SYMBOL_ABSENT;
		for (uint8_t s = 0; s < SYMBOLS_MAX && call_table[i].symbols[s] && !found; s++) {
			found = dlsym(nvml->handle, call_table[i].symbols[s]);
			nvml->symbols[i] = found ? s : NVML_SYMBOL_ABSENT;
		}
		memcpy((char *)nvml + call_table[i].offset, &found, sizeof found);
	}
}

/* The version of the driver in the kernel, or "". */
static void kernel_version(const char *sys_root, char out[VERSION_SIZE])
{
	char path[512];
	size_t length = 0;
	snprintf(path, sizeof path, "%s/module/nvidia/version", sys_root ? sys_root : "/sys");
	if (file_read(AT_FDCWD, path, out, VERSION_SIZE, &length) != STATUS_OK)
		length = 0;
	out[length] = '\0';
	out[strcspn(out, "\n")] = '\0';
}

static enum status explain_start(int code, const char *sys_root, struct reason *why_not)
{
	char version[VERSION_SIZE];
	switch (code) {
	case NVML_DRIVER_NOT_LOADED:
		return reason_set(why_not, STATUS_NOT_FOUND, "sudo modprobe nvidia; in a container: --gpus all",
			"the NVIDIA driver is not loaded");
	case NVML_DRIVER_MISMATCH:
		kernel_version(sys_root, version);
		return reason_set(why_not, STATUS_UNSUPPORTED,
			"reboot, or reload the driver: its packages were updated while it ran",
			"the NVIDIA driver%s%.31s in the kernel and its library have different versions", version[0] ? " " : "",
			version);
	case NVML_NO_PERMISSION:
		return reason_set(why_not, STATUS_DENIED, "ls -l /dev/nvidia*: join their group, or run as root",
			"no permission to use the NVIDIA driver");
	case NVML_BLOCKED:
		return reason_set(why_not, STATUS_DENIED, "give the container /dev/nvidia* (--gpus all)",
			"this cgroup may not use NVIDIA devices");
	default:
		return reason_set(
			why_not, STATUS_IO, "run nvidia-smi for details", "the NVIDIA driver did not start: %s", nvml_words(code));
	}
}

enum status nvml_open(struct nvml *nvml, const char *path, const char *sys_root, struct reason *why_not)
{
	const char *name = path ? path : "libnvidia-ml.so.1";
	*nvml = (struct nvml){ .handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) };
	if (!nvml->handle) {
		const char *error = dlerror();
		/* The message includes the name. */
		if (error && strstr(error, "No such file"))
			return reason_set(why_not, STATUS_NOT_FOUND, "install the NVIDIA driver; in a container: --gpus all",
				"no NVIDIA driver (%.120s not found)", name);
		return reason_set(
			why_not, STATUS_IO, NULL, "the NVIDIA library cannot be loaded: %.150s", error ? error : name);
	}
	resolve(nvml);
	if (!nvml->init || !nvml->device_count || !nvml->device) {
		dlclose(nvml->handle);
		return reason_set(why_not, STATUS_UNSUPPORTED, NULL, "%.120s is not NVIDIA's management library", name);
	}
	int code = nvml->init();
	if (code == NVML_OK)
		return STATUS_OK;
	/* The next attempt may find another version. */
	dlclose(nvml->handle);
	return explain_start(code, sys_root, why_not);
}

void nvml_close(struct nvml *nvml)
{
	if (nvml->shutdown)
		nvml->shutdown();
}

/* Early drivers of series 535 write 32 bytes for a symbol whose structs have 24 bytes in earlier and later drivers.
 * They are recognised by having the call for confidential computing, to which the added figure belongs, but not the
 * one that it moved to. */
size_t nvml_process_size(const struct nvml *nvml, enum nvml_call call)
{
	enum { NEWEST = 0, OLDER = 1 };
	uint8_t symbol = nvml->symbols[call];
	if (symbol == NEWEST && nvml->protected_memory && !nvml->process_details)
		return NVML_PROCESS_SIZE_R535;
	return symbol == NEWEST || symbol == OLDER ? NVML_PROCESS_SIZE : NVML_PROCESS_SIZE_PLAIN;
}

const char *nvml_words(int code)
{
	static const struct {
		int code;
		const char *words;
	} table[] = {
		{ NVML_OK, "no error" },
		{ NVML_UNINITIALIZED, "the driver was restarted" },
		{ NVML_INVALID, "the driver rejected the request" },
		{ NVML_NOT_SUPPORTED, "this GPU or its driver does not report it" },
		{ NVML_NO_PERMISSION, "the driver does not report it to this user" },
		{ NVML_NOT_FOUND, "the driver did not find it" },
		{ NVML_DRIVER_NOT_LOADED, "the driver is not loaded" },
		{ NVML_FUNCTION_NOT_FOUND, "this driver is too old to report it" },
		{ NVML_LIBRARY_NOT_FOUND, "a part of the driver's library is not installed" },
		{ NVML_GPU_IS_LOST, "the GPU has fallen off the bus" },
		{ NVML_RESET_REQUIRED, "the GPU must be reset" },
		{ NVML_BLOCKED, "the system blocks the device" },
		{ NVML_DRIVER_MISMATCH, "driver and library have different versions" },
		{ NVML_NO_DATA, "there is no data yet" },
		{ NVML_VERSION_MISMATCH, "this driver is too old to report it" },
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].code == code)
			return table[i].words;
	return "an internal driver error";
}

bool nvml_is_unknown(int code)
{
	return code == NVML_NOT_SUPPORTED || code == NVML_FUNCTION_NOT_FOUND || code == NVML_VERSION_MISMATCH ||
		code == NVML_INVALID;
}
