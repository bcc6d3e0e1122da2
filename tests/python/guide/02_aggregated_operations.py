monitor = PerformanceMonitor()

for epoch in range(10):
    for batch in dataloader:
        with monitor.track("batch_forward", aggregate=True):
            output = model(batch)
        
        with monitor.track("batch_backward", aggregate=True):
            loss.backward()

monitor.print_summary(show_aggregate=True)
