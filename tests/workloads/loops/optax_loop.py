"""After Optax's examples: a jitted update, a loop over range(num_steps)."""
import jax
import jax.numpy as jnp
import optax
from truth import own_step, step as note

key = jax.random.key(0)
params = {'first': jax.random.normal(key, (512, 1024)) * 0.02, 'second': jax.random.normal(key, (1024, 512)) * 0.02}
optimizer = optax.adamw(1e-3)
opt_state = optimizer.init(params)


def loss_fn(params, x):
    return jnp.mean((jax.nn.relu(x @ params['first']) @ params['second'] - x) ** 2)


@jax.jit
def update(params, opt_state, x):
    loss, grads = jax.value_and_grad(loss_fn)(params, x)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


num_steps = 30000
update = own_step(update, lambda result: result[-1])
for step in range(num_steps):
    key, part = jax.random.split(key)
    params, opt_state, loss = update(params, opt_state, jax.random.normal(part, (256, 512)))
    loss.block_until_ready()
    note(step + 1, None, loss)
