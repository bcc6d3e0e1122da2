"""The package as people install it: from a checkout, over git, from the sdist, with and without a compiler; what is in it.

pip runs with build isolation, in copies of the sources, and installs into folders of their own."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

import pytest

import watching

IS_STABLE = sys.version_info >= (3, 10) and not sysconfig.get_config_var("Py_GIL_DISABLED")
PUBLISHES = """
import json, pmtop
enabled = pmtop.init("packaged")
pmtop.batch_begin(0)
with pmtop.span("forward"):
    pass
pmtop.gauge("figure", 0.5)
pmtop.batch_end(0.25)
print(json.dumps({"enabled": enabled, "batches": pmtop.statistics()["num_batches"], "file": pmtop.__file__, "version": pmtop.__version__}))
"""


def command(*arguments, env=None, cwd=None, code=0):
    """Standard output and error of a command, together."""
    done = subprocess.run([*map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=300, cwd=cwd, env=dict(os.environ, PIP_DISABLE_PIP_VERSION_CHECK="1", **(env or {})))
    assert (done.returncode == 0) == (code == 0), f"{arguments}: exit {done.returncode}\n{done.stdout[-4000:]}"
    return done.stdout


def pip(*arguments, **options):
    return command(sys.executable, "-m", "pip", *arguments, **options)


def copy_of_checkout(folder):
    """The files that building the package may look at, links kept."""
    for name in ("LICENSE", "Makefile", "README.md"):
        shutil.copy2(watching.ROOT / name, folder / name)
    unwanted = shutil.ignore_patterns("build", "*.egg-info", "*.so", "__pycache__", "*.o")
    for name in ("src/region", "src/python"):
        shutil.copytree(watching.ROOT / name, folder / name, symlinks=True, ignore=unwanted)
    return folder


@pytest.fixture
def checkout(tmp_path_factory):
    """A copy for each test: setuptools would take what an earlier build left."""
    return copy_of_checkout(tmp_path_factory.mktemp("checkout"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = copy_of_checkout(tmp_path_factory.mktemp("wheel"))
    pip("wheel", "--no-deps", "-w", folder, folder / "src" / "python")
    return next(folder.glob("*.whl"))


def assert_publishes(folder):
    """What was installed into this folder, and not the checkout's package, publishes."""
    script = watching.run(PUBLISHES, env={"PYTHONPATH": folder})
    truth = script.truth()
    assert pathlib.Path(truth["file"]).is_relative_to(folder)
    assert truth["enabled"] is True and truth["batches"] == 1
    assert script.err() == ""


def version():
    return re.search(r"^VERSION := (\S+)$", (watching.ROOT / "Makefile").read_text(), re.MULTILINE).group(1)


def test_version_is_that_of_pmtop(wheel):
    import pmtop
    assert pmtop.__version__ == version()
    assert wheel.name.split("-")[1] == version()
    assert version() in watching.pmtop("--version")


def test_wheel_serves_later_interpreters_where_it_can(wheel):
    tag = wheel.name.split("-", 2)[2]
    if IS_STABLE:
        assert tag.startswith("cp310-abi3-linux_")
    else:
        assert tag.startswith("cp%d%d-cp%d%d" % (sys.version_info[:2] * 2))


def test_wheel_has_types_and_licence_and_asks_for_nothing(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        info = archive.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    assert {"pmtop/__init__.py", "pmtop/__init__.pyi", "pmtop/py.typed"} <= set(names)
    assert [name for name in names if re.match(r"pmtop/_pmtop\..*so$", name)]
    assert [name for name in names if name.endswith("licenses/LICENSE")]
    assert not [name for name in names if name.endswith((".c", ".h"))]
    assert "\nLicense-Expression: MIT\n" in info
    assert "Requires-Dist" not in info
    source = watching.ROOT / "src/python"
    modules = {str(path.relative_to(source)) for pattern in ("*.py", "*.pyi") for path in (source / "pmtop").rglob(pattern)}
    assert modules <= set(names)


def test_installs_from_the_checkout(checkout, tmp_path):
    pip("install", "--target", tmp_path, checkout / "src" / "python")
    assert_publishes(tmp_path)


def test_installs_over_git(tmp_path):
    repository = tmp_path / "clone"
    repository.mkdir()
    copy_of_checkout(repository)
    who = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    command("git", "init", "-q", cwd=repository)
    command("git", "add", "-A", cwd=repository)
    command("git", *who, "commit", "-q", "-m", "All", cwd=repository)
    pip("install", "--target", tmp_path / "here", f"git+file://{repository}#subdirectory=src/python")
    assert_publishes(tmp_path / "here")


def test_sdist_builds_alone(checkout, tmp_path):
    command(sys.executable, "-m", "build", "--sdist", "--outdir", tmp_path, checkout / "src" / "python")
    sdist = next(tmp_path.glob("*.tar.gz"))
    with tarfile.open(sdist) as archive:
        members = {member.name.split("/", 1)[-1]: member for member in archive.getmembers()}
    assert members["include/pmtop.h"].isfile() and members["include/pmtop.h"].size > 50000
    assert members["LICENSE"].isfile()
    pip("install", "--target", tmp_path / "here", sdist)
    assert_publishes(tmp_path / "here")


@pytest.mark.parametrize("compiler", ["/bin/false", "/nonexistent/cc"])
def test_without_a_compiler_it_installs_and_says_once_that_it_does_nothing(checkout, tmp_path, compiler):
    pip("install", "--target", tmp_path, checkout / "src" / "python", env={"CC": compiler})
    assert not list(tmp_path.glob("pmtop/_pmtop*.so"))
    script = watching.run(PUBLISHES, env={"PYTHONPATH": tmp_path})
    assert script.truth()["enabled"] is False and script.truth()["batches"] == 0
    said = script.err().splitlines()
    assert len(said) == 1 and said[0].startswith("pmtop: "), said
    assert watching.run(PUBLISHES, env={"PYTHONPATH": tmp_path, "PMTOP": "0"}).err() == ""


def test_without_the_header_one_line_says_so(tmp_path):
    folder = copy_of_checkout(tmp_path) / "src" / "python"
    shutil.rmtree(tmp_path / "src" / "region")
    said = pip("install", "--target", tmp_path / "here", folder, code=1)
    assert [line for line in said.splitlines() if line.strip().startswith("pmtop: include/pmtop.h is a broken link to ")], said


def test_python_m_pmtop_is_the_program(tmp_path):
    env = {"PATH": str(watching.BUILD), "PYTHONPATH": watching.environment()["PYTHONPATH"]}
    assert version() in command(sys.executable, "-m", "pmtop", "--version", env=env)
    said = command(sys.executable, "-m", "pmtop", "--version", env=dict(env, PATH=str(tmp_path)), code=1)
    assert said.startswith("pmtop: this package has no program") and said.count("\n") == 1


def test_import_loads_neither_torch_nor_anything_heavy():
    script = watching.run("""
import json, sys
import pmtop
heavy = {"torch", "numpy", "lightning", "pytorch_lightning", "keras", "tf_keras", "jax", "pandas", "tqdm", "multiprocessing"}
print(json.dumps({"heavy": sorted(heavy & set(sys.modules))}))
""")
    assert script.truth()["heavy"] == []


def test_only_pmtop_torch_asks_for_torch():
    script = watching.run("""
import json, sys
sys.modules["torch"] = None
import pmtop
try:
    import pmtop.torch
except ImportError as error:
    print(json.dumps({"says": str(error)}))
else:
    print(json.dumps({"says": None}))
""")
    assert "torch" in script.truth()["says"]


def test_free_threaded_interpreter_gets_an_extension_of_its_own(checkout, tmp_path):
    python = shutil.which("python3.13t") or shutil.which("python3.14t")
    if not python:
        pytest.skip("no interpreter that is free-threaded")
    command(python, "-m", "pip", "install", "--target", tmp_path, checkout / "src" / "python")
    assert [path for path in tmp_path.glob("pmtop/_pmtop.*.so") if "abi3" not in path.name]
    script = watching.run(PUBLISHES, env={"PYTHONPATH": tmp_path}, python=python)
    assert script.truth()["enabled"] is True
