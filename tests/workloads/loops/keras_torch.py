"""Keras 3 on torch: fit() of NumPy arrays with a validation split."""
import os

os.environ['KERAS_BACKEND'] = 'torch'

from keras_fit import main  # noqa: E402

main()
