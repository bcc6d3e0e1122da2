"""Compares what pmtop reported about a run with what happened in it."""
import itertools
import statistics
from collections import Counter, defaultdict

# Batches before this one are warm-up, or have too few before them to be judged.
FIRST_JUDGED = 32
# Ratio of a planted batch to the median, from which on it must be flagged.
PLAIN_RATIO = 2.0
SLOPE_WITHIN = 0.15
# A period that came back less often need not be reported.
REPEATS_MIN = 8
# A planted batch that spent more than this share of its excess in a queue for a CPU, because of others, is not what was planted.
QUEUE_MAX = 0.2
QUEUE_IS_PLANTED = {'cpu_wait', 'child', 'throttled', 'stopped', 'compiler'}
# A warning that was raised within so many seconds after others took so much of all CPUs in one second is one of theirs.
OTHERS_MAX, OTHERS_FOR_S = 0.15, 60
# What a run's own clock bears out is no false warning: a machine of which others have a part (a neighbour on the same core, the host below it) does
# that, and nobody who runs there shows up among its processes. Slower for good by so much; as many slow batches; a rhythm.
DRIFT_MIN, DRIFT_BATCHES = 1.05, 200
SLOW_MIN, SLOW_OF_REPORTED, PERIOD_MIN = 1.3, 0.7, 1.05

# True of any run, sound ones too: which operation is the largest, and that a core is in use.
ALWAYS_TRUE = {'bottleneck', 'consider_optimizing', 'slow_forward', 'slow_backward', 'cpu_bound'}
# Where no `kind` is reported: the words of the cause.
WORDS = (('garbage', 'gc'), ('checkpoint', 'checkpoint'), ('compiler', 'compiler'), ('bigger', 'bigger'), ('unknown', 'unknown'))


def kind_of(cause):
    if 'kind' in cause:
        return cause['kind'].lower().replace(' ', '_').replace('-', '_')
    return next((kind for words, kind in WORDS if words in cause['what']), 'phase')


def is_right(case, cause):
    return kind_of(cause) in case.causes and cause['what'].startswith(case.expect.get('phase', ''))


class Verdict:
    def __init__(self, case, seed, arguments):
        self.case, self.seed, self.arguments = case, seed, arguments
        self.planted = self.flagged = self.right = 0
        self.disturbed = 0               # planted batches that others on the machine made slow as well: left out
        self.firsts = Counter()          # of planted batches: the kind reported first, or "not flagged"
        self.others = Counter()          # of flagged batches in which nothing was planted
        self.wrong = []                  # precise cases
        self.periods = None              # (planted, reported) or None: not asked
        self.period_is_right = True
        self.slope = None                # reported ÷ true
        self.claims = []                 # (what is expected, whether it was reported, what was reported)
        self.alarms = []                 # warnings and patterns where nothing is wrong
        self.disturbances = []           # the same, where others on the machine took its CPUs
        self.borne_out = []              # the same, where the run's own times say so too
        self.seconds = self.quiet_s = 0.0        # quiet: so much of it was long enough after what others took


def judge_batches(verdict, truth, reported):
    case, fault = verdict.case, truth['faults'][0]
    per_epoch, usual_s = truth['batches_per_epoch'], truth['median_s']
    planted = {int(batch): max(whole, took + usual_s) if whole < PLAIN_RATIO * usual_s else whole
               for batch, whole, took in zip(fault['batches'], fault['batch_s'], fault['took_s'])}
    queued = dict(zip(fault['batches'], fault.get('queue_s', ())))
    flagged = {int(epoch * per_epoch + batch): entry for (epoch, batch), entry in reported.flagged.items()}
    for batch, seconds in planted.items():
        if batch < FIRST_JUDGED or seconds < PLAIN_RATIO * usual_s:
            continue
        if queued.get(batch, 0) > QUEUE_MAX * (seconds - usual_s) and not QUEUE_IS_PLANTED & set(case.causes):
            verdict.disturbed += 1
            continue
        verdict.planted += 1
        entry = flagged.get(batch)
        if not entry:
            verdict.firsts['not flagged'] += 1
            continue
        verdict.flagged += 1
        first = (entry['causes'] or [{'what': 'none'}])[0]
        verdict.firsts[kind_of(first)] += 1
        if is_right(case, first):
            verdict.right += 1
        else:
            verdict.wrong.append({'batch': batch, 'seconds': entry['seconds'], 'usual_s': usual_s, 'causes': entry['causes']})
    for batch, entry in flagged.items():
        if batch not in planted:
            verdict.others[kind_of((entry['causes'] or [{'what': 'none'}])[0])] += 1


def judge_periods(verdict, truth, reported, period):
    expect = verdict.case.expect
    unit, planted = ('seconds', float(expect['seconds'])) if 'seconds' in expect else ('batches', period)
    got = [pattern for pattern in reported.patterns if pattern.get('kind', 'period') == 'period']
    numbers = [(pattern.get('unit', 'batches'), pattern.get('period')) for pattern in got]
    repeats = len(truth['faults'][0]['batches']) if truth.get('faults') else REPEATS_MIN
    if planted is not None and repeats < REPEATS_MIN and not got:
        return
    verdict.periods = (planted and (unit, planted), numbers)
    if planted is None:
        verdict.period_is_right = not got
    elif unit == 'seconds':
        verdict.period_is_right = len(got) == 1 and numbers[0][0] == unit and abs(numbers[0][1] - planted) <= 0.05 * planted
    else:
        verdict.period_is_right = numbers == [(unit, planted)] and expect.get('candidate', '') in (got[0].get('candidate') or '')


def kept_bytes(truth):
    faults = truth.get('faults', ())
    return faults[0]['kept_bytes'] if faults and faults[0]['kept_bytes'] else truth.get('leaked_bytes', 0)


def judge_leak(verdict, truth, reported):
    memory, true = reported.memory_before(0.95 * truth['batches']), kept_bytes(truth) / truth['batches']
    slope = memory.get('slope_bytes_per_batch')
    verdict.slope = slope / true if slope and true else None
    verdict.claims.append(('verdict leak or growing', bool({'leak', 'growing'} & set(reported.verdicts)), reported.verdicts))
    grower, wanted = memory.get('grower'), verdict.case.expect['leak']
    if wanted != 'any':
        verdict.claims.append((f'grower {wanted}', bool(grower) and wanted in grower, grower))


def has_drifted(truth, reported):
    """Whether each drift that was reported is in the run's own times, as far as they went when it was reported."""
    seconds = truth.get('seconds', ())

    def is_slower(first, count):
        around = (first, first)
        if first < DRIFT_BATCHES // 4:
            # One that creeps from the begin on: its first quarter and its last.
            around = (count // 4, count - count // 4)
        before, after = seconds[max(0, around[0] - DRIFT_BATCHES):around[0]], seconds[around[1]:min(count, around[1] + DRIFT_BATCHES)]
        return bool(before) and bool(after) and statistics.median(after) >= DRIFT_MIN * statistics.median(before)
    return bool(reported.drifts) and all(is_slower(first, count) for first, count in reported.drifts.items())


def had_slow_batches(truth, reported):
    """Whether so many of the batches before it was reported, by their own clock, were slow."""
    warned = reported.warnings.get('flagged_batches')
    if not warned or 'seconds' not in truth:
        return False
    count, batches = reported.counts['flagged_batches'], int(warned['evidence']['batches'])
    # The newest may not have been judged yet, nor the warm-up ever.
    seconds = truth['seconds'][max(0, count - batches - DRIFT_BATCHES // 10):count]
    median_s = statistics.median(seconds)
    return sum(taken >= SLOW_MIN * median_s for taken in seconds) >= SLOW_OF_REPORTED * warned['evidence']['flagged_count']


def slower_positions(seconds, pattern):
    """Of each position in the rhythm the median of its batches, each over the median of those around it."""
    period, around, starts = pattern['period'], 30, list(itertools.accumulate(seconds, initial=0.0))
    in_batches = pattern.get('unit', 'batches') == 'batches'
    positions = int(period) if in_batches else max(2, round(period / statistics.median(seconds)))
    by_position = defaultdict(list)
    for at, taken in enumerate(seconds):
        position = at % positions if in_batches else int(starts[at] % period / period * positions)
        by_position[position].append(taken / statistics.median(seconds[max(0, at - around):at + around + 1]))
    return [statistics.median(ratios) for ratios in by_position.values() if len(ratios) >= REPEATS_MIN]


def had_period(truth, reported):
    """Whether each rhythm that was reported at the end has a position at which batches take longer."""
    found = [pattern for pattern in reported.patterns if pattern.get('kind', 'period') == 'period']
    return bool(found) and 'seconds' in truth and all(max(slower_positions(truth['seconds'], pattern), default=0) >= PERIOD_MIN for pattern in found)


def judge_nothing(verdict, truth, reported, kinds):
    """A warning, and a pattern at its end, is a false one: but where others took CPUs shortly before."""
    taken = [when for when, ratio in reported.others if ratio > OTHERS_MAX]
    # The second that a warning lies in is known at its end.
    is_quiet = lambda when: not any(-2 <= when - other <= OTHERS_FOR_S for other in taken)
    quiet = sum(is_quiet(when) for when, _ in reported.others)
    verdict.quiet_s = verdict.seconds * quiet / len(reported.others) if reported.others else verdict.seconds
    severities = {rule: warning['severity'] for rule, warning in reported.warnings.items()}
    raised = [(rule, since / 10) for rule, since in sorted(reported.raised) if rule not in ALWAYS_TRUE and severities[rule] != 'info']
    raised += [(f'pattern {kind}', reported.others[-1][0] if reported.others else 0) for kind in sorted(kinds)]
    is_true = set()
    for is_borne_out, names in ((has_drifted, {'slow_drift', 'pattern drift'}), (had_slow_batches, {'flagged_batches'}), (had_period, {'slow_period', 'pattern period'})):
        is_true |= names if is_borne_out(truth, reported) else set()
    for rule, when in raised:
        what = f'{rule}: {reported.warnings[rule]["message"]}' if rule in reported.warnings else f'{rule}: {reported.patterns}'
        (verdict.borne_out if rule in is_true else verdict.alarms if is_quiet(when) else verdict.disturbances).append(what)
    for entry in reported.flagged.values():
        verdict.others[kind_of((entry['causes'] or [{'what': 'none'}])[0])] += 1


def judge(case, seed, arguments, period, truth, reported):
    verdict = Verdict(case, seed, arguments)
    verdict.seconds = truth.get('total_s', 0)
    kinds = {pattern.get('kind', 'period') for pattern in reported.patterns}
    if case.causes:
        judge_batches(verdict, truth, reported)
    if 'warning' in case.expect:
        wanted = case.expect['warning']
        verdict.claims.append((f'warning {wanted}', wanted in reported.warnings, sorted(reported.warnings)))
    if 'verdict' in case.expect:
        wanted = case.expect['verdict']
        verdict.claims.append((f'memory {wanted}', wanted in reported.verdicts, reported.verdicts))
    if case.causes or 'period' in case.expect:
        judge_periods(verdict, truth, reported, period)
    if 'leak' in case.expect:
        judge_leak(verdict, truth, reported)
    if 'drift' in case.expect:
        begin = truth['faults'][0]['from']
        firsts = [pattern.get('first') for pattern in reported.patterns if pattern.get('kind') == 'drift']
        verdict.claims.append((f'drift from {begin:g}', any(first is not None and abs(first - begin) <= 10 for first in firsts), firsts))
    if 'stall' in case.expect:
        stall = reported.stall or {}
        verdict.claims.append((f'stall in {case.expect["stall"]}', case.expect['stall'] in str(stall.get('stack', '')), stall))
    if 'nothing' in case.expect:
        judge_nothing(verdict, truth, reported, kinds)
    return verdict
