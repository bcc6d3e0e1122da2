#include "src/sources/gpu/gpu.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/files/file.h"
#include "src/sources/gpu/vendor.h"

#define RETRY_FIRST_NS (2 * NS_PER_S)
#define RETRY_MAX_NS (30 * NS_PER_S)
#define SELF_NS (900 * NS_PER_MS)

static const struct gpu_vendor *const vendor_table[] = {
#define VENDOR_ROW(name) &name##_gpus,
	GPU_VENDORS(VENDOR_ROW)
#undef VENDOR_ROW
};
enum { VENDOR_COUNT = sizeof vendor_table / sizeof *vendor_table };

struct vendor_state {
	void *state;               /* NULL: not open */
	int64_t next_ns, retry_ns; /* when opening is tried again */
	bool is_emitted_missing;   /* its reason was emitted as missing */
};

struct gpus {
	struct target *target;
	struct vendor_state vendors[VENDOR_COUNT];
	struct reason why;
	int64_t self_ns; /* when this process's own cost was emitted */
};

bool gpu_is_expected(const struct source_choices *choices)
{
	for (size_t i = 0; i < VENDOR_COUNT; i++)
		if (vendor_table[i]->is_here(choices))
			return true;
	return false;
}

enum status gpu_none_expected(const struct source_choices *choices, struct reason *why_not)
{
	char names[128] = "";
	for (size_t i = 0, used = 0; i < VENDOR_COUNT && used < sizeof names; i++)
		used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
			i == 0                     ? ""
				: i + 1 < VENDOR_COUNT ? ", "
									   : " or ",
			vendor_table[i]->what);
	const char *remedy = choices->no_nvml ? "NVML is off: --no-nvml, or nvml: false" : NULL;
	return reason_set(why_not, STATUS_NOT_FOUND, remedy, "no GPU driver is loaded (%s)", names);
}

/* The reason why no vendor is open: joins those of vendors whose files exist ("the NVIDIA driver is not loaded; AMD:
 * …"). A vendor that is present but failed comes before those that are not. */
static enum status open_all(struct gpus *gpus, struct reason *why_not)
{
	enum status worst = STATUS_NOT_FOUND;
	struct reason failure = { "", "" }, all = { "", "" };
	bool is_any = false;
	for (size_t i = 0; i < VENDOR_COUNT; i++) {
		struct reason own = { "", "" };
		enum status status =
			vendor_table[i]->open(gpus->target, (int32_t)i * GPU_INSTANCES, &gpus->vendors[i].state, &own);
		is_any |= status == STATUS_OK;
		if (status == STATUS_OK)
			continue;
		gpus->vendors[i].state = NULL;
		if (status != STATUS_NOT_FOUND && worst == STATUS_NOT_FOUND) {
			worst = status;
			failure = own;
		}
		if (!vendor_table[i]->is_here(source_choices(gpus->target)))
			continue;
		size_t used = strlen(all.text);
		bool is_named = strstr(own.text, vendor_table[i]->what) != NULL;
		snprintf(all.text + used, sizeof all.text - used, "%s%s%s%.100s", used ? "; " : "",
			is_named ? "" : vendor_table[i]->what, is_named ? "" : ": ", own.text);
		if (!all.remedy[0])
			memcpy(all.remedy, own.remedy, sizeof all.remedy);
	}
	if (!is_any && worst == STATUS_NOT_FOUND && !all.text[0])
		return gpu_none_expected(source_choices(gpus->target), why_not);
	*why_not = worst != STATUS_NOT_FOUND ? failure : all;
	return is_any ? STATUS_OK : worst;
}

static void close_gpus(void *state)
{
	struct gpus *gpus = state;
	for (size_t i = 0; i < VENDOR_COUNT; i++)
		if (gpus->vendors[i].state)
			vendor_table[i]->close(gpus->vendors[i].state);
	free(gpus);
}

static enum status open_gpus(struct target *target, void **state, struct reason *why_not)
{
	struct gpus *gpus = calloc(1, sizeof *gpus);
	if (!gpus)
		return reason_set(why_not, STATUS_NO_MEMORY, NULL, "out of memory");
	gpus->target = target;
	enum status status = open_all(gpus, why_not);
	if (status != STATUS_OK) {
		close_gpus(gpus);
		return status;
	}
	*state = gpus;
	return STATUS_OK;
}

/* -- reading -- */

static void emit_missing(
	const struct gpu_vendor *vendor, const struct reason *why, int64_t now_ns, struct sample_set *out)
{
	char figure[64];
	snprintf(figure, sizeof figure, "%s GPUs", vendor->what);
	sample_set_missing(out, now_ns, figure, why ? why->text : NULL, why ? why->remedy : NULL);
}

static void postpone(struct vendor_state *vendor_state, int64_t now_ns)
{
	vendor_state->retry_ns = vendor_state->retry_ns ? vendor_state->retry_ns * 2 : RETRY_FIRST_NS;
	vendor_state->retry_ns = vendor_state->retry_ns > RETRY_MAX_NS ? RETRY_MAX_NS : vendor_state->retry_ns;
	vendor_state->next_ns = now_ns + vendor_state->retry_ns;
}

/* A driver may be loaded while pmtop runs, and one that failed may recover. */
static void open_again(struct gpus *gpus, size_t i, int64_t now_ns, struct sample_set *out)
{
	struct vendor_state *vendor_state = &gpus->vendors[i];
	struct reason why = { "", "" };
	if (now_ns < vendor_state->next_ns)
		return;
	postpone(vendor_state, now_ns);
	if (!vendor_state->is_emitted_missing && !vendor_table[i]->is_here(source_choices(gpus->target)))
		return;
	enum status status = vendor_table[i]->open(gpus->target, (int32_t)i * GPU_INSTANCES, &vendor_state->state, &why);
	if (status == STATUS_OK)
		return;
	vendor_state->state = NULL;
	vendor_state->is_emitted_missing |= status != STATUS_NOT_FOUND;
	if (vendor_state->is_emitted_missing)
		emit_missing(vendor_table[i], &why, now_ns, out);
}

static void read_maker(struct gpus *gpus, size_t i, int64_t now_ns, struct sample_set *out)
{
	const struct gpu_vendor *vendor = vendor_table[i];
	struct vendor_state *vendor_state = &gpus->vendors[i];
	enum status status = vendor->read(vendor_state->state, now_ns, out);
	if (status == STATUS_OK || status == STATUS_AGAIN) {
		if (vendor_state->is_emitted_missing)
			emit_missing(vendor, NULL, now_ns, out);
		vendor_state->is_emitted_missing = false;
		vendor_state->retry_ns = 0;
		return;
	}
	reason_set(&gpus->why, status, NULL, "the GPU driver failed (%s)", vendor->what);
	if (vendor->explain)
		vendor->explain(vendor_state->state, &gpus->why);
	vendor->close(vendor_state->state);
	vendor_state->state = NULL;
	vendor_state->is_emitted_missing = true;
	postpone(vendor_state, now_ns);
	emit_missing(vendor, &gpus->why, now_ns, out);
}

/* The cost of the process that reads GPUs is part of pmtop's own. */
static void emit_self(struct gpus *gpus, int64_t now_ns, struct sample_set *out)
{
	enum { READER = 1 };
	char text[128];
	size_t length;
	unsigned long size, resident;
	if (gpus->self_ns && now_ns - gpus->self_ns < SELF_NS)
		return;
	gpus->self_ns = now_ns;
	sample_set_figure(out, now_ns, METRIC_SELF_CPU, READER, (double)clock_process_cpu_ns());
	if (file_read(AT_FDCWD, "/proc/self/statm", text, sizeof text, &length) == STATUS_OK &&
		sscanf(text, "%lu %lu", &size, &resident) == 2)
		sample_set_figure(out, now_ns, METRIC_SELF_RESIDENT, READER, (double)resident * (double)sysconf(_SC_PAGESIZE));
}

static enum status read_gpus(void *state, int64_t now_ns, struct sample_set *out)
{
	struct gpus *gpus = state;
	bool is_any = false;
	for (size_t i = 0; i < VENDOR_COUNT; i++) {
		if (!gpus->vendors[i].state)
			open_again(gpus, i, now_ns, out);
		if (gpus->vendors[i].state)
			read_maker(gpus, i, now_ns, out);
		is_any |= gpus->vendors[i].state != NULL;
	}
	if (is_any) {
		emit_self(gpus, now_ns, out);
		return STATUS_OK;
	}
	/* The source's own reason covers all vendors from here on; that of a single one would outlive it. */
	for (size_t i = 0; i < VENDOR_COUNT; i++)
		if (gpus->vendors[i].is_emitted_missing)
			emit_missing(vendor_table[i], NULL, now_ns, out);
	return STATUS_IO;
}

static void explain_gpus(const void *state, struct reason *out) { *out = ((const struct gpus *)state)->why; }

static enum status emit_all(void *state, int64_t now_ns, struct sample_set *out)
{
	struct gpus *gpus = state;
	for (size_t i = 0; i < VENDOR_COUNT; i++)
		if (gpus->vendors[i].state && vendor_table[i]->emit_all)
			vendor_table[i]->emit_all(gpus->vendors[i].state, now_ns, out);
	return STATUS_OK;
}

const struct source gpu_direct_source = {
	.name = "gpu",
	.open = open_gpus,
	.read = read_gpus,
	.explain = explain_gpus,
	.emit_all = emit_all,
	.close = close_gpus,
};
