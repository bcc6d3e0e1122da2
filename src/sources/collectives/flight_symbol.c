#include "src/sources/collectives/flight_symbol.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/files/file.h"

/* _ZZN4c10d14FlightRecorderIN3c105EventEE3getEvE8instance, or with another type of event. The guard variable beside it
 * begins with _ZGV. */
static const struct wanted {
	const char *begin, *end;
	size_t offset; /* of its address */
	uint64_t size; /* another size is another layout */
} wanted[] = {
	{ "_ZZN4c10d14FlightRecorderI", "EE3getEvE8instance", offsetof(struct flight_addresses, recorder), 8 },
	{ "_ZN4c10dL16process_registryE", "E", offsetof(struct flight_addresses, registry), 104 },
};

/* TABLE_MAX: libtorch_cuda.so's names are some hundred MB; a hostile file has as many as it likes. */
enum {
	TABLE_MAX = 1 << 30,
	CHUNK = 1 << 20,
	NAME_MAX_SIZE = 128,
	NAMES_MAX = 4,
	WANTED = sizeof wanted / sizeof *wanted,
	SECTIONS_MAX = 4096,
	NOTES_MAX = 4096
};

struct library {
	int fd;
	unsigned char *chunk; /* CHUNK + NAME_MAX_SIZE bytes */
	Elf64_Shdr symbols, names;
	size_t name_count;
	struct {
		uint64_t at; /* in the string table */
		const struct wanted *wanted;
	} names_found[NAMES_MAX];
};

static bool read_at(int fd, uint64_t offset, void *out, size_t size)
{
	if (offset > INT64_MAX || lseek(fd, (off_t)offset, SEEK_SET) < 0)
		return false;
	for (size_t done = 0; done < size;) {
		ssize_t got = file_read_some(fd, (char *)out + done, size - done);
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

/* -- the build id -- */

void flight_build_id_parse(const unsigned char *bytes, size_t length, struct flight_build_id *out)
{
	*out = (struct flight_build_id){ 0 };
	for (size_t at = 0; length - at >= sizeof(Elf64_Nhdr);) {
		Elf64_Nhdr note;
		memcpy(&note, bytes + at, sizeof note);
		at += sizeof note;
		size_t name_size = ((size_t)note.n_namesz + 3) & ~(size_t)3, size = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name_size > length - at || size > length - at - name_size)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(bytes + at, "GNU", 4) == 0 &&
			note.n_descsz <= sizeof out->bytes) {
			out->length = note.n_descsz;
			memcpy(out->bytes, bytes + at + name_size, note.n_descsz);
			return;
		}
		at += name_size + size;
	}
}

static bool is_same_id(const struct flight_build_id *a, const struct flight_build_id *b)
{
	return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* -- sections -- */

static enum status read_sections(struct library *library, const struct flight_build_id *id)
{
	Elf64_Ehdr header;
	enum status status = STATUS_UNSUPPORTED;
	struct flight_build_id own = { 0 };
	if (!read_at(library->fd, 0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
		header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr) ||
		header.e_shnum > SECTIONS_MAX)
		return STATUS_DAMAGED;
	size_t size = header.e_shnum * sizeof(Elf64_Shdr);
	Elf64_Shdr *sections = malloc(size + 1);
	if (!sections)
		return STATUS_NO_MEMORY;
	if (!read_at(library->fd, header.e_shoff, sections, size))
		status = STATUS_DAMAGED;
	for (size_t i = 0; status != STATUS_DAMAGED && i < header.e_shnum; i++) {
		const Elf64_Shdr *section = &sections[i];
		if (section->sh_type == SHT_SYMTAB && section->sh_link < header.e_shnum) {
			library->symbols = *section;
			library->names = sections[section->sh_link];
			status = STATUS_OK;
		} else if (section->sh_type == SHT_NOTE && own.length == 0) {
			size_t length = section->sh_size < NOTES_MAX ? (size_t)section->sh_size : NOTES_MAX;
			if (read_at(library->fd, section->sh_offset, library->chunk, length))
				flight_build_id_parse(library->chunk, length, &own);
		}
	}
	free(sections);
	if (status == STATUS_OK && (library->names.sh_size > TABLE_MAX || library->symbols.sh_size > TABLE_MAX))
		return STATUS_DAMAGED;
	return status == STATUS_DAMAGED || is_same_id(&own, id) ? status : STATUS_INVALID;
}

/* -- names and symbols -- */

static void note_names(struct library *library, uint64_t begin, size_t length, const struct wanted *wanted_name)
{
	const char *text = (const char *)library->chunk, *at = text;
	const size_t begin_size = strlen(wanted_name->begin), end_size = strlen(wanted_name->end);
	while (library->name_count < NAMES_MAX &&
		(at = memmem(at, length - (size_t)(at - text), wanted_name->begin, begin_size))) {
		size_t room = length - (size_t)(at - text), size = strnlen(at, room);
		if (size < room && size < NAME_MAX_SIZE && memcmp(at + size - end_size, wanted_name->end, end_size) == 0) {
			library->names_found[library->name_count].at = begin + (uint64_t)(at - text);
			library->names_found[library->name_count++].wanted = wanted_name;
		}
		at++;
	}
}

/* Pieces overlap by the length of a name, so a name may be noted twice. */
static enum status find_names(struct library *library)
{
	for (uint64_t at = 0; at < library->names.sh_size; at += CHUNK) {
		uint64_t left = library->names.sh_size - at;
		size_t size = left < CHUNK + NAME_MAX_SIZE ? (size_t)left : CHUNK + NAME_MAX_SIZE;
		if (!read_at(library->fd, library->names.sh_offset + at, library->chunk, size))
			return STATUS_DAMAGED;
		for (size_t i = 0; i < WANTED; i++)
			note_names(library, at, size, &wanted[i]);
	}
	return library->name_count ? STATUS_OK : STATUS_NOT_FOUND;
}

static void take_symbol(const struct library *library, const Elf64_Sym *symbol, struct flight_addresses *out)
{
	for (size_t i = 0; i < library->name_count && symbol->st_value && symbol->st_shndx != SHN_UNDEF; i++)
		if (symbol->st_name == library->names_found[i].at && symbol->st_size == library->names_found[i].wanted->size)
			memcpy((char *)out + library->names_found[i].wanted->offset, &symbol->st_value, sizeof symbol->st_value);
}

static enum status find_symbols(struct library *library, struct flight_addresses *out)
{
	enum { EACH = CHUNK / sizeof(Elf64_Sym) };
	uint64_t count = library->symbols.sh_size / sizeof(Elf64_Sym);
	for (uint64_t at = 0; at < count; at += EACH) {
		size_t now = count - at < EACH ? (size_t)(count - at) : EACH;
		if (!read_at(library->fd, library->symbols.sh_offset + at * sizeof(Elf64_Sym), library->chunk,
				now * sizeof(Elf64_Sym)))
			return STATUS_DAMAGED;
		for (size_t i = 0; i < now; i++) {
			Elf64_Sym symbol;
			memcpy(&symbol, library->chunk + i * sizeof symbol, sizeof symbol);
			take_symbol(library, &symbol, out);
		}
	}
	return out->recorder ? STATUS_OK : STATUS_NOT_FOUND;
}

enum status flight_symbol_find(
	struct flight_symbols *symbols, const struct flight_build_id *id, int fd, struct flight_addresses *out)
{
	for (size_t i = 0; id->length && i < symbols->count; i++)
		if (is_same_id(&symbols->list[i].id, id)) {
			*out = symbols->list[i].addresses;
			return symbols->list[i].status;
		}
	struct library library = { .fd = fd, .chunk = malloc(CHUNK + NAME_MAX_SIZE) };
	struct flight_addresses found = { 0, 0 };
	if (!library.chunk)
		return STATUS_NO_MEMORY;
	enum status status = read_sections(&library, id);
	if (status == STATUS_OK)
		status = find_names(&library);
	if (status == STATUS_OK)
		status = find_symbols(&library, &found);
	free(library.chunk);
	*out = found;
	if (id->length && status != STATUS_INVALID && symbols->count < FLIGHT_LIBRARIES_MAX) {
		symbols->list[symbols->count].id = *id;
		symbols->list[symbols->count].status = status;
		symbols->list[symbols->count++].addresses = found;
	}
	return status;
}
