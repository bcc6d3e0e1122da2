# Add warmup batch before timing
with torch.no_grad():
    dummy_batch = next(iter(dataloader))
    model(dummy_batch.to(device))
    
# Now start timing
for batch in dataloader:
    # ... actual training ...
    pass
