/* The real libdrm with umockdev's mock devices: which it finds, their drivers, and the memory that i915 and xe report.
 */
#include <check.h>
#include <drm.h>
#include <errno.h>
#include <i915_drm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <umockdev.h>
#include <unistd.h>

#include "src/sources/gpu/drm/drm_devices.h"
#include "src/sources/gpu/intel/intel_memory.h"
#include "tests/support/suite.h"

#define GIB (1024.0 * 1024.0 * 1024.0)

static UMockdevTestbed *testbed;
static const struct source_choices choices;

static void add_device(const char *pci, const char *driver, int minor)
{
	char text[1024];
	snprintf(text, sizeof text,
		"P: /devices/pci0000:00/%s\nE: DRIVER=%s\nE: PCI_CLASS=30000\nE: PCI_ID=8086:56A0\nE: "
		"PCI_SUBSYS_ID=8086:1020\nE: PCI_SLOT_NAME=%s\nE: SUBSYSTEM=pci\n"
		"A: vendor=0x8086\\n\nA: device=0x56a0\\n\nA: subsystem_vendor=0x8086\\n\nA: subsystem_device=0x1020\\n\nA: "
		"revision=0x08\\n\n"
		"L: driver=../../../bus/pci/drivers/%s\n\n"
		"P: /devices/pci0000:00/%s/drm/renderD%d\nN: dri/renderD%d\nE: DEVNAME=/dev/dri/renderD%d\nE: "
		"DEVTYPE=drm_minor\nE: MAJOR=226\nE: MINOR=%d\nE: SUBSYSTEM=drm\n"
		"A: dev=226:%d\\n\nL: device=../../../%s\n\n",
		pci, driver, pci, driver, pci, minor, minor, minor, minor, minor, pci);
	GError *error = NULL;
	if (!umockdev_testbed_add_from_string(testbed, text, &error))
		ck_abort_msg("umockdev: %s", error->message);
}

static void setup(void) { testbed = umockdev_testbed_new(); }

static void teardown(void) { g_object_unref(testbed); }

static bool is_any(const char *driver) { return driver[0] != '\0'; }

START_TEST(devices_are_found_in_order_with_driver_and_address)
{
	struct drm_device devices[4];
	add_device("0000:09:00.0", "xe", 129);
	add_device("0000:03:00.0", "i915", 128);
	ck_assert_uint_eq(drm_devices_find(&choices, true, is_any, devices, 4), 2);
	ck_assert_str_eq(devices[0].driver, "i915");
	ck_assert_str_eq(devices[0].pci, "0000:03:00.0");
	ck_assert_str_eq(devices[0].render, "renderD128");
	ck_assert_uint_eq(devices[0].model, 0x56a0);
	ck_assert_str_eq(devices[1].driver, "xe");
	ck_assert_str_eq(devices[1].folder, "/sys/devices/pci0000:00/0000:09:00.0");
	ck_assert_uint_eq(drm_devices_find(&choices, true, is_any, devices, 1), 1);
}
END_TEST

/* -- what its driver answers -- */

struct answers {
	bool is_rude; /* it returns impossible lengths */
	bool is_xe;
	unsigned long denied; /* a request that fails */
};

static void put_text(UMockdevIoctlData *version, size_t pointer_at, size_t length, const char *text)
{
	UMockdevIoctlData *data = length ? umockdev_ioctl_data_resolve(version, pointer_at, length, NULL) : NULL;
	if (data)
		umockdev_ioctl_data_update(
			data, 0, (guint8 *)(uintptr_t)text, (int)(length < strlen(text) ? length : strlen(text)));
	if (data)
		umockdev_ioctl_data_unref(data);
}

static void answer_version(UMockdevIoctlData *argument)
{
	UMockdevIoctlData *data = umockdev_ioctl_data_resolve(argument, 0, sizeof(struct drm_version), NULL);
	struct drm_version version;
	memcpy(&version, data->data, sizeof version);
	put_text(data, offsetof(struct drm_version, name), version.name_len, "i915");
	put_text(data, offsetof(struct drm_version, date), version.date_len, "20201103");
	put_text(data, offsetof(struct drm_version, desc), version.desc_len, "Intel Graphics");
	version.version_major = 1;
	version.version_minor = 6;
	version.version_patchlevel = 0;
	version.name_len = 4;
	version.date_len = 8;
	version.desc_len = 14;
	umockdev_ioctl_data_update(data, 0, (guint8 *)&version, sizeof version);
	umockdev_ioctl_data_unref(data);
}

/* 6 of 16 GiB of its own are used, beside the machine's. */
static size_t i915_regions(unsigned char *out)
{
	struct drm_i915_query_memory_regions head = { .num_regions = 2 };
	struct drm_i915_memory_region_info regions[2] = {
		{ .region = { I915_MEMORY_CLASS_SYSTEM, 0 }, .probed_size = 1ull << 36, .unallocated_size = 1ull << 36 },
		{ .region = { I915_MEMORY_CLASS_DEVICE, 0 }, .probed_size = 16ull << 30, .unallocated_size = 10ull << 30 },
	};
	memcpy(out, &head, sizeof head);
	memcpy(out + sizeof head, regions, sizeof regions);
	return sizeof head + sizeof regions;
}

static void answer_i915(UMockdevIoctlData *argument, const struct answers *answers)
{
	unsigned char bytes[512];
	size_t length = i915_regions(bytes);
	struct drm_i915_query query;
	struct drm_i915_query_item item;
	UMockdevIoctlData *data = umockdev_ioctl_data_resolve(argument, 0, sizeof query, NULL);
	UMockdevIoctlData *items =
		umockdev_ioctl_data_resolve(data, offsetof(struct drm_i915_query, items_ptr), sizeof item, NULL);
	memcpy(&item, items->data, sizeof item);
	if (item.length > 0 && item.data_ptr) {
		UMockdevIoctlData *regions = umockdev_ioctl_data_resolve(
			items, offsetof(struct drm_i915_query_item, data_ptr), (gsize)item.length, NULL);
		umockdev_ioctl_data_update(regions, 0, bytes, (int)length);
		umockdev_ioctl_data_unref(regions);
	}
	item.length = answers->is_rude ? INT32_MAX : (int32_t)length;
	umockdev_ioctl_data_update(items, 0, (guint8 *)&item, sizeof item);
	umockdev_ioctl_data_unref(items);
	umockdev_ioctl_data_unref(data);
}

static gboolean answer(UMockdevIoctlBase *base, UMockdevIoctlClient *client, const struct answers *answers)
{
	gulong request = umockdev_ioctl_client_get_request(client);
	UMockdevIoctlData *argument = umockdev_ioctl_client_get_arg(client);
	(void)base;
	bool is_good = request != answers->denied;
	if (is_good && request == DRM_IOCTL_VERSION)
		answer_version(argument);
	else if (is_good && request == DRM_IOCTL_I915_QUERY)
		answer_i915(argument, answers);
	else
		is_good = false;
	umockdev_ioctl_client_complete(client, is_good ? 0 : -1, is_good ? 0 : EACCES);
	return TRUE;
}

static void attach(struct answers *answers)
{
	GError *error = NULL;
	UMockdevIoctlBase *base = umockdev_ioctl_base_new();
	add_device("0000:03:00.0", "i915", 128);
	g_signal_connect(base, "handle-ioctl", G_CALLBACK(answer), answers);
	if (!umockdev_testbed_attach_ioctl(testbed, "/dev/dri/renderD128", base, &error))
		ck_abort_msg("umockdev: %s", error->message);
	g_object_unref(base);
}

static void ck_version(const char *wanted)
{
	char text[64];
	struct drm_device device;
	ck_assert_uint_eq(drm_devices_find(&choices, true, is_any, &device, 1), 1);
	drm_device_version(&choices, &device, text, sizeof text);
	ck_assert_str_eq(text, wanted);
}

START_TEST(the_drivers_version_is_asked)
{
	struct answers answers = { 0 };
	attach(&answers);
	ck_version("i915 1.6.0");
}
END_TEST

START_TEST(a_driver_that_says_nothing_of_itself_has_its_name)
{
	struct answers answers = { .denied = DRM_IOCTL_VERSION };
	attach(&answers);
	ck_version("i915");
}
END_TEST

START_TEST(i915_reports_how_much_of_its_memory_is_used)
{
	struct answers answers = { 0 };
	struct intel_memory memory;
	attach(&answers);
	ck_assert(intel_memory_query("i915", "/dev/dri/renderD128", &memory));
	ck_assert_double_eq(memory.total_bytes, 16 * GIB);
	ck_assert_double_eq(memory.used_bytes, 6 * GIB);
	ck_assert(!intel_memory_query("xe", "/dev/dri/renderD128", &memory));
	ck_assert(!intel_memory_query("i915", "/dev/dri/renderD200", &memory));
}
END_TEST

START_TEST(a_length_that_cannot_be_is_not_believed)
{
	struct answers answers = { .is_rude = true };
	struct intel_memory memory;
	attach(&answers);
	ck_assert(!intel_memory_query("i915", "/dev/dri/renderD128", &memory));
}
END_TEST

/* -- answers themselves -- */

START_TEST(without_the_right_nothing_seems_to_be_used_which_is_not_known)
{
	unsigned char bytes[512] = { 0 };
	struct intel_memory memory;
	size_t length = i915_regions(bytes);
	uint64_t all = 16ull << 30;
	memcpy(bytes + length - sizeof(struct drm_i915_memory_region_info) +
			offsetof(struct drm_i915_memory_region_info, unallocated_size),
		&all, sizeof all);
	ck_assert(intel_memory_read_i915(bytes, length, &memory));
	ck_assert_double_eq(memory.total_bytes, 16 * GIB);
	ck_assert_double_nan(memory.used_bytes);
}
END_TEST

START_TEST(xe_has_its_own_layout)
{
	/* u32 count, u32; then u16 class, u16 instance, u32 page, u64 total, used, … 88 bytes */
	unsigned char bytes[8 + 88] = { 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0 };
	uint64_t total = 12ull << 30, used = 3ull << 30;
	struct intel_memory memory;
	memcpy(bytes + 16, &total, sizeof total);
	memcpy(bytes + 24, &used, sizeof used);
	ck_assert(intel_memory_read_xe(bytes, sizeof bytes, &memory));
	ck_assert_double_eq(memory.total_bytes, 12 * GIB);
	ck_assert_double_eq(memory.used_bytes, 3 * GIB);
	bytes[8] = 0;
	ck_assert(!intel_memory_read_xe(bytes, sizeof bytes, &memory));
}
END_TEST

START_TEST(answers_of_garbage_and_cut_off_are_nothing)
{
	unsigned char bytes[512];
	struct intel_memory memory;
	memset(bytes, 0xff, sizeof bytes);
	for (size_t length = 0; length <= sizeof bytes; length++) {
		ck_assert(!intel_memory_read_i915(bytes, length, &memory));
		ck_assert(!intel_memory_read_xe(bytes, length, &memory));
	}
	size_t all = i915_regions(bytes);
	for (size_t length = 0; length < all; length++)
		ck_assert(!intel_memory_read_i915(bytes, length, &memory));
}
END_TEST

/* umockdev replaces calls of the C library: the program runs itself again with it preloaded. */
int main(int count, char **words)
{
	(void)count;
	if (!umockdev_in_mock_environment() && !getenv("PMTOP_TEST_PRELOADED")) {
		setenv("PMTOP_TEST_PRELOADED", "1", 1);
		setenv("LD_PRELOAD", "libumockdev-preload.so.0", 1);
		/* AddressSanitizer demands to be loaded first, but does not need it. */
		setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
		execv("/proc/self/exe", words);
	}
	Suite *suite = suite_create("gpu libdrm");
	TCase *all = tcase_create("all");
	tcase_add_checked_fixture(all, setup, teardown);
	tcase_add_test(all, devices_are_found_in_order_with_driver_and_address);
	tcase_add_test(all, the_drivers_version_is_asked);
	tcase_add_test(all, a_driver_that_says_nothing_of_itself_has_its_name);
	tcase_add_test(all, i915_reports_how_much_of_its_memory_is_used);
	tcase_add_test(all, a_length_that_cannot_be_is_not_believed);
	tcase_add_test(all, without_the_right_nothing_seems_to_be_used_which_is_not_known);
	tcase_add_test(all, xe_has_its_own_layout);
	tcase_add_test(all, answers_of_garbage_and_cut_off_are_nothing);
	suite_add_tcase(suite, all);
	return suite_run(suite);
}
