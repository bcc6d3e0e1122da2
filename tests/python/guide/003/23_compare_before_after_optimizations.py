# Baseline
with profiler.profile(**arguments) as prof:
    baseline_train()
    prof.step()

# After optimization
with profiler.profile(**arguments) as prof:
    optimized_train()
    prof.step()

# Compare in TensorBoard
