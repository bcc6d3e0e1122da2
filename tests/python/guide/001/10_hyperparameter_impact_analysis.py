profiler = PerformanceProfiler()

learning_rates = [0.001, 0.01, 0.1]
performance_impact = {}

for lr in learning_rates:
    with profiler.profile(f"lr_{lr}"):
        optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        train_with_optimizer(model, optimizer)
    
    metrics = profiler.get_metrics()
    performance_impact[lr] = {
        "convergence_time": metrics.timing.wall_time_s,
        "memory_usage": metrics.memory.peak_ram_mb,
        "final_accuracy": get_final_accuracy()
    }

# Analyze efficiency vs accuracy tradeoff
for lr, impact in performance_impact.items():
    efficiency = impact["final_accuracy"] / impact["convergence_time"]
    print(f"LR {lr}: Efficiency = {efficiency:.4f} acc/second")
