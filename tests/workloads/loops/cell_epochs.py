import cells

cells.run('''import time
from truth import step

for epoch in range(400):
    for i in range(150):
        time.sleep(0.01)
        step(epoch * 150 + i + 1, epoch + 1)
''', 'cell_epochs.py')
