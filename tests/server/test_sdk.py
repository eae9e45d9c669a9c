"""All patches of the SDK are in one module, which is cheap to import."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import workingset_mcp

PACKAGE = Path(workingset_mcp.__file__).parent
FOREIGN = {"_lowlevel_server", "_connection", "configure_logging", "model_config", "__signature__"}


def patched_names(module: Path) -> list[str]:
    """Return the private names and settings of libraries that a module uses, and `gc` if it imports that."""
    found = []
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in FOREIGN:
            found.append(node.attr)
        elif isinstance(node, ast.Constant) and node.value in FOREIGN:
            found.append(str(node.value))
        elif isinstance(node, ast.Import) and any(name.name == "gc" for name in node.names):
            found.append("gc")
    return found


def test_only_one_module_patches_the_sdk_pydantic_and_the_collector() -> None:
    modules = [*PACKAGE.glob("server/**/*.py"), *PACKAGE.glob("cli/**/*.py")]  # no others import it
    found = {module.relative_to(PACKAGE).as_posix() for module in modules if patched_names(module)}
    assert found == {"server/sdk.py"}


@pytest.mark.process
def test_importing_that_module_loads_neither_the_sdk_nor_pydantic() -> None:
    code = "import sys, workingset_mcp.server.sdk; print({'mcp', 'pydantic'} & {*sys.modules})"
    environment = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True
    )
    assert done.stdout.strip() == b"set()"
