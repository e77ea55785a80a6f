"""A seat while it is asked: one client, its pace and its circuit, and what was found out about it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evalflow.model.seat.body import Accepted, Shape
from evalflow.model.seat.client import Client
from evalflow.model.seat.failure import SeatError
from evalflow.model.seat.identity import Identity, changed
from evalflow.model.seat.patience import Retries
from evalflow.model.seat.probe import Findings
from evalflow.model.seat.restraint import Circuit, Pace
from evalflow.record import Completion

SHORTEST_KEY = 8
"""Shorter keys are placeholders (`EMPTY`, `none`), which an answer may well hold."""


class OpenSeat:
    """Asks a seat within its limits, again where that may help, and knows who it said it was before and after."""

    def __init__(
        self,
        client: Client,
        shape: Shape,
        before: Identity,
        pace: Pace,
        circuit: Circuit,
        retries: Retries,
        keys: Sequence[str],
    ) -> None:
        self.client = client
        self.shape = shape
        self.before = before
        self.after: Identity | None = None
        self.accepted = Accepted()
        self.findings = Findings()
        self._pace, self._circuit, self._retries = pace, circuit, retries
        self._keys = [key for key in keys if len(key) >= SHORTEST_KEY]

    async def ask(self, path: str, body: Mapping[str, Any], seed: str) -> Completion:
        """One answer; the chance in the waits is drawn from `seed`.

        Raises:
            SeatError: there is none.
        """
        first_sent: float | None = None
        attempt = 0
        while True:
            await self._pace.turn()
            self._circuit.check()
            attempt += 1
            try:
                completion = await self.client.ask(path, body)
            except SeatError as fault:
                self._circuit.failed(fault)
                if not self._retries.again(fault, attempt):
                    raise fault.after(attempt) from None
                first_sent = first_sent or fault.sent
                await asyncio.sleep(self._retries.wait_s(fault, attempt, seed))
                continue
            self._circuit.answered()
            self._pace.spent((completion.tokens_in or 0) + (completion.tokens_out or 0))
            written = completion.text + "".join(token.text for token in completion.tokens or ())
            if any(key in written for key in self._keys):
                raise SeatError("bad_reply", "the answer holds the key that was sent with the request; it is not kept")
            if attempt == 1:
                return completion
            times = replace(completion.times, sent=first_sent or completion.times.sent)  # they count from the first
            return replace(completion, attempts=attempt, times=times)

    def facts(self) -> dict[str, Any]:
        """What was found out, how the seat named itself before and after, and connections opened.

        `instrument_fault` says what changed in between.
        """
        told: dict[str, Any] = {
            "seat": {
                "model": self.shape.model,
                "identity": self.before.told(),
                "identity_after": None if self.after is None else self.after.told(),
                "accepted": vars(self.accepted),
                "findings": vars(self.findings),
            },
            "connections_opened": self.client.n_connections,
        }
        fault = None if self.after is None else changed(self.before, self.after)
        return told if fault is None else {**told, "instrument_fault": f"the seat changed while it answered: {fault}"}
