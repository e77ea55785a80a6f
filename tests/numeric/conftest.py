"""The published cases: figures that two independent implementations agreed on."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# the same examples on every run; no deadline, since the first call of some functions imports scipy
settings.register_profile("numeric", derandomize=True, database=None, deadline=None)
settings.load_profile("numeric")

CASES = json.loads((Path(__file__).parent / "data" / "cases.json").read_text(encoding="utf-8"))


@pytest.fixture
def cases() -> dict[str, Any]:
    return CASES
