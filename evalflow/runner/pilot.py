"""What a pilot run says of one comparison on one figure: its differences, and what they vary by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evalflow.comparison import Measure, Paired, pair
from evalflow.errors import StoredRunError
from evalflow.numeric.cluster import cluster_means, cluster_se, interval_se
from evalflow.numeric.moments import sample_sd
from evalflow.numeric.undefined import Undefined
from evalflow.numeric.variance import Components, components, design_effect, pass_variance
from evalflow.runner.compared_run import ComparedRun
from evalflow.runner.judge import measure_of
from evalflow.runner.parts import PlannedArm
from evalflow.runner.score import blamed
from evalflow.runner.units import number, row_units

Values = NDArray[np.float64]
NO_MEAN = "it is no mean over items (a percentile or a ratio is none), and the size of nothing else can be told"


@dataclass(frozen=True)
class Split:
    """The variance of the differences, told apart: between clusters, and what one pass of the sampled arms adds.

    `arms` are those that another seed changes. `parts` is None, with a `reason`, where they cannot be told apart.
    """

    parts: Components | None
    arms: tuple[str, ...] = ()
    reason: str | None = None


@dataclass(frozen=True)
class Pilot:
    """Two arms' differences on one figure, by item (N,) and by cluster (G,), and how the report told them.

    `sd` is of the clusters. `unequal` is how many times the variance of the mean's interval is that of a mean over
    clusters: above 1 where some are far larger than others.
    """

    name: str
    figure: str
    comparison: Paired
    measure: Measure
    differences: Values
    by_cluster: Values
    sd: float
    design_effect: float | None
    unequal: float
    told: Mapping[str, Any]
    split: Split

    @property
    def n_pairs(self) -> int:
        """Items that both arms scored."""
        return len(self.differences)

    @property
    def n_clusters(self) -> int:
        """Clusters of those; the test is over them."""
        return len(self.by_cluster)

    @property
    def n_unpaired(self) -> int:
        """Items that were asked, and that one of the arms lacks or failed at."""
        return len(self.told["unpaired"])


def told_of(run: ComparedRun, name: str, figure: str) -> Mapping[str, Any]:
    """What the run's report says of a comparison on a figure.

    Raises:
        StoredRunError: nothing: the comparison is newer than the report.
    """
    told = run.report["comparisons"].get(name, {}).get(figure)
    if not isinstance(told, Mapping):
        folder = run.stored.folder
        raise StoredRunError(f"{folder}: its report has no {name} on {figure}; evalflow score {folder} writes it anew")
    return told


def measured(run: ComparedRun, figure: str) -> Measure:
    """How a figure of the run is read."""
    key, suffix = run.plan.owner(figure)
    return measure_of(run.plan.metrics[key], run.plan.metrics[key].readings()[suffix])


def read_pilot(run: ComparedRun, name: str, figure: str) -> Pilot:
    """The pilot of one comparison of a run, on one of its figures.

    Raises:
        Undefined: nothing can be planned from it, and why.
        StoredRunError: its report is older than the comparison.
        MetricError: the metric raised.
    """
    told, comparison, measure = told_of(run, name, figure), run.plan.comparisons[name], measured(run, figure)
    if not measure.is_mean:
        raise Undefined(NO_MEAN)
    if told["delta"] is None:
        raise Undefined(str(told["reason"]))
    key, _ = run.plan.owner(figure)
    clusters = {item.id: item.dependence for item in run.plan.items}
    arms = (comparison.reference, comparison.candidate)
    with blamed(f"metrics.{key}"):
        reference, candidate = (run.scores.item_stats(arm, key) for arm in arms)
        pairs = pair(measure, reference, candidate, clusters)
        shared = sorted(item for item in clusters if item in reference and item in candidate)  # as `pair` has them
        tables = {arm: _by_seed(run, run.plan.arms[arm], key, shared) for arm in arms}
    _, by_cluster = cluster_means(pairs.differences, pairs.clusters)
    if len(by_cluster) < 2:
        raise Undefined(f"{len(by_cluster)} of what varies was asked, and a spread takes two")
    sd = sample_sd(by_cluster)
    if sd == 0:
        raise Undefined("zero variance: every difference is the same, and a spread of 0 plans nothing")
    return Pilot(
        name=name,
        figure=figure,
        comparison=comparison,
        measure=measure,
        differences=pairs.differences,
        by_cluster=by_cluster,
        sd=sd,
        design_effect=_design_effect(pairs.differences, pairs.clusters),
        unequal=interval_se(pairs.differences, pairs.clusters)[0] ** 2 * len(by_cluster) / sd**2,
        told=told,
        split=_split([run.plan.arms[arm] for arm in arms], tables, pairs.clusters, by_cluster),
    )


def _split(
    arms: Sequence[PlannedArm], tables: Mapping[str, Values], clusters: NDArray[np.object_], by_cluster: Values
) -> Split:
    """What of the variance another seed would change, where the pilot can tell; `tables` are (N, K) by arm."""
    for planned in arms:
        if len(planned.arm.seeds) == 1 and not _seedless(planned):
            said = f"arm {planned.name} is sampled under one seed, so what seeds add is not known"
            return Split(None, reason=f"{said}; give the pilot two or more (arms.{planned.name}.seeds=[0,1])")
    found = {one.name: pass_variance(tables[one.name], clusters) for one in arms if len(one.arm.seeds) > 1}
    varied = [planned for planned in arms if found.get(planned.name, 0.0) > 0 or not _seedless(planned)]
    if not varied:
        return Split(None, reason="both arms are greedy, so another seed gives the same answers")
    if len(varied) == 2 and arms[0].arm.seeds == arms[1].arm.seeds:  # one sampling seed may move both arms alike
        within = pass_variance(tables[arms[1].name] - tables[arms[0].name], clusters)
        noise = within / len(arms[0].arm.seeds)
    else:
        within = sum(found[planned.name] for planned in varied)
        noise = sum(found[planned.name] / len(planned.arm.seeds) for planned in varied)
    return Split(components(by_cluster, noise, within), tuple(planned.name for planned in varied))


def _seedless(planned: PlannedArm) -> bool:
    """Whether an arm is to answer the same whatever the seed."""
    return planned.decoding.greedy or planned.scoring is not None


def _design_effect(differences: Values, clusters: NDArray[np.object_]) -> float | None:
    """None where items vary in clusters alike, and so do not by themselves."""
    try:
        return design_effect(cluster_se(differences, clusters), differences)
    except Undefined:
        return None


def _by_seed(run: ComparedRun, planned: PlannedArm, key: str, items: list[str]) -> Values:
    """An arm's own numbers (N, K) of these items under each of its seeds, which all have."""
    metric, seeds = run.plan.metrics[key], sorted(planned.arm.seeds)
    place = {item: n for n, item in enumerate(items)}
    table = np.full((len(items), len(seeds)), np.nan)
    for column, seed in enumerate(seeds):
        for unit in row_units(key, metric, run.scores.arms[planned.name], {}, [seed]):
            if unit.item_id in place and unit.stats is not None:
                table[place[unit.item_id], column] = number(metric.point(unit.stats))
    return table
