#include "tests/support/fake_gpu.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 512 };

void fake_gpu_put(const struct fake_proc *sys, const char *folder, const char *name, const char *text)
{
	char path[PATH_SIZE];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	fake_proc_put(sys, path, text);
}

void fake_gpu_write(const struct fake_proc *sys, const char *folder, const char *name, const void *bytes, size_t length)
{
	char path[PATH_SIZE];
	fake_gpu_put(sys, folder, name, "");
	snprintf(path, sizeof path, "%s/%s/%s", sys->root, folder, name);
	int fd = open(path, O_WRONLY | O_TRUNC);
	ck_assert(fd >= 0 && write(fd, bytes, length) == (ssize_t)length);
	close(fd);
}

void fake_gpu_files(const struct fake_proc *sys, const char *folder, const char *const *files)
{
	for (; *files; files++) {
		char name[128];
		size_t length = strcspn(*files, "\t");
		snprintf(name, sizeof name, "%.*s", (int)length, *files);
		fake_gpu_put(sys, folder, name, *files + length + 1);
	}
}

static void add_node(const struct fake_proc *sys, const char *folder, const char *node)
{
	char path[PATH_SIZE], to[PATH_SIZE];
	const char *class = strncmp(node, "accel", 5) == 0 ? "accel" : "drm";
	snprintf(path, sizeof path, "%s/%s/%s/dev", folder, class, node);
	fake_proc_put(sys, path, "226:128\n");
	snprintf(path, sizeof path, "class/%s/%s/dev", class, node);
	fake_proc_put(sys, path, "226:128\n");
	snprintf(path, sizeof path, "%s/class/%s/%s/device", sys->root, class, node);
	snprintf(to, sizeof to, "../../../%s", folder);
	ck_assert_int_eq(symlink(to, path), 0);
}

void fake_gpu_add(
	const struct fake_proc *sys, const char *folder, const char *driver, const char *nodes, const char *ids)
{
	char text[PATH_SIZE], path[PATH_SIZE], node[32];
	int used;
	if (ids) {
		snprintf(text, sizeof text, "0x%.4s\n", ids);
		fake_gpu_put(sys, folder, "vendor", text);
		snprintf(text, sizeof text, "0x%s\n", ids + 5);
		fake_gpu_put(sys, folder, "device", text);
		snprintf(text, sizeof text, "DRIVER=%s\nPCI_CLASS=30000\nPCI_SLOT_NAME=%s\n", driver, strrchr(folder, '/') + 1);
	} else {
		snprintf(text, sizeof text, "DRIVER=%s\nOF_NAME=gpu\nOF_COMPATIBLE_0=arm,mali-t860\n", driver);
	}
	fake_gpu_put(sys, folder, "uevent", text);
	snprintf(path, sizeof path, "%s/%s/driver", sys->root, folder);
	snprintf(text, sizeof text, "/nowhere/bus/drivers/%s", driver);
	ck_assert_int_eq(symlink(text, path), 0);
	for (; sscanf(nodes, "%31s%n", node, &used) == 1; nodes += used)
		add_node(sys, folder, node);
}

/* -- devices -- */

void fake_gpu_amd(const struct fake_proc *sys)
{
	static const char *const files[] = {
		"product_name\tRadeon PRO W7900\n",
		"unique_id\t4fd3d0e445b9207e\n",
		"gpu_busy_percent\t87\n",
		"mem_busy_percent\t41\n",
		"mem_info_vram_total\t48301604864\n",
		"mem_info_vram_used\t12884901888\n",
		"mem_info_gtt_total\t33554432000\n",
		"mem_info_gtt_used\t100663296\n",
		"pp_dpm_sclk\t0: 500Mhz \n1: 1800Mhz *\n2: 2495Mhz \n",
		"pp_dpm_mclk\t0: 96Mhz \n1: 1124Mhz *\n",
		"pcie_replay_count\t7\n",
		"pcie_bw\t1 2 256\n",
		"ras/umc_err_count\tue: 1\nce: 3\n",
		"power/runtime_status\tactive\n",
		"current_link_speed\t16.0 GT/s PCIe\n",
		"max_link_speed\t16.0 GT/s PCIe\n",
		"current_link_width\t8\n",
		"max_link_width\t16\n",
		"hwmon/hwmon4/name\tamdgpu\n",
		"hwmon/hwmon4/temp1_label\tedge\n",
		"hwmon/hwmon4/temp1_input\t61000\n",
		"hwmon/hwmon4/temp1_crit\t100000\n",
		"hwmon/hwmon4/temp2_label\tjunction\n",
		"hwmon/hwmon4/temp2_input\t78000\n",
		"hwmon/hwmon4/temp2_crit\t110000\n",
		"hwmon/hwmon4/temp3_label\tmem\n",
		"hwmon/hwmon4/temp3_input\t74000\n",
		"hwmon/hwmon4/power1_average\t241000000\n",
		"hwmon/hwmon4/power1_cap\t300000000\n",
		"hwmon/hwmon4/freq1_label\tsclk\n",
		"hwmon/hwmon4/freq1_input\t2210000000\n",
		"hwmon/hwmon4/freq2_label\tmclk\n",
		"hwmon/hwmon4/freq2_input\t1124000000\n",
		NULL,
	};
	fake_gpu_add(sys, FAKE_AMD, "amdgpu", "renderD128 card0", "1002:744c");
	fake_gpu_files(sys, FAKE_AMD, files);
}

void fake_gpu_kfd(const struct fake_proc *sys)
{
	static const char *const files[] = {
		"nodes/0/gpu_id\t0\n",
		"nodes/0/properties\tcpu_cores_count 32\nsimd_count 0\ndrm_render_minor 0\n",
		"nodes/1/gpu_id\t42700\n",
		"nodes/1/properties\tcpu_cores_count 0\nsimd_count 192\nsimd_per_cu 2\ndrm_render_minor 128\nunique_id "
		"5752170827923136638\n",
		NULL,
	};
	fake_gpu_files(sys, "class/kfd/kfd/topology", files);
}

void fake_gpu_i915(const struct fake_proc *sys)
{
	static const char *const files[] = {
		"drm/card1/gt/gt0/rps_act_freq_mhz\t2050\n",
		"drm/card1/gt/gt0/rps_RP0_freq_mhz\t2400\n",
		"drm/card1/gt/gt0/throttle_reason_status\t0\n",
		"drm/card1/gt/gt0/throttle_reason_pl1\t0\n",
		"drm/card1/gt/gt0/throttle_reason_pl4\t0\n",
		"drm/card1/gt/gt0/throttle_reason_thermal\t0\n",
		"drm/card1/gt/gt0/throttle_reason_prochot\t0\n",
		"hwmon/hwmon2/name\ti915_gt0\n",
		"hwmon/hwmon2/energy1_input\t1\n",
		"hwmon/hwmon3/name\ti915\n",
		"hwmon/hwmon3/energy1_input\t5000000000\n",
		"hwmon/hwmon3/power1_max\t190000000\n",
		NULL,
	};
	fake_gpu_add(sys, FAKE_I915, "i915", "renderD129 card1", "8086:56a0");
	fake_gpu_files(sys, FAKE_I915, files);
}

void fake_gpu_xe(const struct fake_proc *sys)
{
	static const char *const files[] = {
		"tile0/physical_vram_size_bytes\t12884901888\n",
		"tile0/gt0/freq0/act_freq\t2850\n",
		"tile0/gt0/freq0/rp0_freq\t2900\n",
		"tile0/gt0/freq0/throttle/status\t1\n",
		"tile0/gt0/freq0/throttle/reason_pl1\t1\n",
		"tile0/gt0/freq0/throttle/reason_thermal\t1\n",
		"tile0/gt1/freq0/act_freq\t0\n",
		"tile0/gt1/freq0/rp0_freq\t1500\n",
		"tile0/gt1/freq0/throttle/status\t0\n",
		"hwmon/hwmon5/name\txe\n",
		"hwmon/hwmon5/temp2_label\tpkg\n",
		"hwmon/hwmon5/temp2_input\t55000\n",
		"hwmon/hwmon5/temp3_label\tvram\n",
		"hwmon/hwmon5/temp3_input\t62000\n",
		"hwmon/hwmon5/energy1_input\t1000000\n",
		"hwmon/hwmon5/power1_max\t0\n",
		"hwmon/hwmon5/power2_max\t150000000\n",
		NULL,
	};
	fake_gpu_add(sys, FAKE_XE, "xe", "renderD130 card2", "8086:e20b");
	fake_gpu_files(sys, FAKE_XE, files);
}

void fake_gpu_panfrost(const struct fake_proc *sys)
{
	static const char *const files[] = { "devfreq/ff9a0000.gpu/cur_freq\t400000000\n",
		"devfreq/ff9a0000.gpu/max_freq\t800000000\n", "profiling\t0\n", NULL };
	fake_gpu_add(sys, FAKE_PANFROST, "panfrost", "renderD131 card3", NULL);
	fake_gpu_files(sys, FAKE_PANFROST, files);
}

void fake_gpu_npu(const struct fake_proc *sys)
{
	fake_gpu_add(sys, FAKE_NPU, "amdxdna", "accel0", "1022:17f0");
	fake_gpu_put(sys, FAKE_NPU, "vbnv", "RyzenAI-npu4\n");
}

unsigned char *fake_gpu_metrics(unsigned char *bytes, unsigned size, unsigned format, unsigned content)
{
	memset(bytes, 0xff, size);
	bytes[0] = (unsigned char)size;
	bytes[1] = (unsigned char)(size >> 8);
	bytes[2] = (unsigned char)format;
	bytes[3] = (unsigned char)content;
	return bytes;
}

/* -- processes -- */

void fake_gpu_open(const struct fake_proc *proc, int pid, int fd, const char *node, const char *info)
{
	char path[PATH_SIZE];
	snprintf(path, sizeof path, "%d/fdinfo/%d", pid, fd);
	fake_proc_put(proc, path, info);
	snprintf(path, sizeof path, "%s/%d/fd", proc->root, pid);
	mkdir(path, 0755);
	snprintf(path, sizeof path, "%s/%d/fd/%d", proc->root, pid, fd);
	unlink(path);
	ck_assert_int_eq(symlink(node, path), 0);
}

void fake_gpu_close(const struct fake_proc *proc, int pid, int fd)
{
	char path[PATH_SIZE];
	snprintf(path, sizeof path, "%s/%d/fd/%d", proc->root, pid, fd);
	unlink(path);
	snprintf(path, sizeof path, "%s/%d/fdinfo/%d", proc->root, pid, fd);
	unlink(path);
}
