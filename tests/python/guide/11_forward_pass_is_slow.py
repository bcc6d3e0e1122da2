# Use mixed precision (FP16)
from torch.cuda.amp import autocast

with autocast():
    output = model(input)

# Reduce model size
# - Fewer filters
# - Fewer layers
# - Use depthwise separable convolutions

# Use gradient checkpointing (trades compute for memory)
from torch.utils.checkpoint import checkpoint

output = checkpoint(model, input)
