import cells

cells.run('''import time
from truth import step

for i in range(1, 20001):
    time.sleep(0.01)
    step(i)
''', 'cell.py')
