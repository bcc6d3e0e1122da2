"""Reads the objects: what one uses of another must be of its own folder or of one that tests/layers.txt lets it see, and what a file defines for others must be
declared in the header of its own name. Includes alone do not show it: a header may declare what lies above."""
import collections
import os
import re
import subprocess
import sys

BUILD, ROOT = sys.argv[1], os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)
# Definitions that a table lists, one row a file: the table's header declares them.
ROWS = re.compile(r'_(source|view|command|exporter|trace_tab)$|^(amd|drm|intel|nvidia)_gpus$|^panel_|^doctor_check_')
ROWS_IN = {'src/rules/inputs': re.compile(r'_figures$')}
# What a file shares with its own folder only, apart from its header.
INTERNAL = {'src/region/reader': 'src/region/region.h'}
# No file of these folders calls, through other files, itself.
ACYCLIC = {'src/model/run', 'src/model/run/figures', 'src/model/run/steps'}


def sees():
    rows = {}
    with open(os.path.join(ROOT, 'tests/layers.txt'), encoding='utf-8') as file:
        for line in file:
            words = line.split()
            if words and words[0] not in ('#', 'private', 'beside'):
                rows[words[0]] = set(words)
    return rows


def symbols():
    """By object: its folder, what it defines, what it uses."""
    for folder, _, names in os.walk(BUILD):
        path = os.path.relpath(folder, BUILD)
        for name in sorted(names):
            if not name.endswith('.o') or not path.startswith(('src', 'ui')) or name == 'main.o' or not os.path.exists(os.path.join(ROOT, path, name[:-1] + 'c')):
                continue
            said = subprocess.run(['nm', '-g', '--format=posix', os.path.join(folder, name)], capture_output=True, text=True, check=True).stdout
            pairs = [line.split()[:2] for line in said.splitlines()]
            yield path, name, {s for s, kind in pairs if kind in 'TDBRVC'}, {s for s, kind in pairs if kind == 'U'}


def is_row(symbol, folder):
    return ROWS.search(symbol) or folder in ROWS_IN and ROWS_IN[folder].search(symbol)


def declared(file):
    """All words in the header of a file, comments left out; none if there is no such header."""
    text = ''
    for path in (file + '.h', INTERNAL.get(file, '')):
        if path and os.path.exists(os.path.join(ROOT, path)):
            with open(os.path.join(ROOT, path), encoding='utf-8') as header:
                text += header.read()
    return set(re.findall(r'\w+', re.sub(r'/\*.*?\*/', '', text, flags=re.DOTALL)))


def within():
    """What a header declares below a line `-- within FOLDER --`: the folder whose files alone may use it, by symbol."""
    folders = {}
    for folder, _, names in [entry for top in ('src', 'ui') for entry in os.walk(os.path.join(ROOT, top))]:
        for name in sorted(names):
            if name.endswith('.h'):
                with open(os.path.join(folder, name), encoding='utf-8') as file:
                    _, *sections = re.split(r'/\* -- within (\S+) -- \*/', file.read())
                for allowed, text in zip(sections[::2], sections[1::2]):
                    folders.update(dict.fromkeys(re.findall(r'\b(\w+)\(', re.sub(r'/\*.*?\*/', '', text, flags=re.DOTALL)), allowed))
    return folders


def cycles(objects, home):
    """The groups of files that reach each other by the symbols that they use."""
    calls = {(folder, name): {home[symbol] for symbol in used & home.keys()} - {(folder, name)} for folder, name, _, used in objects}
    reached, before = calls, None
    while reached != before:
        before, reached = reached, {file: callees.union(*(reached[callee] for callee in callees)) for file, callees in reached.items()}
    return sorted({tuple(sorted(other for other in reached[file] if file in reached[other])) for file in reached if file in reached[file]})


def main():
    allowed, objects = sees(), list(symbols())
    home = {symbol: (folder, name) for folder, name, defined, _ in objects for symbol in defined}
    users, findings = collections.defaultdict(set), []
    for folder, name, _, used in objects:
        for symbol in sorted(used & home.keys()):
            users[symbol].add((folder, name))
            if home[symbol][0] not in allowed[folder] | {folder} and not is_row(symbol, home[symbol][0]):
                findings.append(f'{folder}/{name} uses {symbol} of {"/".join(home[symbol])}, which tests/layers.txt does not let it see')
    for symbol, allowed_in in sorted(within().items()):
        findings += [f'{folder}/{name[:-2]}.c uses {symbol}, which is meant for {allowed_in} only'
                     for folder, name in sorted(users[symbol]) if not f'{folder}/'.startswith(allowed_in + '/')]
    for symbol, (folder, name) in sorted(home.items()):
        file = f'{folder}/{name[:-2]}'
        if users[symbol] - {(folder, name)} and not is_row(symbol, folder) and symbol not in declared(file):
            findings.append(f'{file}.c defines {symbol} for others, which {file}.h does not declare')
    for group in cycles(objects, home):
        if {folder for folder, _ in group} & ACYCLIC:
            findings.append(f'{", ".join(f"{folder}/{name[:-1]}c" for folder, name in group)} call each other in a cycle')
    print(*findings, sep='\n')
    print(f'{len(objects)} objects, {len(home)} symbols')
    print(f'{int(not findings)} passed, {len(findings)} failed')
    return bool(findings) or len(objects) < 100


if __name__ == '__main__':
    sys.exit(main())
