profiler = PerformanceProfiler()

# Profile training
with profiler.profile("training_performance"):
    model.train()
    train_one_epoch(model, train_loader)

# Profile inference
with profiler.profile("inference_performance"):
    model.eval()
    with torch.no_grad():
        evaluate_model(model, test_loader)

# Compare training vs inference efficiency
training_metrics = profiler.get_metrics("training_performance")
inference_metrics = profiler.get_metrics("inference_performance")

print(f"Training throughput: {training_metrics.throughput} samples/s")
print(f"Inference throughput: {inference_metrics.throughput} samples/s")
