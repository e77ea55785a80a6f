"""The built wheel, as somebody without the checkout gets it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_a_wheel_finds_its_own_configs_and_checkpoints(tmp_path: Path) -> None:
    """Unpacked in another folder, the wheel lists the experiments and plans the default one with shipped weights."""
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, timeout=300)
    (wheel,) = tmp_path.glob("evalflow-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "site")
    run = [sys.executable, "-m", "evalflow"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}

    def said(*words: str) -> str:
        done = subprocess.run([*run, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=99)
        assert done.returncode == 0, done.stderr
        return done.stdout

    where = subprocess.run(
        [sys.executable, "-c", "import evalflow; print(evalflow.__file__)"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(tmp_path) in where.stdout
    assert "tiny_gpt" in said("--help")
    assert "480 requests" in said("dry_run=true", "tracking=none")
