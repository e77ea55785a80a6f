"""What a session has spent of its budget."""

from __future__ import annotations

import math
import time

from evalflow.model.protocol import Model
from evalflow.record import Completion, Row
from evalflow.runner.answer import foreign
from evalflow.runner.settings import Budget


class Spending:
    """Counts requests, tokens, price and time against a budget, from the first arm on."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._began = time.monotonic()
        self._spent = {"requests": 0.0, "tokens": 0.0, "price": 0.0}
        self._unpriced = 0
        self._uncounted = 0

    @property
    def over(self) -> str | None:
        """Which limit is reached, in words; None while there is something left."""
        spent = {**self._spent, "wall_s": time.monotonic() - self._began}
        for name, limit in vars(self._budget).items():
            if limit is None:
                continue
            if spent[name] >= limit:
                return f"runner.budget.{name}={limit:g} is spent; resume=RUN goes on with another"
            if name == "tokens" and self._uncounted:
                return f"runner.budget.tokens cannot be kept: {self._uncounted} answered without a count"
            if name == "price" and self._unpriced:
                return f"runner.budget.price cannot be kept: {self._unpriced} answered without a price (model.prices)"
        return None

    def warmed(self) -> None:
        """Count a warm call, which is a request and leaves no row."""
        self._spent["requests"] += 1

    def add(self, row: Row, model: Model, completion: Completion | None) -> None:
        """Count one finished request."""
        self._spent["requests"] += row.attempts
        if completion is not None:
            self._spent["tokens"] += (row.tokens_in or 0) + (row.tokens_out or 0)
            self._uncounted += row.tokens_in is None or row.tokens_out is None
        if self._budget.price is not None and completion is not None:
            price = _price(model, completion)
            self._spent["price"] += price or 0.0
            self._unpriced += price is None


def _price(model: Model, completion: Completion) -> float | None:
    """What the model asks for an answer; None where it does not say, raises, or says what is no price."""
    try:
        price = model.price(completion)
    except BaseException as fault:  # the model's own code: it costs no answer
        if not foreign(fault):
            raise
        return None
    return float(price) if isinstance(price, int | float) and 0 <= price < math.inf else None
