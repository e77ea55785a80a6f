"""Paths of what comes with evalflow."""

from pathlib import Path

import pytest

import evalflow
from evalflow.shipped import resolved


def test_a_shipped_file_lies_in_the_package():
    """Wherever evalflow is installed; any other path is the user's, and left as it is."""
    assert resolved("package:articles") == Path(evalflow.__file__).parent / "dataset" / "data" / "articles"
    assert resolved("my/package:x.json") == Path("my/package:x.json")


@pytest.mark.parametrize("path", ["package:../protocol.py", "package:/etc/passwd", "package:a/../../b"])
def test_nothing_else_of_the_package_can_be_named(path: str):
    """A name that leads out of the shipped data is refused."""
    with pytest.raises(ValueError, match="name a file that evalflow ships"):
        resolved(path)
