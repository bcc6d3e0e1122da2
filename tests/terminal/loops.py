"""What is read of loops from outside beside what they have really done, for every CPython from 3.8 on that is found (PATH, pyenv). No position may be wrong:
each was true at some moment while it was read. KINDS=nested,zips and PYTHONS=3.11 choose."""
import bisect
import collections
import json
import os
import re
import subprocess
import sys

from pythons import BUILD, ENVIRONMENT, pythons, try_all

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, '../workloads/loops.py')
LOOPING = os.path.join(BUILD, 'tests/terminal/looping')
TORCH = os.path.join(BUILD, 'python-venv/bin/python')      # has tqdm
NEWEST_READ = 15
AT_A_TIME = 3          # they mostly wait
NAMES = ['range', 'enumerate', 'list', 'tuple', 'sequence', 'zip', 'map', 'itertools', 'generator', 'progress', 'int', 'state', 'changes', 'other']
READINGS = ['good', 'unsure', 'ended']
Seen = collections.namedtuple('Seen', 'what before after kind depth line more is_in_generator has_position is_relative position length frame object name file')
# Of each loop: kind, depth, length (None: must be unknown), and whether its position must be known.
EXPECTED = {
    'nested': {'outer': ('range', 0, 3), 'inner': ('range', 1, 20)},
    'enumerates': {'plain': ('enumerate', 0, 30), 'from_one': ('enumerate', 0, 30), 'from_seven': ('enumerate', 0, 25), 'from_variable': ('enumerate', 0, 30),
                   'swapped': ('enumerate', 1, 1000)},
    'sequences': {'list': ('list', 0, 20), 'tuple': ('tuple', 0, 20), 'list_reversed': ('list', 0, 20), 'data': ('sequence', 0, None), 'growing': ('list', 0, range(10, 26)),
                  'in_texts': ('list', 2, 3)},
    'ranges': {'of_local': ('range', 0, 30), 'of_variable': ('range', 0, 26), 'of_iter': ('range', 0, 20), 'down': ('range', 0, 20),
               'of_choice': ('range', 0, 15), 'of_expression': ('range', 0, 27), 'used': ('range', 0, 40)},
    'zips': {'zip': ('zip', 0, 20), 'map': ('map', 0, 20), 'enumerate': ('enumerate', 0, 22)},
    'islices': {'count': ('itertools', 0, None), 'count_from': ('itertools', 0, None), 'endless': ('itertools', 0, 25), 'short': ('itertools', 0, 15),
                'from_five': ('itertools', 0, None)},
    'wrapped': {'chain': ('itertools', 0, None), 'cycle': ('itertools', 0, None), 'repeat': ('itertools', 0, 30), 'repeat_of_variable': ('itertools', 0, None),
                'takewhile': ('itertools', 0, None), 'starmap': ('itertools', 0, 20), 'accumulate': ('itertools', 0, None), 'zip_longest': ('itertools', 0, 25),
                'tee': ('itertools', 0, None), 'batched': ('itertools', 0, 23), 'pairwise': ('itertools', 0, 29), 'pairwise_enumerated': ('enumerate', 0, 39)},
    'generators': {'batches': ('generator', 0, 20), 'enumerate': ('enumerate', 0, 20), 'expression': ('generator', 0, 25), 'of_generator': ('generator', 0, 15),
                   'delegating': ('generator', 0, 21), 'delegating_inside': ('generator', 0, 18), 'elsewhere': ('generator', 0, 20), 'while_before': ('generator', 0, None),
                   'while_behind': ('generator', 0, None)},
    'irregular': {},
    'gathers': {'gathered': ('generator', 0, 101), 'chunks': ('generator', 0, 67), 'sampled': ('generator', 0, 81), 'full': ('generator', 0, 80),
                'grouped': ('zip', 0, 100), 'longest': ('itertools', 0, 101)},
    'own': {'by_one': ('other', 1, 25), 'by_size': ('other', 1, 21), 'two_ways': ('other', 0, None), 'single': ('other', 0, 30), 'zipped': ('zip', 0, range(20, 26))},
    'changes': {},
    'whiles': {'micro': ('range', 1, 4), 'iter_num': ('int', 0, None), 'step': ('int', 0, None), 'at': ('int', 0, None)},
    'attributes': {'self.step': ('int', 0, None), 'self.state.step': ('int', 0, None), "self.counts['step']": ('int', 0, None), 'self.compared': ('int', 0, None),
                   'run[0]': ('int', 0, None), 'frozen.step': ('int', 0, None), 'kept.step': ('int', 0, None),
                   'tight.step': ('int', 0, None), 'derived.step': ('int', 0, None)},
    'calls': {'step()': ('int', 0, None)},
    'blocks': {'within': ('range', 0, 25), 'deep': ('list', 1, 3), 'tried': ('range', 0, 25)},
    'handled': {'epoch': ('range', 0, 3), 'n': ('int', 1, None), 'turn': ('range', 0, 3), 'm': ('int', 1, None)},
    'leaving': {'found': ('range', 0, 30), 'failed': ('list', 0, 30), 'broken': ('range', 1, {3, 17, 40, 5, 29})},
    'comprehensions': {'outer': ('range', 0, 5)},
    'recursion': {'level': ('range', 0, 4)},
    'closures': {'outer': ('range', 0, 3), 'total': ('int', 0, None)},
    'module': {'inner': ('range', 1, 3), 'counter': ('int', 0, None)},
    'globals_': {'shared': ('int', 0, None)},
    'extended': {'outer': ('range', 0, 30), 'inner': ('list', 1, 3)},
    'bars': {'range': ('progress', 0, 25), 'batches': ('progress', 0, 20), 'enumerate': ('enumerate', 0, 22), 'own': ('progress', 0, 20), 'pbar': ('progress', 0, 30)},
    'rich_bars': {'track': ('generator', 0, 25), 'generator': ('generator', 0, 20), 'task': ('progress', 0, 60)},
    'states': {'global_step': ('state', 0, {30, 130})},
    'hostile': {},
    'dying': {'short': ('generator', 2, 30), 'closed': ('generator', 0, 100)},
    'coroutines': {'range': ('range', 0, 15)},
    'losses': {'range': ('range', 0, 20)},
    'meters': {'range': ('range', 0, 20)},
    'listed': {'range': ('range', 0, 20)},
    'summed': {'range': ('range', 0, 20)},
    'numbers': {'range': ('range', 1, 10)},
}
# Since 3.12 a range iterator does not say where it began, and the code tells it only where it is a call with a constant.
RELATIVE_SINCE_12 = {'ranges': {'of_iter', 'of_choice', 'used'}, 'comprehensions': set(), 'generators': {'expression'}}
RELATIVE = {'islices': {'from_five'}, 'wrapped': {'chain', 'cycle', 'repeat_of_variable', 'accumulate', 'tee'}, 'generators': {'while_behind'}}
SINCE = {'wrapped.batched': 12, 'wrapped.pairwise': 10, 'wrapped.pairwise_enumerated': 10}
# The iterator was advanced before the loop began, so its position is larger than the loop's.
SHIFTED = {'ranges.used': 2, 'islices.from_five': 5}
ELSEWHERE = {('extended.py', 3): 'extended.outer', ('extended.py', 7): 'extended.inner', ('module.py', 6): 'module.counter', ('module.py', 9): 'module.inner'}
CALLS_MAX = {'nested': 15, 'zips': 25, 'states': 60, 'attributes': 100, 'hostile': 80}    # system calls of a read
READ_US = {'summed': 1500}
TRACING_PAUSES = 50
ATTRIBUTES = {'pbar.n': 'bars.pbar', 'shown._tasks[].completed': 'rich_bars.task', 'trainer.state.global_step': 'states.global_step'}


def tagged_lines():
    found = dict(ELSEWHERE)
    for path in (SCRIPT, SCRIPT.replace('.py', '_wrapped.py'), SCRIPT.replace('.py', '_generators.py')):
        with open(path, encoding='utf-8') as file:
            for number, line in enumerate(file, 1):
                tag = re.search(r'# (?:loop|int) (\S+)$', line)
                if tag:
                    found[os.path.basename(path), number] = tag[1]
    return found


LINES = tagged_lines()


def seen_of(text):
    words = text.split(' ', 15)
    what, before, after, kind, depth, line, more, *rest = words
    flags, (frame, thing, name, file) = list(map(int, rest[:5])), rest[5:]
    return Seen(what, int(before), int(after), NAMES[int(kind)], int(depth), int(line), int(more), *flags, frame, thing, name, os.path.basename(file))


class Looping:
    """The reader, at another process."""

    def __init__(self, pid, read_us, poll_us, *more):
        self.process = subprocess.Popen([LOOPING, str(pid), str(read_us), str(poll_us), *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.first = self.process.stdout.readline().rstrip('\n')

    def end(self):
        reported, _ = self.process.communicate('\n', timeout=60)
        assert self.process.returncode == 0, (self.process.returncode, self.first, reported[-300:])
        lines = reported.splitlines()
        words = lines[-1].split()[1:]
        return ([seen_of(text) for text in lines[:-1] if not text.startswith('loss')], [list(map(float, text.split()[1:])) for text in lines if text.startswith('loss')],
                dict(zip(words[::2], map(int, words[1::2]))))


def watch(python, kind, pause, read_us=8000, poll_us=2000, environment=ENVIRONMENT, seconds=0.8):
    """What was seen, the losses, the costs, the truth."""
    program = subprocess.Popen([python, SCRIPT, kind, str(seconds), str(pause)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
                               stderr=subprocess.DEVNULL if 'REAL_TQDM' in environment else None)
    try:
        assert program.stdout.readline() == 'ready\n'
        looping = Looping(program.pid, read_us, poll_us, *(['changes'] if kind == 'changes' else []))
        assert looping.first == 'ready', looping.first
        program.stdin.write('\n')
        program.stdin.flush()
        truth = json.loads(program.stdout.readline())
        seen, losses, costs = looping.end()
        return seen, losses, costs, truth
    finally:
        program.kill()
        program.wait()


class Series:
    """What one loop or variable was, and when."""

    def __init__(self, events):
        self.times, self.values = [time for time, _ in events], [value for _, value in events]

    def possible(self, before, after):
        """What it can have been at some moment between: an item is delivered just before it is logged."""
        first, last = bisect.bisect_right(self.times, before), bisect.bisect_right(self.times, after)
        values = set(self.values[max(first - 1, 0):last + 1])
        return values | ({0} if 1 in self.values[first:last + 1] else set())


def series_of(truth):
    found = collections.defaultdict(list)
    for key, events in truth.items():
        found[key.split('#')[0]].append(Series(events))
    return found


def is_good(one):
    return one.has_position and (one.what == 'read' or READINGS[one.more] == 'good')


def until_unread(seen, name, pause_s):
    """Without what was seen of a count after its reader, on a busy machine, had slept for that long: it may have been set back meanwhile."""
    read_ns, is_read = None, True
    for one in seen:
        if one.name == name:
            is_read = is_read and one.after - (read_ns or one.before) < pause_s * 1e9
            read_ns = one.before
        if one.name != name or is_read:
            yield one


def check_positions(kind, seen, truth):
    """Returns how many positions of each key were seen."""
    series, counts, offsets, number = series_of(truth), collections.Counter(), {}, 0
    for one in seen:
        number = one.before if one.what == 'read' else number
        key = LINES.get((one.file, one.line)) if one.kind != 'int' else None
        if one.kind == 'int':
            key = f'{kind}.{one.name}' if f'{kind}.{one.name}' in series else LINES.get((one.file, one.line))
            key = key if key and key.endswith('.' + one.name) else None
        elif one.name in ATTRIBUTES:
            key = ATTRIBUTES[one.name]
        if not key or not is_good(one) or one.is_in_generator:
            continue
        possible = set().union(*(each.possible(one.before, one.after) for each in series[key]))
        possible = {value + SHIFTED.get(key, 0) for value in possible}
        assert possible, (key, one)
        if not one.is_relative:
            assert one.position in possible, f'{key}: {one.position} of {one.length} seen by {one.what} where it was {sorted(possible)}: {one}'
        else:
            ways = {one.position - value for value in possible}
            offsets[number, key, one.frame, one.object] = offsets.get((number, key, one.frame, one.object), ways) & ways
            assert offsets[number, key, one.frame, one.object] or kind not in RELATIVE_SINCE_12, (key, one)
        counts[key] += 1
    return counts


def lengths_of(expected):
    return set(expected) if isinstance(expected, (set, range)) else {expected or 0}


def expected_of(kind, minor):
    return {name: row for name, row in EXPECTED[kind].items() if minor >= SINCE.get(f'{kind}.{name}', 0)}


def are_all_seen(kind, counts, minor):
    return all(counts[f'{kind}.{name}'] >= 3 for name in expected_of(kind, minor))


def is_loop_line(one):
    """A loop inside a generator, which may be of another file than what iterates over it."""
    path = os.path.join(os.path.dirname(SCRIPT), one.file)
    if not one.line or not os.path.exists(path):
        return True
    with open(path, encoding='utf-8') as file:
        text = file.read().splitlines()[one.line - 1]
    return bool(re.search(r'\b(for|while|yield from)\b', text))


CHANGING = {'changes.unpacked', 'changes.asked', 'changes.shared', 'changes.in_cell'}


def counts_changes(python, pause):
    """Of iterations that last some polls each is seen; of faster ones never too many, nor any of a loop that may leave the assignment out."""
    for seconds in (3, 12):
        seen, _, _, truth = watch(python, 'changes', pause, read_us=300000, seconds=seconds)
        series, groups, number = series_of(truth), collections.defaultdict(list), 0
        for one in seen:
            number = one.before if one.what == 'read' else number
            if one.kind == 'changes' and is_good(one):
                groups[number, LINES.get((one.file, one.line)), one.frame, one.object].append(one)
        most = collections.Counter()
        for (_, key, *_), ones in groups.items():
            assert key in CHANGING, (key, ones[0])
            first = ones[0]
            for one in ones:
                # An item is assigned just before it is logged. A `while` that begins anew meanwhile goes on.
                least, least_first, most_now, most_first = (sum(bisect.bisect_right(each.times, at) for each in series[key])
                                                            for at in (one.before, first.after, one.after, first.before))
                by = one.position - first.position
                assert one.is_relative and by <= most_now - most_first + 1, (key, one, first)
                assert not pause or by >= least - least_first - 1, (key, one, first)
            most[key] = max(most[key], ones[-1].position)
        if not pause or (set(most) == CHANGING and min(most.values()) >= 4):
            return
    raise AssertionError(most)


def reads_kind(python, kind, pause, minor, **more):
    # On a busy machine some loops are not seen in the shorter time.
    for seconds in (0.8, 4):
        seen, losses, costs, truth = watch(python, kind, pause, **{'seconds': seconds, **more})
        # A tf.function that is traced sets its count back, which takes TRACING_PAUSES.
        counts = check_positions(kind, until_unread(seen, 'step()', TRACING_PAUSES * pause) if pause else seen, truth)
        if not pause or are_all_seen(kind, counts, minor):
            break
    assert not pause or 'environment' in more or costs['calls'] <= CALLS_MAX.get(kind, 60), costs
    assert seen or not pause, 'nothing was seen'
    relative = RELATIVE.get(kind, set()) | (RELATIVE_SINCE_12.get(kind, set()) if minor >= 12 else set())
    if pause:
        for name, (of_kind, depth, length) in expected_of(kind, minor).items():
            key = f'{kind}.{name}'
            ones = [one for one in seen if (LINES.get((one.file, one.line)) == key and (one.kind == 'int') == (of_kind == 'int') and not one.is_in_generator)
                    or ATTRIBUTES.get(one.name) == key]
            assert counts[key] >= 3, f'{key} was seen {counts[key]} times'
            assert {one.kind for one in ones} == {of_kind}, (key, [one for one in ones if one.kind != of_kind][:3])
            assert {one.depth for one in ones} == {depth}, (key, {one.depth for one in ones})
            good = [one for one in ones if is_good(one)]
            # Memory that changes while a bar is read can leave its total or its begin unknown for a moment, never wrong. A poll has what was read.
            whole = [one for one in good if of_kind != 'progress' or one.what == 'read']
            spare = max(2, len(whole) // 3) if of_kind == 'progress' else 0    # more of them the busier the machine is
            assert sum(one.is_relative != (name in relative) for one in whole) <= spare, (key, name in relative, good[:2])
            is_rare = sum(not one.length for one in whole) <= spare
            lengths = {one.length for one in good} - ({0} if is_rare or of_kind in ('enumerate', 'zip', 'map', 'itertools', 'state') else set())
            assert lengths <= (lengths_of(length) if name not in relative else {0}), (key, lengths)
            assert lengths or length is None, key
    if kind == 'irregular':
        known = {one for one in seen if LINES.get((one.file, one.line)) == 'irregular.items' and is_good(one) and not one.is_in_generator}
        assert {one.kind for one in known} <= {'generator', 'int'}, known
        assert not pause or any(one.kind == 'generator' and not one.has_position for one in seen), 'an unknown position hides the loop'
    if kind == 'own':
        unknown = {'own.by_tokens', 'own.endless', 'own.used'}
        others = [one for one in seen if LINES.get((one.file, one.line)) in unknown and one.kind == 'other']
        assert not any(one.has_position for one in others), [one for one in others if one.has_position][:2]
        assert not pause or {LINES[one.file, one.line] for one in others} == unknown, 'an unknown position hides the loop'
    assert not [one for one in seen if one.is_in_generator and one.kind != 'int' and not is_loop_line(one)], 'the line is of another file'
    if kind == 'hostile':
        assert not [one for one in seen if one.kind in ('progress', 'state') and is_good(one)]
    if kind in ('losses', 'meters', 'listed', 'numbers') and pause:
        check_losses(losses, truth[f'{kind}.loss'])
    if kind == 'numbers' and pause:
        doubles = {1 / (i + 3) for i in range(10)}
        assert {value in doubles for _, _, value, *_ in losses if value != 0.5 and value != 0.25 and value != 0.125} == {True, False}, losses
    if kind == 'summed':
        check_sums(losses, truth['summed.loss'], pause)


def check_losses(losses, truth):
    series = Series(truth)
    assert len(losses) > 3, losses
    for before, after, value, is_sum, *_ in losses:
        assert not is_sum and value in series.possible(before, after), (value, series.possible(before, after))


SUMMED = {0, 0.125, 0.25, 0.375, 0.5, 0.75}    # ways to add a loss


def check_sums(losses, truth, pause):
    """Between two readings of a pass the sum was added to as often as they say, and not reset if they say so."""
    known, pairs, last = {total: (of_pass, number, *resets) for _, (of_pass, number, total, *resets) in truth}, collections.Counter(), {}
    for _, _, value, is_sum, count, is_reset, has_index, index, resets_before, resets in losses:
        assert is_sum and (value in known or value in (0, 0.25, 0.5, 0.75)), value
        if value not in known:
            continue
        of_pass, number, *was_reset = known[value]
        assert is_reset == (of_pass % 1 not in (0, 0.25)) and has_index == bool(was_reset), (of_pass, is_reset, has_index)
        before = last.get(of_pass)
        if before:
            assert number - before[0] == count - before[1], (of_pass, number, count, before)
            is_of_one = not has_index or (index - before[2] == count - before[1] and resets == before[3])
            assert not is_of_one or was_reset == before[4], (of_pass, index, resets, before)
            pairs[of_pass % 1] += number > before[0] and is_of_one
        last[of_pass] = number, count, index, resets_before, was_reset
    assert not pause or all(pairs[way] > 0 for way in SUMMED), pairs


def refuses(python):
    """Of a version whose objects are not known nothing is read."""
    with subprocess.Popen([python, '-c', 'print("ready", flush=True); input()'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        program.stdout.readline()
        looping = Looping(program.pid, 1000, 1000)
        looping.process.communicate('', timeout=60)
        assert looping.first.startswith('cannot pmtop cannot read objects of Python 3.'), looping.first
        program.communicate('\n')


OF_THE_INTERPRETER = '''
import dis, json, opcode, sys
def effect(number, argument):
    try:
        return dis.stack_effect(number, argument if number >= opcode.HAVE_ARGUMENT else None)
    except ValueError:
        return None
caches = getattr(opcode, "_inline_cache_entries", {})
caches = caches if isinstance(caches, list) else dict(caches)
of = (lambda number, name: caches.get(name, 0)) if isinstance(caches, dict) else lambda number, name: caches[number]
print(json.dumps({number: [name, of(number, name), number in opcode.hasjrel or number in opcode.hasjabs, [effect(number, n) for n in range(4)]]
                  for name, number in opcode.opmap.items() if number < 256 and name != 'CACHE'}))
'''
JUMPS = 'FjbnacdesS'
ROLES = {'FOR_ITER': 'F', 'JUMP_FORWARD': 'j', 'JUMP_BACKWARD': 'b', 'JUMP_ABSOLUTE': 'a', 'YIELD_VALUE': 'Y', 'YIELD_FROM': 'v', 'SEND': 'S', 'EXTENDED_ARG': 'x',
         'STORE_FAST': 'f', 'STORE_NAME': 'N', 'STORE_GLOBAL': 'g', 'STORE_DEREF': 'D', 'GET_ITER': 'G', 'LOAD_CONST': 'L', 'LOAD_FAST': 'l', 'RETURN_VALUE': 'r',
         'LOAD_FAST_LOAD_FAST': 'w', 'LOAD_FAST_BORROW_LOAD_FAST_BORROW': 'w', 'COMPARE_OP': '<', 'RAISE_VARARGS': 'R', 'BINARY_SUBSCR': 'z', 'STORE_SUBSCR': 'Z',
         'TO_BOOL': 'B', 'DELETE_FAST': 'X', 'DELETE_NAME': 'X', 'DELETE_GLOBAL': 'X', 'DELETE_DEREF': 'X', 'BINARY_ADD': '&', 'BINARY_SUBTRACT': '-'}


def knows_opcodes(python, minor):
    """The table of instructions beside the interpreter's own."""
    truth = json.loads(subprocess.run([python, '-c', OF_THE_INTERPRETER], capture_output=True, text=True, check=True).stdout)
    rows = [row.split() for row in subprocess.run([LOOPING, 'opcodes', str(minor)], capture_output=True, text=True, check=True).stdout.splitlines()]
    assert len(rows) == 256 and len(truth) > 100, (len(rows), len(truth))
    hidden = ('INSTRUMENTED_LINE', 'INSTRUMENTED_INSTRUCTION', 'ENTER_EXECUTOR', 'RESERVED', 'TRACE_RECORD')
    for number, (name, caches, is_jump, effects) in truth.items():
        role, known_caches, *known_effects = rows[int(number)]
        assert (role == '!') == (name in hidden), (name, role)
        if role == '!' or name.startswith('INSTRUMENTED_'):
            continue
        assert int(known_caches) == caches, (name, known_caches, caches)
        assert (role in JUMPS) == (is_jump and name != 'END_ASYNC_FOR'), (name, role)
        assert role == ROLES.get(name, role), (name, role)
        assert known_effects[0] == '~' or known_effects == list(map(str, effects)), (name, known_effects, effects)


def minor_of(python):
    return subprocess.run([python, '-c', 'import sys; print(sys.version_info[1])'], capture_output=True, text=True, check=True).stdout


def tests():
    found = {}
    wanted = os.environ.get('KINDS', '').split(',') if os.environ.get('KINDS') else list(EXPECTED)
    if os.path.exists(TORCH) and 'bars' in wanted:
        found['bars of tqdm'] = lambda: reads_kind(TORCH, 'bars', 0.0005, int(minor_of(TORCH)), environment=dict(ENVIRONMENT, REAL_TQDM='1'))
    if os.path.exists(TORCH) and 'rich_bars' in wanted:
        found['bars of rich'] = lambda: reads_kind(TORCH, 'rich_bars', 0.0005, int(minor_of(TORCH)))
    if os.path.exists(TORCH) and 'numbers' in wanted:
        found['numbers of NumPy'] = lambda: reads_kind(TORCH, 'numbers', 0.0005, int(minor_of(TORCH)))
    for version, path in pythons().items():
        minor = int(version.split('.')[1])
        if not version.startswith(os.environ.get('PYTHONS', '3.')):
            continue
        if minor > NEWEST_READ:
            found[f'{version} is refused'] = lambda path=path: refuses(path)
            continue
        found[f'{version}, opcodes'] = lambda path=path, minor=minor: knows_opcodes(path, minor)
        for kind in wanted:
            if kind in ('rich_bars', 'numbers'):
                continue
            if kind == 'changes':
                found[f'{version}, changes'] = lambda path=path: counts_changes(path, 0.02)
                found[f'{version}, changes, fast'] = lambda path=path: counts_changes(path, 0)
                continue
            found[f'{version}, {kind}'] = lambda path=path, kind=kind, minor=minor: reads_kind(path, kind, 0.0005, minor, read_us=READ_US.get(kind, 8000))
            found[f'{version}, {kind}, fast'] = lambda path=path, kind=kind, minor=minor: reads_kind(path, kind, 0, minor, seconds=0.3, poll_us=300)
    return found


if __name__ == '__main__':
    sys.exit(try_all(tests(), AT_A_TIME))
