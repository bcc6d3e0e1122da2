#!/usr/bin/env python3
"""Plants causes in real runs, watches each with pmtop, and prints which cause was named first: a confusion table.

    why_bench.py [--seeds=N] [--only=WORD[,WORD]] [--batches=N] [--clean-s=SECONDS] [--verbose]

Faults are those of tests/workloads/faults.txt. What cannot be planted here is skipped by name. The real runs follow one another, and with each seed
all faults are planted once, so that what else the machine does falls on all of them; synthetic ones come after them, side by side. Clean runs last --clean-s in all (1800: 30 minutes), shared
out over the clean workloads. Writes PMTOP_BUILD/why-bench.json: every batch of which the wrong cause was reported, with its evidence.

On a machine that others use, WHY_NICE=-10 (needs the right) keeps them from the runs, and planted batches that others kept from a CPU are left out.

Goals: the right cause first in 95 % of the planted batches that were flagged, and 95 % of the plain ones flagged; no false warning in clean runs;
slopes of leaks within 15 %; periods exact. Exit: 0 they hold, 1 they do not, 2 usage or a run that failed.
"""
import argparse
import concurrent.futures
import json
import os
import sys
import time
from collections import Counter, defaultdict

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'why'))
import cases  # noqa: E402
import judge  # noqa: E402
import watch  # noqa: E402

RIGHT_MIN = 0.95
STALL_S = 6
STEP_MS = 5.0
# torch's loader takes 1 to 1.5 ms a batch, whatever else happens: of 5 ms that is no sound run, and rules say so.
CLEAN_STEP_MS = {'torch': 15.0}
# A verdict on memory takes longer than a batch.
LEAK_LONGER = 5


def is_clean(case):
    return case.name.endswith('clean')


class Bench:
    def __init__(self, chosen):
        self.chosen = chosen
        self.verdicts, self.skipped, self.failed = [], {}, []

    def run(self, case, seed, batches, step_ms):
        arguments, period, dice = case.arguments_for(seed, batches)
        arguments += ['--epochs', '1', '--batches', str(batches), '--step-ms', f'{step_ms * dice.uniform(0.8, 1.4):.1f}']
        until = None
        if 'stall' in case.expect:
            until = lambda seen: bool(seen.stall) and seen.stall.get('seconds', 0) > STALL_S
        limit_s = 60 + 4 * batches * step_ms / 1000
        try:
            truth, seen = watch.watch(case, arguments, seed, 40 if until else limit_s, until)
        except watch.Skip as why:
            self.skipped[case.name] = str(why)
            return
        except (RuntimeError, OSError, ValueError) as error:
            self.failed.append(f'{case.name} (seed {seed}): {error}')
            return
        self.take(case, seed, arguments, period, truth, seen)

    def take(self, case, seed, arguments, period, truth, seen):
        verdict = judge.judge(case, seed, arguments, period, truth, seen)
        self.verdicts.append(verdict)
        if self.chosen.verbose:
            print(line_of(verdict), file=sys.stderr, flush=True)

    def watch(self, case, seed):
        try:
            return watch.run_synthetic(case, seed, self.chosen.synthetic_s)
        except (RuntimeError, OSError, ValueError) as error:
            self.failed.append(f'{case.name} (seed {seed}): {error}')
            return None

    def run_synthetic(self, pairs):
        """They have no clock but their own: so many at a time as there are CPUs."""
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for (case, seed), reported in zip(pairs, pool.map(lambda pair: self.watch(*pair), pairs)):
                if reported:
                    self.take(case, seed, [], case.arguments_for(seed, self.chosen.batches)[1], *reported)

    def run_clean(self, case, seed, seconds):
        step_ms = CLEAN_STEP_MS.get(case.program, STEP_MS)
        self.run(case, seed, max(60, int(seconds / (step_ms * 1.15 / 1000))), step_ms)

    def top_up(self, clean, seconds):
        """Where others on the machine spoilt what was to be clean time: again, as often as there are seeds."""
        for seed in range(self.chosen.seeds + 1, 2 * self.chosen.seeds + 1):
            for case in clean:
                if sum(verdict.quiet_s for verdict in self.verdicts if not verdict.case.is_synthetic and 'nothing' in verdict.case.expect) < self.chosen.clean_s:
                    self.run_clean(case, seed, seconds)

    def run_all(self, table):
        seeds = range(1, self.chosen.seeds + 1)
        clean = [case for case in table if is_clean(case) and not case.is_synthetic]
        clean_s = self.chosen.clean_s / max(1, len(clean)) / self.chosen.seeds
        for seed in seeds:
            for case in table:
                if case.name in self.skipped or case.is_synthetic:
                    continue
                if case in clean:
                    self.run_clean(case, seed, clean_s)
                else:
                    self.run(case, seed, self.chosen.batches * (LEAK_LONGER if 'leak' in case.expect else 1), STEP_MS)
        self.top_up(clean, clean_s)
        self.run_synthetic([(case, seed) for seed in seeds for case in table if case.is_synthetic])


def line_of(verdict):
    parts = [f'{verdict.case.name} seed {verdict.seed} ({verdict.seconds:.1f} s):']
    if verdict.case.causes:
        disturbed = f' (and {verdict.disturbed} disturbed)' if verdict.disturbed else ''
        parts.append(f'{verdict.right} right of {verdict.flagged} flagged of {verdict.planted}{disturbed}; first {dict(verdict.firsts)}')
    if verdict.periods:
        parts.append(f'period {verdict.periods[0]} reported {verdict.periods[1]} {"ok" if verdict.period_is_right else "WRONG"}')
    if 'leak' in verdict.case.expect:
        parts.append(f'slope ÷ true {verdict.slope and round(verdict.slope, 3)}')
    parts += [f'{what}: {"ok" if good else "WRONG"} ({got})' for what, good, got in verdict.claims]
    if 'nothing' in verdict.case.expect:
        parts.append(f'quiet for {verdict.quiet_s:.1f} s, false warnings {verdict.alarms}, while others took CPUs {verdict.disturbances}, by its own clock true {verdict.borne_out}')
    if verdict.others:
        parts.append(f'flagged besides {dict(verdict.others)}')
    return ' '.join(parts)


def print_confusion(verdicts):
    by_case, columns = defaultdict(Counter), Counter()
    rows = [verdict for verdict in verdicts if verdict.case.causes]
    for verdict in rows:
        by_case[verdict.case.name] += verdict.firsts
        columns += verdict.firsts
    names = list(dict.fromkeys(verdict.case.name for verdict in rows))
    reported = [kind for kind, _ in columns.most_common()]
    print(f'{"planted":22} {"wanted":24} {"right":>7} ' + ' '.join(f'{kind:>{max(5, len(kind))}}' for kind in reported))
    for name in names:
        mine = [verdict for verdict in rows if verdict.case.name == name]
        flagged, right = sum(v.flagged for v in mine), sum(v.right for v in mine)
        share = f'{100 * right / flagged:.0f} %' if flagged else '–'
        cells = ' '.join(f'{by_case[name][kind] or "":>{max(5, len(kind))}}' for kind in reported)
        print(f'{name:22} {",".join(mine[0].case.causes):24} {share:>7} {cells}')


def print_rest(bench):
    for verdict in bench.verdicts:
        bad = [f'{what}, reported {got}' for what, good, got in verdict.claims if not good]
        if verdict.periods and not verdict.period_is_right:
            bad.append(f'period {verdict.periods[0]}, reported {verdict.periods[1]}')
        if 'leak' in verdict.case.expect and (verdict.slope is None or abs(verdict.slope - 1) > judge.SLOPE_WITHIN):
            bad.append(f'slope reported ÷ true {verdict.slope and round(verdict.slope, 3)}')
        for what in bad:
            print(f'wrong: {verdict.case.name} (seed {verdict.seed}): {what}')
    for name, why in bench.skipped.items():
        print(f'skipped: {name}: {why}')
    for failure in bench.failed:
        print(f'failed: {failure}')


def goals(verdicts):
    """(the goal, measured, whether it holds; None: nothing was measured)"""
    planted, flagged, right = (sum(getattr(v, name) for v in verdicts) for name in ('planted', 'flagged', 'right'))
    sound = [v for v in verdicts if 'nothing' in v.case.expect and not v.case.is_synthetic]
    clean_h = sum(v.quiet_s for v in sound) / 3600
    noisy_s = sum(v.seconds - v.quiet_s for v in sound)
    alarms, synthetic = sum(len(v.alarms) for v in sound), [v for v in verdicts if 'nothing' in v.case.expect and v.case.is_synthetic]
    others = sum(sum(v.others.values()) for v in sound)
    leaks = [v for v in verdicts if 'leak' in v.case.expect]
    slopes = [v for v in leaks if v.slope is not None and abs(v.slope - 1) <= judge.SLOPE_WITHIN]
    periods = [v for v in verdicts if v.periods]
    claims = [good for v in verdicts for _, good, _ in v.claims]
    ratio = lambda part, whole: part / whole if whole else None
    holds = lambda value, least: None if value is None else value >= least
    shown = lambda part, whole: f'{100 * part / whole:.1f} % ({part} of {whole})' if whole else 'nothing was planted'
    return [
        ('the right cause first, of planted batches that were flagged', shown(right, flagged), holds(ratio(right, flagged), RIGHT_MIN)),
        ('flagged, of batches that were planted plainly', shown(flagged, planted), holds(ratio(flagged, planted), RIGHT_MIN)),
        (f'false warnings in {clean_h * 60:.1f} clean minutes', f'{alarms}' + (f', {alarms / clean_h:.1f} an hour' if clean_h else ''), alarms == 0 if clean_h else None),
        (f'false warnings in {sum(v.seconds for v in synthetic) / 60:.0f} clean synthetic minutes', f'{sum(len(v.alarms) for v in synthetic)}',
         not any(v.alarms for v in synthetic) if synthetic else None),
        ('warnings of sound runs that their own clocks bear out (for information)', f'{sum(len(v.borne_out) for v in sound)}', None),
        (f'warnings in {noisy_s / 60:.1f} minutes of sound runs shortly after others took {100 * judge.OTHERS_MAX:.0f} % of the CPUs (for information)',
         f'{sum(len(v.disturbances) for v in sound)}', None),
        ('planted batches left out, for others kept them from a CPU (for information)', f'{sum(v.disturbed for v in verdicts)}', None),
        ('batches flagged in sound runs (for information)', f'{others}', None),
        (f'slopes of leaks within {100 * judge.SLOPE_WITHIN:.0f} %', shown(len(slopes), len(leaks)), holds(ratio(len(slopes), len(leaks)), 1)),
        ('periods exact, and none where there is none', shown(sum(v.period_is_right for v in periods), len(periods)),
         holds(ratio(sum(v.period_is_right for v in periods), len(periods)), 1)),
        ('verdicts, growers, drifts and stalls reported', shown(sum(claims), len(claims)), holds(ratio(sum(claims), len(claims)), 1)),
    ]


def write_json(bench, path):
    wrong = [{'fault': v.case.name, 'seed': v.seed, 'arguments': v.arguments, 'wanted': v.case.expect, **entry} for v in bench.verdicts for entry in v.wrong]
    rows = [{'fault': v.case.name, 'seed': v.seed, 'arguments': v.arguments, 'planted': v.planted, 'flagged': v.flagged, 'right': v.right, 'first': v.firsts,
             'besides': v.others, 'periods': v.periods, 'slope_ratio': v.slope, 'claims': v.claims, 'alarms': v.alarms} for v in bench.verdicts]
    with open(path, 'w') as file:
        json.dump({'time': int(time.time()), 'skipped': bench.skipped, 'failed': bench.failed, 'runs': rows, 'wrong': wrong}, file, indent=1, ensure_ascii=False)
        file.write('\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seeds', type=int, default=int(os.environ.get('WHY_SEEDS', 10)))
    parser.add_argument('--only', default=os.environ.get('WHY_ONLY', ''), help='faults whose names begin so')
    parser.add_argument('--batches', type=int, default=int(os.environ.get('WHY_BATCHES', 1000)), help='of each run')
    parser.add_argument('--clean-s', type=float, default=float(os.environ.get('WHY_CLEAN_S', 1800)), help='of all clean runs together')
    parser.add_argument('--synthetic-s', type=float, default=float(os.environ.get('WHY_SYNTHETIC_S', 120)), help='of each synthetic run')
    parser.add_argument('--gate', choices=('all', 'synthetic'), default=os.environ.get('WHY_GATE', 'all'), help='the runs whose goals the exit code reports')
    parser.add_argument('--verbose', action='store_true', default=bool(os.environ.get('WHY_VERBOSE')))
    chosen = parser.parse_args()
    wanted = tuple(word for word in chosen.only.split(',') if word)
    table = [case for case in cases.read() if not wanted or case.name.startswith(wanted)]
    if not table:
        print(f'why-bench: no fault begins with {chosen.only}: see tests/workloads/faults.txt', file=sys.stderr)
        return 2
    started = time.monotonic()
    bench = Bench(chosen)
    bench.run_all(table)
    print_confusion(bench.verdicts)
    print_rest(bench)
    held = goals(bench.verdicts)
    for what, measured, holds in held:
        print(f'{"" if holds is None else "holds" if holds else "NOT":6} {what}: {measured}')
    if chosen.gate == 'synthetic':
        held = goals([verdict for verdict in bench.verdicts if verdict.case.is_synthetic])
        print('why-bench: of this the synthetic runs decide, which no other program can disturb')
    print(f'why-bench: {len(bench.verdicts)} runs in {time.monotonic() - started:.0f} s')
    write_json(bench, os.path.join(watch.BUILD, 'why-bench.json'))
    if bench.failed:
        return 2
    return 0 if all(holds is not False for _, _, holds in held) else 1


if __name__ == '__main__':
    sys.exit(main())
