"""`taskwright eval` as the evaluator of optimizers that people use: budgets, sandbox and held-out splits are the task's.

Adapters stand in modules of their own, named after what they adapt to, and need that installed.
"""

from .candidate import Files
from .errors import (
    CandidateFailed,
    InfrastructureFailed,
    NoBudgetLeft,
    NotAllowed,
    OptimizerError,
    StateDamaged,
)
from .evaluation import Evaluation, SampleScore
from .search import Search

__all__ = [
    "CandidateFailed",
    "Evaluation",
    "Files",
    "InfrastructureFailed",
    "NoBudgetLeft",
    "NotAllowed",
    "OptimizerError",
    "SampleScore",
    "Search",
    "StateDamaged",
]
