"""How figures look and how they are saved: one colour a policy, the same bytes for the same table."""

import io
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from deermem_eval.files import write_file

TITLE_CHARS = 52
TITLE_LINE_INCHES = 0.13
COLUMN_INCHES = 3.35  # 85 mm, one column of a paper
PNG_DOTS_PER_INCH = 300
SCREEN_PIXELS_PER_INCH = 160

GREY = "#7a7a7a"
ACCENT = "#0072b2"  # colour-blind safe (Okabe and Ito), and darker than the grey in grey print
POLICY_COLOURS = {"confidence": GREY, "hybrid-v1": ACCENT}
POLICY_MARKERS = {"confidence": "o", "hybrid-v1": "s"}
OTHER_COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#d55e00", "#8c6d31", "#5c5c8a")
DASHES = ("-", "--", "-.", ":")
OTHER_MARKERS = ("^", "D", "v", "P", "X", "<", ">")
COMPONENT_COLOURS = {
    "confidence": GREY,
    "confirmationFreshness": "#56b4e9",
    "accessHeat": "#e69f00",
}
COMPONENT_HATCHES = {"confidence": "", "confirmationFreshness": "", "accessHeat": "////"}
STAGE_LOOKS = {
    "right": ("right", "#56b4e9", ""),
    "right_without_support": ("right, though the fact was evicted", "#cce5f6", ""),
    "kept_wrong": ("fact kept, wrong", "#d55e00", "////"),
    "kept_abstained": ("fact kept, abstained", "#f0c565", ""),
    "support_gone": ("fact evicted", "#cfcfcf", "...."),
}
"""Label, colour and hatch of each stage, as `deermem_eval.grades.STAGES` names them."""

_RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 6.5,
    "axes.titlesize": 7.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "hatch.linewidth": 0.4,
    "lines.linewidth": 1.2,
    "figure.constrained_layout.use": True,
    "svg.fonttype": "none",
    "svg.hashsalt": "deermem-eval",
}


@dataclass(frozen=True)
class SavedFigure:
    """A figure on disk, which a notebook shows as the PNG it is, with its alternative text."""

    png: bytes
    alt: str
    width_pixels: int

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, object], dict[str, object]]:
        shown = {"alt": self.alt, "width": self.width_pixels}
        return {"image/png": self.png, "text/plain": self.alt}, {"image/png": shown}


def policy_look(name: str, others: Sequence[str]) -> tuple[str, str]:
    """Return a policy's colour and marker: the two have their own, the others by their place.

    Parameters
    ----------
    name : str
    others : sequence of str
        Every policy of the figure, in its order.
    """
    if name in POLICY_COLOURS:
        return POLICY_COLOURS[name], POLICY_MARKERS[name]
    place = [other for other in others if other not in POLICY_COLOURS].index(name)
    turn = place % len(OTHER_COLOURS)
    return OTHER_COLOURS[turn], OTHER_MARKERS[turn]


def line_look(name: str, others: Sequence[str]) -> dict[str, Any]:
    """Return how a policy's line looks among many: the two are broad, the others differ by dashes too.

    Parameters
    ----------
    name : str
    others : sequence of str
        Every policy of the figure, in its order.
    """
    if name in POLICY_COLOURS:
        return {"color": POLICY_COLOURS[name], "linewidth": 2.2}
    place = [other for other in others if other not in POLICY_COLOURS].index(name)
    colour, dash = OTHER_COLOURS[place % len(OTHER_COLOURS)], DASHES[place % len(DASHES)]
    return {"color": colour, "linestyle": dash, "linewidth": 1.0}


@contextmanager
def house_style() -> Iterator[None]:
    """Draw within the project's settings, whatever the user's own are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_RC)  # type: ignore[arg-type]
        yield


def set_title(figure: Figure, message: str) -> None:
    """Write a figure's message above it, in as many lines as it needs; from the third it grows."""
    lines = textwrap.wrap(message, TITLE_CHARS)
    grown = max(0, len(lines) - 2) * TITLE_LINE_INCHES
    figure.set_figheight(figure.get_figheight() + grown)
    figure.suptitle(
        "\n".join(lines),
        x=0.01,
        ha="left",
        fontsize=7.5,
        fontweight="bold",
    )


def figure_title(figure: Figure) -> str:
    """Return a figure's message on one line, for an alternative text."""
    return " ".join(figure.get_suptitle().split())


def save_figure(figure: Figure, folder: Path, name: str, alt: str) -> SavedFigure:
    """Write a figure as `{name}.svg` and `{name}.png`.

    Parameters
    ----------
    figure : Figure
    folder : Path
    name : str
    alt : str
        What the figure shows, for somebody who cannot see it.

    Raises
    ------
    DeermemEvalError
        The folder cannot be written.
    """
    shown = shown_figure(figure, alt)
    svg = _drawn(figure, format="svg", metadata={"Date": None, "Creator": None, "Title": alt})
    write_file(folder / f"{name}.svg", svg)
    write_file(folder / f"{name}.png", shown.png)
    return shown


def shown_figure(figure: Figure, alt: str) -> SavedFigure:
    """Return a figure for a notebook, without writing it; see `save_figure`."""
    png = _drawn(figure, format="png", metadata={"Software": None}, dpi=PNG_DOTS_PER_INCH)
    return SavedFigure(png, alt, round(figure.get_figwidth() * SCREEN_PIXELS_PER_INCH))


def _drawn(figure: Figure, **options: Any) -> bytes:
    with house_style():
        buffer = io.BytesIO()
        figure.savefig(buffer, **options)
    return buffer.getvalue()
