"""ignite: each epoch trains, then evaluates on the loader of the training, and on another one."""
import torch
from ignite.engine import Engine, Events, create_supervised_evaluator
from ignite.metrics import Accuracy
from torch.utils.data import DataLoader, TensorDataset
from truth import step

torch.set_num_threads(1)
body = torch.nn.Sequential(*(layer for _ in range(6) for layer in (torch.nn.Linear(1024, 1024), torch.nn.ReLU()))).requires_grad_(False)
model = torch.nn.Sequential(body, torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
optimizer = torch.optim.Adam([parameter for parameter in model.parameters() if parameter.requires_grad])
training, validation = (DataLoader(TensorDataset(torch.randn(96 * batches, 1024), torch.randint(0, 10, (96 * batches,))), batch_size=96) for batches in (100, 15))


def train_batch(engine, batch):
    x, y = batch
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    step(engine.state.iteration, engine.state.epoch)
    return loss.item()


trainer = Engine(train_batch)
evaluator = create_supervised_evaluator(model, {'accuracy': Accuracy()})


@trainer.on(Events.EPOCH_COMPLETED)
def log_results(trainer):
    evaluator.run(training)
    evaluator.run(validation)


trainer.run(training, max_epochs=400)
