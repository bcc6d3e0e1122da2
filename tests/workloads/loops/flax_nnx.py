"""After Flax's NNX tutorials: nnx.jit of a train step, epochs around batches of an own generator."""
import jax.numpy as jnp
import numpy
import optax
from flax import nnx
from truth import own_step, step

images, labels = numpy.random.rand(6400, 784).astype('float32'), numpy.random.randint(0, 10, 6400)


class Model(nnx.Module):
    def __init__(self, rngs):
        self.first, self.second, self.last = nnx.Linear(784, 1024, rngs=rngs), nnx.Linear(1024, 1024, rngs=rngs), nnx.Linear(1024, 10, rngs=rngs)

    def __call__(self, x):
        return self.last(nnx.relu(self.second(nnx.relu(self.first(x)))))


@nnx.jit
def train_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(lambda model: optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean())(model)
    optimizer.update(model, grads)
    return loss


def batches():
    order = numpy.random.permutation(len(images))
    for start in range(0, len(images), 64):
        chosen = order[start:start + 64]
        yield jnp.asarray(images[chosen]), jnp.asarray(labels[chosen])


def main():
    model, done = Model(nnx.Rngs(0)), 0
    optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    train = own_step(train_step, lambda loss: loss)
    for epoch in range(200):
        for x, y in batches():
            loss = train(model, optimizer, x, y).block_until_ready()
            done += 1
            step(done, epoch + 1, loss)


main()
