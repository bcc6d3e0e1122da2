"""The six examples of the guide "Performance Monitoring", with synthetic work and without dependencies.

    python performance_monitoring_examples.py           all six
    python performance_monitoring_examples.py 2 5       these
    pmtop -- python performance_monitoring_examples.py  watched while they run
"""
import random
import sys
from itertools import islice

import pmtop


class Model:
    """Logistic regression by hand, on samples of two numbers."""

    def __init__(self):
        self.weights = [0.0, 0.0]

    def forward(self, batch):
        return [1 / (1 + 2.718281828 ** -(self.weights[0] * x + self.weights[1] * y)) for x, y, _ in batch]

    def backward(self, batch, outputs):
        for (x, y, label), output in zip(batch, outputs):
            self.weights[0] -= 0.01 * (output - label) * x
            self.weights[1] -= 0.01 * (output - label) * y
        return sum((output - label) ** 2 for (_, _, label), output in zip(batch, outputs)) / len(batch)


def load(count):
    source = random.Random(0)
    return [(x, y, float(x + y > 0)) for x, y in ((source.uniform(-1, 1), source.uniform(-1, 1)) for _ in range(count))]


def preprocess(data):
    mean = sum(x for x, _, _ in data) / len(data)
    return [(x - mean, y, label) for x, y, label in data]


def batches(data, size=5_000):
    samples = iter(data)
    return iter(lambda: list(islice(samples, size)), [])


def basic_usage():
    """1. Each step of a program, once."""
    monitor = pmtop.PerformanceMonitor()
    with monitor.track("data loading"):
        data = load(60_000)
    with monitor.track("preprocessing"):
        data = preprocess(data)
    with monitor.track("model forward"):
        Model().forward(data)
    monitor.print_summary()


def aggregated_operations():
    """2. What is done again and again."""
    monitor, model, data = pmtop.PerformanceMonitor(), Model(), load(50_000)
    for _ in range(3):
        for batch in batches(data):
            with monitor.track("batch_forward", aggregate=True):
                outputs = model.forward(batch)
            with monitor.track("batch_backward", aggregate=True):
                model.backward(batch, outputs)
    monitor.print_summary(show_aggregate=True)


def context_manager():
    """3. One block of code."""
    with pmtop.track_performance("critical_operation"):
        sorted(load(50_000))


def function_decorators():
    """4. Every call of a function."""
    @pmtop.monitor_performance("data processing")
    def process_batch(batch):
        return preprocess(batch)

    @pmtop.monitor_performance
    def rows(count):
        yield from load(count)

    process_batch(load(20_000))
    print(f"{sum(label for _, _, label in rows(20_000)):.0f} of 20000 above the line")


def training_loop():
    """5. Epochs and batches."""
    model, data = Model(), load(50_000)
    monitor = pmtop.monitor_from_config({"trainer_params": {"enable_memory_monitoring": True, "memory_monitor_batches": 2}})
    for _ in range(2):
        monitor.on_epoch_start()
        for batch_idx, batch in enumerate(batches(data)):
            monitor.on_batch_start(batch_idx)
            loss = model.backward(batch, model.forward(batch))
            monitor.on_batch_end(batch_idx, loss)
        monitor.on_epoch_end()
    stats = monitor.get_statistics()
    print(f"{stats['num_batches']} batches in {stats['num_epochs']} epochs, {stats['avg_batch_time'] * 1000:.1f} ms each")


def bottlenecks():
    """6. Where the time goes."""
    monitor = pmtop.PerformanceMonitor()
    with monitor.track("data_loading"):
        data = load(60_000)
    with monitor.track("preprocessing"):
        data = preprocess(data)
    with monitor.track("model_forward"):
        outputs = Model().forward(data)
    with monitor.track("post_processing"):
        max(outputs)
    monitor.print_summary()
    total = monitor.get_total_time()
    for metric in monitor.get_metrics():
        percentage = metric.duration_seconds / total * 100
        if percentage > 50:
            print(f"BOTTLENECK: {metric.operation} ({percentage:.1f}%)")
        elif percentage > 20:
            print(f"Consider optimizing: {metric.operation} ({percentage:.1f}%)")


EXAMPLES = (basic_usage, aggregated_operations, context_manager, function_decorators, training_loop, bottlenecks)


def main():
    for number in map(int, sys.argv[1:] or range(1, len(EXAMPLES) + 1)):
        print(f"\n{EXAMPLES[number - 1].__doc__}\n")
        EXAMPLES[number - 1]()


if __name__ == "__main__":
    main()
