"""XGBoost's train(): boosting rounds with an evaluation set."""
import numpy
import xgboost
from truth import step


class Truth(xgboost.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        step(epoch + 1)
        return False


x, y = numpy.random.rand(20000, 40), numpy.random.rand(20000)
data = xgboost.DMatrix(x, y)
xgboost.train({'max_depth': 5, 'nthread': 1, 'eta': 0.05}, data, num_boost_round=5000, evals=[(data, 'train')], verbose_eval=False, callbacks=[Truth()])
