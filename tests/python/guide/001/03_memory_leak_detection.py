profiler = PerformanceProfiler(detailed_memory=True)

# Monitor memory over time
memory_snapshots = []

with profiler.profile("potential_memory_leak"):
    for epoch in range(10):
        # Training code that might leak memory
        train_epoch()
        
        # Take memory snapshot
        current_memory = profiler.get_current_memory()
        memory_snapshots.append(current_memory)

# Analyze memory growth
memory_growth = memory_snapshots[-1] - memory_snapshots[0]
if memory_growth > 100:  # More than 100MB growth
    print(f"⚠️ Potential memory leak: {memory_growth:.1f}MB growth")
