torch.cuda.synchronize()  # Wait for GPU operations to complete
start = time.perf_counter()
# ... operation ...
torch.cuda.synchronize()
end = time.perf_counter()
