from pmtop import EpochPerformanceMonitor

monitor = EpochPerformanceMonitor(enabled=True, verbose_batches=5)

for epoch in range(epochs):
    monitor.on_epoch_start()
    
    for batch_idx, batch in enumerate(dataloader):
        monitor.on_batch_start(batch_idx)
        
        # ... training code ...
        
        monitor.on_batch_end(batch_idx, loss)
    
    monitor.on_epoch_end()
