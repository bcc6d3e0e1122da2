profiler = PerformanceProfiler(
    track_gpu=True,           # Enable GPU monitoring
    track_carbon=False,       # Disable carbon tracking for pure performance
    detailed_memory=True,     # Detailed memory analysis
    memory_interval=0.1,      # Sample memory every 100ms
    track_cpu_temp=True,      # Monitor CPU temperature
    track_network=False       # Disable network monitoring
)
