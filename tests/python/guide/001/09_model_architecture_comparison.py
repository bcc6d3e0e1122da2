profiler = PerformanceProfiler()

architectures = {
    "simple_mlp": SimpleMLPModel(),
    "deep_mlp": DeepMLPModel(),
    "cnn": CNNModel()
}

results = {}

for name, model in architectures.items():
    with profiler.profile(f"{name}_training"):
        # Standardized training loop
        train_model(model, train_data, epochs=5)
    
    metrics = profiler.get_metrics()
    results[name] = {
        "memory": metrics.memory.peak_ram_mb,
        "time": metrics.timing.wall_time_s,
        "flops": metrics.compute.estimated_flops
    }

# Display comparison
import pandas as pd
comparison_df = pd.DataFrame(results).T
print(comparison_df)
