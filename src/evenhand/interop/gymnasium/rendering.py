"""Section 6 in pictures: who is there, who was served, and what each has had so far.

Drawn with NumPy alone, so that a server without a screen or a drawing library can make films.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, UInt8

WIDE, HIGH = 44, 120  # of a stakeholder's column, in pixels
PAPER, INK, FAINT = (255, 255, 255), (40, 40, 40), (222, 222, 222)
PRESENT, SERVED, HAD = (44, 123, 182), (230, 120, 30), (120, 170, 205)

# 3 × 5 dots for each character, a row in three bits.
DIGITS = {
    "0": (7, 5, 5, 5, 7),
    "1": (2, 6, 2, 2, 7),
    "2": (7, 1, 7, 4, 7),
    "3": (7, 1, 3, 1, 7),
    "4": (5, 5, 7, 1, 1),
    "5": (7, 4, 7, 1, 7),
    "6": (7, 4, 7, 5, 7),
    "7": (7, 1, 2, 2, 2),
    "8": (7, 5, 7, 5, 7),
    "9": (7, 5, 7, 1, 7),
    ".": (0, 0, 0, 0, 2),
    "-": (0, 0, 7, 0, 0),
    "k": (4, 5, 6, 5, 5),
    "M": (5, 7, 7, 5, 5),
}


@dataclass(frozen=True)
class Scene:
    """What is to be shown of an environment between two decisions."""

    time: int
    horizon: int
    present: Bool[np.ndarray, " stakeholder"]
    received: Float[np.ndarray, " stakeholder"]
    served: Bool[np.ndarray, " stakeholder"]  # by the last decision

    def text(self) -> str:
        """A line for the time and one for each stakeholder."""
        lines = [f"step {self.time} of {self.horizon}"]
        most = max(float(self.received.max()), 1.0)
        for i, amount in enumerate(self.received):
            there = "●" if self.present[i] else "○"
            bar = "█" * round(20 * max(float(amount), 0.0) / most)
            mark = " ←" if self.served[i] else ""
            lines.append(f"{there} {i:>2} {bar:<20} {amount:g}{mark}")
        return "\n".join(lines) + "\n"

    def picture(self) -> UInt8[np.ndarray, "height width 3"]:
        """A column for each: a disc filled if present, a bar of what was received, the number."""
        size = len(self.received)
        image = np.full((HIGH + 40, size * WIDE + 8, 3), PAPER, dtype=np.uint8)
        most = max(float(self.received.max()), 1.0)
        foot = HIGH + 14
        for i, amount in enumerate(self.received):
            left = 4 + i * WIDE
            _disc(image, 14, left + WIDE // 2, PRESENT if self.present[i] else FAINT)
            height = round((HIGH - 20) * max(float(amount), 0.0) / most)
            colour = SERVED if self.served[i] else HAD
            image[foot - height : foot, left + 8 : left + WIDE - 8] = colour
            image[foot, left + 4 : left + WIDE - 4] = INK
            _write(image, foot + 4, left + 8, short(float(amount)))
        done = round((image.shape[1] - 8) * self.time / max(self.horizon, 1))
        image[-6:-3, 4:-4] = FAINT
        image[-6:-3, 4 : 4 + done] = INK
        return image


def short(number: float) -> str:
    """A number in at most five characters: 17, 2.5, 40k, 1.2M."""
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if abs(number) >= unit * 10 or (unit == 1e6 and abs(number) >= unit):
            return f"{number / unit:.1f}".removesuffix(".0")[:4] + letter
    return f"{number:.1f}".removesuffix(".0")[:5]


def _disc(image: np.ndarray, row: int, column: int, colour: tuple[int, ...]) -> None:
    y, x = np.ogrid[: image.shape[0], : image.shape[1]]
    image[(y - row) ** 2 + (x - column) ** 2 <= 64] = colour


def _write(image: np.ndarray, row: int, column: int, text: str) -> None:
    for character in text:
        dots = np.array([[bits >> k & 1 for k in (2, 1, 0)] for bits in DIGITS[character]])
        big = np.kron(dots, np.ones((2, 2), dtype=int)).astype(bool)
        image[row : row + 10, column : column + 6][big] = INK
        column += 8
