import torch
import torch.nn as nn

profiler = PerformanceProfiler(estimate_flops=True)

model = nn.Sequential(
    nn.Linear(784, 512),
    nn.ReLU(),
    nn.Linear(512, 10)
)

with profiler.profile("model_complexity"):
    # Forward pass for FLOPS estimation
    x = torch.randn(32, 784)
    output = model(x)

metrics = profiler.get_metrics()
print(f"Estimated FLOPs: {metrics.compute.estimated_flops:,}")
print(f"FLOPs per parameter: {metrics.compute.flops_per_param:.2f}")
