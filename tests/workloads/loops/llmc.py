"""After llm.c's train_gpt2.py: for step in range(num_iterations + 1), gradient accumulation in a loop of its own, validation now and then."""
import torch
from small import Transformer
from truth import step as note


class Tokens:
    def __init__(self, B, T):
        self.B, self.T, self.position, self.tokens = B, T, 0, torch.randint(0, 65, (50000,))

    def next_batch(self):
        if self.position + self.B * self.T + 1 > len(self.tokens):
            self.position = 0
        part = self.tokens[self.position:self.position + self.B * self.T + 1]
        self.position += self.B * self.T
        return part[:-1].view(self.B, self.T), part[1:].view(self.B, self.T)


if __name__ == '__main__':
    model, train_loader, val_loader = Transformer(), Tokens(8, 64), Tokens(8, 64)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    num_iterations, grad_accum_steps = 20000, 2
    for step in range(num_iterations + 1):
        last_step = step == num_iterations
        if step % 250 == 0:
            model.eval()
            with torch.no_grad():
                for _ in range(20):
                    model(*val_loader.next_batch())
        if last_step:
            break
        model.train()
        optimizer.zero_grad(set_to_none=True)
        for micro_step in range(grad_accum_steps):
            x, y = train_loader.next_batch()
            _, loss = model(x, y)
            (loss / grad_accum_steps).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:
            group['lr'] = 1e-4
        optimizer.step()
        note(step + 1, None, loss)
