"""The report run's description: what comes first, what it holds, and what is kept out of it."""

from __future__ import annotations

from evalflow.tracking.note import LONGEST_NOTE, escape, note, number
from tests.tracking.written_run import MakeRun, gate


def plain(text: str) -> str:
    """Without what keeps MLflow's columns apart."""
    return text.replace("&nbsp;", "")


def test_the_first_line_says_the_verdict_and_what_missed(make_run: MakeRun) -> None:
    """The first line has the verdict, the exit code and every gate that failed or could not be read."""
    first = note(make_run("r").report).splitlines()[0]
    assert first == "**Verdict: fail** (exit code 1): bad fail, p95 unreadable"


def test_the_first_line_stays_short_however_many_gates_missed(make_run: MakeRun) -> None:
    """Of nine missed gates three are named and six counted."""
    gates = {f"g{n}": gate("unreadable", value=None, reason="smoke run") for n in range(9)}
    first = note(make_run("r", gates=gates).report).splitlines()[0]
    assert first.endswith(": g0 unreadable, g1 unreadable, g2 unreadable and 6 more")


def test_reasons_for_an_incomplete_run_come_before_the_gates(make_run: MakeRun) -> None:
    """What makes a run incomplete is listed under the verdict, above the gate table."""
    lines = plain(note(make_run("r", verdict="incomplete", reasons=["2 of 12 rows are missing"]).report)).splitlines()
    assert lines[2] == "- 2 of 12 rows are missing"
    assert lines[4].startswith("| gate | outcome |")


def test_missed_gates_come_first_in_the_table(make_run: MakeRun) -> None:
    """The gate table begins with the failed and unreadable ones, and the others follow in their own order."""
    lines = plain(note(make_run("r").report)).splitlines()
    assert lines[2].startswith("| gate | outcome |")
    assert [line.split(" | ")[0] for line in lines[4:8]] == ["| bad", "| p95", "| good", "| control"]


def test_the_note_holds_rows_comparison_words_figures_with_intervals_and_limits(make_run: MakeRun) -> None:
    """The note has the deciding rows, comparisons in words, figures with intervals and the run's limits."""
    text = plain(note(make_run("r").report))
    assert "- bad: copy:oak&#124;x (seed 0)" in text
    assert "worse by 0.1, not shown" in text
    assert "| quality/exact | 0.6667 (0.2 to 0.94) n=3 |" in text
    assert "undefined: needs 20 rows, has 3" in text
    assert "**Notes**\n\n- its rows come from one session" in text
    assert "- three items show little" in text


def test_a_figure_over_several_sessions_says_so(make_run: MakeRun) -> None:
    """A time that was taken in two sessions is marked in the table of figures."""
    arms = make_run("r").report["arms"]
    arms["greedy"]["figures"]["lat/ttft_s/p50"]["n_sessions"] = 2
    text = plain(note(make_run("r", arms=arms).report))
    assert "| lat/ttft_s/p50 | 0.1235 s n=3 over 2 sessions | 0.1235 s n=3 |" in text


def test_nothing_in_an_id_or_a_sentence_comes_to_life() -> None:
    """HTML, Markdown and line breaks in a text lose their effect, and underscores inside a word stay as they are."""
    hostile = "a|b <script>x</script> [l](javascript:1) ![i](http://x) `c` **d** _e_\n# f"
    shown = escape(hostile)
    assert not set("|<>[]`*#\n") & set(shown.replace("&#", ""))
    assert "_e_" not in shown
    assert escape("warm_not_worse") == "warm_not_worse"
    assert escape("'nope' is \"no\" choice & <b>") == "'nope' is \"no\" choice &amp; &lt;b&gt;"


def test_every_table_row_has_as_many_cells_as_its_head(make_run: MakeRun) -> None:
    """No row of the gate table has more or fewer cells than its head."""
    lines = [line for line in note(make_run("r").report).splitlines() if line.startswith("| ")]
    gates = lines[: 2 + 4]
    assert {line.count("|") for line in gates} == {9}


def test_a_note_too_long_for_a_tag_ends_at_a_line_and_says_so(make_run: MakeRun) -> None:
    """A long note ends at a line that points to report.json, where MLflow would cut a row without a word."""
    many = {f"gate{n}": gate("fail", reason="x" * 200) for n in range(100)}
    text = note(make_run("r", gates=many).report)
    assert len(text) <= LONGEST_NOTE
    assert text.endswith("more lines: see report.json")


def test_a_control_that_failed_as_it_should_reads_as_a_pass(make_run: MakeRun) -> None:
    """A control that was expected to fail and did is shown as a pass with its reason."""
    text = plain(note(make_run("r").report))
    assert "| control | pass |" in text
    assert "failed, as it should" in text


def test_a_gate_that_only_reports_is_no_reason_for_the_verdict(make_run: MakeRun) -> None:
    """A failed gate that only reports is not in the first line, and is marked as such in the table."""
    gates = {"slow": gate("fail", report_only=True)}
    first, *rest = note(make_run("r", verdict="pass", exit_code=0, gates=gates).report).splitlines()
    assert first == "**Verdict: pass** (exit code 0)"
    assert "| slow | **fail** (report only) |" in plain("\n".join(rest))


def test_numbers_are_short() -> None:
    """A number has four significant digits, a large one is whole with separators, and a missing one is a dash."""
    assert [number(value) for value in (None, 2 / 3, 12_345_678.9, 0.0)] == ["–", "0.6667", "12,345,679", "0"]
