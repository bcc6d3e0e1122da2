#include "src/sources/gpu/drm/fdinfo_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/sources/gpu/drm/fdinfo.h"

/* A member that is new, or called exec, may open its device soon; one that has not for long is unlikely to. */
#define SCAN_FIRST_NS NS_PER_S
#define SCAN_MAX_NS (15 * NS_PER_S)

/* A member's descriptor of a device. */
struct handle {
	int32_t pid;
	int fd;
	uint64_t start_ticks;
	size_t device;
	bool is_stale; /* not yet found again by the running scan */
};

struct client {
	size_t device;
	uint64_t id;
	bool has_id, is_found; /* is_found: at this reading */
	int32_t pid;
	int fd; /* of a client without an id */
	int64_t read_ns;
	char driver[DRM_DRIVER_SIZE];
	double own_bytes, machine_bytes;
	unsigned engine_count;
	struct fdinfo_engine engines[FDINFO_ENGINES_MAX];
	double busy[FDINFO_ENGINES_MAX]; /* since the last reading; NAN = unknown */
};

struct scanned {
	int32_t pid;
	uint64_t start_ticks;
	unsigned generation;
	int64_t next_ns, pause_ns;
	bool is_denied, has_too_many; /* at the last scan */
};

struct fdinfo_tree {
	const struct target *target;
	size_t handle_count, client_count, scanned_count;
	unsigned links_left; /* links that this reading may still read */
	bool is_denied, has_too_many;
	struct reason denied; /* of the first denied member */
	struct handle handles[FDINFO_CLIENTS_MAX];
	struct client clients[FDINFO_CLIENTS_MAX];
	struct scanned scanned[TARGET_MEMBERS_MAX];
	char text[FDINFO_TEXT_SIZE];
};

struct fdinfo_tree *fdinfo_tree_new(const struct target *target)
{
	struct fdinfo_tree *tree = calloc(1, sizeof *tree);
	if (tree)
		tree->target = target;
	return tree;
}

void fdinfo_tree_free(struct fdinfo_tree *tree) { free(tree); }

/* -- descriptors -- */

/* Matches "/dev/dri/renderD128" by its end, because the process may have its /dev elsewhere. */
static bool find_device(const char *link, const struct drm_device *const *devices, size_t count, size_t *out)
{
	const char *name = strrchr(link, '/');
	if (!name || (!strstr(link, "/dri/") && !strstr(link, "/accel/")))
		return false;
	for (size_t i = 0; i < count; i++) {
		const char *const nodes[] = { devices[i]->render, devices[i]->card, devices[i]->accel };
		for (size_t node = 0; node < sizeof nodes / sizeof *nodes; node++)
			if (nodes[node][0] && strcmp(name + 1, nodes[node]) == 0) {
				*out = i;
				return true;
			}
	}
	return false;
}

static void note_handle(struct fdinfo_tree *tree, const struct target_member *member, int fd, size_t device)
{
	for (size_t i = 0; i < tree->handle_count; i++) {
		struct handle *handle = &tree->handles[i];
		if (handle->pid == member->pid && handle->start_ticks == member->start_ticks && handle->fd == fd) {
			handle->device = device;
			handle->is_stale = false;
			return;
		}
	}
	if (tree->handle_count == FDINFO_CLIENTS_MAX) {
		tree->has_too_many = true;
		return;
	}
	tree->handles[tree->handle_count++] =
		(struct handle){ .pid = member->pid, .fd = fd, .start_ticks = member->start_ticks, .device = device };
}

static void mark_stale(struct fdinfo_tree *tree, const struct target_member *member)
{
	for (size_t i = 0; i < tree->handle_count; i++)
		tree->handles[i].is_stale |= tree->handles[i].pid == member->pid;
}

static void drop_stale(struct fdinfo_tree *tree)
{
	size_t retained = 0;
	for (size_t i = 0; i < tree->handle_count; i++)
		if (!tree->handles[i].is_stale)
			tree->handles[retained++] = tree->handles[i];
	tree->handle_count = retained;
}

static DIR *open_descriptors(const struct target_member *member, struct scanned *scanned)
{
	int fd = openat(member->directory_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	scanned->is_denied = fd < 0 && (errno == EACCES || errno == EPERM);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	if (fd >= 0 && !folder)
		close(fd);
	return folder;
}

static void scan_member(struct fdinfo_tree *tree, size_t index, const struct drm_device *const *devices, size_t count)
{
	const struct target_member *member = &tree->target->members[index];
	DIR *folder = open_descriptors(member, &tree->scanned[index]);
	if (!folder)
		return;
	struct dirent *entry;
	unsigned refreshed = 0;
	mark_stale(tree, member);
	while ((entry = readdir(folder)) && refreshed++ < FDINFO_LINKS_A_MEMBER) {
		char link[128], *end;
		size_t device;
		long fd = strtol(entry->d_name, &end, 10);
		if (end == entry->d_name || *end || fd < 0 || fd > INT32_MAX)
			continue;
		ssize_t length = readlinkat(dirfd(folder), entry->d_name, link, sizeof link - 1);
		if (length <= 0)
			continue;
		link[length] = '\0';
		if (find_device(link, devices, count, &device))
			note_handle(tree, member, (int)fd, device);
	}
	tree->scanned[index].has_too_many = entry != NULL;
	tree->links_left -= refreshed < tree->links_left ? refreshed : tree->links_left;
	drop_stale(tree);
	closedir(folder);
}

/* Members keep their order, so one walk finds those that ended. */
static void follow_members(struct fdinfo_tree *tree)
{
	const struct target *target = tree->target;
	size_t retained = 0, next = 0;
	for (size_t i = 0; i < tree->scanned_count; i++) {
		const struct target_member *member = &target->members[next];
		if (next < target->member_count && tree->scanned[i].pid == member->pid &&
			tree->scanned[i].start_ticks == member->start_ticks) {
			tree->scanned[retained++] = tree->scanned[i];
			next++;
			continue;
		}
		for (size_t handle = 0; handle < tree->handle_count; handle++)
			tree->handles[handle].is_stale |= tree->handles[handle].pid == tree->scanned[i].pid;
	}
	drop_stale(tree);
	tree->scanned_count = retained;
	for (; tree->scanned_count < target->member_count; tree->scanned_count++) {
		const struct target_member *member = &target->members[tree->scanned_count];
		tree->scanned[tree->scanned_count] = (struct scanned){ .pid = member->pid,
			.start_ticks = member->start_ticks,
			.generation = member->generation,
			.next_ns = INT64_MIN,
			.pause_ns = SCAN_FIRST_NS / 2 };
	}
}

static void scan_members(
	struct fdinfo_tree *tree, const struct drm_device *const *devices, size_t count, int64_t now_ns)
{
	tree->links_left = FDINFO_LINKS_A_READING;
	for (size_t i = 0; i < tree->scanned_count && tree->links_left > 0; i++) {
		struct scanned *scanned = &tree->scanned[i];
		const struct target_member *member = &tree->target->members[i];
		if (scanned->generation != member->generation) {
			scanned->generation = member->generation;
			scanned->next_ns = INT64_MIN;
			scanned->pause_ns = SCAN_FIRST_NS / 2;
		}
		if (now_ns < scanned->next_ns || member->stat.state == 'Z')
			continue;
		scan_member(tree, i, devices, count);
		scanned->pause_ns = scanned->pause_ns * 2 < SCAN_MAX_NS ? scanned->pause_ns * 2 : SCAN_MAX_NS;
		scanned->next_ns = now_ns + scanned->pause_ns;
	}
}

/* -- clients -- */

static struct client *client_of(
	struct fdinfo_tree *tree, const struct handle *handle, size_t device, const struct fdinfo *info)
{
	for (size_t i = 0; i < tree->client_count; i++) {
		struct client *client = &tree->clients[i];
		if (client->device != device || client->has_id != info->has_client)
			continue;
		if (info->has_client ? client->id == info->client : client->pid == handle->pid && client->fd == handle->fd)
			return client;
	}
	if (tree->client_count == FDINFO_CLIENTS_MAX) {
		tree->has_too_many = true;
		return NULL;
	}
	struct client *client = &tree->clients[tree->client_count++];
	*client = (struct client){
		.device = device, .id = info->client, .has_id = info->has_client, .fd = handle->fd, .read_ns = INT64_MIN
	};
	return client;
}

static const struct fdinfo_engine *engine_named(const struct fdinfo *info, const char *name)
{
	for (unsigned i = 0; i < info->engine_count; i++)
		if (strcmp(info->engines[i].name, name) == 0)
			return &info->engines[i];
	return NULL;
}

/* amdgpu omits engines that were never used: an engine that appears later starts at 0, as does a new client. */
static void add_new_engines(struct client *client, const struct fdinfo *info)
{
	for (unsigned i = 0; i < info->engine_count; i++) {
		bool is_known = false;
		for (unsigned old = 0; old < client->engine_count; old++)
			is_known |= strcmp(client->engines[old].name, info->engines[i].name) == 0;
		if (is_known || client->engine_count == FDINFO_ENGINES_MAX)
			continue;
		client->engines[client->engine_count] = info->engines[i];
		client->busy[client->engine_count++] = NAN;
	}
}

static void update_client(struct client *client, const struct fdinfo *info, int64_t now_ns)
{
	double elapsed_ns = client->read_ns == INT64_MIN ? 0 : (double)(now_ns - client->read_ns);
	for (unsigned i = 0; i < client->engine_count; i++) {
		struct fdinfo_engine before = client->engines[i];
		const struct fdinfo_engine *now = engine_named(info, before.name);
		client->busy[i] = now ? fdinfo_busy(&before, now, elapsed_ns) : NAN;
		if (now)
			fdinfo_keep_larger(&client->engines[i], now);
	}
	add_new_engines(client, info);
	snprintf(client->driver, sizeof client->driver, "%s", info->driver);
	client->own_bytes = fdinfo_own_memory(info);
	client->machine_bytes = fdinfo_machine_memory(info);
	client->read_ns = now_ns;
	client->is_found = true;
}

static const struct target_member *member_of(const struct fdinfo_tree *tree, const struct handle *handle)
{
	for (size_t i = 0; i < tree->target->member_count; i++)
		if (tree->target->members[i].pid == handle->pid && tree->target->members[i].start_ticks == handle->start_ticks)
			return &tree->target->members[i];
	return NULL;
}

/* The PCI address in fdinfo is more reliable than the node in the link. */
static size_t device_of(const struct fdinfo *info, size_t device, const struct drm_device *const *devices, size_t count)
{
	for (size_t i = 0; info->pci[0] && i < count; i++)
		if (strcasecmp(info->pci, devices[i]->pci) == 0)
			return i;
	return device;
}

/* False: the descriptor was closed or reused. */
static bool read_handle(struct fdinfo_tree *tree, const struct handle *handle, const struct drm_device *const *devices,
	size_t count, int64_t now_ns)
{
	char path[32];
	size_t length;
	struct fdinfo info;
	const struct target_member *member = member_of(tree, handle);
	snprintf(path, sizeof path, "fdinfo/%d", handle->fd);
	if (!member)
		return false;
	enum status status = file_read(member->directory_fd, path, tree->text, sizeof tree->text, &length);
	if (status != STATUS_OK)
		return status != STATUS_NOT_FOUND;
	if (!fdinfo_parse(tree->text, length, &info))
		return true;
	struct client *client = client_of(tree, handle, device_of(&info, handle->device, devices, count), &info);
	if (!client || client->is_found)
		return true;
	client->pid = handle->pid;
	update_client(client, &info, now_ns);
	return true;
}

static void drop_lost_clients(struct fdinfo_tree *tree)
{
	size_t retained = 0;
	for (size_t i = 0; i < tree->client_count; i++)
		if (tree->clients[i].is_found) {
			if (retained != i)
				tree->clients[retained] = tree->clients[i];
			retained++;
		}
	tree->client_count = retained;
}

static void note_restrictions(struct fdinfo_tree *tree)
{
	for (size_t i = 0; i < tree->scanned_count; i++) {
		tree->has_too_many |= tree->scanned[i].has_too_many;
		if (tree->scanned[i].is_denied && !tree->is_denied)
			target_explain_denied(tree->target, &tree->target->members[i], &tree->denied);
		tree->is_denied |= tree->scanned[i].is_denied;
	}
}

void fdinfo_tree_read(struct fdinfo_tree *tree, const struct drm_device *const *devices, size_t count, int64_t now_ns)
{
	tree->is_denied = tree->has_too_many = false;
	follow_members(tree);
	scan_members(tree, devices, count, now_ns);
	for (size_t i = 0; i < tree->client_count; i++)
		tree->clients[i].is_found = false;
	for (size_t i = 0; i < tree->handle_count; i++)
		tree->handles[i].is_stale = !read_handle(tree, &tree->handles[i], devices, count, now_ns);
	drop_stale(tree);
	drop_lost_clients(tree);
	note_restrictions(tree);
}

/* -- results -- */

static uint32_t kind_of(const struct fdinfo_engine *engine)
{
	static const struct {
		const char *prefix;
		uint32_t kind;
	} kinds[] = {
		{ "compute", GPU_PROCESS_COMPUTE },
		{ "ccs", GPU_PROCESS_COMPUTE },
		{ "npu", GPU_PROCESS_COMPUTE },
		{ "amdxdna", GPU_PROCESS_COMPUTE },
		{ "gfx", GPU_PROCESS_GRAPHICS },
		{ "render", GPU_PROCESS_GRAPHICS },
		{ "rcs", GPU_PROCESS_GRAPHICS },
		{ "fragment", GPU_PROCESS_GRAPHICS },
	};
	if (engine->busy_ns == 0 && engine->cycles == 0)
		return 0;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strncmp(engine->name, kinds[i].prefix, strlen(kinds[i].prefix)) == 0)
			return kinds[i].kind;
	return 0;
}

static double plus(double sum, double more) { return isnan(more) ? sum : isnan(sum) ? more : sum + more; }

/* Engines run in parallel, so the busiest one gives a lower bound of the time in which the device was busy. */
static double busiest(const struct fdinfo_tree *tree, size_t device, int32_t pid)
{
	struct {
		const char *name;
		double busy;
	} sums[FDINFO_ENGINES_MAX * 2];
	size_t count = 0;
	double max = NAN;
	for (size_t i = 0; i < tree->client_count; i++) {
		const struct client *client = &tree->clients[i];
		for (unsigned engine = 0; client->device == device && client->pid == pid && engine < client->engine_count;
			 engine++) {
			size_t at = 0;
			while (at < count && strcmp(sums[at].name, client->engines[engine].name) != 0)
				at++;
			if (at == sizeof sums / sizeof *sums)
				continue;
			if (at == count) {
				sums[count].name = client->engines[engine].name;
				sums[count++].busy = NAN;
			}
			sums[at].busy = plus(sums[at].busy, client->busy[engine]);
			max = isnan(max) || sums[at].busy > max ? sums[at].busy : max;
		}
	}
	return max > 1 ? 1 : max;
}

size_t fdinfo_tree_uses(const struct fdinfo_tree *tree, size_t device, struct fdinfo_use *out, size_t max)
{
	size_t count = 0;
	for (size_t i = 0; i < tree->client_count; i++) {
		const struct client *client = &tree->clients[i];
		size_t at = 0;
		if (client->device != device)
			continue;
		while (at < count && out[at].pid != client->pid)
			at++;
		if (at == max)
			continue;
		struct fdinfo_use *use = &out[at];
		if (at == count) {
			*use = (struct fdinfo_use){ .pid = client->pid,
				.own_bytes = NAN,
				.machine_bytes = NAN,
				.busy_ratio = busiest(tree, device, client->pid) };
			memcpy(use->driver, client->driver, sizeof use->driver);
			count++;
		}
		use->own_bytes = plus(use->own_bytes, client->own_bytes);
		use->machine_bytes = plus(use->machine_bytes, client->machine_bytes);
		for (unsigned engine = 0; engine < client->engine_count; engine++)
			use->kind |= kind_of(&client->engines[engine]);
	}
	return count;
}

bool fdinfo_tree_why(const struct fdinfo_tree *tree, struct reason *out)
{
	if (tree->is_denied)
		*out = tree->denied;
	else if (tree->has_too_many)
		reason_set(out, STATUS_OK, NULL, "only a part was read: more than %d open files, or %d of a GPU",
			FDINFO_LINKS_A_MEMBER, FDINFO_CLIENTS_MAX);
	return tree->is_denied || tree->has_too_many;
}
