"""The numbers that are packed in a page, read back letter by letter in plain Python."""

from __future__ import annotations

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def unpacked(text: str, columns: int) -> list[list[float | None]]:
    """What the page's script does."""
    codes, digits = [], []
    for letter in text:
        place = LETTERS.index(letter)
        digits.append(place % 32)
        if place < 32:
            codes.append(sum(digit * 32**k for k, digit in enumerate(digits)))
            digits = []
    assert digits == []
    rows = [codes[k : k + columns] for k in range(0, len(codes), columns)]
    found = []
    for row in rows:
        last, values = 0, []
        for code in row:
            last += 0 if code == 0 else (code - 1) // 2 if code % 2 else -code // 2
            values.append(None if code == 0 else float(last))
        found.append(values)
    return found
