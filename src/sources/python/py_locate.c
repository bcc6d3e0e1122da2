#include "src/sources/python/py_locate.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/base/files/file.h"
#include "src/sources/python/remote.h"

/* Limits of a whole search, because a process controls what it maps and where its symbol tables lead. A CPython
 * needs one image, some hundred symbols, and the part of maps before it. MAPS_MAX: as many mappings as a kernel
 * allows by default. */
enum {
	HEADERS_MAX = 64,
	DYNAMIC_MAX = 512,
	SYMBOL_MAX = 32,
	IMAGES_MAX = 128,
	SYMBOLS_MAX = 16384,
	MAPS_MAX = 16 << 20
};

/* -- symbols of a loaded program -- */

struct budget {
	unsigned images, symbols;
};

struct image {
	pid_t pid;
	uint64_t bias, symbols, names, hash;
	struct budget *budget;
};

/* glibc stores addresses in the dynamic section, musl leaves offsets. */
static uint64_t relocated(uint64_t bias, uint64_t value) { return value < bias ? value + bias : value; }

static bool read_dynamic(struct image *image, uint64_t address, size_t size)
{
	Elf64_Dyn entries[DYNAMIC_MAX];
	size_t count = size / sizeof *entries < DYNAMIC_MAX ? size / sizeof *entries : DYNAMIC_MAX;
	if (!remote_read(image->pid, address, entries, count * sizeof *entries))
		return false;
	for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
		uint64_t value = relocated(image->bias, entries[i].d_un.d_ptr);
		if (entries[i].d_tag == DT_SYMTAB)
			image->symbols = value;
		else if (entries[i].d_tag == DT_STRTAB)
			image->names = value;
		else if (entries[i].d_tag == DT_GNU_HASH)
			image->hash = value;
	}
	return image->symbols && image->names && image->hash;
}

/* `base`: the address of its first page. */
static bool image_open(struct image *image, pid_t pid, uint64_t base, struct budget *budget)
{
	Elf64_Ehdr header;
	Elf64_Phdr headers[HEADERS_MAX];
	*image = (struct image){ .pid = pid, .bias = base, .budget = budget };
	if (!remote_read(pid, base, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
		header.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	if (header.e_phnum == 0 || header.e_phnum > HEADERS_MAX || header.e_phentsize != sizeof *headers ||
		!remote_read(pid, base + header.e_phoff, headers, header.e_phnum * sizeof *headers))
		return false;
	const Elf64_Phdr *dynamic = NULL;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		if (headers[i].p_type == PT_LOAD && headers[i].p_offset == 0)
			image->bias = base - headers[i].p_vaddr;
		if (headers[i].p_type == PT_DYNAMIC)
			dynamic = &headers[i];
	}
	return dynamic && read_dynamic(image, image->bias + dynamic->p_vaddr, dynamic->p_memsz);
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;
	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static bool is_named(const struct image *image, const Elf64_Sym *symbol, const char *name)
{
	char found[SYMBOL_MAX] = "";
	size_t size = strlen(name) + 1;
	return size <= sizeof found && remote_read(image->pid, image->names + symbol->st_name, found, size) &&
		memcmp(found, name, size) == 0;
}

static bool image_symbol(const struct image *image, const char *name, uint64_t *address, uint64_t *size)
{
	/* table: buckets, first symbol, words of the Bloom filter, its shift */
	uint32_t table[4], index, hash = gnu_hash(name);
	if (!remote_read(image->pid, image->hash, table, sizeof table) || table[0] == 0)
		return false;
	uint64_t buckets = image->hash + sizeof table + 8 * (uint64_t)table[2], chain = buckets + 4 * (uint64_t)table[0];
	if (!remote_read(image->pid, buckets + 4 * (uint64_t)(hash % table[0]), &index, sizeof index) || index < table[1])
		return false;
	for (; image->budget->symbols > 0; image->budget->symbols--, index++) {
		uint32_t link;
		Elf64_Sym symbol;
		if (!remote_read(image->pid, chain + 4 * (uint64_t)(index - table[1]), &link, sizeof link))
			return false;
		if ((link | 1) == (hash | 1) &&
			remote_read(image->pid, image->symbols + index * sizeof symbol, &symbol, sizeof symbol) &&
			symbol.st_value && is_named(image, &symbol, name)) {
			*address = image->bias + symbol.st_value;
			*size = symbol.st_size;
			return true;
		}
		if (link & 1)
			return false;
	}
	return false;
}

/* -- which Python -- */

/* Before 3.11 there is no Py_Version, but _PyRuntime has a different size in each version. */
static unsigned minor_by_size(uint64_t size)
{
	static const struct {
		uint64_t size;
		unsigned minor;
	} sizes[] = { { 1464, 8 }, { 656, 9 }, { 672, 10 } };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		if (sizes[i].size == size)
			return sizes[i].minor;
	return 0;
}

static enum status choose_layout(
	const struct image *image, uint64_t size, struct py_location *out, struct reason *why_not)
{
	uint64_t words[PY_DEBUG_WORDS], at, unused;
	if (remote_read(image->pid, out->runtime, words, sizeof words)) {
		enum status status = py_layout_from_offsets(words, &out->layout, why_not);
		if (status != STATUS_NOT_FOUND)
			return status;
	}
	uint32_t version = 0;
	if (image_symbol(image, "Py_Version", &at, &unused) && remote_read(image->pid, at, &version, sizeof version) &&
		version >> 24 != 3)
		return reason_set(why_not, STATUS_UNSUPPORTED, NULL, "pmtop does not support Python %u (only 3.%d to 3.%d)",
			version >> 24, PY_MINOR_OLDEST, PY_MINOR_NEWEST);
	unsigned minor = version ? version >> 16 & 0xff : minor_by_size(size);
	if (!minor)
		return reason_set(why_not, STATUS_UNSUPPORTED, NULL,
			"pmtop does not support its Python version (only 3.%d to 3.%d)", PY_MINOR_OLDEST, PY_MINOR_NEWEST);
	enum status status = py_layout_known(minor, &out->layout, why_not);
	if (status == STATUS_OK)
		out->layout.patch = version >> 8 & 0xff;
	return status;
}

/* Whether the interpreter exists and its threads point back to it. */
bool py_locate_is_same(pid_t pid, const struct py_location *location)
{
	const struct py_layout *layout = &location->layout;
	uint64_t interpreter, thread, owner;
	return remote_word(pid, location->runtime + layout->runtime_interpreters, &interpreter) && interpreter &&
		remote_word(pid, interpreter + layout->interpreter_threads, &thread) && thread &&
		remote_word(pid, thread + layout->thread_interpreter, &owner) && owner == interpreter;
}

static void find_types(const struct image *image, struct py_location *location)
{
	static const char *const names[PY_TYPES] = {
		[PY_INT] = "PyLong_Type",
		[PY_BOOL] = "PyBool_Type",
		[PY_STR] = "PyUnicode_Type",
		[PY_DICT] = "PyDict_Type",
		[PY_LIST] = "PyList_Type",
		[PY_TUPLE] = "PyTuple_Type",
		[PY_RANGE] = "PyRange_Type",
		[PY_RANGE_ITERATOR] = "PyRangeIter_Type",
		[PY_ENUMERATE] = "PyEnum_Type",
		[PY_ZIP] = "PyZip_Type",
		[PY_GENERATOR] = "PyGen_Type",
		[PY_LIST_ITERATOR] = "PyListIter_Type",
		[PY_TUPLE_ITERATOR] = "PyTupleIter_Type",
		[PY_SEQUENCE_ITERATOR] = "PySeqIter_Type",
		[PY_LIST_REVERSED] = "PyListRevIter_Type",
		[PY_REVERSED] = "PyReversed_Type",
		[PY_MAP] = "PyMap_Type",
		[PY_FLOAT] = "PyFloat_Type",
	};
	uint64_t unused;
	for (size_t i = 0; i < PY_TYPES; i++)
		if (!image_symbol(image, names[i], &location->types[i], &unused))
			location->types[i] = 0;
}

static enum status read_header(
	pid_t pid, uint64_t base, struct budget *budget, struct py_location *out, struct reason *why_not)
{
	struct image image;
	uint64_t size, unused;
	struct py_location location = { 0 };
	budget->images--;
	if (!image_open(&image, pid, base, budget) || !image_symbol(&image, "_PyRuntime", &location.runtime, &size) ||
		!image_symbol(&image, "PyCode_Type", &location.code_type, &unused))
		return STATUS_NOT_FOUND;
	enum status status = choose_layout(&image, size, &location, why_not);
	if (status == STATUS_OK && !py_locate_is_same(pid, &location))
		return STATUS_NOT_FOUND;
	if (status == STATUS_OK) {
		find_types(&image, &location);
		*out = location;
	}
	return status;
}

/* -- the search -- */

/* Parses a line of /proc/PID/maps: whether it is the first page of the program or of a libpython, and its address. */
static bool is_candidate(char *line, const char *program, uint64_t *base)
{
	unsigned long long begin, offset;
	int path_at = 0;
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%llx-%*x %*4s %llx %*x:%*x %*u %n", &begin, &offset, &path_at) < 2 || offset != 0 ||
		path_at == 0 || line[path_at] != '/')
		return false;
	*base = begin;
	const char *path = line + path_at, *name = strrchr(path, '/') + 1;
	return strcmp(path, program) == 0 || strncmp(name, "libpython", 9) == 0;
}

static enum status explain(enum status status, pid_t pid, const struct reason *refused, struct reason *why_not)
{
	switch (status) {
	case STATUS_OK: return status;
	case STATUS_NOT_FOUND:
		return reason_set(why_not, status, "for a C program, use gdb -p", "process %d runs no CPython 3.%d or newer",
			(int)pid, PY_MINOR_OLDEST);
	case STATUS_DENIED:
		return reason_set(why_not, status, NULL, "no permission to read the memory of process %d", (int)pid);
	case STATUS_DAMAGED:
		if (!refused->text[0])
			return reason_set(why_not, status, "pmtop retries at growing intervals",
				"no Python found in process %d: search exceeded its budget", (int)pid);
		/* fall through */
	default: *why_not = *refused; return status;
	}
}

static bool is_refusal(int error) { return error == EPERM || error == EACCES || error == ENOSYS; }

static enum status try_image(
	pid_t pid, uint64_t base, struct budget *budget, struct py_location *out, struct reason *refused)
{
	char first;
	if (!remote_read(pid, base, &first, 1))
		return is_refusal(errno) ? STATUS_DENIED : STATUS_NOT_FOUND;
	return read_header(pid, base, budget, out, refused);
}

enum status py_locate(pid_t pid, int process_fd, struct py_location *out, struct reason *why_not)
{
	char program[PATH_MAX] = "", *line;
	struct remote_maps maps;
	struct budget budget = { .images = IMAGES_MAX, .symbols = SYMBOLS_MAX };
	struct reason refused = { "", "" };
	enum status status = STATUS_NOT_FOUND;
	bool is_spent = false;
	uint64_t base;
	ssize_t length = readlinkat(process_fd, "exe", program, sizeof program - 1);
	program[length > 0 ? length : 0] = '\0';
	if (!remote_maps_open(&maps, pid, process_fd))
		return reason_set(
			why_not, status_of_errno(errno), NULL, "process %d cannot be inspected: %s", (int)pid, strerror(errno));
	while (status != STATUS_OK && status != STATUS_DENIED && !is_spent && (line = remote_maps_line(&maps))) {
		enum status found =
			is_candidate(line, program, &base) ? try_image(pid, base, &budget, out, &refused) : STATUS_NOT_FOUND;
		status = found == STATUS_NOT_FOUND ? status : found;
		is_spent = budget.images == 0 || budget.symbols == 0 || maps.total > MAPS_MAX;
	}
	remote_maps_close(&maps);
	return explain(is_spent && status == STATUS_NOT_FOUND ? STATUS_DAMAGED : status, pid, &refused, why_not);
}
