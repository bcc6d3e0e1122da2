"""Gradient boosting by hand: in each round a loop over the features finds the best split."""
import numpy
from truth import step

X, y = numpy.random.randn(2000, 20), numpy.random.randn(2000)


def fit_stump(residual):
    best = numpy.inf, 0, 0.0
    for j in range(X.shape[1]):
        for threshold in numpy.quantile(X[:, j], numpy.linspace(0.1, 0.9, 9)):
            left = X[:, j] < threshold
            error = ((residual - numpy.where(left, residual[left].mean(), residual[~left].mean())) ** 2).sum()
            best = min(best, (error, j, threshold))
    return best[1:]


def fit(rounds):
    prediction = numpy.zeros(len(y))
    for m in range(rounds):
        residual = y - prediction
        j, threshold = fit_stump(residual)
        left = X[:, j] < threshold
        prediction += 0.1 * numpy.where(left, residual[left].mean(), residual[~left].mean())
        step(m + 1)


fit(5000)
