"""Rows from a real program: in order, in time, and one clear line for every way that it can go wrong."""

import os
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from evalflow.errors import ModelError
from evalflow.model.recorded.pipe import RowStream

WRITE = "import sys, struct\nrow = lambda *x: sys.stdout.buffer.write(struct.pack(f'<{len(x)}f', *x))\n"
LIMIT_S = 30.0


def program(script):
    return [sys.executable, "-I", "-S", "-c", WRITE + script]


@pytest.fixture
def opened():
    """Streams that are closed whatever the test does."""
    streams = []

    def open_stream(source, width=3, limit_s=LIMIT_S):
        stream = RowStream(program(source) if isinstance(source, str) else source, width, limit_s)
        streams.append(stream)
        stream.open()
        return stream

    yield open_stream
    for stream in streams:
        stream.close()


def test_rows_come_in_order_whatever_asks_for_them(opened):
    """Two, then one, then two again; and then there must be no more."""
    stream = opened("[row(i, i + 0.5, -i) for i in range(5)]")
    taken = [stream.read(2, "a"), stream.read(1, "b"), stream.read(2, "c")]
    assert np.concatenate(taken).tolist() == [[i, i + 0.5, -i] for i in range(5)]
    assert taken[0].dtype == np.float32 and taken[0].dtype.isnative
    stream.finish()


def test_what_is_sent_is_read_by_the_program(opened):
    """A line a window: it answers each with what stands in it."""
    stream = opened("import json\nfor line in sys.stdin:\n  row(*json.loads(line)); sys.stdout.flush()")
    assert stream.read(1, "a", b"[1, 2, 3]\n").tolist() == [[1, 2, 3]]
    assert stream.read(1, "b", b"[4, 5, 6]\n").tolist() == [[4, 5, 6]]
    stream.finish()


def test_a_program_may_write_much_before_it_reads_and_be_sent_much(opened):
    """Neither side waits for the other: megabytes go both ways at once."""
    stream = opened(
        "row(*range(10**6)); sys.stdout.flush(); row(len(sys.stdin.readline())); row(*[0] * (10**6 - 1))", 10**6
    )
    taken = stream.read(2, "a", b"x" * 3_000_000 + b"\n")
    assert taken[0, -1] == 999_999 and taken[1, 0] == 3_000_001
    stream.finish()


def test_numbers_that_are_none_pass_as_they_are(opened):
    """NaN and infinity are for those to count who read the rows."""
    taken = opened("row(float('nan'), float('-inf'), 1)").read(1, "a")
    assert np.isnan(taken[0, 0]) and taken[0, 1] == -np.inf


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("row(1, 2, 3); row(4)", r"row 2 \(item 'b'\): the stream ended after 4 of its 12 bytes, exit code 0"),
        ("row(1, 2, 3)", r"row 2 \(item 'b'\): the stream ended, exit code 0; it must write 3 float32"),
        ("row(1, 2, 3); sys.stdout.flush(); sys.exit('no\\nmodel')", "exit code 1; it said: no | model; it must"),
        ("import os; row(1, 2, 3); sys.stdout.flush(); os.kill(os.getpid(), 9)", "the stream ended, exit code -9"),
    ],
)
def test_a_stream_that_ends_early_is_told_with_its_row(opened, script, said):
    """The row by number, whose it was, what of it came, how the program ended and what it said last; one line."""
    stream = opened(script)
    stream.read(1, "item 'a'")
    with pytest.raises(ModelError, match=said.replace("|", r"\|")) as first:
        stream.read(1, "item 'b'")
    with pytest.raises(ModelError) as second:
        stream.read(1, "item 'c'")
    assert str(first.value) == str(second.value) and "\n" not in str(first.value)
    assert "the program (" in str(first.value)


def test_a_program_that_stands_still_is_not_waited_for(opened):
    """A row must come within its time; a part of one does not put it off."""
    stream = opened("row(1, 2, 3); row(4); sys.stdout.flush(); import time; time.sleep(60)", limit_s=0.5)
    stream.read(1, "item 'a'")
    with pytest.raises(ModelError, match=r"row 2 \(item 'b'\): nothing more came within 0.5 s after 4 of its 12 bytes"):
        stream.read(1, "item 'b'")


def test_text_is_no_row(opened):
    """What a program prints by mistake does not add up to rows: the end of the stream tells."""
    stream = opened("print('loading the model')")
    with pytest.raises(ModelError, match=r"row 2 .*: the stream ended after 6 of its 12 bytes"):
        stream.read(3, "a")


def test_more_rows_than_were_asked_for_are_found_at_the_end(opened):
    """Then nobody knows whose rows were read. A resumed run asks for too few of a program that is sent no tokens."""
    stream = opened("row(1, 2, 3); row(4, 5, 6)")
    stream.read(1, "a")
    said = "there is more in the stream than the 1 rows that were asked for"
    with pytest.raises(ModelError, match=rf"{said} \(as after resuming a run: use resume=new\); it must"):
        stream.finish()
    told = opened("row(1, 2, 3); row(4, 5, 6)")
    told.read(1, "a", b"{}\n")
    with pytest.raises(ModelError, match=rf"{said}; it must"):
        told.finish()


def test_a_program_that_fails_after_its_last_row_is_found(opened):
    """Its exit code and its last words are told."""
    stream = opened("row(1, 2, 3); sys.stdout.flush(); sys.exit('out of memory at the end')")
    stream.read(1, "a")
    with pytest.raises(ModelError, match=r"all 1 rows came, but .*, exit code 1; it said: out of memory at the end"):
        stream.finish()


def test_a_program_that_does_not_end_is_found(opened):
    """Once its standard input is closed it has the time of a row."""
    stream = opened("row(1, 2, 3); sys.stdout.flush(); import time; time.sleep(60)", limit_s=0.5)
    stream.read(1, "a")
    with pytest.raises(ModelError, match="the program does not end"):
        stream.finish()


def test_much_that_is_said_on_standard_error_blocks_nothing(opened):
    """It is read along, and the end of it is kept."""
    stream = opened(
        "[print('x' * 999, file=sys.stderr) for _ in range(500)]; print('last', file=sys.stderr); row(1, 2, 3)"
    )
    assert stream.read(1, "a").tolist() == [[1, 2, 3]]
    with pytest.raises(ModelError, match=r"; it said: .*last; it must") as told:
        stream.read(1, "b")
    assert len(str(told.value)) < 5000


def test_a_program_is_ended_and_so_are_its_children(opened, monkeypatch):
    """Also one that hears no polite word; nothing is left of either."""
    monkeypatch.setattr("evalflow.model.recorded.pipe.END_S", 0.3)
    deaf = "import signal, subprocess, os\nsignal.signal(15, signal.SIG_IGN)\n"
    child = f"p = subprocess.Popen([{sys.executable!r}, '-c', 'import time; time.sleep(60)'], stdout=2)\n"
    stream = opened(deaf + child + "row(os.getpid(), p.pid, 0); sys.stdout.flush(); p.wait()")
    pids = [int(number) for number in stream.read(1, "a")[0, :2]]
    stream.close()
    deadline = time.monotonic() + 10
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(alive(pid) for pid in pids)


@pytest.mark.parametrize("ends", ["", "sys.exit(3)"])
def test_children_do_not_outlive_a_program_that_ended(opened, ends):
    """Well or badly; they would hold on to a device, or to memory."""
    child = f"p = subprocess.Popen([{sys.executable!r}, '-c', 'import time; time.sleep(60)'], stdout=2, stdin=2)\n"
    stream = opened("import subprocess\n" + child + "row(p.pid, 0, 0); sys.stdout.flush(); sys.stdin.read(); " + ends)
    pid = int(stream.read(1, "a")[0, 0])
    if ends:
        with pytest.raises(ModelError, match="exit code 3"):
            stream.finish()
    else:
        stream.finish()
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(pid)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_read_that_waits_is_brought_to_its_end(opened):
    """`stop` from another thread: the read ends in an error long before its time."""
    stream = opened("import time; time.sleep(60)")
    threading.Timer(0.3, stream.stop).start()
    begun = time.monotonic()
    with pytest.raises(ModelError, match="row 1"):
        stream.read(1, "a")
    assert time.monotonic() - begun < LIMIT_S / 2


def test_no_shell_reads_the_command(opened, tmp_path):
    """A word is a word, whatever a shell would make of it."""
    stream = opened([*program("row(len(sys.argv[1]), 0, 0)"), f"; touch {tmp_path / 'x'} $(id)"])
    assert stream.read(1, "a")[0, 0] == len(f"; touch {tmp_path / 'x'} $(id)")
    assert not (tmp_path / "x").exists()


def test_a_command_that_is_none(opened):
    """It is named, and so is why."""
    with pytest.raises(ModelError, match=r"the program \(no-such-program a\) cannot be had \(No such file"):
        opened(["no-such-program", "a"])


def test_a_file_of_rows(opened, tmp_path):
    """The same rows from a plain file; and its end, and more than was asked for."""
    path = tmp_path / "rows.f32"
    path.write_bytes(np.arange(9, dtype="<f4").tobytes() + b"\0\0")
    stream = opened(path)
    assert stream.read(2, "a").tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ModelError, match="there is more in the stream than the 2 rows"):
        stream.finish()
    other = opened(path)
    with pytest.raises(ModelError, match=r"rows.f32, row 4 \(a\): the stream ended after 2 of its 12 bytes; it must"):
        other.read(4, "a")
    with pytest.raises(ModelError, match="none cannot be had"):
        opened(tmp_path / "none")


def test_a_named_pipe_of_rows(opened, tmp_path):
    """It may be opened before anybody writes to it, and who writes may come late and slowly."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    stream = opened(path)

    def write():
        with path.open("wb", buffering=0) as pipe:
            for part in (b"", np.arange(4, dtype="<f4").tobytes(), np.arange(4, 6, dtype="<f4").tobytes()):
                time.sleep(0.15)
                pipe.write(part)

    writer = threading.Thread(target=write)
    writer.start()
    assert stream.read(2, "a").tolist() == [[0, 1, 2], [3, 4, 5]]
    writer.join()
    stream.finish()
