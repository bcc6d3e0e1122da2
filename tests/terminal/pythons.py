"""Every CPython there is, and programs that run in them, for the tests of what is seen of them from outside."""
import concurrent.futures
import glob
import os
import shutil
import subprocess
import sys

BUILD = os.path.abspath(os.environ.get('PMTOP_BUILD', 'build'))
PMTOP = os.path.join(BUILD, 'pmtop')
ENVIRONMENT = dict(os.environ, LC_ALL='C.UTF-8', XDG_CONFIG_HOME='/dev/null/none', PYTHONUTF8='1')


def pmtop(*arguments, environment=ENVIRONMENT):
    return subprocess.run([PMTOP, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


def pythons():
    """One of each version: {"3.11.7": path}; with PMTOP_TEST_BRIEF=1 only the oldest and the newest. PMTOP_TEST_PYTHONS=PATH:PATH names more (each may be
    a script that changes the root first, if the tests lie there at the same path)."""
    found = {}
    folders = os.environ.get('PYENV_ROOT') or os.path.expanduser('~/.pyenv')
    candidates = [sys.executable] + [shutil.which(f'python3.{minor}') for minor in range(8, 16)] + sorted(glob.glob(f'{folders}/versions/3.*/bin/python3'))
    candidates += os.environ.get('PMTOP_TEST_PYTHONS', '').split(':')
    for path in filter(None, candidates):
        reported = subprocess.run([path, '-c', 'import sys; print("%d.%d.%d" % sys.version_info[:3], sys.implementation.name)'], capture_output=True, text=True)
        version, _, name = reported.stdout.strip().partition(' ')
        if name == 'cpython' and int(version.split('.')[1]) >= 8:
            found.setdefault(version, path)
    if os.environ.get('PMTOP_TEST_BRIEF') != '1':
        return found
    by_age = sorted(found, key=lambda version: [int(part) for part in version.split('.')])
    return {version: found[version] for version in (by_age[0], by_age[-1])}


def newest_python():
    return max(pythons().items(), key=lambda one: [int(part) for part in one[0].split('.')])[1]


def read_failed(path):
    """The tests that tests/run wants again; none: it wants all."""
    if not path or not os.path.exists(path):
        return []
    with open(path) as file:
        return file.read().splitlines()


def try_all(tests, at_a_time, alone=()):
    """Runs {name: test}, some at a time, those named in `alone` one by one after the others; says what failed, and the sum. Returns whether any did.
    Run again by tests/run, only what failed."""
    failed, path = [], os.environ.get('PMTOP_TEST_FAILED')
    again = read_failed(path)
    chosen = [(name, test) for name, test in tests.items() if not again or name in again]

    def run(row):
        name, test = row
        try:
            test()
        except Exception as error:
            failed.append(name)
            print(f'FAIL {name}: {type(error).__name__}: {error}', flush=True)
    with concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
        list(pool.map(run, [row for row in chosen if row[0] not in alone]))
    for row in chosen:
        if row[0] in alone:
            run(row)
    if path and failed:
        with open(path, 'w') as file:
            file.write('\n'.join(failed) + '\n')
    print(f'{len(tests) - len(failed)} passed, {len(failed)} failed')
    return bool(failed)


class Running:
    """A program in Python; `first`: the line that it wrote."""

    def __init__(self, python, *arguments, says=True):
        self.process = subprocess.Popen([python, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.pid, self.first = self.process.pid, self.process.stdout.readline() if says else ''

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
