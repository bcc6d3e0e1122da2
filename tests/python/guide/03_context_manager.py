from pmtop import track_performance

with track_performance("critical_operation"):
    result = expensive_function()
