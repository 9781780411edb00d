"""One measured figure, as every file of this folder returns it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure, the bar it has to reach, and the ceiling that this machine sets in the same run.

    ``bar`` is in the figure's own unit, or a share of ``ceiling`` where there is one: a ratio says
    the same on any machine, an absolute value does not.
    """

    name: str
    value: float
    unit: str
    bar: float | None = None
    higher_is_better: bool = True
    ceiling: float | None = None

    @property
    def ratio(self) -> float | None:
        """The share of the ceiling that was reached."""
        return None if self.ceiling is None else self.value / self.ceiling

    @property
    def met(self) -> bool | None:
        """Whether the bar was reached; None where there is no bar."""
        if self.bar is None:
            return None
        measured = self.value if self.ratio is None else self.ratio
        return measured >= self.bar if self.higher_is_better else measured <= self.bar
