"""How processes begin and end: names and facts of a run, forks, exits of every kind, what is missing. Real processes, read by pmtop."""
import os
import pathlib
import signal
import tempfile
import unittest

import watching

LOOP = """
import os, pmtop
for i in range(3):
    pmtop.batch_begin(i)
    with pmtop.span("forward"):
        pass
    pmtop.batch_end(0.5)
"""
WITHOUT_EXTENSION = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name == "pmtop._pmtop":
            raise ImportError("built for another machine")
sys.meta_path.insert(0, Refuse())
"""
WITHOUT_EXTENSION_FILE = """
import importlib.machinery as machinery, sys
def sees_sources_only(path):
    if not path.endswith("pmtop"):
        raise ImportError
    return machinery.FileFinder(path, (machinery.SourceFileLoader, machinery.SOURCE_SUFFIXES))
sys.path_hooks.insert(0, sees_sources_only)
"""
CHILD_READS = """
def reported(pid):
    import json, subprocess
    return json.loads(subprocess.run([%r, "-b", "--format=json", "-n", "1", "-p", str(pid)], stdout=subprocess.PIPE, check=True).stdout)
""" % watching.PMTOP


class Case(unittest.TestCase):
    def setUp(self):
        self.addCleanup(watching.clean_up)

    def meta(self, pid):
        """The facts of a run that is there, read from its file as bytes."""
        path, = watching.region_files(pid)
        return pathlib.Path(path).read_bytes()


class Beginning(Case):
    def test_first_call_opens_the_run_and_its_end_removes_it(self):
        seen = watching.watch(LOOP)
        self.assertEqual((seen.last["run"], seen.last["batch"]["count"]), ("script", 3))
        self.assertEqual(watching.operation(seen.last, "forward")["count"], 3)
        self.assertEqual(watching.region_files(seen.pid), [])
        self.assertEqual(seen.err, "")

    def test_importing_alone_opens_nothing(self):
        script = watching.run("import pmtop, os, glob\nprint(pmtop._pmtop.is_open(), pmtop._pmtop.is_automatic())\n")
        self.assertEqual(script.out(), "False True\n")

    def test_facts_of_the_run(self):
        environment = {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "host-a", "MASTER_PORT": "29511",
                       "PMTOP_RUN": "named", "TORCHELASTIC_RUN_ID": "none", "SLURM_JOB_ID": None}
        with watching.start(LOOP, env=environment, hold=True) as script:
            watching.wait_for(script.is_held)
            reported = watching.object_of(script.pid)
            written = self.meta(script.pid)
        self.assertEqual((reported["run"], reported.get("rank")), ("named", 3))
        for text in (b"LOCAL_RANK", b"WORLD_SIZE", b"host-a:29511", b"run_id", b"python", os.uname().nodename.encode()):
            self.assertIn(text, written)

    def test_names_of_runs(self):
        code = "import pmtop\npmtop.gauge('x', 1.0)\nprint(pmtop._run.run_name())\n"
        with tempfile.TemporaryDirectory() as folder:
            package = pathlib.Path(folder, "package")
            package.mkdir()
            for name, text in (("__init__", ""), ("__main__", code), ("train", code)):
                (package / (name + ".py")).write_text(text)
            path = {"PYTHONPATH": os.pathsep.join(filter(None, [folder, watching.PACKAGE]))}
            for arguments, expected in ((["-c", code], "python"), (["-m", "package.train"], "package.train"),
                                        (["-m", "package"], "package"), ([str(package / "train.py")], "train"),
                                        ([str(package)], "package")):
                script = watching.run(arguments, env=path)
                self.assertEqual(script.out().strip(), expected)

    def test_off_by_the_environment_or_by_init(self):
        answers = "print(pmtop.is_enabled(), pmtop.init(), pmtop._pmtop.reopen('x'), pmtop._pmtop.is_automatic())\n"
        off = "pmtop.init(enabled=False)"
        for code, environment in ((LOOP + answers, {"PMTOP": "0"}),
                                  ("import pmtop\n" + off + "\n" + LOOP + answers.replace("pmtop.init()", off), {})):
            script = watching.run(code + "import glob\nprint(glob.glob('/dev/shm/pmtop.*.%d.*' % os.getpid()))\n", env=environment)
            self.assertEqual((script.out(), script.err()), ("False False False False\n[]\n", ""))

    def test_a_key_pressed_while_the_run_opens_is_the_users(self):
        code = "import pmtop\ndef interrupted():\n    raise KeyboardInterrupt\npmtop._run_name = interrupted\npmtop.gauge('x', 1.0)\n"
        script = watching.run(code, code=None)
        self.assertIn("KeyboardInterrupt", script.err())

    def test_what_fails_while_the_run_opens_is_said_and_harms_nothing(self):
        code = "import pmtop\ndef broken():\n    raise RuntimeError('no name')\npmtop._run_name = broken\n" + LOOP + "print('on')\n"
        script = watching.run(code)
        self.assertEqual((script.out(), script.err()), ("on\n", "pmtop: not publishing: RuntimeError: no name\n"))

    def test_nowhere_to_publish_is_said_once(self):
        code = ("import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n" + LOOP + LOOP + "print(pmtop.is_enabled())\n")
        script = watching.run(code)
        self.assertEqual(script.out(), "False\n")
        self.assertEqual(script.err().count("pmtop: not publishing"), 1, script.err())
        self.assertIn("ulimit -f", script.err())

    def test_without_the_extension_every_call_does_nothing(self):
        code = WITHOUT_EXTENSION + LOOP + """
for epoch in pmtop.epochs(2):
    for x in pmtop.batches(range(2), samples=1):
        pmtop.gauge("x", 1.0)
@pmtop.span("f")
def f():
    return 5
pmtop.watch_gc(); pmtop.unwatch_gc(); pmtop.close()
import pickle
print(f(), pmtop.header_version, pmtop.init(), pmtop.statistics()["num_batches"], pickle.loads(pickle.dumps(pmtop.span("x", cpu=True))))
"""
        script = watching.run(code)
        self.assertEqual(script.out(), "5 None False 0 pmtop.span('x', cpu=True)\n")
        self.assertEqual(len(script.err().splitlines()), 1, script.err())
        self.assertIn("built for another machine", script.err())
        self.assertEqual(watching.run(code, env={"PMTOP": "0"}).err(), "")

    def test_a_wheel_without_the_extension_says_so(self):
        script = watching.run(WITHOUT_EXTENSION_FILE + LOOP + "print(pmtop.is_enabled())\n")
        self.assertEqual(script.out(), "False\n")
        self.assertRegex(script.err(), r"^pmtop: not publishing: it has no compiled part for Python 3\.\d+; install pmtop for this Python, or set PMTOP=0\n$")

    def test_a_second_interpreter_publishes_nothing_and_harms_nothing(self):
        code = LOOP + """
for name in ("_interpreters", "_xxsubinterpreters"):
    try:
        interpreters = __import__(name)
        break
    except ImportError:
        pass
other = interpreters.create()
result = getattr(interpreters, "run_string", None) or interpreters.exec
print(result(other, "import sys; sys.path[:] = %r\\nimport pmtop\\npmtop.gauge('x', 1.0)\\nassert not pmtop.init()" % sys.path))
interpreters.destroy(other)
pmtop.batch_begin(3)
pmtop.batch_end()
print(pmtop.statistics()["num_batches"])
"""
        script = watching.run("import sys\n" + code)
        self.assertEqual(script.out(), "None\n4\n", script.err())
        self.assertIn("pmtop: not publishing", script.err())


class Ending(Case):
    def test_an_exception_that_ends_the_script_is_published_and_still_shown(self):
        before = "import sys, pmtop\nsys.excepthook = lambda *e: (print('before me', e[0].__name__), sys.__excepthook__(*e))\n"
        seen = watching.start(before + LOOP + "pmtop.mark('x')\nimport atexit, time\n"
                              "atexit.register(lambda: (print('AT EXIT', flush=True), time.sleep(60)))\nraise ValueError('lost')\n")
        with seen:
            seen.wait_for_line("AT EXIT")
            written = self.meta(seen.pid)
            self.assertIn("before me ValueError", seen.out())
            self.assertIn("ValueError: lost", seen.err())
            self.assertIn(b"ended by ValueError", written)

    def test_ends_that_leave_no_time_leave_the_region(self):
        for last, code in (("os._exit(3)\n", 3), ("import signal\nos.kill(os.getpid(), signal.SIGKILL)\n", -signal.SIGKILL)):
            with watching.start(LOOP + last, env={"PMTOP_RUN": "left_behind"}) as script:
                self.assertEqual(script.finish(), code)
                self.assertEqual(len(watching.region_files(script.pid)), 1)
                self.assertIn("left_behind", watching.pmtop("--once", "--ascii", "-s", "left_behind"))

    def test_calls_at_exit_are_harmless(self):
        script = watching.run("import atexit\nimport pmtop\natexit.register(lambda: pmtop.gauge('late', 1.0))\n" + LOOP +
                              "class Late:\n    def __del__(self):\n        pmtop.mark('later')\nkept = Late()\nimport gc\ngc.kept = kept\n"
                              "import threading\nevent = threading.Event()\n"
                              "def work():\n    while True:\n        with pmtop.span('busy'):\n            pass\n"
                              "threading.Thread(target=work, daemon=True).start()\n")
        self.assertEqual(script.err(), "")
        self.assertEqual(watching.region_files(script.pid), [])


class Forks(Case):
    def test_a_child_that_publishes_nothing_has_no_region(self):
        code = LOOP + CHILD_READS + """
import gc, sys
pmtop.watch_gc(0)
with pmtop.span("around"):
    pid = os.fork()
    if not pid:
        gc.collect()
        assert not pmtop._pmtop.is_automatic()
        assert not pmtop._pmtop.auto_batch_begin(0) and not pmtop._pmtop.auto_batch_end()
if not pid:
    pmtop.batch_end(); pmtop.epoch_end(); pmtop.span_end()
    assert not pmtop._pmtop.is_open()
    assert "run" not in reported(os.getpid())
    sys.exit(0)
print(os.waitpid(pid, 0)[1], reported(os.getpid())["batch"]["count"], pmtop.is_enabled())
"""
        script = watching.run(code)
        self.assertEqual(script.out(), "0 3 True\n", script.err())

    def test_a_child_that_publishes_has_a_region_of_its_own_until_it_ends(self):
        code = LOOP + CHILD_READS + """
import glob, sys
def files(pid):
    return len(glob.glob("/dev/shm/pmtop.*.%d.*" % pid))
os.environ["RANK"] = "5"
pid = os.fork()
if not pid:
    pmtop.batch_begin(0)
    pmtop.batch_end()
    seen = reported(os.getpid())
    assert seen["batch"]["count"] == 1 and seen["rank"] == 5 and seen["run"] == "script", seen
    assert files(os.getpid()) == 1
    sys.exit(0)
status = os.waitpid(pid, 0)[1]
print(status, files(pid), files(os.getpid()), reported(os.getpid())["batch"]["count"])
"""
        script = watching.run(code)
        self.assertEqual(script.out(), "0 0 1 3\n", script.err())

    def test_children_of_multiprocessing_leave_nothing_behind(self):
        code = """
import glob, multiprocessing, os, pmtop
def files(pid):
    return len(glob.glob("/dev/shm/pmtop.*.%d.*" % pid))
def work(queue):
    pmtop.batch_begin(0)
    pmtop.batch_end()
    queue.put((os.getpid(), pmtop.statistics()["num_batches"], files(os.getpid())))
if __name__ == "__main__":
    pmtop.batch_begin(0)
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        queue = context.SimpleQueue()
        process = context.Process(target=work, args=(queue,))
        process.start()
        pid, batches, published = queue.get()
        process.join()
        print(method, batches, published, process.exitcode, files(pid))
"""
        script = watching.run(code)
        self.assertEqual(script.out().splitlines(), [method + " 1 1 0 0" for method in ("fork", "spawn", "forkserver")], script.err())

    def test_a_child_opens_another_region_instead(self):
        code = LOOP + CHILD_READS + """
pid = os.fork()
if not pid:
    assert pmtop._pmtop.reopen("worker 1", lanes=2, slots=256, totals=16, names=64, history=64, epochs=8, directory="")
    for i in range(5):
        pmtop.batch_begin(i)
        pmtop.batch_end()
    pmtop.watch_gc(0)
    import gc
    gc.collect()
    seen = reported(os.getpid())
    assert (seen["run"], seen["batch"]["count"]) == ("worker 1", 5), seen
    assert not pmtop._pmtop.is_automatic()
    os._exit(0)
print(os.waitpid(pid, 0)[1], reported(os.getpid())["batch"]["count"])
"""
        script = watching.run(code)
        self.assertEqual(script.out(), "0 3\n", script.err())

    def test_a_child_forked_by_c_code_is_silent_too(self):
        code = LOOP + """
import ctypes
libc = ctypes.CDLL(None)
pid = libc.fork()
if not pid:
    os._exit(0 if not pmtop._pmtop.is_automatic() and not pmtop._pmtop.is_open() else 1)
print(os.waitpid(pid, 0)[1], pmtop._pmtop.is_automatic())
"""
        self.assertEqual(watching.run(code).out(), "0 True\n")

    def test_forks_while_threads_publish(self):
        code = LOOP + """
import threading
stop = threading.Event()
def work():
    while not stop.is_set():
        with pmtop.span("busy"):
            pmtop.batch_begin(0)
            pmtop.batch_end()
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
statuses = set()
for i in range(30):
    pid = os.fork()
    if not pid:
        pmtop.batch_begin(0)
        pmtop.batch_end()
        batches = pmtop.statistics()["num_batches"]
        pmtop.close()
        os._exit(batches - 1)
    statuses.add(os.waitpid(pid, 0)[1])
stop.set()
for thread in threads:
    thread.join()
print(statuses)
"""
        script = watching.run(code)
        self.assertEqual(script.out(), "{0}\n", script.err())


if __name__ == "__main__":
    unittest.main()
