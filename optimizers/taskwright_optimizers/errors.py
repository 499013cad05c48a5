"""What can go wrong, by whose doing it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .evaluation import Evaluation


class OptimizerError(Exception):
    """What every error of this package is."""


class CandidateFailed(OptimizerError):
    """The candidate's own doing: refused, no sample answered, or a constraint broken. The failure value counts."""

    def __init__(self, evaluation: Evaluation) -> None:
        super().__init__(evaluation.failure)
        self.evaluation = evaluation


class Refused(Exception):
    """A candidate was refused before it was run; becomes a CandidateFailed before anybody else sees it."""


class InfrastructureFailed(OptimizerError):
    """Nobody's doing that is being scored: the budget was given back, and the same call goes on where it stopped."""


class NoBudgetLeft(OptimizerError):
    """What was asked for costs more than is left; nothing was run."""


class NotAllowed(OptimizerError):
    """What was asked for is not there, or is nothing that a search may have, or not any more."""


class StateDamaged(OptimizerError):
    """What was spent cannot be told, so nothing is spent any more."""
