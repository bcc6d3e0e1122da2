results = {}

for batch_size in [8, 16, 32, 64]:
    monitor = PerformanceMonitor()
    
    with monitor.track(f"batch_size_{batch_size}"):
        train_with_batch_size(batch_size)
    
    results[batch_size] = monitor.get_total_time()

# Find optimal batch size
optimal = min(results, key=results.get)
print(f"Optimal batch size: {optimal} ({results[optimal]:.3f}s)")
