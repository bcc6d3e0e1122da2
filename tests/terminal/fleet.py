"""pmtop fleet --json with hosts that are processes of this machine; see test_fleet.sh. A host's name is what it does: its command is made by HOST below."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

BUILD = os.path.abspath(sys.argv[1])
PMTOP, TRAINER, STAND_IN = f'{BUILD}/pmtop', f'{BUILD}/tests/workloads/trainer', f'{BUILD}/tests/bench/fleet_stream'
RANKS = 8
WAIT_S = 60
passed = failed = 0
scratch = tempfile.mkdtemp()

# rank-N: pmtop collect of that trainer; the appended command comes as "$@". The others are stand-ins.
HOST = f'''
host=$1; shift
case $host in
rank-*) shift; (: < /dev/tty) 2> /dev/null && echo $host > {scratch}/asked; pid=$(cat {scratch}/$host); echo $$ > {scratch}/collect-$host; exec {PMTOP} "$@" -p $pid ;;
hour) exec {STAND_IN} 100 200 3600 ;;
none) exec pmtop-that-is-not-there ;;
gate) printf 'Welcome\nHost key verification failed.\nConnection closed by UNKNOWN port 65535\n' >&2; exit 255 ;;
motd) echo 'modules loaded' >&2; yes 'message of the day' | head -100; exec {STAND_IN} 101 200 ;;
one-way) exec {STAND_IN} 106 200 0 "" < /dev/zero 2> /dev/null ;;
*) exec {STAND_IN} 107 200 0 $host ;;
esac
'''

# Relays, for groups of three: near and next work, far is not reached from a relay; old has no --relay, liar sends a frame of a host that it was not asked for.
# A relay sets RELAY for what it starts; the collect of its own host comes as --program, and finds its name in FLEET_HOST.
TREE = f'''
host=$1; shift
export FLEET_HOST=$host
case $host-$* in
old*--relay*) echo 'pmtop: unknown option, or an option without its value: --relay: see pmtop --help' >&2; exit 2 ;;
liar*--relay*) echo 'message of the day'; printf 'pmtR\\1\\0\\0\\0\\1\\0\\0\\0001pmtR\\6\\0\\11\\0\\1\\0\\0\\0x'; exec sleep 100 ;;
*--relay*) export RELAY=$host; echo $$ > {scratch}/relay-$host; exec {PMTOP} collect --relay ;;
far*) [ -z "$RELAY" ] || {{ echo 'me@far: Permission denied (publickey).' >&2; exit 255; }} ;;
esac
echo $$ >> {scratch}/leaves
exec {STAND_IN} 10${{host#*-}} 200
'''


def check(name, is_good, shown=''):
    global passed, failed
    passed, failed = passed + bool(is_good), failed + (not is_good)
    if not is_good:
        print(f'not ok: {name}: {shown}')


class Fleet:
    def __init__(self, hosts, script=HOST, more=()):
        with open(f'{scratch}/host', 'w') as file:
            file.write(script)
        self.process = subprocess.Popen([PMTOP, 'fleet', f'--exec=exec sh {scratch}/host {{}}', '--json', '-d', '0.5', *more, *hosts],
                                        stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        self.seen = None

    def until(self, is_so):
        """The first object of which is_so holds, and how long it took; else the last one, and None."""
        begun = time.monotonic()
        while time.monotonic() - begun < WAIT_S:
            line = self.process.stdout.readline()
            if not line:
                break
            self.seen = json.loads(line)
            if is_so(self.seen):
                return self.seen, time.monotonic() - begun
        return self.seen, None

    def end(self):
        self.process.terminate()
        self.process.stdout.read()
        return self.process.wait(timeout=WAIT_S)


def host(seen, name):
    return next(row for row in seen['hosts'] if row['host'] == name)


def keys(value):
    found = set(value) if isinstance(value, dict) else set()
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        found |= keys(one)
    return found


def undocumented(seen):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../man/pmtop-fleet.1'), encoding='utf-8') as page:
        words = set(re.findall(r'[a-z_]+', page.read().split('.Sh JSON')[1]))
    return keys(seen) - words


def rank(seen, number):
    return next((row for row in seen['ranks'] if row.get('rank') == number), {})


def real_streams():
    trainers = []
    for number in range(RANKS):
        environment = dict(os.environ, RANK=str(number), WORLD_SIZE=str(RANKS), PMTOP_RUN_ID='fleet')
        trainers.append(subprocess.Popen([TRAINER, '--name', 'digits', '--workers', '0', '--step-ms', '60' if number == 5 else '20', '--epochs', '1000'],
                                         env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        with open(f'{scratch}/rank-{number}', 'w') as file:
            file.write(str(trainers[-1].pid))
    fleet = Fleet([f'rank-{number}' for number in range(RANKS)] + ['hour', 'none'])
    try:
        seen, took = fleet.until(lambda seen: sum(row['state'] == 'live' for row in seen['hosts']) == RANKS + 1 and len(seen['ranks']) == RANKS + 1 and
                                 all('ratio' in row and 'step' in row for row in seen['ranks']) and
                                 all('clock_error_s' in row for row in seen['hosts'] if row['state'] == 'live'))
        check('eight_streams_are_merged', took is not None, seen)
        if took is None:
            return
        check('each_rank_is_there_once', sorted(row['rank'] for row in seen['ranks']) == [*range(RANKS), 100], seen['ranks'])
        _, took = fleet.until(lambda seen: rank(seen, 3).get('resident_bytes', 0) > 1e6)
        check('memory_of_a_rank_is_known', took is not None, fleet.seen['ranks'])
        check('clocks_of_one_machine_agree_within_the_error',
              all(abs(row['clock_offset_s']) <= row['clock_error_s'] + 0.001 for row in seen['hosts'] if row['host'].startswith('rank')), seen['hosts'])
        check('manual_has_all_keys', not undocumented(seen), undocumented(seen))
        hour = host(seen, 'hour')
        check('clock_that_is_an_hour_ahead_is_named', abs(hour['clock_offset_s'] - 3600) <= hour['clock_error_s'] + 0.001, hour)
        check('its_steps_are_of_now', rank(seen, 100).get('still_s', 99) < 30, rank(seen, 100))
        none = host(seen, 'none')
        check('missing_pmtop_is_named', 'install pmtop there, or name it with --program' in none.get('reason', ''), none)
        _, took = fleet.until(lambda seen: rank(seen, 5).get('step', 0) > 15 and next((row['rank'] for row in seen['ranks'] if row['state'] == 'running' and row['rank'] < 100), None) == 5)
        check('the_slow_rank_comes_first', took is not None, fleet.seen['ranks'])
        stopped(fleet)
        opened()
        ends_with_its_input(trainers[0].pid)
    finally:
        check('sigterm_ends_it', fleet.end() in (0, -signal.SIGTERM))
        for trainer in trainers:
            trainer.kill()
            trainer.wait()


def stopped(fleet):
    """A collect that is stopped is silent within 5 s, then live again; one that is killed is started again."""
    with open(f'{scratch}/collect-rank-2') as file:
        pid = int(file.read())
    os.kill(pid, signal.SIGSTOP)
    seen, took = fleet.until(lambda seen: host(seen, 'rank-2')['state'] == 'silent')
    check('stopped_host_is_silent_within_5_s', took is not None and took < 6, took)
    check('its_reason_says_how_long', 'no samples for' in host(seen, 'rank-2').get('reason', ''), host(seen, 'rank-2'))
    os.kill(pid, signal.SIGCONT)
    _, took = fleet.until(lambda seen: host(seen, 'rank-2')['state'] == 'live')
    check('it_is_live_again', took is not None)
    os.kill(pid, signal.SIGKILL)
    _, took = fleet.until(lambda seen: host(seen, 'rank-2')['starts'] > 1 and host(seen, 'rank-2')['state'] == 'live')
    check('killed_collect_is_started_again', took is not None, host(fleet.seen, 'rank-2'))


def ends_with_its_input(pid):
    """Its output goes nowhere, so that it cannot see that its reader is gone."""
    process = subprocess.Popen([PMTOP, 'collect', '--fleet', '-p', str(pid)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    process.stdin.write('clock 1\n')
    process.stdin.flush()
    process.stderr.readline()
    process.stdin.close()
    try:
        process.wait(timeout=WAIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
    check('collect_ends_with_its_input', process.returncode is not None and process.returncode != -signal.SIGKILL, process.returncode)


def opened():
    """On the screen: Enter opens the views of a rank, Esc comes back."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ['TERM'] = 'xterm-256color'
        os.execv(PMTOP, [PMTOP, 'fleet', f'--exec=exec sh {scratch}/host {{}}', 'rank-0'])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 120, 0, 0))

    def shows(text):
        seen, until = b'', time.monotonic() + WAIT_S
        while text not in seen and time.monotonic() < until:
            if select.select([fd], [], [], 1)[0]:
                try:
                    seen += os.read(fd, 1 << 16)
                except OSError:
                    return False
        return text in seen
    check('screen_has_the_rank', shows(b'rank 0'))
    os.write(fd, b'\r')
    check('enter_opens_its_views', shows(b'Step time'))
    os.write(fd, b'\x1b')
    check('esc_comes_back', shows(b'by slowest'))
    os.write(fd, b'q')
    shows(b'\0')
    check('hosts_have_no_terminal_to_ask_on', not os.path.exists(f'{scratch}/asked'))
    check('q_quits', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0)


def hostile_streams():
    fleet = Fleet(['hang', 'garbage', 'version', 'silent', 'exit', 'jump', 'gate', 'motd', 'hour'])
    wanted = {'hang': 'no samples for', 'garbage': 'no pmtop stream', 'version': 'its stream cannot be read', 'exit': 'no training run was found',
              'jump': 'impossible', 'silent': 'no answer for', 'gate': 'Host key verification failed. → connect once by hand'}
    said = {}

    def all_said(seen):
        for row in seen['hosts']:
            if wanted.get(row['host'], '\0') in row.get('reason', ''):
                said[row['host']] = row['reason']
        return len(said) == len(wanted)
    seen, took = fleet.until(all_said)
    for name, text in wanted.items():
        check(f'reason_of_{name}', name in said, host(seen, name))
    check('nobody_else_is_held_up', host(seen, 'hour')['state'] == 'live' and rank(seen, 100).get('still_s', 99) < 30, seen)
    check('message_of_the_day_before_a_stream_is_skipped', host(seen, 'motd')['state'] == 'live' and rank(seen, 101), host(seen, 'motd'))
    check('host_that_says_nothing_is_starting', host(seen, 'silent')['state'] == 'starting', host(seen, 'silent'))
    check('memory_is_bounded', seen['self']['memory_bytes'] < 64e6, seen['self'])
    fleet.end()


def is_there(pid):
    try:
        with open(f'/proc/{pid}/stat') as file:
            return file.read().rsplit(')', 1)[1].split()[0] != 'Z'
    except OSError:
        return False


def relays():
    with open(f'{scratch}/own', 'w') as file:
        file.write(f'#!/bin/sh\nexec sh {scratch}/host $FLEET_HOST "$@"\n')
    os.chmod(f'{scratch}/own', 0o755)
    with open(f'{scratch}/list', 'w') as file:
        file.write('old-3 # too old\nliar-4 far-5\n')
    fleet = Fleet(['near-0', 'next-1,far-2', f'@{scratch}/list'], TREE, [f'--program={scratch}/own', '--fan-out=3'])

    def all_live(seen):
        return all(row['state'] == 'live' and row['clock'] == 'exchange' for row in seen['hosts'])
    seen, took = fleet.until(all_live)
    check('all_hosts_of_a_tree_are_live', took is not None, seen)
    check('hosts_have_their_relay', [row.get('relay') for row in seen['hosts']] == ['near-0', 'near-0', None, None, None, None] and seen['self']['relays'] == 1, seen)
    for name, text in (('far-2', 'from near-0: me@far: Permission denied'), ('far-5', 'relay liar-4 failed: it sends the stream of a host that it was not asked for')):
        check(f'reason_why_{name}_has_no_relay', text in host(seen, name).get('reason', ''), host(seen, name))
    check('ranks_come_through_relays', sorted(row['rank'] for row in seen['ranks']) == [*range(100, 106)], seen['ranks'])
    check('manual_has_all_keys_of_a_tree', not undocumented(seen), undocumented(seen))
    with open(f'{scratch}/relay-near-0') as file:
        os.kill(int(file.read()), signal.SIGKILL)
    seen, took = fleet.until(lambda seen: 'relay near-0 failed' in host(seen, 'next-1').get('reason', ''))
    check('relay_that_was_killed_is_named_within_5_s', took is not None and took < 6, (took, seen))
    seen, took = fleet.until(lambda seen: all_live(seen) and host(seen, 'near-0').get('relay') == 'next-1')
    check('next_host_becomes_the_relay', took is not None, seen)
    fleet.process.kill()
    fleet.process.wait()
    with open(f'{scratch}/leaves') as file:
        pids = file.read().split()
    with open(f'{scratch}/relay-next-1') as file:
        pids.append(file.read().strip())
    until = time.monotonic() + 10
    while any(map(is_there, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    check('nothing_is_left_when_pmtop_is_killed', not any(map(is_there, pids)), [pid for pid in pids if is_there(pid)])


def ways():
    """ssh and srun, each a script in PATH that runs the last of its words here."""
    scripts = {'ssh': f'echo "$@" > {scratch}/said-ssh; for last; do :; done; exec sh -c "$last"',
               'srun': f'echo "$@" > {scratch}/said-srun; exec {STAND_IN} 2', 'squeue': 'echo "n[1-2]"',
               'stand-in': f'exec {STAND_IN} 1'}
    for name, text in scripts.items():
        with open(f'{scratch}/{name}', 'w') as file:
            file.write(f'#!/bin/sh\n{text}\n')
        os.chmod(f'{scratch}/{name}', 0o755)
    environment = dict(os.environ, PATH=f'{scratch}:{os.environ["PATH"]}')
    for words, count, said in ((['--program', f'{scratch}/stand-in', 'gpu7'], 1, 'BatchMode=yes .* -- gpu7 .*collect --fleet -d 0.5 -p 12'),
                               (['--srun=99'], 2, '--jobid=99 --overlap .*--nodelist=n[12] pmtop collect --fleet')):
        way = 'srun' if count == 2 else 'ssh'
        done = subprocess.run([PMTOP, 'fleet', '--json', '-n', '1', '-d', '0.5', '-p', '12', *words], capture_output=True, text=True, timeout=WAIT_S, env=environment)
        seen = json.loads(done.stdout) if done.stdout else {'hosts': [], 'ranks': []}
        check(f'{way}_reaches_its_hosts', [row['state'] for row in seen['hosts']] == ['live'] * count, (done.stderr, seen))
        with open(f'{scratch}/said-{way}') as file:
            shown = file.read()
        check(f'{way}_is_called_so', re.search(said, shown), shown)


def refusals():
    for name, words, code, text in (
            ('no_hosts', [], 2, 'needs the names of hosts'), ('host_like_an_option', ['--exec=true {}', '--', 'x'], 2, ''),
            ('template_without_a_place', ['--exec=true', 'a'], 2, 'needs {}'), ('two_ways', ['--exec=true {}', '--srun=7', 'a'], 2, 'exclude one another'),
            ('list_without_end', ['--exec=true {}', 'n[1-'], 2, 'is no list of hosts'), ('too_large_groups', ['--exec=true {}', '--fan-out=513', 'a'], 2, 'at most 512 hosts a relay')):
        done = subprocess.run([PMTOP, 'fleet', *words], capture_output=True, text=True, timeout=WAIT_S)
        check(f'refuses_{name}', done.returncode == code and text in done.stderr and done.stderr.count('\n') == 1, done)
    done = subprocess.run([PMTOP, 'fleet', 'a'], capture_output=True, text=True, timeout=WAIT_S, env={'PATH': scratch})
    check('missing_ssh_is_named', done.returncode == 1 and 'ssh was not found' in done.stderr, done)


refusals()
ways()
hostile_streams()
relays()
real_streams()
print(f'{passed} passed, {failed} failed')
sys.exit(failed > 0)
