"""The calls of the package in one process: what pmtop then shows, what callers' errors raise, that nothing leaks.

Runs by pytest, or by `python -m unittest` in this folder with src/python in PYTHONPATH."""
import contextlib
import copy
import gc
import inspect
import math
import os
import pickle
import sys
import threading
import unittest
from unittest import mock

import pmtop
import watching
from pmtop import _nothing, _pmtop, _run


def reported():
    return watching.object_of(os.getpid())


def resident_kib():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


class Subclass(str):
    def __eq__(self, other):
        raise AssertionError("asked")

    __hash__ = str.__hash__


class OnDevice:
    """As a CUDA tensor behaves: reading it waits for the device."""
    is_cpu = False

    def __float__(self):
        raise AssertionError("waited for the device")


class Case(unittest.TestCase):
    def setUp(self):
        pmtop.init("core")
        self.assertTrue(_pmtop.reopen("core"))
        self.addCleanup(pmtop.unwatch_gc)


class Published(Case):
    def test_counts_and_values_are_exact(self):
        pmtop.plan(epochs=3, batches_per_epoch=10, samples_per_batch=4)
        for epoch in range(2):
            pmtop.epoch_begin(epoch)
            for index in range(10):
                pmtop.batch_begin(index)
                with pmtop.span("forward"):
                    with pmtop.span("attention"):
                        pass
                pmtop.span_begin("backward")
                pmtop.span_end()
                pmtop.count("tokens", 7)
                pmtop.count("calls")
                pmtop.gauge("rate", 0.125 * index)
                pmtop.batch_end(1.0 / (1 + index))
            pmtop.epoch_end()
        pmtop.mark("saved")
        seen = reported()
        self.assertEqual(seen["run"], "core")
        self.assertEqual(seen["batch"]["count"], 20)
        self.assertEqual(seen["batch"]["index"], 9)
        self.assertAlmostEqual(seen["batch"]["loss"], 0.1)
        self.assertEqual([epoch["batches"] for epoch in seen["epochs"]], [10, 10])
        self.assertEqual(seen["epoch"]["total"], 3)
        for name, depth in (("forward", 0), ("attention", 1), ("backward", 0)):
            self.assertEqual(watching.operation(seen, name, depth)["count"], 20)
        statistics = pmtop.statistics()
        self.assertEqual((statistics["num_batches"], statistics["num_epochs"]), (20, 2))
        self.assertAlmostEqual(statistics["total_batch_time"], 20 * statistics["avg_batch_time"])
        self.assertLessEqual(statistics["min_batch_time"], statistics["avg_batch_time"])
        self.assertLessEqual(statistics["avg_batch_time"], statistics["max_batch_time"])
        self.assertEqual(pmtop.batch_number(), 20)

    def test_what_is_not_known_is_none(self):
        self.assertEqual(pmtop.statistics(), {
            "total_epoch_time": None, "avg_epoch_time": None, "total_batch_time": None, "avg_batch_time": None, "min_batch_time": None,
            "max_batch_time": None, "num_batches": 0, "num_epochs": 0})
        self.assertIsNone(pmtop.operation_time("never"))
        self.assertIsNone(pmtop.total_time())

    def test_operation_and_total_time_add_up(self):
        begin = pmtop.now_ns()
        pmtop.span_past("load", begin - 3_000_000, begin - 1_000_000)
        pmtop.span_past("load", begin - 1_000_000, begin)
        self.assertAlmostEqual(pmtop.operation_time("load"), 0.003, places=9)
        self.assertAlmostEqual(pmtop.total_time(), 0.003, places=9)

    def test_batch_kinds_samples_figures_and_modes(self):
        for index in range(4):
            pmtop.batch_begin(index)
            pmtop.batch_kind("accumulate" if index % 2 == 0 else None)
            pmtop.batch_samples(3)
            number = pmtop.batch_number()
            pmtop.batch_end()
            pmtop.batch_figure(number, "loss", 0.5)
        pmtop.mode("validation")
        pmtop.batch_begin(0)
        pmtop.batch_end()
        seen = reported()
        self.assertEqual((seen["mode"], number, pmtop.batch_number()), ("validation", 3, 5))
        self.assertEqual({mode: row["count"] for mode, row in seen["modes"].items()}, {"train": 4, "validation": 1})

    def test_plan_keeps_what_is_left_out(self):
        pmtop.plan(epochs=5)
        pmtop.plan(batches_per_epoch=100)
        pmtop.plan(samples_per_batch=32, epochs=None)
        self.assertEqual(_pmtop.planned(), (5, 100, 32))
        pmtop.plan(epochs=0)
        self.assertEqual(_pmtop.planned(), (0, 100, 32))

    def test_loss_may_be_nan_none_or_of_another_library(self):
        class Scalar:
            def __float__(self):
                return 2.5
        for index, loss in enumerate((float("nan"), None, float("inf"), 3, Scalar(), True)):
            pmtop.batch_begin(index)
            pmtop.batch_end(loss)
        self.assertEqual(reported()["batch"]["count"], 6)
        self.assertEqual(reported()["batch"]["loss"], 1.0)
        try:
            import numpy
        except ImportError:
            return
        for loss in (numpy.float32(0.25), numpy.array(0.25), numpy.int64(4)):
            pmtop.batch_begin(numpy.int64(7))
            pmtop.batch_end(loss)
        self.assertEqual(reported()["batch"]["loss"], 4.0)
        self.assertEqual(reported()["batch"]["index"], 7)

    def test_a_tensor_on_a_device_is_left_out_and_not_waited_for(self):
        pmtop.batch_begin(0)
        pmtop.batch_end(OnDevice())
        pmtop.gauge("figure", OnDevice())
        pmtop.batch_figure(0, "loss", OnDevice())
        seen = reported()
        self.assertEqual(seen["batch"]["count"], 1)
        self.assertNotIn("loss", seen["batch"])

    def test_a_tensor_in_memory_is_read_without_a_warning(self):
        class Tensor:
            is_cpu = True

            def __float__(self):
                raise AssertionError("warned")

            def item(self):
                return 0.75
        pmtop.batch_begin(0)
        pmtop.batch_end(Tensor())
        self.assertEqual(reported()["batch"]["loss"], 0.75)

    def test_names_of_any_text(self):
        names = ["", "ü", "日本語", "\ud800", "a\0b", "x" * 5000, "\x1b[31m", Subclass("own"), "a" * 119 + "é"]
        for name in names:
            with pmtop.span(name), pmtop.span(name):
                pmtop.span_begin(name)
                pmtop.span_end()
            pmtop.gauge(name, 1.0)
            pmtop.count(name)
            pmtop.mark(name)
            pmtop.meta(name, name)
            pmtop.batch_figure(0, name, 0.5)
            self.assertIsNone(pmtop.operation_time("never " + name[:9]))
        operations = {row["name"]: row["count"] for row in reported()["operations"] if row["depth"] == 0}
        for name in ("(unnamed)", "ü", "日本語", "?", "a", "x" * 120, "own", "a" * 119):
            self.assertEqual(operations[name], 1, name)

    def test_meta_takes_any_value(self):
        class Broken:
            def __str__(self):
                raise RuntimeError("no text")
        for value in (1, 2.5, True, [1], "text", Broken(), None, object):
            pmtop.meta("key", value)

    def test_epochs_and_batches(self):
        for epoch in pmtop.epochs(2):
            loader = pmtop.batches(range(5), samples=8)
            self.assertEqual(len(loader), 5)
            for index in loader:
                if index == 2:
                    pmtop.batch_end(0.5)
        self.assertEqual([epoch["batches"] for epoch in reported()["epochs"]], [5, 5])
        self.assertEqual(_pmtop.planned(), (2, 5, 8))
        self.assertEqual(reported()["batch"]["loss"], 0.5)

    def test_a_loop_that_is_left_by_break_ended_its_batch_and_by_an_exception_did_not(self):
        for index, error in enumerate((KeyError, None, SystemExit)):
            try:
                for _ in pmtop.epochs([7 + index]):
                    for number, _ in enumerate(pmtop.batches(x for x in range(5))):
                        if number == 2 and error:
                            raise error
                        if number == 3:
                            break
            except (KeyError, SystemExit):
                pass
        self.assertEqual([(epoch["index"], epoch["batches"]) for epoch in reported()["epochs"]], [(7, 2), (8, 4), (9, 2)])
        self.assertEqual(pmtop.statistics()["num_batches"], 8)

    def test_loops_pass_on_what_their_iterables_raise(self):
        def failing():
            yield 1
            raise LookupError
        with self.assertRaises(LookupError):
            list(pmtop.batches(failing()))
        self.assertEqual(list(pmtop.batches(x for x in ())), [])
        self.assertEqual(list(pmtop.epochs({"a": 1, "b": 2})), ["a", "b"])
        for wrong in (lambda: pmtop.epochs(1.5), lambda: pmtop.batches(3), lambda: pmtop.batches([], samples=-1),
                      lambda: len(pmtop.batches(iter(())))):
            with self.assertRaises((TypeError, ValueError)):
                wrong()
        for loop in (pmtop.batches([1]), pmtop.epochs(1)):
            turns = iter(loop)
            with self.assertRaises(TypeError):
                type(turns)()
            self.assertEqual(len(list(turns)), 1)
            self.assertEqual(list(turns), [])

    def test_automatic_publishers_leave_a_script_its_own_loop(self):
        code = ("from pmtop import _pmtop as p\n"
                "import pmtop\n"
                "said = [p.auto_epoch_begin(0), p.auto_batch_begin(0)]\n"
                "pmtop.batch_begin(0)\n"
                "said += [p.auto_batch_begin(1), p.auto_batch_end()]\n"
                "pmtop.batch_end()\n"
                "said += [p.auto_epoch_end()]\n"
                "pmtop.epoch_begin(1)\n"
                "said += [p.auto_epoch_begin(2), p.auto_epoch_end()]\n"
                "pmtop.epoch_end()\n"
                "statistics = pmtop.statistics()\n"
                "print(said, statistics['num_batches'], statistics['num_epochs'])\n")
        self.addCleanup(watching.clean_up)
        self.assertEqual(watching.run(code).out(), "[True, True, False, False, True, False, False] 1 2\n")


class Spans(Case):
    def test_one_object_a_name_and_kind(self):
        code = ("import pmtop\n"
                "one = pmtop.span('one')\n"
                "again = ''.join(['o', 'ne'])\n"
                "print(one is pmtop.span(again), one is pmtop.span(name='one', cpu=False), one is pmtop.span('one', cpu=True))\n"
                "print(pmtop.span('one', memory=True) is pmtop.span('one', False, True), isinstance(one, pmtop.Span))\n"
                "print(pmtop._pmtop.is_open())\n")
        self.addCleanup(watching.clean_up)
        self.assertEqual(watching.run(code).out().split(), ["True", "True", "False", "True", "True", "False"])
        span = pmtop.span("one", cpu=True)
        self.assertEqual((span.name, span.cpu, span.memory, repr(span)), ("one", True, False, "pmtop.span('one', cpu=True)"))

    def test_more_names_than_are_kept(self):
        self.assertTrue(_pmtop.reopen("many", names=4096, totals=4096))
        for _ in range(2):
            for i in range(400):
                with pmtop.span("layer %d" % i):
                    pass
        self.assertEqual({pmtop.operation_time("layer %d" % i) is None for i in range(400)}, {False})

    def test_nesting_in_itself_and_too_deep(self):
        span = pmtop.span("same")
        with contextlib.ExitStack() as stack:
            for _ in range(40):
                self.assertIs(stack.enter_context(span), span)
        with span as given:
            self.assertIs(given, span)
        rows = [row for row in reported()["operations"] if row["name"] == "same"]
        self.assertEqual(sum(row["count"] for row in rows), 33)

    def test_exceptions_pass_through_and_end_the_span(self):
        for span in (pmtop.span("raises"), pmtop.span("raises", cpu=True, memory=True)):
            with self.assertRaises(KeyError):
                with span:
                    raise KeyError
        self.assertIsNotNone(pmtop.operation_time("raises"))

    def test_decorator(self):
        @pmtop.span("decorated")
        def function(a, b=2):
            """Says it."""
            return a + b
        self.assertEqual((function(1), function(1, b=5), function.__name__, function.__doc__), (3, 6, "function", "Says it."))
        self.assertEqual(watching.operation(reported(), "decorated")["count"], 2)

        async def coroutine():
            pass

        def generator():
            yield
        for wrong in (coroutine, generator, 5):
            with self.assertRaises(TypeError):
                pmtop.span("x")(wrong)

    def test_copies_and_pickles_are_spans(self):
        for span in (pmtop.span("p"), pmtop.span("p", cpu=True), pmtop.span("\ud800")):
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                self.assertEqual(repr(pickle.loads(pickle.dumps(span, protocol))), repr(span))
            with copy.deepcopy({"kept": span})["kept"]:
                pass
        self.assertIn(b"pmtop", pickle.dumps(pmtop.span))
        self.assertNotIn(b"_pmtop", pickle.dumps(pmtop.span("p")))

    def test_spans_are_made_by_span_only(self):
        for kind in {pmtop.Span, type(pmtop.span("kind"))}:
            with self.assertRaises(TypeError):
                kind("x")

    def test_notes(self):
        with pmtop.span("noted", cpu=True, memory=True):
            sum(range(1000))
        self.assertEqual(watching.operation(reported(), "noted")["count"], 1)

    def test_threads(self):
        span, failures = pmtop.span("in a thread"), []

        def work():
            try:
                for _ in range(200):
                    with span, pmtop.span("inner"):
                        pmtop.count("done")
                        pmtop.gauge("g", 1.0)
            except BaseException as error:
                failures.append(error)
        for _ in range(25):
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        seen = reported()
        self.assertEqual(failures, [])
        self.assertEqual(watching.operation(seen, "in a thread", 0)["count"], 20000)
        self.assertEqual(watching.operation(seen, "inner", 1)["count"], 20000)

    def test_closing_while_threads_publish(self):
        stop = threading.Event()

        def work():
            while not stop.is_set():
                with pmtop.span("busy"):
                    pmtop.count("n")
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(50):
            pmtop.close()
            self.assertTrue(pmtop.init("again"))
        stop.set()
        for thread in threads:
            thread.join()


class Errors(Case):
    WRONG = [
        (TypeError, "gauge", (5, 1.0)), (TypeError, "gauge", ("x", "1.0")), (TypeError, "gauge", ("x", None)),
        (TypeError, "gauge", ("x", 1j)),
        (TypeError, "gauge", ("x",)), (TypeError, "gauge", ("x", 1.0, 2)), (TypeError, "count", (b"x",)), (TypeError, "count", ("x", 1.0)),
        (ValueError, "count", ("x", -1)), (OverflowError, "count", ("x", 2**64)), (TypeError, "count", ()), (TypeError, "mark", (None,)),
        (TypeError, "mode", (None,)), (TypeError, "meta", (1, 2)), (TypeError, "span", (1,)), (TypeError, "span", ()),
        (TypeError, "span_begin", (1,)),
        (TypeError, "span_past", ("x", 1.0, 2)), (ValueError, "span_past", ("x", -5, 2)), (TypeError, "batch_begin", ("0",)),
        (ValueError, "batch_begin", (-1,)), (OverflowError, "batch_begin", (2**64,)), (OverflowError, "epoch_begin", (2**32,)),
        (ValueError, "epoch_begin", (-1,)), (TypeError, "epoch_begin", (None,)), (TypeError, "batch_end", ("0.5",)),
        (TypeError, "batch_end", (1, 2)),
        (TypeError, "batch_samples", (1.5,)), (ValueError, "batch_samples", (-1,)), (TypeError, "batch_kind", (1,)),
        (TypeError, "batch_figure", ("0", "x", 1.0)), (TypeError, "batch_figure", (0, 1, 1.0)), (TypeError, "batch_figure", (0, "x", "y")),
        (TypeError, "plan", ("x",)), (ValueError, "plan", (-1,)), (OverflowError, "plan", (2**32,)), (TypeError, "operation_time", (1,)),
        (TypeError, "now_ns", (1,)), (TypeError, "close", (1,)), (TypeError, "epoch_end", (1,)),
    ]

    def check(self, module):
        for error, name, arguments in self.WRONG:
            with self.subTest(name=name, arguments=arguments), self.assertRaises(error):
                getattr(module, name)(*arguments)
        for name in ("gauge", "batch_end", "plan", "span"):
            with self.subTest(name=name), self.assertRaises(TypeError):
                getattr(module, name)(unknown=1)

    def test_are_raised_where_something_is_published(self):
        self.check(pmtop)
        with self.assertRaises(OverflowError):
            pmtop.gauge("x", 10**400)
        self.assertEqual(pmtop.statistics()["num_batches"], 0)

    def test_are_raised_where_nothing_is_published(self):
        pmtop.close()
        self.check(pmtop)
        self.check(_nothing)
        pmtop.gauge("x", OnDevice())
        pmtop.batch_end(OnDevice())
        self.assertEqual(reported().get("run"), None)

    def test_say_which_argument(self):
        for call, said in ((lambda: pmtop.gauge(5, 1.0), "name must be a str, not <class 'int'>"),
                           (lambda: pmtop.gauge("x", "1"), "value must be a number"),
                           (lambda: pmtop.batch_begin(-1), "index must not be negative"),
                           (lambda: pmtop.epoch_begin(2**40), "index must be at most 4294967295"),
                           (lambda: pmtop.plan(batches_per_epoch=2**64 - 1), "batches_per_epoch must be at most 18446744073709551614"),
                           (lambda: pmtop.gauge("x"), r"gauge\(\) needs the argument 'value'"),
                           (lambda: pmtop.gauge("x", 1, value=2), "two values"),
                           (lambda: pmtop.count("x", many=3), "unexpected keyword argument 'many'")):
            with self.assertRaisesRegex((TypeError, ValueError, OverflowError), said):
                call()

    def test_of_a_value_itself_are_its_own(self):
        class Raises:
            def __float__(self):
                raise ZeroDivisionError

            def __index__(self):
                raise ZeroDivisionError
        for call in (lambda: pmtop.gauge("x", Raises()), lambda: pmtop.batch_begin(Raises()), lambda: pmtop.batch_end(Raises())):
            with self.assertRaises(ZeroDivisionError):
                call()

    def test_a_value_that_closes_the_run(self):
        class Closes:
            def __float__(self):
                pmtop.close()
                return 1.0

            def __index__(self):
                pmtop.close()
                return 1
        for call in (lambda: pmtop.gauge("x", Closes()), lambda: pmtop.batch_begin(Closes()), lambda: pmtop.count("x", Closes())):
            pmtop.init("again")
            call()
            self.assertFalse(pmtop.is_enabled())

    def test_keywords_are_taken(self):
        pmtop.gauge(value=1.0, name="g")
        pmtop.count("c", add=2)
        pmtop.batch_begin(index=4)
        pmtop.batch_end(loss=0.5)
        pmtop.span(name="s", memory=True)
        self.assertEqual(reported()["batch"]["index"], 4)


class Life(Case):
    def test_init_again_changes_nothing_but_answers(self):
        self.assertTrue(pmtop.init("other"))
        self.assertTrue(pmtop.init(enabled=False))
        self.assertEqual(reported()["run"], "core")
        with self.assertRaises(TypeError):
            pmtop.init(5)
        pmtop.close()
        for wrong in ({"lanes": -1}, {"slots": 2**32}, {"names": "x"}, {"directory": 5}):
            with self.assertRaises((TypeError, ValueError, OverflowError)):
                pmtop.init("x", **wrong)

    def test_after_close_calls_do_nothing_until_init(self):
        pmtop.batch_begin(0)
        pmtop.close()
        pmtop.close()
        pmtop.batch_end(0.5)
        with pmtop.span("x"):
            pmtop.gauge("g", 1.0)
        self.assertFalse(pmtop.is_enabled())
        self.assertFalse(_pmtop.is_automatic())
        self.assertFalse(_pmtop.reopen("x"))
        self.assertEqual(pmtop.statistics()["num_batches"], 0)
        self.assertEqual(watching.region_files(os.getpid()), [])
        self.assertTrue(pmtop.init("later"))
        self.assertEqual(reported()["run"], "later")
        self.assertEqual(reported()["batch"]["count"], 0)

    def test_opening_and_closing_often_holds_nothing(self):
        descriptors = len(os.listdir("/proc/self/fd"))
        for _ in range(30):
            pmtop.close()
            pmtop.init("again")
        before = resident_kib()
        for _ in range(100):
            pmtop.close()
            pmtop.init("again")
            pmtop.gauge("x", 1.0)
        self.assertLess(resident_kib() - before, 4096)
        self.assertEqual(len(os.listdir("/proc/self/fd")), descriptors)
        self.assertEqual(len(watching.region_files(os.getpid())), 1)

    def test_sizes_and_a_region_without_a_file(self):
        self.assertTrue(_pmtop.reopen("small", lanes=2, slots=256, totals=16, names=64, history=64, epochs=8, directory=""))
        self.assertEqual(watching.region_files(os.getpid()), [])
        for i in range(500):
            pmtop.batch_begin(i)
            pmtop.batch_end()
        self.assertEqual(reported()["batch"]["count"], 500)

    def test_a_run_name_that_is_no_utf_8(self):
        _pmtop.reopen("run\udc80")
        self.assertEqual(reported()["run"], "run?")

    def test_functions_can_be_looked_at(self):
        self.assertEqual(str(inspect.signature(pmtop.gauge)), "(name, value)")
        self.assertEqual(str(inspect.signature(pmtop.span)), "(name, cpu=False, memory=False, gpu=False)")
        for name in pmtop.__all__:
            self.assertTrue(hasattr(pmtop, name), name)
            if callable(getattr(pmtop, name)):
                modules = r"^pmtop(\.(monitor|_profiling\.measure|_printed|_request|profiler|_profiling\.metrics|production))?$"
                self.assertRegex(getattr(pmtop, name).__module__, modules, name)
                self.assertTrue(getattr(pmtop, name).__doc__, name)

    def test_a_call_is_looked_up_quickly(self):
        # A module with __getattr__, or of a subclass, has its attributes looked up the slow way: 20 ns more for each pmtop.gauge.
        self.assertNotIn("__getattr__", vars(pmtop))
        self.assertIs(type(pmtop), type(os))

    def test_spans_by_the_gpus_clock_are_marked(self):
        marks = []

        def begin(name):
            marks.append(f"begin {name}")
            if name == "fails":
                raise ValueError("dropped")
            if name == "interrupted":
                raise KeyboardInterrupt

        pmtop._pmtop.connect_gpu_clock(begin, lambda name: marks.append(f"end {name}"))
        try:
            with pmtop.span("outer", gpu=True), pmtop.span("unmarked"), pmtop.span("fails", gpu=True):
                pass
            with self.assertRaises(KeyError), pmtop.span("raises", gpu=True):
                raise KeyError
            with self.assertRaises(KeyboardInterrupt), pmtop.span("interrupted", gpu=True):
                self.fail("the block ran")
        finally:
            pmtop._pmtop.connect_gpu_clock(None, None)
        with pmtop.span("outer", gpu=True):
            pass
        names = ("outer", "fails"), ("fails", "outer")
        self.assertEqual(marks, [*(f"begin {name}" for name in names[0]), *(f"end {name}" for name in names[1]), "begin raises", "end raises", "begin interrupted"])
        self.assertEqual(repr(pmtop.span("outer", memory=True, gpu=True)), "pmtop.span('outer', memory=True, gpu=True)")
        self.assertIs(pickle.loads(pickle.dumps(pmtop.span("outer", gpu=True))), pmtop.span("outer", gpu=True))

    def test_what_does_nothing_has_every_call(self):
        for name in dir(_pmtop):
            if name.startswith("__"):
                continue
            self.assertTrue(hasattr(_nothing, name), name)
            if inspect.isbuiltin(getattr(_pmtop, name)) and name not in ("open", "reopen", "collected", "now_ns"):
                self.assertEqual(list(inspect.signature(getattr(_pmtop, name)).parameters),
                                 list(inspect.signature(getattr(_nothing, name)).parameters), name)


class Collections(Case):
    def test_collections_are_counted_and_long_ones_are_spans(self):
        pmtop.watch_gc(0)
        pmtop.watch_gc(0.0)
        self.assertEqual(gc.callbacks.count(_pmtop.collected), 1)
        gc.disable()
        self.addCleanup(gc.enable)
        with pmtop.span("around"):
            for _ in range(5):
                gc.collect()
        row = watching.operation(reported(), "gc", 1)
        self.assertEqual(row["count"], 5)
        pmtop.watch_gc(1000)
        gc.collect()
        self.assertEqual(watching.operation(reported(), "gc", 1)["count"], 5)
        pmtop.unwatch_gc()
        pmtop.unwatch_gc()
        self.assertNotIn(_pmtop.collected, gc.callbacks)
        for wrong in (-1, float("nan"), float("inf")):
            with self.assertRaises(ValueError):
                pmtop.watch_gc(wrong)
        for arguments in ((), (5,), ("start",), ("stop", None), ("stop",)):
            _pmtop.collected(*arguments)

    def test_collecting_opens_no_region(self):
        code = "import gc, pmtop\npmtop.watch_gc(0)\ngc.collect()\nprint(pmtop._pmtop.is_open())\n"
        self.addCleanup(watching.clean_up)
        self.assertEqual(watching.run(code).out(), "False\n")


class Leaks(Case):
    def everything(self, i):
        name = "name %d" % (i % 3)
        with pmtop.span("literal"), pmtop.span(name):
            pass
        with pmtop.span("fresh %d" % i, cpu=False):
            pass
        pmtop.gauge(name, 0.5 + i)
        pmtop.gauge(value=i, name=name)
        pmtop.count("c", add=i)
        pmtop.mark(name)
        pmtop.batch_begin(i)
        pmtop.batch_kind(name)
        pmtop.batch_figure(i, name, 2)
        pmtop.batch_end(None)
        pmtop.meta(name, i)
        for text in ("\udc80", Subclass("own")):
            pmtop.span(text).__enter__().__exit__()
            pmtop.gauge(text, 1)
            pmtop.mark(text)
            pmtop.meta(text, text)
            pmtop.operation_time(text)
        pmtop.statistics()
        for _ in pmtop.epochs(1):
            for _ in pmtop.batches(range(2), samples=3):
                pass
        for wrong in (lambda: pmtop.gauge(name, name), lambda: pmtop.batch_begin(-5), lambda: pmtop.span(i)):
            try:
                wrong()
            except (TypeError, ValueError):
                pass

    def test_memory_and_references_stay(self):
        name, value, kept = "a name of its own", 123456.75, pmtop.span("kept")
        for i in range(3000):
            self.everything(i)
        gc.collect()
        counts = [sys.getrefcount(x) for x in (name, value, kept, pmtop.Span)]
        total, before = getattr(sys, "gettotalrefcount", int)(), resident_kib()
        for i in range(3000, 13000):  # about 200,000 calls
            self.everything(i)
            pmtop.gauge(name, value)
            with kept:
                pass
        gc.collect()
        self.assertLess(getattr(sys, "gettotalrefcount", int)() - total, 2000)
        self.assertLess(resident_kib() - before, 1024)
        after = [sys.getrefcount(x) for x in (name, value, kept, pmtop.Span)]
        self.assertEqual(after[:2], counts[:2])
        self.assertLess(after[2] - counts[2], 3)
        self.assertLess(after[3] - counts[3], 600)      # the last spans are remembered

    def test_long_names_are_not_kept(self):
        before = resident_kib()
        for i in range(1000):
            with pmtop.span("%d" % i + "x" * 1_000_000):
                pass
        self.assertLess(resident_kib() - before, 16384)


class Identity(unittest.TestCase):
    def test_run_id_and_ranks(self):
        for environment, expected in (
            ({}, {}),
            ({"TORCHELASTIC_RUN_ID": "none", "MASTER_ADDR": "h", "MASTER_PORT": "29500", "RANK": "1", "LOCAL_RANK": "0", "WORLD_SIZE": "2"},
             {"run_id": "h:29500", "RANK": "1", "LOCAL_RANK": "0", "WORLD_SIZE": "2"}),
            ({"TORCHELASTIC_RUN_ID": "job", "MASTER_ADDR": "h", "MASTER_PORT": "1"}, {"run_id": "job h:1"}),
            ({"MASTER_ADDR": "localhost", "MASTER_PORT": "1"}, {"run_id": "localhost net %d:1" % os.stat("/proc/self/ns/net").st_ino}),
            ({"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_NTASKS": "4", "SLURM_PROCID": "3", "SLURM_LOCALID": "1"},
             {"run_id": "slurm 7.0", "RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4"}),
            ({"SLURM_JOB_ID": "7"}, {}),
            ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_NAMESPACE": "n1"},
             {"run_id": "n1", "RANK": "2", "WORLD_SIZE": "4"}),
            ({"CUDA_VISIBLE_DEVICES": "1,0", "ROCR_VISIBLE_DEVICES": "2"}, {"CUDA_VISIBLE_DEVICES": "1,0"}),
            ({"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "3"}, {"HIP_VISIBLE_DEVICES": "3"}),
            ({"CUDA_VISIBLE_DEVICES": ",".join(["GPU-%036d" % i for i in range(8)])},
             {"CUDA_VISIBLE_DEVICES": ",".join(["GPU-%036d" % i for i in range(4)])}),
        ):
            facts = _run.facts(environment)
            self.assertEqual(facts.pop("python"), "%d.%d.%d" % sys.version_info[:3])
            self.assertTrue(facts.pop("host"))
            self.assertEqual(facts, expected)

    def test_run_name(self):
        for script, expected in (("/x/train.py", "train"), ("train", "train"), ("-c", "python"), ("", "python"),
                                 ("/p/pkg/__main__.py", "pkg"), ("/p/ipykernel_launcher.py", "notebook")):
            with mock.patch.object(sys, "argv", [script]), mock.patch.object(sys.modules["__main__"], "__spec__", None):
                self.assertEqual(_run.run_name({}), expected)
        self.assertEqual(_run.run_name({"PMTOP_RUN": "mine"}), "mine")
        with mock.patch.object(sys, "argv", []), mock.patch.object(sys.modules["__main__"], "__spec__", None):
            self.assertEqual(_run.run_name({}), "python")
        self.assertTrue(math.isfinite(pmtop.now_ns()))


class Watched(type):
    """As torch.Tensor's class: its metaclass is not type itself."""


class Switch(_pmtop.Switch):
    def failed(self, error):
        raise error


class SwappedMethods(unittest.TestCase):
    """A method in place of another, as pmtop.torch has them for Tensor.item(): also in code that CPython has specialized."""

    def test_calls_are_measured_and_the_class_keeps_its_method(self):
        class Rows(list, metaclass=Watched):
            is_near = False

        class Others(Rows):
            pass

        begun, ended, switch = [], [], Switch()
        switch.is_on = True
        begins, original = lambda *given: begun.append(given) or len(begun), list.append
        Rows.append = _pmtop.SwappedMethod(switch, original, begins, ended.append, (Rows,), "is_near", {True})
        rows, near, others, taken = Rows(), Rows(), Others(), Rows()
        near.is_near = True
        for number in range(300):
            self.assertIs(Rows.append, original)
            rows.append(number)
            near.append(number)
            others.append(number)
            Rows.append(taken, number)
        self.assertEqual([rows, near, others, taken], [list(range(300))] * 4)
        self.assertEqual([given for given in begun if given[0] is rows], [(rows, (number,), None) for number in range(300)])
        self.assertFalse([given for given in begun if given[0] is near or given[0] is others])
        self.assertEqual(ended, list(range(1, len(begun) + 1)))
        self.assertEqual((rows.append.__name__, Rows.append.__doc__), ("append", original.__doc__))
        for wrong in (rows.append, Rows.append, lambda **none: Rows.append(**none)):
            self.assertRaises(TypeError, wrong)
        switch.is_on = False
        rows.append(300)
        self.assertEqual((len(rows), len(ended)), (301, ended[-1]))

    def test_keywords_come_as_they_were_given(self):
        class Rows(list):
            pass

        given, switch = [], Switch()
        switch.is_on = True
        Rows.sort = _pmtop.SwappedMethod(switch, list.sort, lambda *what: given.append(what), None, (Rows,), None, set())
        rows = Rows([1, 3, 2])
        for _ in range(100):
            rows.sort(reverse=True)
        self.assertEqual((rows, given[-1]), ([3, 2, 1], (rows, (), {"reverse": True})))


if __name__ == "__main__":
    unittest.main()
