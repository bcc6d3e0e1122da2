# ✅ Good: Profile realistic training scenario
with profiler.profile(**arguments) as prof:
    for epoch in range(3):  # Profile multiple epochs
        for step, batch in enumerate(train_loader):
            train_step(batch)
            prof.step()

# ❌ Bad: Profile single step
with profiler.profile(**arguments) as prof:
    train_step(single_batch)
