# Use more DataLoader workers
dataloader = DataLoader(dataset, batch_size=32, num_workers=4)

# Enable pin_memory for faster GPU transfer
dataloader = DataLoader(dataset, batch_size=32, pin_memory=True)

# Use prefetching
dataloader = DataLoader(dataset, batch_size=32, prefetch_factor=2)
