monitor = EpochPerformanceMonitor(enabled=True)

# After training
stats = monitor.get_statistics()

print(f"Average batch time: {stats['avg_batch_time']:.3f}s")
print(f"Min batch time: {stats['min_batch_time']:.3f}s")  
print(f"Max batch time: {stats['max_batch_time']:.3f}s")

# High variance = inconsistent performance
variance_ratio = stats['max_batch_time'] / stats['min_batch_time']
if variance_ratio > 2.0:
    print(f"⚠️  High variance ({variance_ratio:.1f}x) - investigate outliers!")
