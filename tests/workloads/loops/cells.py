"""Runs a cell as a notebook's kernel does: no file has its text, only the module linecache, and a loop of the kernel is around it."""
import linecache
import sys

KERNEL = 'while True:\n    exec(compile(cell, name, "exec"), {})\n    break\n'


def run(cell, name):
    name = '/tmp/ipykernel_1/' + name
    linecache.cache[name] = len(cell), None, cell.splitlines(True), name
    exec(compile(KERNEL, '/nowhere/ipykernel/kernelbase.py', 'exec'), {'cell': cell, 'name': name, 'sys': sys})
