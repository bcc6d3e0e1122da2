# Context manager
with track_performance("operation", print_result=True, device=0):
    # ... code ...
    pass

# Decorator
@monitor_performance("operation", device=0)
def my_function():
    # ... code ...
    pass
