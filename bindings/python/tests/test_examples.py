# SPDX-License-Identifier: Apache-2.0
"""The examples and the Python of the documents run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent.parent
TREE = Path(os.environ["GPUEXEC_TREE"])


def run(tmp_path: Path, *command: str) -> str:
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "MPLCONFIGDIR": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("name", ["quickstart.py", "overlap.py"])
def test_example(tmp_path: Path, name: str) -> None:
    assert run(tmp_path, str(HERE / "examples" / name))


def test_plot(tmp_path: Path) -> None:
    out = run(tmp_path, str(HERE / "examples" / "plot.py"), "8", "plot.png")
    assert re.search(r"^cpu +2\^8: NTT +[\d.]+ ms, MSM +[\d.]+ ms$", out, flags=re.M)
    image = (tmp_path / "plot.png").read_bytes()
    assert image.startswith(b"\x89PNG")
    assert len(image) > 10_000


DOCUMENTS = [
    HERE / "README.md",
    TREE / "README.md",
    *(path for path in sorted((TREE / "doc").rglob("*.md")) if "```python" in path.read_text()),
]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: "/".join(path.parts[-2:]))
def test_document(tmp_path: Path, path: Path) -> None:
    """All of its Python, one after the other; comments after print say what is printed."""
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", path.read_text(), re.M | re.S))
    wanted = re.findall(r"^ *print\(.*\)  # (.*)$", code, flags=re.M)
    assert wanted
    assert run(tmp_path, "-c", code).splitlines() == wanted


def test_documents_are_found() -> None:
    assert len(DOCUMENTS) >= 6


def test_every_example_is_here() -> None:
    found = {p.name for p in (HERE / "examples").glob("*.py")}
    assert found == {"quickstart.py", "overlap.py", "plot.py"}
