profiler = PerformanceProfiler()

with profiler.profile("complete_pipeline"):
    # Profile individual components
    with profiler.profile("data_loading"):
        data = load_data()
    
    with profiler.profile("preprocessing"):
        data = preprocess(data)
    
    with profiler.profile("training"):
        model = train_model(data)
    
    with profiler.profile("evaluation"):
        results = evaluate(model)

# Get timing breakdown
timing_report = profiler.get_timing_breakdown()
for operation, timing in timing_report.items():
    print(f"{operation}: {timing:.3f}s ({timing/sum(timing_report.values())*100:.1f}%)")
