#!/usr/bin/env python3
"""What a recording costs: bytes and time a record, beside gzip'd JSON lines and SQLite of the same records; how fast a day is played and searched.

Prints rows for tests/bench/run (see there). PMTOP_BENCH_SMOKE=1 only shows that it works.
"""
import gzip
import json
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get('PMTOP_BUILD', 'build')
SMOKE = os.environ.get('PMTOP_BENCH_SMOKE') == '1'
STREAM = os.path.join(BUILD, 'tests/bench/stream')
SHORT_S, DAY_S, ROUNDS = (20, 300, 3) if SMOKE else (600, 86400, 9)


def stream(*arguments):
    """Every value that was printed under each name."""
    values = {}
    for line in subprocess.run([STREAM, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        name, value = line.split()
        values.setdefault(name, []).append(float(value))
    return values


def row(claim, values, limit, unit, anchor):
    values = values if isinstance(values, list) else [values]
    numbers = '\t'.join(f'{value:.6g}' for value in (statistics.median(values), min(values), max(values)))
    print(f'row\t{claim}\t{numbers}\t{limit}\t{unit}\t{anchor}', flush=True)


def gzip_lines(text, records, text_ns):
    """Bytes and ns a record: written (the text made in C, compressed by zlib as gzip does) and read (json.loads of each line)."""
    start = time.process_time()
    packed = gzip.compress(text, 6)
    written = time.process_time()
    lines = gzip.decompress(packed).splitlines()
    for line in lines:
        json.loads(line)
    read = time.process_time()
    return len(packed) / records, text_ns / records + (written - start) * 1e9 / records, (read - written) * 1e9 / records


def sqlite_rows(text, records, path):
    """The same in one table, a row a record, all in one transaction. The rows are made beforehand; reading makes them again."""
    rows = []
    for line in text.splitlines():
        record = json.loads(line)
        rest = [value for name, value in record.items() if name not in ('t', 'kind', 'run', 'lane', 'seq')][:8]
        rows.append((record['t'], record['kind'], record.get('lane'), record.get('seq'), *rest, *[None] * (8 - len(rest))))
    base = sqlite3.connect(path)
    base.execute('create table records (t integer, kind text, lane integer, seq integer, a, b, c, d, e, f, g, h)')
    start = time.process_time()
    base.executemany('insert into records values (?,?,?,?,?,?,?,?,?,?,?,?)', rows)
    base.commit()
    written = time.process_time()
    for _ in base.execute('select * from records'):
        pass
    read = time.process_time()
    base.close()
    return os.path.getsize(path) / records, (written - start) * 1e9 / records, (read - written) * 1e9 / records


def codec(folder):
    path = os.path.join(folder, 'short.pmtop')
    stream('make', path, SHORT_S)
    ours = stream('codec', path, ROUNDS)
    process = subprocess.run([STREAM, 'json', path], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    records = process.stdout.count(b'\n')
    lines = gzip_lines(process.stdout, records, float(process.stderr))
    rows = sqlite_rows(process.stdout, records, os.path.join(folder, 'records.db'))
    anchors = [f"gzip'd JSON lines {lines[i]:.4g}, SQLite {rows[i]:.4g}" for i in range(3)]
    row('recording, a record', ours['size'], 20, 'bytes', anchors[0])
    row('writing a record', ours['write'], 100, 'ns', anchors[1] + ' (through Python)')
    row('reading a record', ours['read'], 100, 'ns', anchors[2] + ' (through Python)')


def day(folder):
    path = os.path.join(folder, 'day.pmtop')
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    made = stream('make', path, DAY_S)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    records, hours = made['records'][0], DAY_S / 3600
    made_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    what = f'{hours:.3g} h, {records / 1e6:.3g} million records, made and written in {made_s:.3g} s'
    row('recording of a day' if not SMOKE else 'recording of some minutes', made['bytes'][0] / 1e6, '-', 'MB', what)
    plain = stream('play', path)
    judged = stream('play', path, 'rules')
    seconds = plain['seconds'][0]
    row('replay into the model, × the pace it was recorded at', plain['pace'][0], '-', '×', f'{seconds * 1e9 / records:.4g} ns a record')
    row('the same with the rules', judged['pace'][0], '-', '×', f'{judged["seconds"][0] * 1e9 / records:.4g} ns a record')
    row('memory while it is read', plain['resident'][0] / 1e6, 30, 'MB', f'file {made["bytes"][0] / 1e6:.4g} MB')
    found = stream('find', path)
    row('finding a moment with the index', found['index'], 100, 'ms', f'without: {statistics.median(found["scan"]):.4g} ms, at most {max(found["scan"]):.4g}')


def main():
    if not os.access(STREAM, os.X_OK):
        sys.exit(f'bench_stream: {STREAM} is not built: make bench')
    with tempfile.TemporaryDirectory() as folder:
        codec(folder)
        day(folder)


main()
