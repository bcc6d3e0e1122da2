"""Carries out the walk-throughs of .github/CONTRIBUTING.md in a copy of the sources: their steps are applied, the copy is built, and each walk-through's check has
to succeed."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import documents

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
STEP = re.compile(r'Create `(?P<new>[^`]+)`:\n\n```\w+\n(?P<content>.*?)```'
                  r'|[Ii]n `(?P<after_file>[^`]+)`, after `(?P<after>[^`]+)`, insert:\n\n```\w+\n(?P<lines>.*?)```'
                  r'|[Ii]n `(?P<file>[^`]+)`, replace `(?P<old>[^`]+)` by `(?P<by>[^`]+)`'
                  r'|Check:\n\n```sh\n(?P<check>.*?)```', re.S)


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


def apply(step, copy):
    """A step of a walk-through; what it names has to be there, once."""
    if step['new']:
        path = os.path.join(copy, step['new'])
        assert not os.path.exists(path), f'{step["new"]} is there already'
        write(path, step['content'])
        return
    path = os.path.join(copy, step['after_file'] or step['file'])
    text, anchor = read(path), step['after'] or step['old']
    assert text.count(anchor) == 1, f'{path}: {anchor} stands there {text.count(anchor)} times'
    if step['after']:
        end = text.index('\n', text.index(anchor)) + 1
        write(path, text[:end] + step['lines'] + text[end:])
    else:
        write(path, text.replace(anchor, step['by']))


def main():
    good, bad = 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        copy = os.path.join(scratch, 'pmtop')
        for name in documents.sources():
            if os.path.isfile(os.path.join(ROOT, name)):
                os.makedirs(os.path.dirname(os.path.join(copy, name)), exist_ok=True)
                shutil.copy(os.path.join(ROOT, name), os.path.join(copy, name))
        walks = re.split(r'^## ', read(os.path.join(copy, '.github/CONTRIBUTING.md')), flags=re.M)[1:]
        checks = []
        for walk in walks:
            for step in STEP.finditer(walk):
                if step['check']:
                    checks.append((walk.split('\n')[0], step['check']))
                else:
                    apply(step, copy)
        print(f'{len(walks)} walk-throughs applied to a copy; building it (about a minute)', flush=True)
        built = subprocess.run(['make', '-j2', 'CFLAGS=-O0', 'WERROR=-Werror', 'build/pmtop'], cwd=copy, capture_output=True, text=True)
        if built.returncode:
            print(built.stderr[-4000:])
        layers = subprocess.run(['tests/layers.sh'], cwd=copy, capture_output=True, text=True)
        print(layers.stdout, end='')
        environment = dict(os.environ, PMTOP=os.path.join(copy, 'build/pmtop'), ROOT=copy, SCRATCH=scratch, HOME=scratch, LC_ALL='C.UTF-8')
        for name, check in checks:
            done = subprocess.run(['sh', '-euc', check], cwd=copy, env=environment, capture_output=True, text=True, timeout=240)
            good, bad = good + (done.returncode == 0), bad + (done.returncode != 0)
            if done.returncode:
                print(f'not ok: {name}\n{done.stdout[-500:]}{done.stderr[-1500:]}')
        bad += built.returncode != 0 or layers.returncode != 0 or len(checks) < 6
    print(f'{good} passed, {bad} failed')
    return bad > 0


if __name__ == '__main__':
    sys.exit(main())
