"""What is shipped beside the wheel works: the image, the registry entry, the bundle.

No container engine is needed: each line of the Dockerfile runs in a plain folder per stage, which
stands for the root of the file system. Nothing is fetched: the dependencies come from this environment,
and pip installs only our package. The image is made once, in 5 s: a new environment, a wheel, and
bytecode of everything.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import pytest

import workingset_mcp

PROJECT = Path(__file__).parents[1]
SAID_ONLY = ("LABEL", "ENV", "USER", "ENTRYPOINT", "CMD")  # these change no file


class Line(NamedTuple):
    """An instruction of the Dockerfile with its arguments, on one line."""

    instruction: str
    rest: str


class Image:
    """The stages of a Dockerfile, each in a folder that stands for `/`."""

    def __init__(self, folder: Path, context: Path) -> None:
        self.folder, self.context = folder, context
        self.stages: dict[str, Path] = {}
        self.root = self.work = folder
        self.environment: dict[str, str] = {}
        self.said: dict[str, list[str]] = {}

    def do(self, line: Line) -> None:
        """Run an instruction."""
        if line.instruction == "FROM":
            _, _, name = line.rest.partition(" AS ")
            self.root = self.work = self.stages[name] = self.folder / (name or "final")
            self.root.mkdir()
            self.environment = {}
        elif line.instruction == "WORKDIR":
            self.work = self.inside(line.rest)
            self.work.mkdir(parents=True)
        elif line.instruction == "COPY":
            self.copy(shlex.split(line.rest))
        elif line.instruction == "RUN":
            self.run(line.rest)
        elif line.instruction == "ENV":
            self.environment |= dict(part.split("=", 1) for part in shlex.split(line.rest))
        elif line.instruction in ("ENTRYPOINT", "CMD"):
            self.said[line.instruction] = json.loads(line.rest)
        else:
            assert line.instruction in SAID_ONLY, line

    def inside(self, path: str) -> Path:
        """Return the local path of a path in the image."""
        return self.root / path.lstrip("/") if path.startswith("/") else self.work / path

    def copy(self, words: list[str]) -> None:
        """COPY, from the build context or from another stage."""
        source = self.context
        if words[0].startswith("--from="):
            source = self.stages[words.pop(0).removeprefix("--from=")]
        *names, target = words
        for name in names:
            found = source / name.lstrip("/")
            here = self.inside(target)
            if found.is_dir():
                shutil.copytree(found, here, symlinks=True, dirs_exist_ok=True)
            else:
                here.mkdir(exist_ok=True)
                shutil.copy(found, here)

    def run(self, command: str) -> None:
        """RUN, with the image's paths replaced by local ones. Nothing is fetched."""
        moved = re.sub(r"(?<![\w.])/(?=opt/)", f"{self.root}/", command)
        subprocess.run(
            ["/bin/sh", "-c", moved], check=True, cwd=self.work, capture_output=True, encoding="utf-8",
            env={**beside(self.folder), **self.environment, "PIP_NO_DEPS": "1"},
        )  # fmt: skip


def beside(folder: Path) -> dict[str, str]:
    """Make an environment that can import all that is installed here except our package and pip."""
    site = folder / "site"
    if not site.exists():
        site.mkdir()
        for entry in Path(sysconfig.get_path("purelib")).iterdir():
            if not re.match(r"_*(editable|workingset|pip\b|pip-|pip$)", entry.name):
                (site / entry.name).symlink_to(entry)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {
        **os.environ, "PATH": path, "PYTHONPATH": str(site), "PIP_NO_BUILD_ISOLATION": "0",
    }  # fmt: skip


def dockerfile() -> list[Line]:
    text = (PROJECT / "Dockerfile").read_text(encoding="utf-8")
    lines = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    return [Line(*line.split(" ", 1)) for line in lines if line.strip()]


def build_context(folder: Path) -> Path:
    """Copy the project without what .dockerignore leaves out."""
    rules = (PROJECT / ".dockerignore").read_text(encoding="utf-8").split()
    kept = [rule[1:] for rule in rules if rule.startswith("!")]
    assert rules[0] == "*"
    folder.mkdir()
    for name in kept:
        if (PROJECT / name).is_dir():
            ignored = shutil.ignore_patterns(*(rule.rpartition("/")[2] for rule in rules[1:]))
            shutil.copytree(PROJECT / name, folder / name, ignore=ignored)
        else:
            shutil.copy(PROJECT / name, folder)
    return folder


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    folder = tmp_path_factory.mktemp("image")
    image = Image(folder, build_context(folder / "context"))
    try:
        for line in dockerfile():
            image.do(line)
    except subprocess.CalledProcessError as error:
        pytest.fail(f"{error.cmd}\n{error.stdout}\n{error.stderr}")
    yield image
    shutil.rmtree(folder)


pytestmark = pytest.mark.skipif(os.name == "nt", reason="the image is one of Linux")


@pytest.mark.process
def test_every_line_of_the_dockerfile_runs_and_the_image_serves_a_vault(image: Image) -> None:
    vault = image.root / "vault"
    vault.mkdir()
    (vault / "note.md").write_text("# Note\n\nA line.\n", encoding="utf-8")
    (image.root / "tmp").mkdir()
    words = [*image.said["ENTRYPOINT"], *image.said["CMD"]]
    moved = [str(image.root / word[1:]) if word.startswith("/") else word for word in words]
    moved[0] = str(image.root / "opt/workingset/bin" / moved[0])
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    }}  # fmt: skip
    with subprocess.Popen(
        moved, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
        env={**beside(image.folder), "HOME": image.environment["HOME"]},
    ) as served:  # fmt: skip
        assert served.stdin
        assert served.stdout
        served.stdin.write(json.dumps(asked) + "\n")
        served.stdin.flush()
        told = json.loads(served.stdout.readline())
        served.stdin.close()
    assert told["result"]["serverInfo"]["version"] == workingset_mcp.__version__
    assert served.returncode == 0
    assert [path.name for path in vault.iterdir()] == ["note.md"]
    assert [*(image.root / "tmp/index").rglob("*.sqlite3")]


@pytest.mark.process
def test_the_image_contains_bytecode_and_the_example_but_no_source_tree(image: Image) -> None:
    [package] = image.root.glob("opt/workingset/lib/*/site-packages/workingset_mcp")
    assert [*package.glob("server/__pycache__/server.*.pyc")]
    assert (package / "example_vault/cust/acme").is_dir()
    assert not (image.root / "src").exists()


def test_the_image_runs_as_a_numbered_user_who_is_not_root() -> None:
    last = [line.rest for line in dockerfile() if line.instruction == "USER"][-1]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", last)


def test_what_the_dockerfile_copies_is_in_the_build_context() -> None:
    rules = (PROJECT / ".dockerignore").read_text(encoding="utf-8").split()
    kept = [rule[1:] for rule in rules if rule.startswith("!")]
    copied = [
        name
        for line in dockerfile()
        if line.instruction == "COPY" and "--from=" not in line.rest
        for name in line.rest.split()[:-1]
    ]
    assert [name for name in copied if not any(fnmatch(name, f"{rule}*") for rule in kept)] == []
    assert copied


def test_the_registry_entry_keeps_its_limits() -> None:
    entry = json.loads((PROJECT / "server.json").read_text(encoding="utf-8"))
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert 1 <= len(entry["description"]) <= 100
    assert len(entry["title"]) <= 100
    [package] = entry["packages"]
    assert package["transport"] == {"type": "stdio"}
    words = [argument.get("name") or argument["value"] for argument in package["packageArguments"]]
    assert words == ["serve", "--vault"]


def test_the_bundle_starts_the_version_it_names() -> None:
    folder = PROJECT / "docs/packaging/mcpb"
    server = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["server"]
    assert (folder / server["entry_point"]).is_file()
    assert server["entry_point"] in server["mcp_config"]["args"]
    wanted = f'"workingset-mcp=={workingset_mcp.__version__}"'
    assert wanted in (folder / "pyproject.toml").read_text(encoding="utf-8")
