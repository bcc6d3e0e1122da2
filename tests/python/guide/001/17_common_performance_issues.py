def diagnose_performance_issues(profiler_results):
    issues = []
    
    # Check for memory issues
    if profiler_results.memory.peak_ram_mb > 16000:  # >16GB
        issues.append("High memory usage - consider reducing batch size or model size")
    
    # Check for CPU bottlenecks
    if profiler_results.system.cpu_percent > 95:
        issues.append("CPU bottleneck - consider data loading optimization or distributed training")
    
    # Check for GPU underutilization
    if profiler_results.compute.gpu_utilization_percent < 70:
        issues.append("GPU underutilized - increase batch size or improve data loading")
    
    # Check for I/O bottlenecks
    if profiler_results.system.disk_io_wait_percent > 20:
        issues.append("I/O bottleneck - optimize data loading or use faster storage")
    
    return issues

# Usage after profiling
metrics = profiler.get_metrics()
issues = diagnose_performance_issues(metrics)
for issue in issues:
    print(f"⚠️ {issue}")
