# Profile with realistic data sizes and distributions
profiler = PerformanceProfiler()

# Don't profile toy examples
# ❌ with profiler.profile("toy_example"):
#     tiny_data = torch.randn(10, 10)
#     model(tiny_data)

# ✅ Profile with production-like data
with profiler.profile("realistic_workload"):
    production_batch = load_production_sample()
    model(production_batch)
