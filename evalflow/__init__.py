"""evalflow: declarative experiments for language models.

Importing this package loads neither torch, mlflow, hydra nor an HTTP client: each has one home and is imported
where it is used.
"""

__version__ = "0.1.0"
