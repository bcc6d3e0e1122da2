#include "src/sources/gpu/drm/drm_devices.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xf86drm.h>

enum { NODES_MAX = 1024, LIBDRM_DEVICES = 64 };

const char *drm_sys_root(const struct source_choices *choices)
{
	return choices->sys_root ? choices->sys_root : "/sys";
}

const char *drm_dev_root(const struct source_choices *choices)
{
	return choices->dev_root ? choices->dev_root : "/dev";
}

/* -- libdrm, loaded only while it is needed -- */

struct libdrm {
	void *handle;
	__typeof__(drmGetDevices2) *get_devices;
	__typeof__(drmFreeDevices) *free_devices;
	__typeof__(drmGetVersion) *get_version;
	__typeof__(drmFreeVersion) *free_version;
};

static bool libdrm_open(struct libdrm *library)
{
	*library = (struct libdrm){ .handle = dlopen("libdrm.so.2", RTLD_NOW | RTLD_LOCAL) };
	if (!library->handle)
		return false;
	const struct {
		const char *name;
		size_t at;
	} symbols[] = {
		{ "drmGetDevices2", offsetof(struct libdrm, get_devices) },
		{ "drmFreeDevices", offsetof(struct libdrm, free_devices) },
		{ "drmGetVersion", offsetof(struct libdrm, get_version) },
		{ "drmFreeVersion", offsetof(struct libdrm, free_version) },
	};
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
		void *symbol = dlsym(library->handle, symbols[i].name);
		memcpy((char *)library + symbols[i].at, &symbol, sizeof symbol);
		if (!symbol) {
			dlclose(library->handle);
			return false;
		}
	}
	return true;
}

/* -- nodes -- */

struct finding {
	const struct source_choices *choices;
	bool (*is_mine)(const char *driver);
	struct drm_device *devices;
	size_t count, max;
};

/* The number at the end of "renderD128"; −1 if the name is not the prefix and a number. */
static long node_number(const char *name, const char *prefix)
{
	size_t length = strlen(prefix);
	char *end;
	if (strncmp(name, prefix, length) != 0 || !isdigit((unsigned char)name[length]) || strlen(name) >= DRM_NODE_SIZE)
		return -1;
	long number = strtol(name + length, &end, 10);
	return *end || number > 1 << 20 ? -1 : number;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static void read_driver(struct drm_device *device)
{
	char path[SYS_PATH_SIZE], target[PATH_MAX], text[SYS_TEXT_SIZE];
	if (sys_join(path, device->folder, "driver")) {
		ssize_t length = readlink(path, target, sizeof target - 1);
		if (length > 0) {
			target[length] = '\0';
			if (strlen(last_part(target)) < sizeof device->driver)
				strcpy(device->driver, last_part(target));
		}
	}
	if (!sys_text(device->folder, "uevent", text, sizeof text))
		return;
	if (!device->driver[0])
		sys_word(text, "DRIVER", '=', device->driver, sizeof device->driver);
	sys_word(text, "PCI_SLOT_NAME", '=', device->pci, sizeof device->pci);
	for (char *at = device->pci; *at; at++)
		*at = (char)tolower((unsigned char)*at);
}

static struct drm_device *device_of(struct finding *finding, const char *folder)
{
	for (size_t i = 0; i < finding->count; i++)
		if (strcmp(finding->devices[i].folder, folder) == 0)
			return &finding->devices[i];
	if (finding->count == finding->max || strlen(folder) >= SYS_PATH_SIZE)
		return NULL;
	struct drm_device *device = &finding->devices[finding->count];
	*device = (struct drm_device){ 0 };
	strcpy(device->folder, folder);
	read_driver(device);
	if (!device->driver[0] || !finding->is_mine(device->driver))
		return NULL;
	sys_hex(folder, "vendor", &device->maker);
	sys_hex(folder, "device", &device->model);
	finding->count++;
	return device;
}

static void add_node(struct finding *finding, const char *name)
{
	char path[SYS_PATH_SIZE], folder[PATH_MAX];
	bool is_accel = node_number(name, "accel") >= 0;
	if (!is_accel && node_number(name, "renderD") < 0 && node_number(name, "card") < 0)
		return;
	int written = snprintf(
		path, sizeof path, "%s/class/%s/%s/device", drm_sys_root(finding->choices), is_accel ? "accel" : "drm", name);
	if (written < 0 || (size_t)written >= sizeof path || !realpath(path, folder))
		return;
	struct drm_device *device = device_of(finding, folder);
	if (!device)
		return;
	char *slot = is_accel ? device->accel : name[0] == 'r' ? device->render : device->card;
	if (slot[0])
		return;
	strcpy(slot, name);
	if (name[0] == 'r')
		device->minor = (unsigned)node_number(name, "renderD");
}

static void add_folder(struct finding *finding, const char *class)
{
	char path[SYS_PATH_SIZE];
	DIR *folder = sys_join(path, drm_sys_root(finding->choices), class) ? opendir(path) : NULL;
	struct dirent *entry;
	for (unsigned i = 0; folder && i < NODES_MAX && (entry = readdir(folder)); i++)
		add_node(finding, entry->d_name);
	if (folder)
		closedir(folder);
}

static void add_known_to_libdrm(struct finding *finding)
{
	struct libdrm library;
	drmDevicePtr devices[LIBDRM_DEVICES];
	if (finding->choices->sys_root || finding->choices->dev_root || !libdrm_open(&library))
		return;
	int count = library.get_devices(0, devices, LIBDRM_DEVICES);
	count = count > LIBDRM_DEVICES ? LIBDRM_DEVICES : count;
	for (int i = 0; i < count; i++)
		for (int node = 0; node < DRM_NODE_MAX; node++)
			if (devices[i]->available_nodes & 1 << node)
				add_node(finding, last_part(devices[i]->nodes[node]));
	if (count > 0)
		library.free_devices(devices, count);
	dlclose(library.handle);
}

static long order_of(const struct drm_device *device)
{
	return device->minor ? (long)device->minor : (1L << 21) + node_number(device->accel, "accel");
}

static int compare(const void *a, const void *b)
{
	long left = order_of(a), right = order_of(b);
	return (left > right) - (left < right);
}

/* A display-only device (a server's BMC, a frame buffer) cannot compute. */
static void drop_displays(struct finding *finding)
{
	size_t retained = 0;
	for (size_t i = 0; i < finding->count; i++)
		if (finding->devices[i].render[0] || finding->devices[i].accel[0])
			finding->devices[retained++] = finding->devices[i];
	finding->count = retained;
}

size_t drm_devices_find(const struct source_choices *choices, bool with_libdrm, bool (*is_mine)(const char *driver),
	struct drm_device *out, size_t max)
{
	struct finding finding = { .choices = choices, .is_mine = is_mine, .devices = out, .max = max };
	if (with_libdrm)
		add_known_to_libdrm(&finding);
	add_folder(&finding, "class/drm");
	add_folder(&finding, "class/accel");
	drop_displays(&finding);
	qsort(out, finding.count, sizeof *out, compare);
	return finding.count;
}

bool drm_devices_are_here(const struct source_choices *choices, bool (*is_mine)(const char *driver))
{
	struct drm_device devices[4];
	return drm_devices_find(choices, false, is_mine, devices, 4) > 0;
}

/* -- one device -- */

bool drm_device_node(const struct source_choices *choices, const struct drm_device *device, char out[SYS_PATH_SIZE])
{
	char name[DRM_NODE_SIZE + 8];
	snprintf(name, sizeof name, "%s/%s", device->render[0] ? "dri" : "accel",
		device->render[0] ? device->render : device->accel);
	return sys_join(out, drm_dev_root(choices), name);
}

bool drm_device_is_asleep(const struct drm_device *device)
{
	char text[32];
	return sys_text(device->folder, "power/runtime_status", text, sizeof text) && strcmp(text, "suspended") == 0;
}

void drm_device_version(const struct source_choices *choices, const struct drm_device *device, char *out, size_t size)
{
	char path[SYS_PATH_SIZE];
	struct libdrm library;
	struct stat status;
	snprintf(out, size, "%s", device->driver);
	int fd = drm_device_node(choices, device, path) && stat(path, &status) == 0 && S_ISCHR(status.st_mode)
		? open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK)
		: -1;
	if (fd < 0)
		return;
	if (libdrm_open(&library)) {
		drmVersionPtr version = library.get_version(fd);
		if (version) {
			snprintf(out, size, "%s %d.%d.%d", device->driver, version->version_major, version->version_minor,
				version->version_patchlevel);
			library.free_version(version);
		}
		dlclose(library.handle);
	}
	close(fd);
}
