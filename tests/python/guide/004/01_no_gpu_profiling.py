import torch
print(f"CUDA available: {torch.cuda.is_available()}")
