profiler = PerformanceProfiler(
    track_system=True,
    system_interval=1.0  # Sample system metrics every second
)

with profiler.profile("resource_monitoring"):
    # Long-running training process
    for epoch in range(100):
        train_epoch()
        
        # Get real-time system stats
        system_stats = profiler.get_current_system_stats()
        
        # Alert if system under stress
        if system_stats.cpu_percent > 90:
            print("⚠️ High CPU usage")
        if system_stats.memory_percent > 85:
            print("⚠️ High memory usage")
        if system_stats.disk_io_percent > 80:
            print("⚠️ High disk I/O")

# Get comprehensive system report
system_report = profiler.get_system_report()
print(f"Average CPU usage: {system_report.avg_cpu_percent:.1f}%")
print(f"Peak memory usage: {system_report.peak_memory_percent:.1f}%")
