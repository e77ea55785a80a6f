"""Derived seeds: the same forever, distinct for distinct questions."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalflow.numeric.seed import derive_seed


@pytest.mark.parametrize(
    ("root", "item_id", "repeat", "first_bytes"),
    [
        (0, "", 0, 0x390FEABC),
        (0, "q1", 3, 0xAED5C06E),
        (7, "item-é", 12, 0x3A068DE0),
        (12, "q", 3, 0xFECBD0F1),
        (5, "\ud800x", 1, 0x546015AA),
    ],
)
def test_seed_is_what_sha256sum_says(root, item_id, repeat, first_bytes):
    """`printf root:repeat:id | sha256sum`, its first 31 bits after the top one (digests from coreutils)."""
    assert derive_seed(root, item_id, repeat) == first_bytes % 2**31


@given(st.integers(), st.text(st.characters()), st.integers())
def test_seed_has_31_bits(root, item_id, repeat):
    """Every id, lone surrogates among them, gives an integer from 0 to 2^31 - 1."""
    assert 0 <= derive_seed(root, item_id, repeat) < 2**31


def test_no_two_triples_share_a_text():
    """Moving a digit or a colon from one part to another makes another seed."""
    triples = [
        (1, "2:3", 4),
        (1, "3", 42),
        (14, "2:3", 1),
        (1, ":3", 42),
        (4, "2:3", 1),
        (11, "3", 4),
        (1, "13", 4),
    ]
    assert len({derive_seed(*triple) for triple in triples}) == len(triples)


def test_ten_thousand_items_collide_no_more_than_chance_allows():
    """10,000 ids in 2^31 seeds have 0.02 collisions to expect; 2 would be a fault."""
    assert len({derive_seed(0, f"item-{i}", 0) for i in range(10_000)}) >= 9_999


def test_seed_does_not_depend_on_the_process():
    """Another interpreter with another hash seed derives the same number."""
    code = "import sys; from evalflow.numeric.seed import derive_seed as d; sys.stdout.write(str(d(0, 'q1', 3)))"
    answer = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert int(answer.stdout) == 0xAED5C06E % 2**31


def test_a_fractional_root_is_refused():
    """A seed of 0.5 is a mistake, not a seed."""
    with pytest.raises(TypeError):
        derive_seed(0.5, "q", 0)
