"""What the documents in the sources name is there: each `path`, each `function()`; no text of the project cites a page that a clone does not have;
and the table of the guides names tests that there are."""
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir)
TOURS = ('src/README.md', 'ui/README.md', 'src/python/README.md')
# Names of pages that are made, or that others have.
ELSEWHERE = {'CHANGELOG.md', 'locations.md'}


def sources():
    """The project's files, from the root; of an archive, which has no history, all that was not built."""
    listed = subprocess.run(['git', 'ls-files'], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:
        return listed.stdout.split('\n')[:-1]
    found = []
    for folder, names, files in os.walk(ROOT):
        names[:] = [name for name in names if name != '.git' and not name.startswith('build')]
        found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in files]
    return found


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8', errors='replace') as file:
        return file.read()


GUIDES = 'tests/python/guide/README.md'
ROWS = {'000': 24, '001': 31, '002': 24, '003': 31, '004': 14}


def names_test(path, test):
    """Whether a test's file has a test of this name: a line that defines it, or in a script its name."""
    if not os.path.isfile(os.path.join(ROOT, 'tests', path)):
        return False
    text, word = read('tests/' + path), re.escape(test)
    patterns = {'.c': rf'^START_TEST\({word}\)', '.py': rf'^ *def {word}\('}
    return re.search(patterns.get(os.path.splitext(path)[1], rf'\b{word}\b'), text, re.M) is not None


def guide_rows():
    """What is wrong in the table of the guides: each row, in order, says how and names tests that there are."""
    found, counts = [], dict.fromkeys(ROWS, 0)
    for number, item, how, tests in re.findall(r'^\| (\d+\.\d+) \| (.*) \| (.*) \| (.*) \|$', read(GUIDES), re.M):
        guide, row = number.split('.')
        if guide not in counts or int(row) != counts[guide] + 1:
            found.append(f'{GUIDES}: {number} is out of order')
            continue
        counts[guide] += 1
        pairs = re.findall(r'`(\w+/[^`]+)`: `([^`]+)`', tests)
        if not pairs or not item or not how:
            found.append(f'{GUIDES}: {number} names no test')
        found += [f'{GUIDES}: {number}: {path} has no test {test}' for path, test in pairs if not names_test(path, test)]
    return found + [f'{GUIDES}: {counts[guide]} rows of guide {guide}, not {count}' for guide, count in ROWS.items() if counts[guide] != count]


def main():
    files = [path for path in sources() if os.path.isfile(os.path.join(ROOT, path))]
    findings, pages = guide_rows(), {os.path.basename(path) for path in files if path.endswith('.md')} | ELSEWHERE
    text = ''.join(read(path) for path in files if path.endswith(('.c', '.h', '.py')) and path.startswith(('src/', 'ui/', 'tests/')))
    words = set(re.findall(r'\w+', text))
    for tour in TOURS:
        for quoted in re.findall(r'`([^`\n]+)`', read(tour)):
            if re.fullmatch(r'(src|ui|tests|config|man)(/[\w.-]+)+', quoted) and not os.path.exists(os.path.join(ROOT, quoted)):
                findings.append(f'{tour}: {quoted} is not there')
            function = re.fullmatch(r'(\w+)\(\)', quoted)
            if function and function.group(1) not in words:
                findings.append(f'{tour}: no function is named {quoted}')
    for path in files:
        if not path.endswith(('.c', '.h', '.py', '.sh', '.md', '.yaml', '.txt', '.awk')) and os.path.basename(path) != 'Makefile' and not path.startswith('man/'):
            continue
        for page in set(re.findall(r'\b[\w-]+\.md\b', read(path))) - pages:
            findings.append(f'{path}: cites {page}, which is not among the project\'s files')
    print(*findings, sep='\n', end='\n' if findings else '')
    return bool(findings)


if __name__ == '__main__':
    sys.exit(main())
