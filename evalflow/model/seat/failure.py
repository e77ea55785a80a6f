"""How a seat fails: every class of failure by name, and what of it may be tried again."""

from __future__ import annotations

from evalflow.errors import ModelError

FAILURES = {
    "connect": "no connection could be made",
    "connect_timeout": "no connection within the limit",
    "tls": "the certificate or the handshake was refused",
    "proxy": "the proxy refused",
    "reset": "the connection was lost before a byte of the answer came",
    "http": "a status that is no success; the class carries it, as in http_429",
    "first_token_timeout": "no token within the limit",
    "stalled": "no further token within the limit",
    "total_timeout": "no end within the limit",
    "stream_error": "an error object inside a reply of status 200",
    "cut": "the reply ended, or the connection was lost, before the reply was complete",
    "no_tokens": "a complete reply without one token",
    "bad_reply": "a reply that cannot be read: no JSON, no UTF-8, no shape that is known",
    "oversized": "an event or a reply beyond the limit",
    "seat_down": "not asked: the seat had failed too often in a row",
}
"""What a row's `error.kind` may say of a seat, and what it means."""
RETRIED_STATUS = (408, 409, 425, 429, 500, 502, 503, 504, 529)
UNREACHED = ("connect", "connect_timeout", "reset")
"""Failures that say the seat itself may be gone."""


class SeatError(ModelError):
    """A request that has no answer. `status` is the HTTP status, `wait_s` how long the seat asked to be left alone."""

    def __init__(
        self, kind: str, message: str, status: int | None = None, wait_s: float | None = None, attempts: int = 1
    ) -> None:
        assert kind.partition("_")[0] == "http" or kind in FAILURES, kind
        self.status = status
        self.wait_s = wait_s
        self.sent: float | None = None
        """When the request was sent (s, monotonic)."""
        super().__init__(message, kind, attempts)

    @property
    def may_pass(self) -> bool:
        """Whether the same request may be answered if it is sent again; no part of an answer has come."""
        return self.kind in UNREACHED or self.status in RETRIED_STATUS

    def after(self, attempts: int) -> SeatError:
        """The same failure, of so many attempts."""
        told = f"{self} (after {attempts} attempts)" if attempts > 1 else str(self)
        assert self.kind is not None
        return SeatError(self.kind, told, self.status, self.wait_s, attempts)
