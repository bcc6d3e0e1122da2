monitor = PerformanceMonitor()

# ... run experiments ...

# Export to pandas for analysis
import pandas as pd
metrics_df = pd.DataFrame([
    {
        'operation': m.operation,
        'time': m.duration_seconds,
        'cpu_mb': m.cpu_delta_mb,
        'gpu_mb': m.gpu_delta_mb
    }
    for m in monitor.get_metrics()
])

metrics_df.to_csv('performance_metrics.csv')
