# Check for variable-sized inputs
# - Use padding to uniform size
# - Sort batches by size

# Check for cache thrashing
# - Reduce cache size if memory constrained
# - Use pinned memory

# Check for data augmentation
# - Some augmentations are expensive (e.g., random transforms)
# - Pre-compute augmentations if possible
