#!/usr/bin/env python3
"""How long the functions of the given C files are, as .clang-format lays them out.

A function's length is the number of lines between its braces. One function in ten may be longer than P90_MAX lines, none longer than
LENGTH_MAX, unless its body is one switch. Prints each that is too long, and fails; `--figures` prints median, p90 and longest."""
import re
import sys

P90_MAX, LENGTH_MAX = 21, 60


def functions(path):
    """Yields (line, name, lines of the body) for each function of a file."""
    lines = open(path, encoding='utf-8').read().split('\n')
    start = None
    for number, line in enumerate(lines):
        if line == '{' and lines[number - 1].endswith(')'):
            start = number
        elif start is not None and line.startswith('}'):
            head = number_of_head = start - 1
            while head > 0 and lines[head].startswith(('\t', ' ')):
                head -= 1
            name = re.search(r'(\w+)\(', lines[head])
            yield number_of_head + 1, name.group(1) if name else '?', lines[start + 1:number]
            start = None
        elif re.match(r'^\w.*\) \{.*\}$', line) and not line.startswith('#'):
            yield number + 1, re.search(r'(\w+)\(', line).group(1), [line]


def is_one_switch(body):
    """Whether a body's outermost statements are declarations, one switch and a return."""
    outermost = [line for line in body if re.match(r'^\t[^\s}]', line)]
    return any(line.startswith('\tswitch (') for line in outermost) and not any(
        re.match(r'^\t(if|for|while|do)\b', line) for line in outermost)


def main():
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith('--')]
    lengths, found = [], []
    for path in arguments:
        for line, name, body in functions(path):
            lengths.append(len(body))
            if len(body) > LENGTH_MAX and not is_one_switch(body):
                found.append(f'{path}:{line}: {name}: {len(body)} lines, at most {LENGTH_MAX}')
    lengths.sort()
    p90 = lengths[len(lengths) * 9 // 10]
    if p90 > P90_MAX:
        found.append(f'functions: p90 is {p90} lines, at most {P90_MAX}')
    if '--figures' in sys.argv:
        print(f'{len(lengths)} functions: median {lengths[len(lengths) // 2]} lines, p90 {p90}, longest {lengths[-1]}')
    sys.exit('\n'.join(found) or 0)


main()
