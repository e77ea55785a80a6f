"""The sums of `logit_sums.reduce_pairs`, compiled: one pass over memory, three times as fast and more.

A row is taken block by block, each read again only while it is in the first cache. Where the arms are close, as two
computations of one model are, the candidate's exponential is the reference's times a short polynomial of their
difference. All sums are in float64 and agree with the plain ones to 1e-12.

It needs numba (the extra `fast`), and is imported only where that is there. What is compiled is kept on disk, beside
this file or where numba can write; without that the first call in a process takes some seconds.
"""
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.polynomial import Chebyshev, Polynomial
from numpy.typing import NDArray

from evalflow.numeric.logit_sums import ArmSums, PairSums, Rows, at

_BLOCK = 1024  # candidates: 4 KiB of float32 an arm
_COPIED = 1 << 21  # logits that are widened or brought into order at a time
_CLOSE = 1 / 16  # nats that a block's arms differ by at most where the short polynomial serves
_STEEP = 600.0  # how far apart the arms' peaks may be for it; beyond, one exponential may vanish and the other not
_LOG2_E, _LN_2 = 1 / math.log(2), math.log(2)
_ROUND = 1.5 * 2.0**52  # added to a small number, leaves the nearest integer in its low bits
_LEAST = -700.0  # e^x is still a normal float there, and nothing beside the 1 of the peak


def _polynomial(function: Callable[[Any], Any], reach: float, degree: int) -> tuple[float, ...]:
    """Coefficients of a nearly best polynomial on -reach..reach, exactly 1 at 0, so that equal arms stay equal."""
    series = Chebyshev.interpolate(function, degree, [-reach, reach]).convert(kind=Polynomial)
    return (1.0, *(float(value) for value in series.coef[1:]))


_E0, _E1, _E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9 = _polynomial(np.exp, 1.001 * _LN_2 / 2, 9)
_D0, _D1, _D2, _D3, _D4, _D5, _D6 = _polynomial(lambda d: np.exp(-d), 1.001 * _CLOSE, 6)


def reduce_pairs_compiled(ref_nv: Rows, cand_nv: Rows, targets_n: NDArray[np.int64]) -> PairSums:
    """`logit_sums.reduce_pairs`. The input is taken as checked."""
    n_rows, width = ref_nv.shape
    argmax = np.empty((2, n_rows), dtype=np.int64)
    floats = np.empty((10, n_rows))
    tops = np.empty((2, -(-width // _BLOCK)))
    for start, x_gv, y_gv in _readable(ref_nv, cand_nv):
        bits = np.int32 if x_gv.dtype == np.float32 else np.int64
        _reduce(x_gv, y_gv, x_gv.view(bits), y_gv.view(bits), start, argmax, floats, tops)
    peak, second, shift, total = floats[0:2], floats[2:4], floats[4:6], floats[6:8]
    ref = ArmSums(argmax[0], peak[0], second[0], at(ref_nv, targets_n), shift[0], total[0])
    cand = ArmSums(argmax[1], peak[1], second[1], at(cand_nv, targets_n), shift[1], total[1])
    return PairSums(ref, cand, at(ref_nv, argmax[1]), floats[8], floats[9])


def _readable(ref_nv: Rows, cand_nv: Rows) -> Iterator[tuple[int, Rows, Rows]]:
    """Both arms as plain arrays of float32, or float64 where either is: as they lie, or some rows' copies at a time."""
    dtype = np.dtype(np.float64 if np.float64 in (ref_nv.dtype, cand_nv.dtype) else np.float32)
    as_they_lie = all(arm.dtype == dtype and arm.dtype.isnative and arm.flags.c_contiguous for arm in (ref_nv, cand_nv))
    step = len(ref_nv) if as_they_lie else max(1, _COPIED // max(1, ref_nv.shape[1]))
    for start in range(0, len(ref_nv), max(1, step)):
        rows = slice(start, start + step)
        yield start, np.ascontiguousarray(ref_nv[rows], dtype), np.ascontiguousarray(cand_nv[rows], dtype)


def _compiled(**options: Any) -> Any:
    """numba's decorator, keeping what it makes where it can."""

    def decorate(function: Any) -> Any:
        try:
            return njit(function, cache=True, **options)
        except RuntimeError:  # no folder that can be written to
            return njit(function, **options)

    return decorate


@intrinsic
def _widely(_: Any, value: Any) -> Any:
    """The value itself. The function that calls it is compiled for the widest vectors that there are.

    On processors with 512 bits LLVM may keep to 256 by itself, which takes a third longer here.
    """

    def generate(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        if isinstance(builder.function.attributes, set):
            set.add(builder.function.attributes, '"prefer-vector-width"="512"')
        return given[0]

    return value(value), generate


@intrinsic
def _ordered(_: Any, bits: Any) -> Any:
    """A float's bits as an integer that orders as the floats do; a NaN is beyond both infinities."""

    def generate(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        value, last = given[0], bits.bitwidth - 1
        below = builder.and_(builder.ashr(value, value.type(last)), value.type((1 << last) - 1))
        return builder.xor(value, below)

    return bits(bits), generate


@intrinsic
def _magnitude(_: Any, number: Any) -> Any:
    """The bits of |x| as an integer: it orders as |x| does, infinity and then NaN beyond all numbers."""
    bits = types.int32 if number is types.float32 else types.int64

    def generate(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        value = builder.bitcast(given[0], context.get_value_type(bits))
        return builder.and_(value, value.type((1 << (bits.bitwidth - 1)) - 1))

    return bits(number), generate


@intrinsic
def _number(_: Any, bits: Any) -> Any:
    """The float of these bits."""
    number = types.float32 if bits is types.int32 else types.float64

    def generate(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        return builder.bitcast(given[0], context.get_value_type(number))

    return number(bits), generate


@intrinsic
def _scaled(_: Any, _number: Any, _rounded: Any) -> Any:
    """The first times 2^k, where the second is k + _ROUND: k is added to the exponent."""

    def generate(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        word = context.get_value_type(types.int64)
        exponent = builder.shl(builder.bitcast(given[1], word), word(52))
        return builder.bitcast(builder.add(builder.bitcast(given[0], word), exponent), given[0].type)

    return types.float64(types.float64, types.float64), generate


# "contract" fuses multiplication and addition, "reassoc" adds in any order, which is what vectors need. Nothing here
# may assume that there is no NaN and no infinity: the checks for them would be compiled away.


@_compiled(fastmath={"contract"})
def _exp(x):  # type: ignore[no-untyped-def]
    """e^x for x <= 0, to 3e-14 of it: 2^k times a polynomial of the rest, which is at most ln 2 / 2."""
    x = x if x > _LEAST else _LEAST
    rounded = x * _LOG2_E + _ROUND
    r = x - (rounded - _ROUND) * _LN_2
    p = _E9 * r + _E8
    p = p * r + _E7
    p = p * r + _E6
    p = p * r + _E5
    p = p * r + _E4
    p = p * r + _E3
    p = p * r + _E2
    p = p * r + _E1
    return _scaled(p * r + _E0, rounded)


@_compiled(fastmath={"contract"})
def _exp_minus(d):  # type: ignore[no-untyped-def]
    """e^-d for |d| <= _CLOSE, to 2e-14 of it, and exactly 1 for 0."""
    p = _D6 * d + _D5
    p = p * d + _D4
    p = p * d + _D3
    p = p * d + _D2
    p = p * d + _D1
    return p * d + _D0


@_compiled()
def _ends(x_b, y_b, x_bits, y_bits):  # type: ignore[no-untyped-def]
    """The block's largest of each arm, and its largest |x - y|: integers are compared, which no NaN slips past."""
    top_x = _ordered(_widely(x_bits[0]))
    top_y = _ordered(y_bits[0])
    furthest = _magnitude(x_b[0] - y_b[0])
    for i in range(x_b.size):
        key = _ordered(x_bits[i])
        top_x = key if key > top_x else top_x
        key = _ordered(y_bits[i])
        top_y = key if key > top_y else top_y
        key = _magnitude(x_b[i] - y_b[i])
        furthest = key if key > furthest else furthest
    return _number(_ordered(top_x)), _number(_ordered(top_y)), _number(furthest)


@_compiled(fastmath={"contract", "reassoc"})
def _close(x_b, y_b, peak):  # type: ignore[no-untyped-def]
    """sum e^(x - peak), sum e^(y - peak) and sum e^(x - peak) (x - y) of a block whose arms are close."""
    ref = cand = product = 0.0
    peak = _widely(peak)
    for i in range(x_b.size):
        x = np.float64(x_b[i])
        d = x - np.float64(y_b[i])
        e = _exp(x - peak)
        ref += e
        cand += e * _exp_minus(d)
        product += e * d
    return ref, cand, product


@_compiled(fastmath={"contract", "reassoc"})
def _apart(x_b, y_b, peak_x, peak_y):  # type: ignore[no-untyped-def]
    """sum e^(x - peak_x), sum e^(y - peak_y) and sum e^(x - peak_x) (x - y) of any block of finite numbers."""
    ref = cand = product = 0.0
    peak_x = _widely(peak_x)
    for i in range(x_b.size):
        x = np.float64(x_b[i])
        y = np.float64(y_b[i])
        e = _exp(x - peak_x)
        ref += e
        cand += _exp(y - peak_y)
        product += e * (x - y)
    return ref, cand, product


@_compiled()
def _masked(x_b, y_b, peak_x, peak_y):  # type: ignore[no-untyped-def]
    """The same of a block with -inf, whose terms are 0, and its largest |x - y|, -1 of none. A NaN is in the sums.

    Where the second arm alone has -inf the product is +inf.
    """
    ref = cand = product = 0.0
    furthest = -1.0
    alone = False
    for i in range(x_b.size):
        x = np.float64(x_b[i])
        y = np.float64(y_b[i])
        e = 0.0 if x == -np.inf else math.exp(x - peak_x)
        ref += e
        cand += 0.0 if y == -np.inf else math.exp(y - peak_y)
        if x != -np.inf and y != -np.inf:
            product += e * (x - y)
            furthest = max(furthest, abs(x - y))
        alone = alone or (y == -np.inf and x != -np.inf)
    return ref, cand, np.inf if alone else product, furthest


@_compiled()
def _furthest(x_b, y_b):  # type: ignore[no-untyped-def]
    """The largest |x - y| of a block of finite numbers, in float64."""
    furthest = _magnitude(np.float64(0.0))
    for i in range(x_b.size):
        key = _magnitude(np.float64(x_b[i]) - np.float64(y_b[i]))
        furthest = key if key > furthest else furthest
    return _number(furthest)


@_compiled()
def _two_largest(x, tops_b, peak):  # type: ignore[no-untyped-def]
    """The first index of the peak, and the largest of the others (NaN of none), given the blocks' largest."""
    block = 0
    while tops_b[block] != peak:
        block += 1
    begin = block * _BLOCK
    at_peak = begin
    while x[at_peak] != peak:
        at_peak += 1
    second = -np.inf if x.size > 1 else np.nan
    for i in range(begin, min(begin + _BLOCK, x.size)):
        if i != at_peak and x[i] > second:
            second = np.float64(x[i])
    for other in range(tops_b.size):
        if other != block and tops_b[other] > second:
            second = tops_b[other]
    return at_peak, second


@_compiled(error_model="numpy")  # a division by 0 is NaN, and no exception
def _sums(x, y, x_bits, y_bits, tops):  # type: ignore[no-untyped-def]
    """Of one row: the blocks' largest are put into `tops`; both peaks, both totals, `cross` and `max_abs`.

    Sums are relative to the largest so far, and are scaled down where a block has a larger one.
    """
    peak_x = peak_y = -np.inf
    ref = cand = product = 0.0
    max_abs = seen = -1.0  # `seen` is in the arms' own precision
    for block in range(tops.shape[1]):
        rows = slice(block * _BLOCK, min((block + 1) * _BLOCK, x.size))
        x_b, y_b = x[rows], y[rows]
        top_x, top_y, far = _ends(x_b, y_b, x_bits[rows], y_bits[rows])
        tops[0, block], tops[1, block] = top_x, top_y
        if not (top_x < np.inf and top_y < np.inf):  # NaN or +inf: the row is none
            return np.nan, np.nan, np.nan, np.nan, np.nan, np.nan
        if top_x > peak_x:
            scale = math.exp(peak_x - top_x)
            ref, peak_x = ref * scale, np.float64(top_x)
            if product < np.inf:  # +inf is of a token that the candidate alone rules out, however unlikely it becomes
                product *= scale
        if top_y > peak_y:
            cand, peak_y = cand * math.exp(peak_y - top_y), np.float64(top_y)
        if not far < np.inf:
            r, c, p, most = _masked(x_b, y_b, peak_x, peak_y)
            max_abs = max(max_abs, most)
        elif far <= _CLOSE and abs(peak_x - peak_y) < _STEEP:
            r, c, p = _close(x_b, y_b, peak_x)
            c *= math.exp(peak_x - peak_y)
        else:
            r, c, p = _apart(x_b, y_b, peak_x, peak_y)
        if seen <= far < np.inf:
            seen, max_abs = far, max(max_abs, _furthest(x_b, y_b))
        ref, cand, product = ref + r, cand + c, product + p
    cross = product / ref - (peak_x - peak_y)
    return peak_x, peak_y, ref, cand, cross, max_abs if max_abs >= 0 else np.nan


@_compiled(nogil=True)
def _reduce(ref_gv, cand_gv, ref_bits, cand_bits, start, argmax, floats, tops):  # type: ignore[no-untyped-def]
    """All sums of a group of rows, into the columns from `start` on."""
    for row in range(ref_gv.shape[0]):
        column = start + row
        peak_x, peak_y, ref, cand, cross, max_abs = _sums(
            ref_gv[row], cand_gv[row], ref_bits[row], cand_bits[row], tops
        )
        argmax[:, column] = 0
        floats[2:4, column] = np.nan
        if peak_x > -np.inf and peak_y > -np.inf:  # which no NaN is
            argmax[0, column], floats[2, column] = _two_largest(ref_gv[row], tops[0], peak_x)
            argmax[1, column], floats[3, column] = _two_largest(cand_gv[row], tops[1], peak_y)
        floats[0, column], floats[1, column] = peak_x, peak_y
        floats[4, column], floats[5, column] = peak_x, peak_y
        floats[6, column], floats[7, column], floats[8, column], floats[9, column] = ref, cand, cross, max_abs
