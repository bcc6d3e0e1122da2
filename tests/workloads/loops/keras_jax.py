"""Keras 3 on jax: fit() of NumPy arrays with a validation split."""
import os

os.environ['KERAS_BACKEND'] = 'jax'

from keras_fit import main  # noqa: E402

main()
