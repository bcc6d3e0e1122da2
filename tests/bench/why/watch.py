"""Starts a run, has pmtop watch it from before its first batch to its end, and gives back what really happened and what was reported."""
import json
import os
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, '../../..'))
BUILD = os.environ.get('PMTOP_BUILD', os.path.join(ROOT, 'build'))
PMTOP, TRAINER = os.path.join(BUILD, 'pmtop'), os.path.join(BUILD, 'tests/workloads/trainer')
SYNTHETIC = os.path.join(BUILD, 'tests/bench/why/synthetic')
SCRIPT = os.path.join(ROOT, 'tests/workloads/faults.py')
REFRESH_S = '0.2'
NOT_HERE = 77


class Skip(Exception):
    """It cannot be planted here; why."""


def run_synthetic(case, seed, seconds):
    """truth, Reported of a synthetic run, as fast as it can be computed."""
    with tempfile.TemporaryDirectory() as scratch:
        truth = os.path.join(scratch, 'truth')
        run = subprocess.run([SYNTHETIC, f'{case.arguments}:{seed}', str(seconds), truth], capture_output=True, text=True)
        if run.returncode:
            raise RuntimeError(run.stderr.strip())
        seen = Reported()
        for line in run.stdout.splitlines():
            seen.take(line)
        with open(truth) as file:
            return json.load(file), seen


class Reported:
    """What pmtop said from the beginning to the end of one run."""

    def __init__(self):
        self.objects, self.last = 0, {}
        self.flagged = {}        # (epoch, batch) → the newest object
        self.warnings = {}       # rule → the first object
        self.counts = {}         # rule → the batches that had ended then
        self.raised = set()      # (rule, tenth of a second since 1970): each time that it was raised
        self.patterns = []       # of the last object
        self.drifts = {}         # the first batch of each drift that was reported → the batches that had ended when it was reported first
        self.slopes = []         # (finished batches, memory) wherever a slope was reported
        self.stall = None
        self.verdicts = []
        self.others = []         # (realtime, share of all CPUs that others took in the second before)

    def take(self, line):
        reported = json.loads(line)
        self.objects += 1
        self.last = reported
        for flagged in reported.get('flagged', ()):
            if flagged.get('mode', 'train') == 'train':
                self.flagged[flagged['epoch'], flagged['batch']] = flagged
        for warning in reported.get('warnings', ()):
            self.warnings.setdefault(warning['rule'], warning)
            self.counts.setdefault(warning['rule'], int(reported.get('batch', {}).get('count', 0)))
            self.raised.add((warning['rule'], warning.get('since_ns', 0) // 10**8))
        self.patterns = reported.get('patterns', self.patterns)
        for first in [pattern['first'] for pattern in reported.get('patterns', ()) if pattern.get('kind') == 'drift']:
            self.drifts.setdefault(int(first), int(reported.get('batch', {}).get('count', 0)))
        memory = reported.get('memory', {})
        if 'slope_bytes_per_s' in memory:
            self.slopes.append((reported.get('batch', {}).get('count', 0), memory))
        verdict = memory.get('verdict')
        if verdict and (not self.verdicts or self.verdicts[-1] != verdict):
            self.verdicts.append(verdict)
        self.stall = reported.get('stall', self.stall)


    def memory_before(self, batches):
        """The last that was reported of memory before so many batches had ended: later its processes end, one after another."""
        return next((memory for count, memory in reversed(self.slopes) if count <= batches), {})


def machine_busy_s():
    with open('/proc/stat') as file:
        user, nice, system, _, _, irq, softirq, steal = (int(word) for word in file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf('SC_CLK_TCK')


def tree_busy_s(pid):
    """CPU time of a process and all below it, those that have ended and were waited for included."""
    try:
        with open(f'/proc/{pid}/stat') as file:
            ticks = sum(int(word) for word in file.read().rpartition(')')[2].split()[11:15])
        children = []
        for task in os.listdir(f'/proc/{pid}/task'):
            with open(f'/proc/{pid}/task/{task}/children') as file:
                children += file.read().split()
    except OSError:
        return 0
    return ticks / os.sysconf('SC_CLK_TCK') + sum(tree_busy_s(child) for child in children)


class Others:
    """What share of all CPUs others take, second by second: what is neither this process nor below it."""

    def __init__(self):
        self.seconds, self.before = [], self.now()

    @staticmethod
    def now():
        return time.time(), machine_busy_s() - tree_busy_s(os.getpid())

    def look(self):
        if time.time() < self.before[0] + 1:
            return
        now = self.now()
        took, busy_s = (after - before for after, before in zip(now, self.before))
        self.before = now
        self.seconds.append((now[0], max(0.0, busy_s / (took * os.cpu_count()))))


def torch_python():
    """The interpreter that has torch and can import pmtop, and its environment; None: there is none."""
    environment = dict(os.environ)
    chosen = os.environ.get('WHY_PYTHON') or os.path.join(BUILD, 'python-venv/bin/python')
    if not os.path.exists(chosen):
        return None, environment
    site = os.environ.get('WHY_SITE') or os.path.join(BUILD, 'python/site')
    if os.path.isdir(site):
        environment['PYTHONPATH'] = site
    return chosen, environment


def command_of(case, arguments, truth, seed):
    if case.program == 'trainer':
        return [TRAINER, '--name', case.name, '--seed', str(seed), '--wait-for-enter', '--truth', truth, *arguments], None
    if case.program == 'torch':
        python, environment = torch_python()
        if not python:
            raise Skip('no torch (make check-python, or WHY_PYTHON=)')
        return [python, SCRIPT, '--seed', str(seed), '--wait-for-enter', '--truth', truth, *arguments], environment
    raise Skip(f'no program {case.program}')


def be_nice():
    """WHY_NICE=-10 keeps what else runs on a shared machine from the runs, where that is allowed."""
    wanted = os.environ.get('WHY_NICE')
    if not wanted:
        return
    os.nice(int(wanted))
    # Where sessions share the CPUs evenly, niceness counts within each only.
    os.setsid()
    try:
        with open('/proc/self/autogroup', 'w') as file:
            file.write(wanted)
    except OSError:
        pass


def wait_for_open(run):
    """Until it waits for a line: it says so. Ended instead: why."""
    line = run.stdout.readline()
    if 'ready' in line:
        return
    code = run.wait()
    why = run.stderr.read().strip().splitlines()
    if code == NOT_HERE:
        raise Skip(why[-1].split('not here: ', 1)[-1] if why else 'not here')
    raise RuntimeError(f'{run.args[0]} ended with {code}: {why[-1] if why else line!r}')


def watch(case, arguments, seed, limit_s, until=None):
    """truth, Reported. `until`: a condition on Reported after which the run is ended."""
    with tempfile.TemporaryDirectory() as scratch:
        truth = os.path.join(scratch, 'truth')
        command, environment = command_of(case, arguments, truth, seed)
        others = Others()
        run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, preexec_fn=be_nice)
        monitor = None
        try:
            wait_for_open(run)
            monitor = subprocess.Popen(['timeout', str(limit_s), PMTOP, '-b', '--format=json', '--all', '-d', REFRESH_S, '-p', str(run.pid)], stdout=subprocess.PIPE, text=True,
                                       preexec_fn=be_nice)
            seen = Reported()
            for line in monitor.stdout:
                seen.take(line)
                others.look()
                if seen.objects == 1:
                    run.stdin.write('\n')
                    run.stdin.close()
                if until and until(seen):
                    until = None
                    run.terminate()
            if monitor.wait() != 0:
                raise RuntimeError(f'pmtop -b ended with {monitor.returncode}')
            run.wait(timeout=20)
            seen.others = others.seconds
            with open(truth) as file:
                return json.load(file), seen
        finally:
            for process in (monitor, run):
                if process and process.poll() is None:
                    process.kill()
                    process.wait()
            for pipe in (run.stdout, run.stderr, monitor and monitor.stdout):
                if pipe:
                    pipe.close()
