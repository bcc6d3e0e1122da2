"""Keras 3 on tensorflow: fit() of NumPy arrays with a validation split."""
import os

os.environ['KERAS_BACKEND'] = 'tensorflow'

from keras_fit import main  # noqa: E402

main()
