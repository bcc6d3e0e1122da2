#include "src/sources/collectives/flight_locate.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/sources/python/remote.h"

enum { HEADERS_MAX = 64, NOTES_SIZE = 1024, MAPS_MAX = 16 << 20, TRIES_MAX = 4, RELEASE_SIZE = 48, TEXT_SIZE = 4096 };

struct library {
	const char *name;
	bool is_device;
};

static const struct library libraries[FLIGHT_RECORDERS_MAX] = { { "libtorch_cpu.so", false },
	{ "libtorch_cuda.so", true } };

/* -- the release -- */

static bool write_path(char out[PATH_MAX], const char *path, size_t length, const char *end)
{
	int size = snprintf(out, PATH_MAX, "root%.*s%s", (int)length, path, end);
	return size > 0 && size < PATH_MAX;
}

/* torch/version.py beside torch/lib: __version__ = '2.13.0+cpu' */
void flight_release(int process_fd, const char *library, char *out, size_t size)
{
	char path[PATH_MAX], text[TEXT_SIZE], version[RELEASE_SIZE];
	size_t length;
	const char *end = strrchr(library, '/'), *at;
	snprintf(out, size, "this PyTorch");
	if (!end || !write_path(path, library, (size_t)(end - library), "/../version.py") ||
		file_read(process_fd, path, text, sizeof text, &length) != STATUS_OK)
		return;
	at = strstr(text, "__version__ = '");
	if (at && sscanf(at, "__version__ = '%47[0-9A-Za-z.+-]'", version) == 1)
		snprintf(out, size, "PyTorch %s", version);
}

/* -- the loaded library -- */

struct image {
	uint64_t bias;
	struct flight_build_id id;
};

static bool read_image(pid_t pid, uint64_t base, struct image *out)
{
	Elf64_Ehdr header;
	Elf64_Phdr headers[HEADERS_MAX];
	unsigned char notes[NOTES_SIZE];
	*out = (struct image){ .bias = base };
	if (!remote_read(pid, base, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
		header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phnum == 0 || header.e_phnum > HEADERS_MAX ||
		header.e_phentsize != sizeof *headers ||
		!remote_read(pid, base + header.e_phoff, headers, header.e_phnum * sizeof *headers))
		return false;
	for (unsigned i = 0; i < header.e_phnum; i++)
		if (headers[i].p_type == PT_LOAD && headers[i].p_offset == 0)
			out->bias = base - headers[i].p_vaddr;
	for (unsigned i = 0; i < header.e_phnum && out->id.length == 0; i++) {
		size_t size = headers[i].p_memsz < sizeof notes ? (size_t)headers[i].p_memsz : sizeof notes;
		if (headers[i].p_type == PT_NOTE && remote_read(pid, out->bias + headers[i].p_vaddr, notes, size))
			flight_build_id_parse(notes, size, &out->id);
	}
	return true;
}

static int open_library(int process_fd, const char *path)
{
	char whole[PATH_MAX];
	struct stat status;
	if (!write_path(whole, path, strlen(path), ""))
		return -1;
	int fd = file_open(process_fd, whole, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

static enum status explain(
	enum status status, int process_fd, const char *path, const char *name, struct reason *why_not)
{
	static const char known[] = "pmtop knows the flight recorder of PyTorch 2.11 to 2.14";
	char release[RELEASE_SIZE + 16];
	flight_release(process_fd, path, release, sizeof release);
	switch (status) {
	case STATUS_NOT_FOUND:
		return reason_set(why_not, STATUS_UNSUPPORTED, known, "%s has no flight recorder that pmtop knows", release);
	case STATUS_UNSUPPORTED:
		return reason_set(why_not, status, "use a build of PyTorch that is not stripped",
			"%s of %s has no symbol table", name, release);
	case STATUS_INVALID:
		return reason_set(
			why_not, status, "restart the program", "the file %s is not the library that the process has loaded", name);
	default: return reason_set(why_not, status, NULL, "%s of %s cannot be read", name, release);
	}
}

static enum status try_library(pid_t pid, int process_fd, const struct library *library, uint64_t base,
	const char *path, struct flight_symbols *symbols, struct flight_places *out, struct reason *why_not)
{
	struct image image;
	struct flight_addresses addresses = { 0, 0 };
	if (!read_image(pid, base, &image))
		return errno == EPERM || errno == EACCES ? STATUS_DENIED : STATUS_IO;
	int fd = open_library(process_fd, path);
	if (fd < 0)
		return explain(STATUS_INVALID, process_fd, path, library->name, why_not);
	enum status status = flight_symbol_find(symbols, &image.id, fd, &addresses);
	close(fd);
	if (addresses.registry)
		out->registry = image.bias + addresses.registry;
	if (status == STATUS_OK)
		out->list[out->count++] = (struct flight_place){ library->is_device, image.bias + addresses.recorder };
	return status == STATUS_OK ? status : explain(status, process_fd, path, library->name, why_not);
}

/* -- the search -- */

/* A line of /proc/PID/maps: the library whose first page it is; NULL = none of them. */
static const struct library *library_of(const char *line, uint64_t *base, const char **path)
{
	unsigned long long begin, offset;
	int path_at = 0;
	if (sscanf(line, "%llx-%*x %*4s %llx %*x:%*x %*u %n", &begin, &offset, &path_at) < 2 || offset != 0 ||
		path_at == 0 || line[path_at] != '/')
		return NULL;
	*base = begin;
	*path = line + path_at;
	const char *name = strrchr(*path, '/') + 1;
	for (size_t i = 0; i < FLIGHT_RECORDERS_MAX; i++)
		if (strncmp(name, libraries[i].name, strlen(libraries[i].name)) == 0)
			return &libraries[i];
	return NULL;
}

enum status flight_locate(
	pid_t pid, int process_fd, struct flight_symbols *symbols, struct flight_places *out, struct reason *why_not)
{
	struct remote_maps maps;
	enum status status = STATUS_NOT_FOUND;
	char *line;
	const char *path;
	uint64_t base;
	unsigned tries = 0;
	out->count = 0;
	out->registry = 0;
	if (!remote_maps_open(&maps, pid, process_fd))
		return reason_set(why_not, errno == ESRCH ? STATUS_END : status_of_errno(errno), NULL,
			"the mappings of process %d cannot be read: %s", (int)pid, strerror(errno));
	while (out->count < FLIGHT_RECORDERS_MAX && tries < TRIES_MAX && maps.total < MAPS_MAX &&
		(line = remote_maps_line(&maps))) {
		const struct library *library = library_of(line, &base, &path);
		if (!library)
			continue;
		tries++;
		enum status found = try_library(pid, process_fd, library, base, path, symbols, out, why_not);
		status = status == STATUS_OK ? status : found;
	}
	remote_maps_close(&maps);
	return status;
}
