# Use gradient accumulation (smaller batches)
optimizer.zero_grad()
for i, batch in enumerate(mini_batches):
    loss = model(batch) / len(mini_batches)
    loss.backward()
optimizer.step()

# Clear unused gradients
torch.cuda.empty_cache()

# Use mixed precision backward
scaler = torch.cuda.amp.GradScaler()
with autocast():
    loss = model(input)
scaler.scale(loss).backward()
