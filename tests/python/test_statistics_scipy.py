"""Each statistic of src/model against SciPy's, NumPy's or statsmodels': seeded values with and without ties, short, constant, far apart."""
import ctypes
import os
import pathlib
import subprocess

import numpy
import pytest

stats = pytest.importorskip("scipy.stats")
runs = pytest.importorskip("statsmodels.sandbox.stats.runs")

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ("src/model/statistics/statistics.c", "src/model/statistics/significance.c", "src/model/statistics/series.c", "src/base/histogram.c")
SEEDS = range(60)


class Slope(ctypes.Structure):
    _fields_ = [("per_s", ctypes.c_double), ("low_per_s", ctypes.c_double), ("high_per_s", ctypes.c_double), ("points", ctypes.c_size_t)]


class Change(ctypes.Structure):
    _fields_ = [("at", ctypes.c_size_t), ("k", ctypes.c_double), ("p_value", ctypes.c_double)]


class TwoGroups(ctypes.Structure):
    _fields_ = [("low_count", ctypes.c_size_t), ("low_mean", ctypes.c_double), ("high_mean", ctypes.c_double),
                ("within", ctypes.c_double), ("total", ctypes.c_double)]


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    path = tmp_path_factory.mktemp("statistics") / "statistics.so"
    compiler = os.environ.get("CC", "cc").split()
    subprocess.run([*compiler, "-std=c11", "-O2", "-fPIC", "-shared", "-D_GNU_SOURCE", "-I", str(ROOT), "-o", str(path),
                    *(str(ROOT / source) for source in SOURCES), "-lm"], check=True)
    library = ctypes.CDLL(str(path))
    for name in ("quantile_of_sorted", "quantile_of", "median_of", "mad_of", "rolling_median", "rolling_mad", "rolling_quantile", "histogram_quantile",
                 "chance_of_hits", "runs_z"):
        getattr(library, name).restype = ctypes.c_double
    for name in ("rolling_new", "series_new"):
        getattr(library, name).restype = ctypes.c_void_p
    for name in ("theil_sen", "change_point", "split_in_two"):
        getattr(library, name).restype = ctypes.c_bool
    for name in ("series_mean", "histogram_bucket"):
        getattr(library, name).restype = ctypes.c_size_t
    return library


def array(values):
    """A copy that C may reorder."""
    return (ctypes.c_double * max(len(values), 1))(*values)


def values_of(seed, least=1, most=300):
    """Values of a seed: even, tied, heavy-tailed, of widely differing size, or all the same."""
    random = numpy.random.default_rng(seed)
    n = int(random.integers(least, most + 1))
    shapes = (lambda: random.random(n), lambda: numpy.floor(random.random(n) * 5), lambda: random.lognormal(-2, 0.3, n), lambda: random.pareto(1.2, n) + 0.01,
              lambda: 10.0 ** random.uniform(-9, 6, n), lambda: numpy.full(n, 0.25))
    return shapes[seed % len(shapes)]()


def close(mine, theirs, relative=1e-10):
    return mine == pytest.approx(theirs, rel=relative, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("seed", SEEDS)
def test_quantiles_are_numpys(ours, seed):
    values = values_of(seed)
    for q in (0, 0.05, 0.25, 0.5, 0.731, 0.95, 0.99, 1):
        expected = numpy.quantile(values, q)
        assert close(ours.quantile_of_sorted(array(sorted(values)), ctypes.c_size_t(len(values)), ctypes.c_double(q)), expected)
        assert close(ours.quantile_of(array(values), ctypes.c_size_t(len(values)), ctypes.c_double(q)), expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_median_and_mad_are_scipys(ours, seed):
    values = values_of(seed)
    size, median = ctypes.c_size_t(len(values)), float(numpy.median(values))
    assert close(ours.median_of(array(values), size), median)
    assert close(ours.mad_of(array(values), size, ctypes.c_double(median)), stats.median_abs_deviation(values))


@pytest.mark.parametrize("seed", SEEDS)
def test_rolling_figures_are_those_of_the_newest(ours, seed):
    values, window = values_of(seed, 20, 200), 1 + seed * 3 % 37
    rolling = ctypes.c_void_p(ours.rolling_new(ctypes.c_size_t(window)))
    for i, value in enumerate(values):
        ours.rolling_push(rolling, ctypes.c_double(value))
        if i % 7 == 0 or i + 1 == len(values):
            newest = values[max(0, i + 1 - window):i + 1]
            assert close(ours.rolling_median(rolling), numpy.median(newest))
            assert close(ours.rolling_mad(rolling), stats.median_abs_deviation(newest))
            assert close(ours.rolling_quantile(rolling, ctypes.c_double(0.95)), numpy.quantile(newest, 0.95))
    ours.rolling_free(rolling)


@pytest.mark.parametrize("seed", SEEDS)
def test_slope_is_theilslopes(ours, seed):
    """Their interval has the pairs' slopes of whole ranks; ours lies between those, where the values have no ties to correct for."""
    y = values_of(seed, 8, 300)
    x = numpy.sort(numpy.random.default_rng(seed + 1000).random(len(y)) * 100)
    out, theirs = Slope(), stats.theilslopes(y, x, 0.95)
    assert ours.theil_sen(array(x), array(y), ctypes.c_size_t(len(y)), ctypes.byref(out))
    assert close(out.per_s, theirs.slope, 1e-9)
    assert out.points == len(y)
    assert out.low_per_s <= out.per_s <= out.high_per_s
    if len(set(y)) == len(y):
        i, j = numpy.triu_indices(len(y), 1)
        slopes = numpy.sort((y[j] - y[i]) / (x[j] - x[i]))
        for mine, limit in ((out.low_per_s, theirs.low_slope), (out.high_per_s, theirs.high_slope)):
            assert abs(numpy.searchsorted(slopes, mine) - numpy.searchsorted(slopes, limit)) <= 2


@pytest.mark.parametrize("seed", SEEDS)
def test_histogram_quantiles_are_within_two_percent(ours, seed):
    values = numpy.random.default_rng(seed).lognormal(-3, 0.1 + seed * 0.02, 4000)
    counts = (ctypes.c_uint32 * 962)()
    for value in values:
        counts[ours.histogram_bucket(ctypes.c_uint64(int(value * 1e9 + 0.5)))] += 1
    for q in (0.05, 0.5, 0.95, 0.99):
        mine = ours.histogram_quantile(counts, ctypes.c_double(q), ctypes.c_double(values.min()), ctypes.c_double(values.max()))
        assert mine == pytest.approx(numpy.quantile(values, q, method="lower"), rel=0.02)


def pettitt(values):
    ranks, n = stats.rankdata(values), len(values)
    sums = numpy.cumsum(ranks)[:-1]
    k = numpy.arange(1, n) * (n + 1) - 2 * sums
    at = int(numpy.argmax(numpy.abs(k)))
    return at + 1, float(k[at]), min(1.0, 2 * numpy.exp(-6 * k[at] ** 2 / (n ** 3 + n ** 2)))


@pytest.mark.parametrize("seed", SEEDS)
def test_change_point_is_pettitts_by_scipys_ranks(ours, seed):
    values = values_of(seed, 2, 400)
    if seed % 2:
        values[len(values) // 3:] *= 1.5
    n, out = len(values), Change()
    assert ours.change_point(array(values), ctypes.c_size_t(n), (ctypes.c_double * n)(), (ctypes.c_uint32 * n)(), ctypes.byref(out))
    at, k, p = pettitt(values)
    assert close(abs(out.k), abs(k)) and close(out.p_value, p)
    if k != 0:
        # Places with the same statistic are as good; and it is that of Mann and Whitney.
        u = stats.mannwhitneyu(values[out.at:], values[:out.at]).statistic
        assert close(out.k, 2 * u - out.at * (n - out.at)) and (out.at == at or close(abs(out.k), abs(k)))


@pytest.mark.parametrize("seed", SEEDS)
def test_runs_are_statsmodels(ours, seed):
    random = numpy.random.default_rng(seed)
    marks = random.random(int(random.integers(2, 500))) < random.uniform(0.05, 0.95)
    if seed % 3 == 0:
        marks = numpy.sort(marks)
    mine = ours.runs_z((ctypes.c_bool * len(marks))(*marks), ctypes.c_size_t(len(marks)))
    if marks.all() or not marks.any():
        assert numpy.isnan(mine)
    else:
        theirs = runs.Runs(marks.astype(int)).runs_test(correction=False)[0]
        assert close(mine, theirs, 1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_two_groups_have_the_least_squares(ours, seed):
    values, out = numpy.sort(values_of(seed, 2, 200)), TwoGroups()
    assert ours.split_in_two(array(values), ctypes.c_size_t(len(values)), ctypes.byref(out))
    within = [values[:i].var() * i + values[i:].var() * (len(values) - i) for i in range(1, len(values))]
    scale = values.var() * len(values)
    assert out.within == pytest.approx(min(within), rel=1e-6, abs=1e-9 * max(scale, 1e-12))
    assert close(out.low_mean, values[:out.low_count].mean(), 1e-6) and close(out.high_mean, values[out.low_count:].mean(), 1e-6)
    assert out.total == pytest.approx(scale, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_chance_of_hits_bounds_the_hypergeometric_tail(ours, seed):
    random = numpy.random.default_rng(seed)
    every = int(random.integers(10, 3000))
    marked, chosen = int(random.integers(1, every // 3 + 2)), int(random.integers(1, every // 5 + 2))
    for hits in {0, 1, min(marked, chosen) // 2, min(marked, chosen)}:
        mine = ours.chance_of_hits(*(ctypes.c_size_t(count) for count in (every, marked, chosen, hits)))
        theirs = stats.hypergeom.logsf(hits - 1, every, marked, chosen) if hits else 0.0
        assert mine >= theirs - 1e-6 * max(1.0, abs(theirs))
        if hits == chosen:
            # All of them: no union to bound.
            exact = stats.hypergeom.logpmf(hits, every, marked, chosen)
            assert mine == pytest.approx(exact, rel=1e-6, abs=1e-8)
        # Where most are hit, which is what is asked for, the bound is not far off.
        if hits >= 0.8 * chosen and marked * 3 <= every and theirs > -600:
            assert mine <= 0.5 * theirs + 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_folding_is_a_weighted_count_of_remainders(ours, seed):
    random = numpy.random.default_rng(seed)
    n, begin, period = int(random.integers(1, 3000)), int(random.integers(0, 900)), int(random.integers(1, 400))
    values, sums = random.normal(size=n).astype(numpy.float32), (ctypes.c_float * period)()
    ours.fold_into((ctypes.c_float * n)(*values), ctypes.c_size_t(n), ctypes.c_uint32(begin), ctypes.c_uint32(period), sums)
    expected = numpy.bincount((begin + numpy.arange(n)) % period, weights=values, minlength=period)
    assert numpy.allclose(numpy.array(sums), expected, atol=1e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_series_means_and_extremes_are_those_of_the_points(ours, seed):
    values = values_of(seed, 5, 900)
    series = ctypes.c_void_p(ours.series_new())
    for i, value in enumerate(values):
        ours.series_push(series, ctypes.c_int64((i + 1) * 10 ** 8), ctypes.c_double(value))
    low, high, mean = ctypes.c_double(), ctypes.c_double(), ctypes.c_double()
    assert ours.series_extremes(series, ctypes.byref(low), ctypes.byref(high))
    assert (low.value, high.value) == (values.min(), values.max())
    count = ours.series_mean(series, ctypes.c_int64(10 ** 8), ctypes.c_int64((len(values) + 1) * 10 ** 8), ctypes.byref(mean))
    assert count == len(values)
    assert close(mean.value, values.mean(), 1e-9)
    ours.series_free(series)
