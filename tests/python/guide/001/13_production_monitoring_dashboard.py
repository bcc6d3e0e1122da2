from datetime import datetime, timedelta
import json

class ProductionProfiler(pmtop.ProductionProfiler):
    def __init__(self):
        self.profiler = PerformanceProfiler()
        self.metrics_log = []
    
    def profile_request(self, request_id):
        return self.profiler.profile(f"request_{request_id}")
    
    def log_metrics(self, request_id, user_facing_latency):
        metrics = self.profiler.get_metrics()
        
        log_entry = {
            "timestamp": datetime.now().isoformat(),
            "request_id": request_id,
            "internal_latency": metrics.timing.wall_time_s,
            "user_facing_latency": user_facing_latency,
            "memory_mb": metrics.memory.peak_ram_mb,
            "cpu_percent": metrics.system.cpu_percent if hasattr(metrics, 'system') else None
        }
        
        self.metrics_log.append(log_entry)
        
        # Check SLA compliance
        if user_facing_latency > 2.0:  # 2 second SLA
            self.alert_sla_violation(log_entry)
    
    def generate_hourly_report(self):
        # Generate performance report for last hour
        cutoff = datetime.now() - timedelta(hours=1)
        recent_metrics = [m for m in self.metrics_log 
                         if datetime.fromisoformat(m["timestamp"]) > cutoff]
        
        if recent_metrics:
            avg_latency = sum(m["user_facing_latency"] for m in recent_metrics) / len(recent_metrics)
            p95_latency = sorted([m["user_facing_latency"] for m in recent_metrics])[int(0.95 * len(recent_metrics))]
            
            return {
                "requests_processed": len(recent_metrics),
                "average_latency": avg_latency,
                "p95_latency": p95_latency,
                "sla_violations": sum(1 for m in recent_metrics if m["user_facing_latency"] > 2.0)
            }

# Usage in production
prod_profiler = ProductionProfiler()

@app.route("/predict")
def predict():
    request_id = generate_request_id()
    
    start_time = time.time()
    with prod_profiler.profile_request(request_id):
        prediction = model.predict(request.json)
    end_time = time.time()
    
    prod_profiler.log_metrics(request_id, end_time - start_time)
    return {"prediction": prediction}
