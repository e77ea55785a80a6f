"""`evalflow review RUN`: blind sheets of a run's answers for people to judge, their ratings, and what those come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalflow.command.options import CommandParser, Options, place

if TYPE_CHECKING:
    from argparse import Namespace

    from evalflow.runner.plan import Plan
    from evalflow.runner.review_import import Imported
    from evalflow.runner.review_sheet import Answers, Asked, Sheet
    from evalflow.runner.stored_run import StoredRun

TAKES = (
    "one run (its folder, or its id under outputs/ or --outputs DIR), which alone prints what its ratings come to "
    "(--json); --to DIR (makes a sheet there: sheet.html and sheet.csv), with --arms REFERENCE,CANDIDATE, "
    "--kind pairs|single, --scale 1-5, --items N, --seed N, --sheets N and --overlap N (how many of them each item is "
    'on), --question "TEXT", --target (shows it); or --import FILE ... (reads filled sheets), with --rater NAME'
)
OF_A_SHEET = ("arms", "kind", "scale", "items", "seed", "sheets", "overlap", "question", "target")


def review(words: Sequence[str], options: Options) -> int:
    """Make blind sheets of a run's answers for people to judge, read them back filled, and say what they come to."""
    from evalflow.errors import ExitCode
    from evalflow.job import kept_from_others
    from evalflow.runner.stored_run import find_run, load_run

    parser = _parser()
    asked = parser.read(words)
    _check(asked, parser)
    folder = find_run(asked.run, asked.outputs)
    with kept_from_others(folder):
        run = load_run(folder)
        if asked.to is not None:
            _make(run, asked, parser, options)
        else:
            _result(run, asked, options)
    return int(ExitCode.PASS)


def _parser() -> CommandParser:
    parser = CommandParser("review", TAKES, __doc__)
    parser.add_argument("run")
    parser.add_argument("--to", type=place, default=None)
    parser.add_argument("--arms", default=None)
    parser.add_argument("--kind", choices=("pairs", "single"), default=None)
    parser.add_argument("--scale", type=_scale, default=None)
    for name in ("items", "seed", "sheets", "overlap"):
        parser.add_argument(f"--{name}", type=int, default=None)
    parser.add_argument("--question", default=None)
    parser.add_argument("--target", action="store_true", default=None)
    parser.add_argument("--import", dest="filled", nargs="+", type=Path, default=[])
    parser.add_argument("--rater", default=None)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--outputs", type=Path, default=Path("outputs"))
    return parser


def _scale(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    return int(low), int(high)


def _check(asked: Namespace, parser: CommandParser) -> None:
    """Refuse words that belong to another use of the command."""
    given = [name for name in OF_A_SHEET if getattr(asked, name) is not None]
    if asked.to is None and given:
        parser.error(f"--{given[0]} is of a sheet, and there is no --to")
    if asked.to is not None and (asked.filled or asked.json):
        parser.error("--to makes a sheet, and reads or adds up none; leave out --import and --json")
    if asked.rater is not None and not asked.filled:
        parser.error("--rater is of a filled sheet, and there is no --import")
    if asked.kind == "pairs" and asked.scale is not None:
        parser.error("--scale is of --kind single; pairs are left, right or tie")


def _make(run: StoredRun, asked: Namespace, parser: CommandParser, options: Options) -> None:
    """Write the sheets into a folder, their keys into the run's, and say what is on them."""
    from evalflow.errors import UsageError
    from evalflow.report.terminal import say
    from evalflow.runner.review_key import read_keys, write_key
    from evalflow.runner.review_sheet import answers_of, draw_sheets
    from evalflow.runner.session import stored_plan

    if run.folder.resolve().is_relative_to(asked.to.resolve()):
        raise UsageError(f"--to {asked.to}: the run lies in it, and with it the key; give a folder for the sheet alone")
    plan = stored_plan(run, options.allow)
    wanted = _asked(plan, asked, parser)
    answers = answers_of(plan, run, wanted.arms)
    sheets = draw_sheets(run, answers, wanted)
    _check_scale(sheets[0], read_keys(run.folder, run.run_id))
    keys = [write_key(run.folder, sheet) for sheet in sheets]  # first: a sheet without a key could not be read back
    written = _write(asked.to, _texts(run, sheets, answers, bool(asked.target)))
    if not options.quiet:
        say(lambda: print(*written, *_made_lines(run, sheets, keys), sep="\n"))


def _asked(plan: Plan, asked: Namespace, parser: CommandParser) -> Asked:
    """What is to be shown; without --arms all that are no control."""
    from evalflow.errors import UsageError
    from evalflow.runner.build import nearest
    from evalflow.runner.review_sheet import Asked

    arms = tuple(name for name, planned in plan.arms.items() if not planned.arm.control)
    if asked.arms is not None:
        arms = tuple(name for name in asked.arms.split(",") if name)
    for name in arms:
        if name not in plan.arms:
            raise UsageError(f"--arms {name}: there is no such arm; {nearest(name, plan.arms)}")
    try:
        return Asked(
            arms=arms,
            kind=asked.kind or ("single" if asked.scale is not None else "pairs"),
            scale=asked.scale or (1, 5),
            n_items=asked.items,
            sheets=1 if asked.sheets is None else asked.sheets,
            overlap=asked.overlap,
            seed=asked.seed or 0,
            question=" ".join((asked.question or "").split()),
        )
    except ValueError as fault:
        parser.error(str(fault))


def _check_scale(sheet: Sheet, others: Mapping[str, Sheet]) -> None:
    """Refuse a second scale for one run, whose numbers could not be added up."""
    from evalflow.errors import UsageError

    for other in others.values():
        if None not in (sheet.scale, other.scale) and sheet.scale != other.scale:
            low, high = other.scale or (0, 0)
            said = f"sheet {other.sheet} of this run has scale {low}-{high}, and numbers of two scales do not add up"
            raise UsageError(f"--scale: {said}; use that one")


def _texts(run: StoredRun, sheets: Sequence[Sheet], answers: Answers, with_target: bool) -> dict[str, str]:
    """File name -> content."""
    from evalflow.report.html.review_sheet import sheet_page, sheet_table

    items = {item.id: item for item in run.items}
    texts = {}
    for number, sheet in enumerate(sheets, start=1):
        name = "sheet" if len(sheets) == 1 else f"sheet-{number}"
        texts[f"{name}.html"] = sheet_page(sheet, items, answers, with_target)
        texts[f"{name}.csv"] = sheet_table(sheet, items, answers, with_target)
    return texts


def _write(to: Path, texts: Mapping[str, str]) -> list[Path]:
    """Write the files, unless one is there that is another: it may be filled.

    Raises:
        OutputError: one cannot be written, or is there.
    """
    from evalflow.errors import OutputError
    from evalflow.whole_file import replace_text

    try:
        for name, text in texts.items():
            there = to / name
            if there.exists() and there.read_bytes() != text.encode():
                raise OutputError(f"{there}: another sheet, or a filled one, is there; give another folder")
        to.mkdir(parents=True, exist_ok=True)
        return [replace_text(to / name, text) for name, text in texts.items()]
    except OSError as fault:
        raise OutputError(f"{to}: cannot be written ({fault.strerror}); give another folder") from None


def _made_lines(run: StoredRun, sheets: Sequence[Sheet], keys: Sequence[Path]) -> list[str]:
    """What is on the sheets, and what is not."""
    from evalflow.report.compare_lines import few
    from evalflow.report.console import printable

    lines = []
    for number, sheet in enumerate(sheets, start=1):
        what = "pair" if sheet.scale is None else "answer"
        name = "the sheet" if len(sheets) == 1 else f"sheet {number}"
        n = len(sheet.tickets)
        shown = f"{n} {what if n == 1 else f'{what}s'} to judge"
        n_items, n_all = len(sheet.item_ids), len(run.items)
        said = f"{name} has {shown}, from {f'all {n_all} items' if n_items == n_all else f'{n_items} of {n_all} items'}"
        first = "the first" if len(sheet.arms) == 2 else "of two the earlier"
        arms = f"arms {', '.join(sheet.arms)}" + (f" ({first} is the reference)" if sheet.scale is None else "")
        lines.append(f"{said}; {arms}")
    identical = {one for sheet in sheets for one in sheet.identical}
    if len(identical) == 1:
        lines.append("1 pair is one text twice: a tie by design, and not shown")
    elif identical:
        lines.append(f"{len(identical)} pairs are one text twice: ties by design, and not shown")
    left_out = {one for sheet in sheets for one in sheet.left_out}
    whys = sorted({(one.arm, one.why) for one in left_out})
    for arm, why in whys:
        ids = sorted(one.item_id for one in left_out if (one.arm, one.why) == (arm, why))
        lines.append(f"{len(ids)} of {arm} not shown ({why}): {few(ids)}")
    lines.append(f"the key stays here: {keys[0]}" if len(keys) == 1 else f"the keys stay here: {keys[0].parent}")
    lines.append(f"filled sheets come back by: evalflow review {run.run_id} --import FILE ...")
    return [str(printable(line)) for line in lines]


def _result(run: StoredRun, asked: Namespace, options: Options) -> None:
    """Read filled sheets, if any, and tell what everybody said comes to."""
    from evalflow.errors import UsageError
    from evalflow.report.review import review_document
    from evalflow.report.review_console import print_review, print_review_answer
    from evalflow.report.terminal import console, say
    from evalflow.runner.review_import import merge_filled, read_filled, read_said, write_said
    from evalflow.runner.review_key import read_keys
    from evalflow.runner.review_result import review_result
    from evalflow.whole_file import as_json

    sheets, said = read_keys(run.folder, run.run_id), read_said(run.folder)
    told: list[Imported] = []
    if asked.filled:
        name, texts = (asked.rater or "").strip(), _shown_now(run, sheets, options)
        filled = [part for path in asked.filled for part in read_filled(path, sheets, name, texts)]
        said, told = merge_filled(said, filled)
    if not said.all:
        blank = f"; {sum(one.n_blank for one in told)} tickets are blank" if told else ""
        raise UsageError(f"{asked.run}: nobody has rated it{blank}; --to DIR makes a sheet, --import FILE reads one")
    document = review_document(run, review_result(run, said, sheets))
    if asked.filled:
        write_said(run.folder, said)
    _keep(run.folder, document, must=bool(asked.filled))
    if asked.json:
        say(lambda: print(as_json(document), end=""))
        return
    lines = [] if options.quiet else _imported_lines(run, told)
    show = print_review_answer if options.quiet else print_review
    say(lambda: print(*lines, sep="\n", end="\n" if lines else ""))
    say(lambda: show(document, console()))


def _shown_now(run: StoredRun, sheets: Mapping[str, Sheet], options: Options) -> dict[tuple[str, int, str], str]:
    """(arm, seed, item id) -> the digest of the text that the run has there, of the arms that are on its sheets."""
    from evalflow.ratings import text_digest
    from evalflow.runner.review_sheet import answers_of
    from evalflow.runner.session import stored_plan

    plan = stored_plan(run, options.allow)
    arms = [arm for arm in plan.arms if any(arm in sheet.arms for sheet in sheets.values())]
    answers = answers_of(plan, run, arms)
    return {of: text_digest(text) for of, text in answers.items() if isinstance(text, str)}


def _keep(folder: Path, document: Mapping[str, Any], must: bool) -> None:
    """Write review.json; where nothing was imported, a run that cannot be written is read all the same.

    Raises:
        OutputError: it must be written and cannot be.
    """
    from evalflow.errors import OutputError
    from evalflow.report.review import write_review

    try:
        write_review(folder, document)
    except OSError as fault:
        if must:
            raise OutputError(f"{folder}: cannot be written ({fault.strerror}); make it writable") from None


def _imported_lines(run: StoredRun, told: Sequence[Imported]) -> list[str]:
    """What each rater's part of each file came to."""
    from evalflow.report.console import printable

    lines = []
    for one in told:
        counts = {"new": one.n_new, "replaced": one.n_changed, "as before": one.n_same, "blank": one.n_blank}
        said = ", ".join(f"{n} {what}" for what, n in counts.items() if n)
        alone = f"; {one.n_comments_alone} comments without a rating are not kept" if one.n_comments_alone else ""
        lines.append(f"{one.path}: {one.rater}: {said}{alone}")
    if told:
        lines.append(f"evalflow report {run.run_id} puts it on the run's page")
    return [str(printable(line)) for line in lines]
