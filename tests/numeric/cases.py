"""One door to every reference case: a metric's name and inputs in, what the product says out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalflow.numeric.undefined import Undefined
from tests.numeric.kinds import agreement, logits, statistics

KINDS = {**logits.KINDS, **statistics.KINDS, **agreement.KINDS}


def answer(metric: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """What the product computes for a case of this kind.

    A figure that has no value is `{"undefined": reason}`; inputs that are refused are `{"error": message}` as a whole.
    """
    kind = KINDS[metric]
    try:
        return kind(inputs)
    except Undefined as undefined:
        return {"undefined": undefined.reason}
    except KeyError as missing:
        return {"error": f"the inputs have no {missing}"}
    except (ValueError, TypeError, OverflowError) as refused:
        return {"error": str(refused)}
