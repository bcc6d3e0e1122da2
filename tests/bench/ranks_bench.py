#!/usr/bin/env python3
"""Plants faults in one rank of real distributed runs (torchrun, gloo), watches any rank with pmtop, and counts how often it names the right rank.

    ranks_bench.py [--seeds=N] [--only=FAULT[,FAULT]] [--healthy-s=SECONDS] [--verbose]       PMTOP_BUILD: the folder with pmtop and python-venv

Each seed draws the shape of the run (DDP; gradients reduced one by one; groups of stages and replicas), its ranks (2 to 8), the culprit and the rank that is
watched. A hang is right if the first rank that a warning names is the culprit, within LIMIT_S after it began; a slow rank (a straggler) is right if it alone is
named. Healthy runs last --healthy-s in all; of them nothing may be said. Goals: 95 % of hangs, F1 0.95 of stragglers, no warning of healthy runs.
Exit: 0 they hold, 1 they do not, 2 a run failed."""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(os.environ.get('PMTOP_BUILD', 'build')).resolve()
PYTHON = BUILD / 'python-venv/bin/python'
WORKER = pathlib.Path(__file__).resolve().parent.parent / 'workloads/ranks.py'
LIMIT_S, START_S, SOUND_S, SLOW_LIMIT_S = 15, 90, 4, 30
HANGS = ('sleeps', 'deadlock', 'stopped', 'killed', 'mismatch')
SLOWS = ('slow', 'slow-loader', 'slow-disk', 'quota')
HEALTHY = ('healthy', 'checkpoints', 'validates', 'jitter', 'first-batches')
RULES = ('rank_behind', 'rank_slow', 'rank_throttled', 'collective_mismatch', 'collective_slow', 'send_receive_hang', 'still_rank')
RIGHT_MIN, F1_MIN = 0.95, 0.95
QUOTA = pathlib.Path('/sys/fs/cgroup/cpu')
QUOTA_SHARE, QUOTA_PERIOD_S, USE_S = 0.5, 0.1, 2


class Failed(Exception):
    pass


def cpu_use(pid):
    """In CPUs. A quota above it throttles nothing."""
    def used_s():
        fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')
    before_s = used_s()
    time.sleep(USE_S)
    return (used_s() - before_s) / USE_S


class Job:
    """The ranks of one run, under torchrun; a killed rank's without it, as its agent would end all of them."""

    def __init__(self, fault, seed):
        dice = random.Random(f'{fault} {seed}')
        self.fault, self.seed = fault, seed
        self.shape = dice.choice(('ddp', 'reduce', 'pipeline') if fault != 'mismatch' else ('reduce', 'ddp'))
        self.world = dice.choice((4, 6) if self.shape == 'pipeline' else (2, 3, 4, 8))
        self.culprit, self.watched = dice.randrange(self.world), dice.randrange(self.world)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='pmtop-ranks-'))
        self.quota = None
        if fault == 'slow-disk':
            (self.folder / 'shard').write_bytes(os.urandom(48 << 20))
        self.processes = []

    def __enter__(self):
        arguments = [str(WORKER), self.shape, self.fault, str(self.culprit), str(self.folder), str(self.seed)]
        environment = dict(os.environ, OMP_NUM_THREADS='1')
        if self.fault != 'killed':
            self.start([PYTHON, '-m', 'torch.distributed.run', '--standalone', f'--nproc_per_node={self.world}', *arguments], environment)
            return self
        with socket.socket() as found:
            found.bind(('localhost', 0))
            port = found.getsockname()[1]
        for rank in range(self.world):
            self.start([PYTHON, *arguments], dict(environment, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(self.world), LOCAL_WORLD_SIZE=str(self.world),
                                                  MASTER_ADDR='localhost', MASTER_PORT=str(port)))
        return self

    def start(self, command, environment):
        with open(self.folder / f'out.{len(self.processes)}', 'w') as out:
            self.processes.append(subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True))

    def pid_of(self, rank):
        """None: not yet."""
        for path in pathlib.Path('/proc').glob('[0-9]*/cmdline'):
            try:
                if str(self.folder).encode() in path.read_bytes() and f'\0RANK={rank}\0'.encode() in b'\0' + (path.parent / 'environ').read_bytes():
                    return int(path.parent.name)
            except OSError:
                pass
        return None

    def begin(self):
        if self.fault == 'quota':
            self.quota = QUOTA / f'pmtop-ranks-{os.getpid()}'
            self.quota.mkdir(exist_ok=True)
            pid = self.pid_of(self.culprit)
            (self.quota / 'cpu.cfs_quota_us').write_text(str(max(1000, int(QUOTA_SHARE * cpu_use(pid) * QUOTA_PERIOD_S * 1e6))))
            (self.quota / 'cgroup.procs').write_text(str(pid))
        (self.folder / 'go').touch()

    def __exit__(self, *_):
        pids = [pid for pid in map(self.pid_of, range(self.world)) if pid]
        for process in self.processes:
            process.send_signal(signal.SIGKILL)
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for process in self.processes:
            process.wait()
        if self.quota:
            while (self.quota / 'cgroup.procs').read_text():
                time.sleep(0.05)
            self.quota.rmdir()
        shutil.rmtree(self.folder, ignore_errors=True)


def rank_named(message):
    found = re.search(r'rank (\d+)', message)
    return int(found[1]) if found else None


class Watch:
    """pmtop on one rank of a job: what it said, and when (seconds after the fault began)."""

    def __init__(self, job):
        self.job, self.named, self.began = job, [], None

    def objects(self, pid):
        monitor = subprocess.Popen([BUILD / 'pmtop', '-b', '--json', '-d', '0.5', '-p', str(pid)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            for text in monitor.stdout:
                yield json.loads(text), time.monotonic()
        finally:
            monitor.kill()
            monitor.wait()

    def take(self, reported, now):
        for warning in reported.get('warnings') or []:
            if warning['rule'] in RULES and (warning['rule'], rank_named(warning['message'])) not in [(rule, rank_named(message)) for rule, message, _ in self.named]:
                self.named.append((warning['rule'], warning['message'], now - self.began if self.began else None))

    def ranks(self, limit_s, rules):
        return [rank_named(message) for rule, message, when in self.named if rule in rules and when is not None and when <= limit_s]

    def is_over(self, now, seconds):
        if self.job.fault in HANGS and self.ranks(LIMIT_S, RULES):
            return True
        return now - self.began > seconds

    def run(self, seconds):
        deadline = time.monotonic() + START_S
        while not (pid := self.job.pid_of(self.job.watched)):
            if time.monotonic() > deadline:
                raise Failed('the ranks did not start')
            time.sleep(0.1)
        sound = None
        for reported, now in self.objects(pid):
            groups = (reported.get('collectives') or {}).get('groups') or []
            if sound is None and any(group.get('last_completed') for group in groups):
                sound = now
            if self.began is None and sound is None and now > deadline:
                raise Failed('no collective was seen')
            if self.began is None and sound is not None and now > sound + SOUND_S:
                self.job.begin()
                self.began = now
            self.take(reported, now)
            if self.began is not None and self.is_over(now, seconds):
                return
        if self.began is None:
            raise Failed('the ranks ended')


class Bench:
    def __init__(self, chosen):
        self.chosen, self.rows, self.failed = chosen, collections.defaultdict(list), []

    def one(self, fault, seed, seconds):
        with Job(fault, seed) as job:
            watch = Watch(job)
            try:
                watch.run(seconds)
            except Failed as why:
                last = ''.join(path.read_text()[-300:] for path in job.folder.glob('out.*'))
                self.failed.append(f'{fault} (seed {seed}): {why} {last}')
                return
        early = [message for _, message, when in watch.named if when is None]
        row = (job, watch, early)
        self.rows[fault].append(row)
        if self.chosen.verbose:
            print(f'{fault} seed {seed} {job.shape} {job.world} ranks, culprit {job.culprit}, watched {job.watched}: '
                  + ('right' if self.is_right(row) else 'WRONG'), [(rule, message, when and round(when, 1)) for rule, message, when in watch.named], flush=True)

    @staticmethod
    def is_right(row):
        job, watch, early = row
        if early:
            return False
        if job.fault in HANGS:
            return watch.ranks(LIMIT_S, RULES)[:1] == [job.culprit]
        if job.fault in SLOWS:
            return set(watch.ranks(SLOW_LIMIT_S, RULES)) == {job.culprit}
        return not watch.named

    def run(self):
        faults = [fault for fault in HANGS + SLOWS if not self.chosen.only or fault in self.chosen.only]
        if 'quota' in faults and not os.access(QUOTA, os.W_OK):
            faults.remove('quota')
            print(f'quota: left out: {QUOTA} (cgroup v1) cannot be written')
        for seed in range(1, self.chosen.seeds + 1):
            for fault in faults:
                self.one(fault, seed, SLOW_LIMIT_S if fault in SLOWS else LIMIT_S + 1)
        healthy = [fault for fault in HEALTHY if not self.chosen.only or fault in self.chosen.only]
        for seed, fault in enumerate(healthy if self.chosen.healthy_s else ()):
            self.one(fault, seed, self.chosen.healthy_s / len(healthy))

    def f1(self):
        hit = wrong = missed = 0
        for fault in SLOWS + HEALTHY:
            for job, watch, _ in self.rows[fault]:
                named, true = set(rank for _, message, _ in watch.named for rank in [rank_named(message)]), {job.culprit} if fault in SLOWS else set()
                hit, wrong, missed = hit + len(named & true), wrong + len(named - true), missed + len(true - named)
        return 2 * hit / (2 * hit + wrong + missed) if hit + wrong + missed else None

    def report(self):
        print(f'{"fault":14} {"runs":>4} {"right":>5} {"named after":>16}')
        for fault in HANGS + SLOWS + HEALTHY:
            rows = self.rows[fault]
            if not rows:
                continue
            whens = sorted(when for job, watch, _ in rows for rule, message, when in watch.named[:1] if when is not None)
            after = f'{statistics.median(whens):.1f} s (≤ {whens[-1]:.1f})' if whens and fault not in HEALTHY else ''
            print(f'{fault:14} {len(rows):4} {sum(map(self.is_right, rows)):5} {after:>16}')
        hangs = [row for fault in HANGS for row in self.rows[fault]]
        share = sum(map(self.is_right, hangs)) / len(hangs) if hangs else None
        f1 = self.f1()
        false = sum(len(watch.named) for fault in HEALTHY for _, watch, _ in self.rows[fault]) + sum(len(early) for rows in self.rows.values() for _, _, early in rows)
        print(f'hangs: the right rank in {share if share is None else f"{100 * share:.0f} %"} within {LIMIT_S} s (goal 95 %)')
        print(f'stragglers: F1 {f1 if f1 is None else f"{f1:.3f}"} (goal {F1_MIN})')
        print(f'healthy: {false} warnings (goal 0)')
        for failed in self.failed:
            print(f'failed: {failed}')
        if self.failed:
            return 2
        return 0 if (share is None or share >= RIGHT_MIN) and (f1 is None or f1 >= F1_MIN) and not false else 1


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--seeds', type=int, default=10)
    options.add_argument('--only', type=lambda text: text.split(','))
    options.add_argument('--healthy-s', type=float, default=1800)
    options.add_argument('--verbose', action='store_true')
    bench = Bench(options.parse_args())
    bench.run()
    sys.exit(bench.report())


if __name__ == '__main__':
    main()
