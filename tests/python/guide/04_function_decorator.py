from pmtop import monitor_performance

@monitor_performance("data processing")
def process_batch(batch):
    # ... processing code ...
    return result

# Automatically prints timing when called
result = process_batch(data)
