"""What counts the calls of a tf.function in TensorFlow 2.21 (tensorflow/python/eager/polymorphic_function): the classes, attributes and names that pmtop
reads, with code objects of a file of that folder. Tests that have TensorFlow itself use that."""
import threading
import time
import types
import weakref

_SOURCE = '''
class _FrequentTracingDetector:
    __slots__ = ['_calls_per_tracings', '_call_count', '_total_warning_count']

    def __init__(self):
        self._calls_per_tracings = []
        self._total_warning_count = 0
        self._call_count = 0

    def called_with_tracing(self):
        self._call_count += 1
        self._calls_per_tracings.append(1)
        while self._calls_per_tracings and self._call_count - self._calls_per_tracings[0] > 10:
            self._call_count -= self._calls_per_tracings.pop(0)

    def called_without_tracing(self):
        self._calls_per_tracings[-1] += 1
        self._call_count += 1


class _Manager:
    __slots__ = ['_detectors', '_lock']

    def __init__(self):
        self._detectors = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()

    def called(self, key, is_traced, note):
        with self._lock:
            if key not in self._detectors:
                self._detectors[key] = _FrequentTracingDetector()
            detector = self._detectors[key]
            (detector.called_with_tracing if is_traced else detector.called_without_tracing)()
            note()


_frequent_tracing_detector_manager = _Manager()


class Function:
    """`note` is called when a call has just been counted. A call with other shapes than before is traced, which takes `tracing_s`."""

    def __init__(self, function, note=lambda: None, tracing_s=0):
        self._python_function, self._name, self._note, self._tracing_s = function, function.__name__, note, tracing_s
        self._key_for_call_stats = function.__code__
        self._shapes = set()

    def __call__(self, shape, *arguments):
        is_traced = shape not in self._shapes
        self._shapes.add(shape)
        if is_traced:
            time.sleep(self._tracing_s)
        result = self._python_function(*arguments)
        _frequent_tracing_detector_manager.called(self._key_for_call_stats, is_traced, self._note)
        return result
'''
_module = types.ModuleType('tensorflow.python.eager.stand_in')
vars(_module).update(threading=threading, time=time, weakref=weakref)
exec(compile(_SOURCE, '/lib/tensorflow/python/eager/stand_in.py', 'exec'), vars(_module))
Function = _module.Function
