import torch

profiler = PerformanceProfiler(track_gpu=True)

with profiler.profile("gpu_training"):
    model = MyModel().cuda()
    
    for batch in dataloader:
        output = model(batch.cuda())
        loss = criterion(output, target.cuda())
        
        # Check GPU memory at critical points
        gpu_memory = profiler.get_current_gpu_memory()
        if gpu_memory > 0.9:  # >90% GPU memory usage
            print("⚠️ High GPU memory usage, consider reducing batch size")

metrics = profiler.get_metrics()
print(f"Peak GPU Memory: {metrics.memory.peak_gpu_mb:.1f} MB")
print(f"GPU Utilization: {metrics.compute.gpu_utilization_percent:.1f}%")
