"""The positions of scored texts as a table."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np

from evalflow.columns import Columns
from evalflow.report.positions import write_positions
from tests.report.test_tables import ROW


def test_every_position_is_a_line(tmp_path: Path) -> None:
    """Two arms of one text; what one has and the other lacks is empty there, and so is what is no number."""
    alone = Columns.of({"position": np.array([1, 2], dtype=np.int32), "nll": np.array([0.5, np.nan])})
    beside = Columns.of({"position": np.array([1], dtype=np.int32), "nll": np.array([0.25]), "kl": np.array([0.125])})
    rows = [replace(ROW, arm="a", item_id="t"), replace(ROW, arm="a", item_id="x", columns=alone)]
    (path,) = write_positions(tmp_path, [*rows, replace(ROW, arm="b", item_id="x", columns=beside)])
    with path.open(encoding="utf-8", newline="") as handle:
        told = list(csv.DictReader(handle))
    assert [(line["arm"], line["position"], line["nll"], line["kl"]) for line in told] == [
        ("a", "1", "0.5", ""),
        ("a", "2", "", ""),
        ("b", "1", "0.25", "0.125"),
    ]


def test_a_run_without_scored_texts_has_no_such_table(tmp_path: Path) -> None:
    """Nothing is written."""
    assert write_positions(tmp_path, [ROW]) == []
    assert list(tmp_path.iterdir()) == []
