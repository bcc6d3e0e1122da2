profiler = PerformanceProfiler()

batch_sizes = [16, 32, 64, 128]
throughput_results = {}

for batch_size in batch_sizes:
    with profiler.profile(f"batch_size_{batch_size}"):
        # Process multiple batches
        for _ in range(10):
            x = torch.randn(batch_size, 784)
            output = model(x)
    
    metrics = profiler.get_metrics()
    samples_per_second = (10 * batch_size) / metrics.timing.wall_time_s
    throughput_results[batch_size] = samples_per_second

# Find optimal batch size
optimal_batch = max(throughput_results, key=throughput_results.get)
print(f"Optimal batch size: {optimal_batch} ({throughput_results[optimal_batch]:.1f} samples/s)")
