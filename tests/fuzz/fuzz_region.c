/* The region's reader against a damaged region: a real one, as its writer left it, with bytes changed as the input
 * says.
 *
 * Input: one byte of flags, then edits of { u32 offset, u8 length, bytes }. Flag 1: the header's checksum is made right
 * again, so that what it guards is reached; flag 2: the file ends at the first edit's offset. Offsets wrap around the
 * file; every second one falls into its first 32 KiB, where the header, the state, the lanes and the names are. */
#define PMTOP_IMPLEMENTATION
#include "src/region/pmtop.h"

#include "tests/support/regions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FLAG_CHECKSUM = 1, FLAG_CUT = 2, FRONT = 32768 };

static unsigned char *template_bytes, *bytes;
static size_t template_size;
static int file = -1;

static void fill_template(struct pmtop *pm)
{
	pmtop_plan(pm, 3, 20, 32);
	pmtop_meta(pm, "rank", "0");
	for (uint32_t epoch = 0; epoch < 3; epoch++) {
		pmtop_epoch_begin(pm, epoch);
		pmtop_mode(pm, "train");
		for (uint64_t i = 0; i < 20; i++) {
			pmtop_batch_begin(pm, i);
			PMTOP_SPAN(pm, "data") PMTOP_SPAN(pm, "decode") pmtop_gauge(pm, "rate", 0.5);
			PMTOP_SPAN(pm, "forward") pmtop_count(pm, "tokens", 3);
			pmtop_batch_end(pm, 1.0);
		}
		pmtop_mark(pm, "epoch done");
		pmtop_epoch_end(pm);
	}
	pmtop_span_begin(pm, "still open");
}

static void make_template(void)
{
	struct pmtop_options options = PMTOP_OPTIONS_INIT;
	options.lanes = 2;
	options.slots = 64;
	options.totals = 4;
	options.names = 16;
	struct pmtop *pm = pmtop_open("fuzz", &options);
	file = (int)syscall(SYS_memfd_create, "pmtop", 1u);
	if (!pm || file < 0)
		abort();
	fill_template(pm);
	template_size = pm->size;
	template_bytes = malloc(template_size);
	bytes = mmap(NULL, template_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (!template_bytes || bytes == MAP_FAILED)
		abort();
	memcpy(template_bytes, pm->base, template_size);
	pmtop_close(pm);
}

static size_t offset_of(uint32_t offset) { return offset % 2 ? offset / 2 % FRONT : offset / 2 % template_size; }

/* Returns the size that the file shall have. */
static size_t apply(const uint8_t *data, size_t size)
{
	uint8_t flags = size ? *data : 0;
	size_t cut = template_size;
	memcpy(bytes, template_bytes, template_size);
	for (size_t at = 1; at + 5 <= size;) {
		uint32_t offset;
		memcpy(&offset, data + at, sizeof offset);
		size_t to = offset_of(offset), length = data[at + 4];
		at += 5;
		length = length < size - at ? length : size - at;
		length = length < template_size - to ? length : template_size - to;
		memcpy(bytes + to, data + at, length);
		at += length;
		if (flags & FLAG_CUT && cut == template_size)
			cut = to;
	}
	if (flags & FLAG_CHECKSUM) {
		struct pmtop_header *header = (struct pmtop_header *)(void *)bytes;
		header->crc = pmtop_crc32c(header, offsetof(struct pmtop_header, crc));
	}
	return cut;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct region_location location = { .is_memfd = true, .is_descriptor_link = true };
	struct region *region = NULL;
	char message[REGION_MESSAGE_SIZE];
	if (file < 0)
		make_template();
	if (ftruncate(file, (off_t)template_size))
		abort();
	size_t cut = apply(data, size);
	snprintf(location.path, sizeof location.path, "/proc/self/fd/%d", file);
	bool is_cut_later = size && *data & FLAG_CHECKSUM;
	if (!is_cut_later && ftruncate(file, (off_t)cut))
		abort();
	if (region_open(&location, geteuid(), &region, message) != REGION_OK)
		return 0;
	if (is_cut_later && ftruncate(file, (off_t)cut))
		abort();
	regions_read_everything(region);
	regions_read_everything(region);
	region_close(region);
	return 0;
}
