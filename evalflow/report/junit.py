"""Gates as JUnit XML, which CI systems read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from evalflow.report.held_number import END, reads

# XML 1.0 has no way to write these, escaped or not
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: Mapping[str, Any]) -> str:
    """One test case per gate: fail is a failure, unreadable an error, skipped and report-only ones are skipped."""
    suite = ElementTree.Element("testsuite", name=_safe(f"evalflow.{report['experiment']}"))
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for name, gate in report["gates"].items():
        counts["tests"] += 1
        case = ElementTree.SubElement(suite, "testcase", classname=_safe(report["experiment"]), name=_safe(name))
        element, counted = _element(gate)
        if element:
            counts[counted] += 1
            child = ElementTree.SubElement(case, element, message=_safe(_message(gate)))
            child.text = _safe("\n".join(gate["rows"]))
    for reason in report["reasons"]:
        counts["tests"] += 1
        counts["errors"] += 1
        case = ElementTree.SubElement(suite, "testcase", classname=_safe(report["experiment"]), name="run")
        ElementTree.SubElement(case, "error", message=_safe(reason))
    suite.attrib |= {name: str(count) for name, count in counts.items()}
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=False) + "\n"


def _element(gate: Mapping[str, Any]) -> tuple[str | None, str]:
    if gate["outcome"] == "skipped" or (gate["report_only"] and gate["outcome"] != "pass"):
        return "skipped", "skipped"
    return {"pass": (None, ""), "fail": ("failure", "failures"), "unreadable": ("error", "errors")}[gate["outcome"]]


def _message(gate: Mapping[str, Any]) -> str:
    end = END[gate["bound"]]
    value = "undefined" if gate["value"] is None else f"{gate['value']:.6g}" + (f" ({end})" if end else "")
    parts = [
        f"{gate['outcome']}: {reads(gate)} is {value}, wanted {gate['threshold']}",
        gate["reason"],
        gate["on_fail"],
    ]
    return "; ".join(part for part in parts if part)


def _safe(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
