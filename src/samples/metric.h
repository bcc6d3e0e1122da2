/* metric.h: every figure that a source can report, as one list. A new metric is one line here and the source that reads
 * it.
 *
 * X(NAME, "name", UNIT, KIND): a GAUGE is the current value; a COUNTER only grows, and the model derives rates from it.
 * The instance of a process metric is the pid (as pmtop sees it); of disks, network interfaces, energy meters and heat
 * sensors, a number that an earlier INSTANCE record has named; of GPUs, a number that an earlier GPU record has
 * described; of the machine and of the target's cgroup, 0. */
#ifndef PMTOP_SAMPLES_METRIC_H
#define PMTOP_SAMPLES_METRIC_H

enum metric_unit {
	UNIT_BYTES,
	UNIT_NANOSECONDS,
	UNIT_EVENTS,
	UNIT_ITEMS,
	UNIT_CODE,
	UNIT_RATIO,
	UNIT_WATTS,
	UNIT_JOULES,
	UNIT_CELSIUS,
	UNIT_HERTZ
};
enum metric_kind { KIND_GAUGE, KIND_COUNTER };

#define METRICS(X) \
	X(PROCESS_RESIDENT, "process.resident", BYTES, GAUGE)           /* status: VmRSS */ \
	X(PROCESS_RESIDENT_PEAK, "process.resident_peak", BYTES, GAUGE) /* status: VmHWM */ \
	X(PROCESS_ANONYMOUS, "process.anonymous", BYTES, GAUGE)         /* status: RssAnon */ \
	X(PROCESS_FILE, "process.file", BYTES, GAUGE)                   /* status: RssFile */ \
	X(PROCESS_SHARED, "process.shared", BYTES, GAUGE)               /* status: RssShmem */ \
	X(PROCESS_SWAP, "process.swap", BYTES, GAUGE)                   /* status: VmSwap */ \
	X(PROCESS_THREADS, "process.threads", ITEMS, GAUGE)             /* status: Threads */ \
	X(PROCESS_STATE, "process.state", CODE, GAUGE)                  /* stat: R S D T t Z X I, as its character code */ \
	X(PROCESS_CPU_USER, "process.cpu_user", NANOSECONDS, COUNTER)   /* stat: utime, all threads */ \
	X(PROCESS_CPU_SYSTEM, "process.cpu_system", NANOSECONDS, COUNTER)           /* stat: stime */ \
	X(PROCESS_RUN_QUEUE_WAIT, "process.run_queue_wait", NANOSECONDS, COUNTER)   /* schedstat, main thread only */ \
	X(PROCESS_MINOR_FAULTS, "process.minor_faults", EVENTS, COUNTER)            /* stat: minflt */ \
	X(PROCESS_MAJOR_FAULTS, "process.major_faults", EVENTS, COUNTER)            /* stat: majflt */ \
	X(PROCESS_SWITCHES_WILLING, "process.voluntary_switches", EVENTS, COUNTER)  /* status, main thread only */ \
	X(PROCESS_SWITCHES_FORCED, "process.involuntary_switches", EVENTS, COUNTER) /* status, main thread only */ \
	X(PROCESS_READ, "process.read_bytes", BYTES, COUNTER)                       /* io: read_bytes (from storage) */ \
	X(PROCESS_WRITTEN, "process.write_bytes", BYTES, COUNTER)                   /* io: write_bytes */ \
	X(PROCESS_READ_CALLS, "process.read_characters", BYTES, COUNTER) /* io: rchar, page cache and pipes included */ \
	X(PROCESS_DISK_WAIT, "process.disk_wait", NANOSECONDS, \
		COUNTER) /* stat: delayacct_blkio_ticks, main thread only; only where the kernel keeps it */ \
	X(PROCESS_DESCRIPTORS, "process.descriptors", ITEMS, GAUGE) /* entries of fd */ \
	X(SYSTEM_CPUS, "system.cpus", ITEMS, GAUGE)                 /* online */ \
	X(SYSTEM_CPU_BUSY, "system.cpu_busy", NANOSECONDS, \
		COUNTER) /* /proc/stat: user, nice, system, irq, softirq, all CPUs */ \
	X(SYSTEM_CPU_IO_WAIT, "system.cpu_io_wait", NANOSECONDS, COUNTER)         /* /proc/stat: iowait */ \
	X(SYSTEM_CPU_STOLEN, "system.cpu_stolen", NANOSECONDS, COUNTER)           /* /proc/stat: steal */ \
	X(SYSTEM_CPU_IDLE, "system.cpu_idle", NANOSECONDS, COUNTER)               /* /proc/stat: idle */ \
	X(SYSTEM_RUNNING, "system.running", ITEMS, GAUGE)                         /* /proc/stat: procs_running */ \
	X(SYSTEM_BLOCKED, "system.blocked", ITEMS, GAUGE)                         /* /proc/stat: procs_blocked */ \
	X(SYSTEM_LOAD, "system.load", ITEMS, GAUGE)                               /* loadavg: one minute */ \
	X(SYSTEM_MEMORY, "system.memory", BYTES, GAUGE)                           /* meminfo: MemTotal */ \
	X(SYSTEM_MEMORY_AVAILABLE, "system.memory_available", BYTES, GAUGE)       /* meminfo: MemAvailable */ \
	X(SYSTEM_MEMORY_CACHED, "system.memory_cached", BYTES, GAUGE)             /* meminfo: Cached */ \
	X(SYSTEM_MEMORY_DIRTY, "system.memory_dirty", BYTES, GAUGE)               /* meminfo: Dirty + Writeback */ \
	X(SYSTEM_SWAP, "system.swap", BYTES, GAUGE)                               /* meminfo: SwapTotal; 0 = no swap */ \
	X(SYSTEM_SWAP_FREE, "system.swap_free", BYTES, GAUGE)                     /* meminfo: SwapFree */ \
	X(SYSTEM_SWAP_IN, "system.swap_in", BYTES, COUNTER)                       /* vmstat: pswpin × page */ \
	X(SYSTEM_SWAP_OUT, "system.swap_out", BYTES, COUNTER)                     /* vmstat: pswpout × page */ \
	X(SYSTEM_PRESSURE_CPU, "system.pressure_cpu", NANOSECONDS, COUNTER)       /* pressure/cpu: some, total */ \
	X(SYSTEM_PRESSURE_MEMORY, "system.pressure_memory", NANOSECONDS, COUNTER) /* pressure/memory: some */ \
	X(SYSTEM_PRESSURE_IO, "system.pressure_io", NANOSECONDS, COUNTER)         /* pressure/io: some */ \
	X(SYSTEM_SHM, "system.shm", BYTES, GAUGE)                                 /* size of the target's /dev/shm */ \
	X(SYSTEM_SHM_OWN, "system.shm_own", BYTES, \
		GAUGE) /* the part in files that the run's processes have or had open or mapped */ \
	X(SYSTEM_SHM_USED, "system.shm_used", BYTES, GAUGE) /* used bytes of /dev/shm */ \
	X(SYSTEM_SPACE, "system.space", BYTES, GAUGE) /* size of the file system of the target's working directory */ \
	X(SYSTEM_SPACE_FREE, "system.space_free", BYTES, GAUGE) /* free space there for unprivileged users */ \
	X(SYSTEM_CLOCK_OFFSET, "system.clock_offset", NANOSECONDS, \
		GAUGE) /* CLOCK_REALTIME − CLOCK_MONOTONIC: steps when the clock is set */ \
	X(SYSTEM_SUSPENDED, "system.suspended", NANOSECONDS, COUNTER) /* CLOCK_BOOTTIME − CLOCK_MONOTONIC */ \
	X(DISK_READ, "disk.read_bytes", BYTES, COUNTER)               /* diskstats, whole devices only */ \
	X(DISK_WRITTEN, "disk.write_bytes", BYTES, COUNTER) \
	X(DISK_READS, "disk.reads", EVENTS, COUNTER) \
	X(DISK_WRITES, "disk.writes", EVENTS, COUNTER) \
	X(DISK_READ_TIME, "disk.read_time", NANOSECONDS, COUNTER) /* summed over reads; divided by reads: latency */ \
	X(DISK_WRITE_TIME, "disk.write_time", NANOSECONDS, COUNTER) \
	X(DISK_BUSY, "disk.busy", NANOSECONDS, COUNTER)               /* time with any request in flight */ \
	X(NETWORK_RECEIVED, "network.received_bytes", BYTES, COUNTER) /* net/dev of the target, without lo */ \
	X(NETWORK_SENT, "network.sent_bytes", BYTES, COUNTER) \
	X(CGROUP_MEMORY, "cgroup.memory", BYTES, \
		GAUGE) /* of the target's innermost cgroup; figures that the cgroup version or kernel lacks are missing */ \
	X(CGROUP_MEMORY_LIMIT, "cgroup.memory_limit", BYTES, GAUGE) /* lowest limit up to the root; absent = no limit */ \
	X(CGROUP_MEMORY_ANONYMOUS, "cgroup.memory_anonymous", BYTES, GAUGE) \
	X(CGROUP_MEMORY_FILE, "cgroup.memory_file", BYTES, GAUGE) \
	X(CGROUP_MEMORY_SHARED, "cgroup.memory_shared", BYTES, \
		GAUGE) /* tmpfs and shared memory, /dev/shm included; part of file */ \
	X(CGROUP_MEMBERS_OUTSIDE, "cgroup.members_outside", ITEMS, \
		GAUGE) /* processes in it outside the target's process tree; 0 = only the run uses it */ \
	X(CGROUP_OOM_KILLS, "cgroup.oom_kills", EVENTS, COUNTER) \
	X(CGROUP_CPU_LIMIT, "cgroup.cpu_limit", ITEMS, \
		GAUGE) /* CPUs: quota ÷ period, lowest up to the root; absent = no limit */ \
	X(CGROUP_CPU, "cgroup.cpu", NANOSECONDS, COUNTER) \
	X(CGROUP_THROTTLED, "cgroup.throttled", NANOSECONDS, COUNTER) /* throttled time, summed over CPUs */ \
	X(CGROUP_THROTTLED_PERIODS, "cgroup.throttled_periods", EVENTS, COUNTER) \
	X(CGROUP_PERIODS, "cgroup.periods", EVENTS, COUNTER) \
	X(GPU_BUSY, "gpu.busy", RATIO, \
		GAUGE) /* share of the driver's last sampling period (1/6 to 1 s) with a kernel running */ \
	X(GPU_MEMORY_BUSY, "gpu.memory_busy", RATIO, GAUGE) /* … with memory being read or written */ \
	X(GPU_SM_ACTIVE, "gpu.sm_active", RATIO, \
		GAUGE) /* this and the next three: NVIDIA GPM, mean between two readings. SMs with a resident warp; AMD KFD: \
				  compute units in use at the reading */ \
	X(GPU_SM_OCCUPANCY, "gpu.sm_occupancy", RATIO, GAUGE)       /* resident warps ÷ the maximum */ \
	X(GPU_TENSOR_ACTIVE, "gpu.tensor_active", RATIO, GAUGE)     /* any tensor pipe */ \
	X(GPU_DRAM_ACTIVE, "gpu.dram_active", RATIO, GAUGE)         /* share of the peak memory bandwidth */ \
	X(GPU_MEMORY, "gpu.memory", BYTES, GAUGE)                   /* total */ \
	X(GPU_MEMORY_USED, "gpu.memory_used", BYTES, GAUGE)         /* by all processes, without the driver's reserve */ \
	X(GPU_MEMORY_RESERVED, "gpu.memory_reserved", BYTES, GAUGE) /* the driver's reserve */ \
	X(GPU_POWER, "gpu.power", WATTS, GAUGE) \
	X(GPU_POWER_LIMIT, "gpu.power_limit", WATTS, GAUGE)   /* enforced limit */ \
	X(GPU_ENERGY, "gpu.energy", JOULES, COUNTER)          /* since the driver was loaded */ \
	X(GPU_TEMPERATURE, "gpu.temperature", CELSIUS, GAUGE) /* of the chip */ \
	X(GPU_TEMPERATURE_MEMORY, "gpu.temperature_memory", CELSIUS, GAUGE) \
	X(GPU_TEMPERATURE_LIMIT, "gpu.temperature_limit", CELSIUS, GAUGE) /* above it the GPU slows down */ \
	X(GPU_CLOCK, "gpu.clock", HERTZ, GAUGE)                           /* of the SMs (graphics clock) */ \
	X(GPU_CLOCK_MAX, "gpu.clock_max", HERTZ, GAUGE) \
	X(GPU_CLOCK_MEMORY, "gpu.clock_memory", HERTZ, GAUGE) \
	X(GPU_CLOCK_MEMORY_MAX, "gpu.clock_memory_max", HERTZ, GAUGE) \
	X(GPU_THROTTLE, "gpu.throttle", CODE, \
		GAUGE) /* current throttle reasons: bits 1 << enum gpu_throttle; 0 = not throttled */ \
	X(GPU_THROTTLED_POWER, "gpu.throttled_power", NANOSECONDS, COUNTER)     /* time throttled by the power limit */ \
	X(GPU_THROTTLED_THERMAL, "gpu.throttled_thermal", NANOSECONDS, COUNTER) /* time throttled by heat */ \
	X(GPU_PCIE_RECEIVED, "gpu.pcie_received_bytes", BYTES, COUNTER)         /* from the host */ \
	X(GPU_PCIE_SENT, "gpu.pcie_sent_bytes", BYTES, COUNTER) \
	X(GPU_PCIE_REPLAYS, "gpu.pcie_replays", EVENTS, COUNTER) \
	X(GPU_PCIE_GENERATION, "gpu.pcie_generation", ITEMS, GAUGE) /* of the link now; lower while the GPU is idle */ \
	X(GPU_PCIE_GENERATION_MAX, "gpu.pcie_generation_max", ITEMS, GAUGE) /* supported by GPU and slot */ \
	X(GPU_PCIE_WIDTH, "gpu.pcie_width", ITEMS, GAUGE)                   /* lanes */ \
	X(GPU_PCIE_WIDTH_MAX, "gpu.pcie_width_max", ITEMS, GAUGE) \
	X(GPU_NVLINK_RECEIVED, "gpu.nvlink_received_bytes", BYTES, COUNTER) /* all links */ \
	X(GPU_NVLINK_SENT, "gpu.nvlink_sent_bytes", BYTES, COUNTER) \
	X(GPU_ECC_CORRECTED, "gpu.ecc_corrected", EVENTS, COUNTER) /* since the driver was loaded */ \
	X(GPU_ECC_UNCORRECTED, "gpu.ecc_uncorrected", EVENTS, COUNTER) \
	X(GPU_READING, "gpu.reading_time", NANOSECONDS, COUNTER) /* time spent in driver calls: overhead of pmtop */ \
	X(ENERGY_USED, "energy.used", JOULES, COUNTER)           /* of a RAPL domain: "package 0", "dram 0", "platform" */ \
	X(HEAT_TEMPERATURE, "heat.temperature", CELSIUS, GAUGE)  /* of a hwmon sensor: "coretemp Package id 0" */ \
	X(HEAT_LIMIT, "heat.limit", CELSIUS, GAUGE)              /* the sensor's critical temperature */ \
	X(HEAT_CPU_THROTTLES, "heat.cpu_throttles", EVENTS, \
		COUNTER)                                      /* thermal throttle events of the CPU packages; instance 0 */ \
	X(HEAT_CPU_CLOCK, "heat.cpu_clock", HERTZ, GAUGE) /* mean over the CPUs; instance 0 */ \
	X(SELF_CPU, "pmtop.cpu", NANOSECONDS, \
		COUNTER) /* of pmtop, all threads; instance 0 = pmtop, 1 = its GPU reader, 2 = its stack reader */ \
	X(SELF_RESIDENT, "pmtop.resident", BYTES, GAUGE)  /* same instances */ \
	X(PROCESS_TRACED, "process.traced", ITEMS, GAUGE) /* 1 from the time at which pmtop asked for a trace, then 0 */

enum metric {
#define METRIC_ID(id, name, unit, kind) METRIC_##id,
	METRICS(METRIC_ID)
#undef METRIC_ID
		METRIC_COUNT,
	PROCESS_METRICS = METRIC_PROCESS_DESCRIPTORS + 1, /* process metrics come first */
	METRIC_GPU_FIRST = METRIC_GPU_BUSY,
	METRIC_GPU_LAST = METRIC_GPU_READING
};

struct metric_info {
	const char *name;
	enum metric_unit unit;
	enum metric_kind kind;
};

extern const struct metric_info metric_table[METRIC_COUNT];

#endif
