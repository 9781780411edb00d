"""One measured figure, as every file of this folder returns it."""

from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure, the ceiling that this machine sets in the same run, and the bar that it has to reach.

    ``ceiling`` is in the figure's own unit: what the cheapest code gets that does only the part that
    cannot be avoided; ``ceiling_is`` says what that code does. A figure has at most one bar: ``bar``
    judges the value, in its unit; ``ratio_bar`` judges the ratio to the ceiling, which says the same on
    any machine.
    """

    name: str
    value: float
    unit: str
    _: KW_ONLY
    ceiling: float | None = None
    ceiling_is: str = ""
    bar: float | None = None
    ratio_bar: float | None = None
    higher_is_better: bool = True

    def __post_init__(self) -> None:
        if (self.ceiling is None) != (not self.ceiling_is):
            raise ValueError(f"{self.name}: a ceiling and the words that say what it is belong together")
        if self.ratio_bar is not None and self.ceiling is None:
            raise ValueError(f"{self.name}: a bar for the ratio, and no ceiling")
        if self.bar is not None and self.ratio_bar is not None:
            raise ValueError(f"{self.name}: two bars")

    @property
    def ratio(self) -> float | None:
        """Value by ceiling: up to 1 where higher is better, from 1 where lower is."""
        return None if self.ceiling is None else self.value / self.ceiling

    @property
    def share_of_ceiling(self) -> float | None:
        """How much of what the ceiling allows was reached, whichever direction is better; 1 is all of it."""
        ratio = self.ratio
        return ratio if ratio is None or self.higher_is_better else 1 / ratio

    @property
    def times_bar(self) -> float | None:
        """How many times over the bar was reached, whichever direction is better; None without a bar."""
        measured, bar = (self.value, self.bar) if self.ratio_bar is None else (self.ratio, self.ratio_bar)
        if bar is None or measured is None:
            return None
        return measured / bar if self.higher_is_better else bar / measured

    @property
    def met(self) -> bool | None:
        """Whether the bar was reached; None where there is no bar."""
        times = self.times_bar
        return None if times is None else times >= 1
