profiler = PerformanceProfiler()

# Warm up the model (compilation, cache loading, etc.)
for _ in range(3):
    model(sample_input)

# Now profile the actual performance
with profiler.profile("warmed_up_inference"):
    for _ in range(100):
        model(sample_input)
