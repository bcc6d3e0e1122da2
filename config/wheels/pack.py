"""Packs the wheels of a platform: pack.py PURE PROGRAM EXTENSION MACHINE OUT

PURE is the Python package's wheel, PROGRAM and EXTENSION were linked for MACHINE against glibc 2.17. Two wheels are written to the folder OUT:
cp310-abi3, and py3-none for the other Pythons, whose package has no compiled part. Both hold what `make install` installs, in the same folders
below the environment, so that the program finds its files; and terminfo entries for systems without.
"""
import base64
import hashlib
import pathlib
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TERMINFO = ("/lib/terminfo", "/usr/share/terminfo", "/usr/lib/terminfo")
ENTRIES = ("ansi dumb linux rxvt rxvt-256color rxvt-unicode rxvt-unicode-256color screen screen-256color tmux tmux-256color vt100 vt220 xterm "
           "xterm-256color xterm-color alacritty foot xterm-kitty").split()
ENTRIES_MIN = 12
EXTENSION_NAME = "pmtop/_pmtop.abi3.so"
# Python cannot write bytecode where this is a file: uninstalling would leave that of other Pythons than the environment's.
NO_BYTECODE = b"This file keeps Python from writing bytecode here, which would remain after pmtop is uninstalled.\n"


def read_package(path):
    """What is in the package's wheel apart from its compiled part and its list of files: name and content."""
    with zipfile.ZipFile(path) as wheel:
        return {name: wheel.read(name) for name in wheel.namelist()
                if not name.endswith((".so", "/", ".dist-info/RECORD", ".dist-info/WHEEL")) and "__pycache__" not in name}


def shared_files(package, extension):
    """By their names below share/."""
    files = {f"man/man{page.suffix[1:]}/{page.name}": page.read_bytes() for page in ROOT.glob("man/*.[1-9]")}
    files["bash-completion/completions/pmtop"] = (ROOT / "config/completion/pmtop.bash").read_bytes()
    files["pmtop/pmtop.yaml"] = (ROOT / "config/pmtop.yaml").read_bytes()
    files["pmtop/themes.yaml"] = (ROOT / "config/themes.yaml").read_bytes()
    files["pmtop/grafana/pmtop.json"] = (ROOT / "config/grafana/pmtop.json").read_bytes()
    files.update({f"pmtop/rules/{file.name}": file.read_bytes() for file in ROOT.glob("config/rules/*.yaml")})
    files.update({f"pmtop/python/launch/{file.name}": file.read_bytes() for file in ROOT.glob("src/python/launch/*.py")})
    site = {name: content for name, content in package.items() if name.startswith("pmtop/")}
    site[EXTENSION_NAME] = extension
    files.update({f"pmtop/python/site/{name}": content for name, content in site.items()})
    for folder in {name.rpartition("/")[0] for name in files if name.startswith("pmtop/python/") and name.endswith(".py")}:
        files[f"{folder}/__pycache__"] = NO_BYTECODE
    entries = {entry: found for entry in ENTRIES for folder in TERMINFO for found in pathlib.Path(folder).glob(f"{entry[0]}/{entry}")}
    if len(entries) < ENTRIES_MIN or "xterm-256color" not in entries:
        sys.exit(f"pack.py: {TERMINFO} have only {sorted(entries)}: Debian has more in ncurses-base")
    files.update({f"pmtop/terminfo/{entry[0]}/{entry}": found.read_bytes() for entry, found in entries.items()})
    return files


def write_wheel(path, tag, info, files, programs):
    """`info`: name of the dist-info folder."""
    files = dict(files)
    tags = "".join(f"Tag: {tag.rpartition('-')[0]}-{platform}\n" for platform in tag.rpartition("-")[2].split("."))
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: pmtop\nRoot-Is-Purelib: false\n{tags}".encode()
    record = []
    for name, content in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{name},sha256={digest},{len(content)}\n")
    record.append(f"{info}/RECORD,,\n")
    files[f"{info}/RECORD"] = "".join(record).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, content in sorted(files.items(), key=lambda file: (".dist-info/" in file[0], file[0])):
            # The same bytes from the same sources, whenever they are packed.
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if name in programs else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    print(path)


def main():
    pure, program, extension, machine, out = sys.argv[1:]
    package, extension = read_package(pure), pathlib.Path(extension).read_bytes()
    info = next(name for name in package if name.endswith(".dist-info/METADATA")).rpartition("/")[0]
    name = info[:-len(".dist-info")]
    platform = f"manylinux_2_17_{machine}.manylinux2014_{machine}"
    program_name = f"{name}.data/scripts/pmtop"
    files = dict(package)
    files[program_name] = pathlib.Path(program).read_bytes()
    files.update({f"{name}.data/data/share/{path}": content for path, content in shared_files(package, extension).items()})
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for tag, more in ((f"cp310-abi3-{platform}", {EXTENSION_NAME: extension}), (f"py3-none-{platform}", {})):
        write_wheel(out / f"{name}-{tag}.whl", tag, info, {**files, **more}, {program_name})


main()
