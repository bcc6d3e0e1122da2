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

struct maker {
	void *state;               /* NULL: not open */
	int64_t next_ns, retry_ns; /* when it is tried again */
	bool is_missed;            /* its reason stands in the sets */
};

struct gpus {
	struct target *target;
	struct maker makers[VENDOR_COUNT];
	struct reason why;
	int64_t self_ns; /* when this process's own cost was told */
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
	const char *remedy = choices->no_nvml ? "NVIDIA's library is not opened: --no-nvml, or nvml: false" : NULL;
	return reason_set(why_not, STATUS_NOT_FOUND, remedy, "no GPU of %s has a driver here", names);
}

/* Why none of them is open: those say why whose files are here ("NVIDIA's driver is not loaded; AMD: …"); one that is
 * there and fails comes before those that are not. */
static enum status open_all(struct gpus *gpus, struct reason *why_not)
{
	enum status worst = STATUS_NOT_FOUND;
	struct reason failure = { "", "" }, all = { "", "" };
	bool is_any = false;
	for (size_t i = 0; i < VENDOR_COUNT; i++) {
		struct reason own = { "", "" };
		enum status status =
			vendor_table[i]->open(gpus->target, (int32_t)i * GPU_INSTANCES, &gpus->makers[i].state, &own);
		is_any |= status == STATUS_OK;
		if (status == STATUS_OK)
			continue;
		gpus->makers[i].state = NULL;
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
		if (gpus->makers[i].state)
			vendor_table[i]->close(gpus->makers[i].state);
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

static void put_off(struct maker *maker, int64_t now_ns)
{
	maker->retry_ns = maker->retry_ns ? maker->retry_ns * 2 : RETRY_FIRST_NS;
	maker->retry_ns = maker->retry_ns > RETRY_MAX_NS ? RETRY_MAX_NS : maker->retry_ns;
	maker->next_ns = now_ns + maker->retry_ns;
}

/* A driver may be loaded while pmtop runs, and one that failed may be well again. */
static void open_again(struct gpus *gpus, size_t i, int64_t now_ns, struct sample_set *out)
{
	struct maker *maker = &gpus->makers[i];
	struct reason why = { "", "" };
	if (now_ns < maker->next_ns)
		return;
	put_off(maker, now_ns);
	if (!maker->is_missed && !vendor_table[i]->is_here(source_choices(gpus->target)))
		return;
	enum status status = vendor_table[i]->open(gpus->target, (int32_t)i * GPU_INSTANCES, &maker->state, &why);
	if (status == STATUS_OK)
		return;
	maker->state = NULL;
	maker->is_missed |= status != STATUS_NOT_FOUND;
	if (maker->is_missed)
		emit_missing(vendor_table[i], &why, now_ns, out);
}

static void read_maker(struct gpus *gpus, size_t i, int64_t now_ns, struct sample_set *out)
{
	const struct gpu_vendor *vendor = vendor_table[i];
	struct maker *maker = &gpus->makers[i];
	enum status status = vendor->read(maker->state, now_ns, out);
	if (status == STATUS_OK || status == STATUS_AGAIN) {
		if (maker->is_missed)
			emit_missing(vendor, NULL, now_ns, out);
		maker->is_missed = false;
		maker->retry_ns = 0;
		return;
	}
	reason_set(&gpus->why, status, NULL, "%s's driver failed", vendor->what);
	if (vendor->explain)
		vendor->explain(maker->state, &gpus->why);
	vendor->close(maker->state);
	maker->state = NULL;
	maker->is_missed = true;
	put_off(maker, now_ns);
	emit_missing(vendor, &gpus->why, now_ns, out);
}

/* Of the process that reads GPUs: pmtop's own cost too. */
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
		if (!gpus->makers[i].state)
			open_again(gpus, i, now_ns, out);
		if (gpus->makers[i].state)
			read_maker(gpus, i, now_ns, out);
		is_any |= gpus->makers[i].state != NULL;
	}
	if (is_any) {
		emit_self(gpus, now_ns, out);
		return STATUS_OK;
	}
	/* The reason stands for all of them from here on: that of a single one would outlive it. */
	for (size_t i = 0; i < VENDOR_COUNT; i++)
		if (gpus->makers[i].is_missed)
			emit_missing(vendor_table[i], NULL, now_ns, out);
	return STATUS_IO;
}

static void explain_gpus(const void *state, struct reason *out) { *out = ((const struct gpus *)state)->why; }

static enum status emit_all(void *state, int64_t now_ns, struct sample_set *out)
{
	struct gpus *gpus = state;
	for (size_t i = 0; i < VENDOR_COUNT; i++)
		if (gpus->makers[i].state && vendor_table[i]->emit_all)
			vendor_table[i]->emit_all(gpus->makers[i].state, now_ns, out);
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
