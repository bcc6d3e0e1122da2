"""LightGBM's train(): boosting rounds with callbacks."""
import lightgbm
import numpy
from truth import step


def truth(environment):
    step(environment.iteration + 1)


x, y = numpy.random.rand(40000, 40), numpy.random.rand(40000)
parameters = {'objective': 'regression', 'num_leaves': 63, 'num_threads': 1, 'verbose': -1, 'learning_rate': 0.05}
lightgbm.train(parameters, lightgbm.Dataset(x, y), num_boost_round=5000, callbacks=[truth])
