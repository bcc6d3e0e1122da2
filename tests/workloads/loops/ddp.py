"""Two ranks of DistributedDataParallel over gloo, started by the script itself; rank 0 writes the count."""
import os
import tempfile

import torch
import torch.distributed as dist
from small import classifier
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

SIZE = 7680


def main(rank, world_size, rendezvous):
    if rank == 0:
        from truth import step
    dist.init_process_group('gloo', init_method=f'file://{rendezvous}', rank=rank, world_size=world_size)
    dataset, done = TensorDataset(torch.randn(SIZE, 1, 28, 28), torch.randint(0, 10, (SIZE,))), 0
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=32, sampler=sampler)
    model = DistributedDataParallel(classifier())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(100):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            done += 1
            if rank == 0:
                step(done, epoch + 1, loss)


if __name__ == '__main__':
    path = os.path.join(tempfile.mkdtemp(), 'rendezvous')
    rank = 0 if os.fork() else 1
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE='2')
    main(rank, 2, path)
