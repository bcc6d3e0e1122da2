#!/usr/bin/env python3
"""The wheels of `make wheels`, as people install them: into environments of their own, with what a user runs first. `make check-wheels` runs this.

The last line reads "N passed, N failed". PMTOP_BUILD is the folder with wheels/, wheel-tools/ and the fake NVML.
"""
import glob
import json
import os
import platform
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
import zipfile
from fcntl import ioctl

BUILD = os.environ["PMTOP_BUILD"]
TOOLS = os.path.join(BUILD, "wheel-tools", "bin")
GLIBC_MAX = (2, 17)
SIZE_MAX = 8 << 20
# auditwheel's list for manylinux_2_17 has more; these are part of every glibc.
LIBRARIES = re.compile(r"(lib(c|m|dl|pthread|rt)|ld-linux-(x86-64|aarch64))\.so\.\d")
FOLDERS = ("/etc/terminfo", "/lib/terminfo", "/usr/lib/terminfo", "/usr/share/terminfo")
SCRIPT = """
import json, os, sys, time
if "--own" not in sys.argv:
    sys.path.append(os.environ["PMTOP_LAUNCH_PACKAGE"])
import pmtop
enabled = pmtop.init("tiny")
for epoch in pmtop.epochs(1):
    for batch in pmtop.batches(range(20)):
        time.sleep(0.05)
with open(sys.argv[1], "w") as out:
    json.dump([enabled, pmtop.__file__, os.environ["PMTOP_LAUNCH_PACKAGE"], os.environ["PYTHONPATH"],
               any(hasattr(finder, "waits_for") for finder in sys.meta_path)], out)
"""
counts = {True: 0, False: 0}


def check(name, is_good, *said):
    counts[bool(is_good)] += 1
    if not is_good:
        print(f"not ok {name}:", *said, flush=True)


def run(*words, env=None, **options):
    """Exit status, output and errors; the environment is the caller's, with what `env` changes."""
    done = subprocess.run([*map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, env=dict(PLAIN, **(env or {})), **options)
    return done.returncode, done.stdout, done.stderr


def check_elf(name, content, folder):
    """Only glibc is needed, and nothing of it that is newer than 2.17."""
    path = os.path.join(folder, "elf")
    with open(path, "wb") as file:
        file.write(content)
    _, said, _ = run("objdump", "-p", path)
    needed = re.findall(r"NEEDED +(\S+)", said)
    check(f"{name}: libraries", needed and all(LIBRARIES.fullmatch(library) for library in needed), needed)
    versions = [tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([\d.]+)", said)]
    check(f"{name}: glibc", versions and max(versions) <= GLIBC_MAX, versions)


def check_file(wheel, folder):
    name = os.path.basename(wheel)
    check(f"{name}: size", os.path.getsize(wheel) <= SIZE_MAX, os.path.getsize(wheel))
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for file in names:
            if file.endswith((".so", "/scripts/pmtop")):
                check_elf(f"{name}: {file}", archive.read(file), folder)
        check(f"{name}: package", ("pmtop/_pmtop.abi3.so" in names) == ("abi3" in name), names)
    code, said, errors = run(os.path.join(TOOLS, "auditwheel"), "show", wheel)
    machine = name.rpartition("manylinux2014_")[2][:-len(".whl")]
    check(f"{name}: auditwheel", code == 0 and f'"manylinux_2_17_{machine}"' in " ".join(said.split()), said, errors)


def files_of(folder):
    """Everything in an environment but the bytecode of pip, which it writes as it runs."""
    return {os.path.join(root, name) for root, folders, names in os.walk(folder) for name in folders + names
            if not re.search(r"/site-packages/(pip|setuptools|pkg_resources|_distutils_hack)\b.*__pycache__", os.path.join(root, name))}


def see_screen(words, env, until, seconds=20):
    """What a terminal of 40 lines gets until `until` is in it, or the program ends, or time is over."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(words[0], words, dict(PLAIN, **env))
    ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    seen, end = b"", time.monotonic() + seconds
    while until not in seen and time.monotonic() < end:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                seen += os.read(fd, 65536)
            except OSError:
                break
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(fd)
    return seen


def check_screens(name, program):
    """A TERM that nobody knows, with the system's terminfo and without any."""
    for term in ("no-such-terminal", "xterm-256color"):
        seen = see_screen([program, "--demo"], {"TERM": term}, b"Overview")
        check(f"{name}: screen of {term}", b"Overview" in seen, seen[-400:])
    hide = "for folder in {}; do [ ! -d $folder ] || mount -t tmpfs none $folder || exit 9; done; exec \"$@\"".format(" ".join(FOLDERS))
    hidden = ["unshare", "-rm", "sh", "-c", hide, "sh"]
    if run(*hidden, "true")[0]:
        print(f"{name}: not tried without terminfo: mounting is not allowed here")
        return
    for term in ("no-such-terminal", "screen", "xterm-256color"):
        seen = see_screen([*hidden, program, "--demo"], {"TERM": term, "TERMINFO": "/nonexistent"}, b"Overview")
        check(f"{name}: screen of {term} without terminfo", b"Overview" in seen, seen[-400:])


def check_launch(name, program, python, folder, is_own, is_enabled):
    """pmtop -- PYTHON: the hook runs, and the package is found: the environment's own, or that which comes with the program."""
    script, out = os.path.join(folder, "tiny.py"), os.path.join(folder, "tiny.out")
    with open(script, "w") as file:
        file.write(SCRIPT)
    if os.path.exists(out):
        os.unlink(out)
    code, said, errors = run(program, "-b", "--format=json", "-d", "0.2", "--", python, script, out, *["--own"][:is_own], env={"PYTHONDONTWRITEBYTECODE": ""})
    if not os.path.exists(out) or os.path.getsize(out) == 0:
        check(f"{name}: launch", False, code, said[-600:], errors[-600:])
        return
    with open(out) as file:
        enabled, package, site, path, is_hooked = json.load(file)
    share = os.path.realpath(os.path.join(os.path.dirname(program), "..", "share", "pmtop", "python"))
    check(f"{name}: launch hook", is_hooked and path == f"{share}/launch" and site == f"{share}/site", is_hooked, path, site)
    check(f"{name}: launch package", package.startswith(share) != is_own and enabled == is_enabled, package, enabled)
    check(f"{name}: launch batches", not is_enabled or '"count":20' in said, code, said[-600:], errors[-600:])


def check_installed(wheel, folder):
    name, environment = os.path.basename(wheel)[:24], os.path.join(folder, "environment")
    run(sys.executable, "-m", "venv", "--clear", environment)
    before, python = files_of(environment), os.path.join(environment, "bin", "python")
    for words in (["install", wheel], ["install", "--force-reinstall", wheel]):
        code, said, errors = run(python, "-m", "pip", *words, "--no-index", "--no-deps")
        check(f"{name}: pip {words[0]}", code == 0, said, errors)
    program, version = os.path.join(environment, "bin", "pmtop"), f"pmtop {VERSION}"
    code, said, errors = run(program, "--version")
    check(f"{name}: --version", code == 0 and said.startswith(version) and "glibc 2.17," in said, said, errors)
    check(f"{name}: files of its own", len(re.findall(rf"^(?:launch hooks|package|terminfo) +{environment}/", said, re.M)) == 3, said)
    code, said, errors = run(python, "-m", "pmtop", "--version")
    check(f"{name}: python -m pmtop", code == 0 and said.startswith(version) and not errors, said, errors)
    code, said, errors = run(program, "--once", "--demo")
    check(f"{name}: --once --demo", code == 0 and "Overview" in said, said[-400:], errors)
    library = os.path.join(BUILD, "tests/fake_nvml/libnvidia-ml.so.1")
    code, said, errors = run(program, "-b", "--format=json", "-n", "8", "-d", "0.5", "-p", os.getpid(), env={"PMTOP_NVML": library})
    check(f"{name}: NVML", code == 0 and "NVIDIA" in said, said[-400:], errors)
    check_launch(name, program, python, folder, True, "abi3" in name)
    for other in sorted(glob.glob("/usr/bin/python3") + glob.glob(os.path.expanduser("~/.pyenv/versions/3.1[0-9].*/bin/python3")))[:2]:
        check_launch(f"{name}: {other}", program, other, folder, False, True)
    check_screens(name, program)
    code, said, errors = run(python, "-m", "pip", "uninstall", "-y", "pmtop")
    # pip leaves folders without a file of their own, where they are empty.
    left = files_of(environment) - before - {os.path.join(environment, folder) for folder in ("share", "share/man", "share/bash-completion")}
    check(f"{name}: uninstall", code == 0 and not left, said, errors, sorted(left))


with tempfile.TemporaryDirectory() as scratch:
    PLAIN = {key: value for key, value in os.environ.items() if not key.startswith(("PMTOP", "PYTHON", "TERM"))}
    PLAIN.update(HOME=os.path.join(scratch, "home"), LC_ALL="C.UTF-8", TERM="xterm-256color", PIP_DISABLE_PIP_VERSION_CHECK="1")
    os.mkdir(PLAIN["HOME"])
    with open(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "Makefile")) as makefile:
        VERSION = re.search(r"^VERSION := (\S+)", makefile.read(), re.M).group(1)
    wheels = sorted(glob.glob(os.path.join(BUILD, "wheels", "*.whl")))
    check("wheels", len(wheels) >= 2, wheels)
    for each in wheels:
        check_file(each, scratch)
        if each.endswith(f"_{platform.machine()}.whl"):
            check_installed(each, scratch)

print(f"{counts[True]} passed, {counts[False]} failed")
sys.exit(counts[False] > 0)
