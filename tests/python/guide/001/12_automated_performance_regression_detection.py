class PerformanceRegressionDetector(pmtop.PerformanceRegressionDetector):
    def __init__(self, baseline_metrics_path):
        self.baseline = self.load_baseline(baseline_metrics_path)
        self.profiler = PerformanceProfiler()
    
    @contextlib.contextmanager
    def check_regression(self, operation_name, threshold=0.2):
        with self.profiler.profile(operation_name):
            # Run the operation
            yield
        
        current_metrics = self.profiler.get_metrics()
        baseline_time = self.baseline[operation_name]["wall_time_s"]
        
        if current_metrics.timing.wall_time_s > baseline_time * (1 + threshold):
            self.alert_regression(operation_name, baseline_time, current_metrics.timing.wall_time_s)

# Usage in CI/CD
detector = PerformanceRegressionDetector("baseline_metrics.json")

with detector.check_regression("model_training"):
    train_model()
