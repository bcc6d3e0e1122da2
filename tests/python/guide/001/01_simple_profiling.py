from pmtop import PerformanceProfiler

profiler = PerformanceProfiler()

with profiler.profile("training_loop"):
    # Your ML code here
    model.fit(X_train, y_train)

# Get comprehensive metrics
metrics = profiler.get_metrics()
print(f"Peak RAM: {metrics.memory.peak_ram_mb:.1f} MB")
print(f"Wall Time: {metrics.timing.wall_time_s:.3f}s")
