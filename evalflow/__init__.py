"""evalflow: declarative experiments for language models.

`compose` gives an experiment's config, `run` carries one out and `load` reads a stored run; the last two answer with a
`Run`, whose tables are data frames.

Importing this package loads neither torch, mlflow, hydra, pandas nor an HTTP client: each has one home and is imported
where it is used.
"""

from evalflow.api import Run, compose, load, run
from evalflow.version import __version__

__all__ = ["Run", "__version__", "compose", "load", "run"]
