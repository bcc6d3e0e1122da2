"""python -m pmtop: the program pmtop, with the same arguments. It comes with a wheel, else from `make install`."""
import os
import shutil
import sys
import sysconfig


def find_program() -> "str | None":
    """That of the environment first; then beside the package (pip install --target, --prefix); then of PATH."""
    scripts = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    scripts += [os.path.join(folder, *[os.pardir] * level, "bin") for level in (0, 3)]
    return shutil.which("pmtop", path=os.pathsep.join(scripts)) or shutil.which("pmtop")


def main() -> None:
    program = find_program()
    if not program:
        sys.exit("pmtop: this package has no program: install pmtop from a wheel, or build the program with 'make install'")
    os.execv(program, [program, *sys.argv[1:]])


main()
