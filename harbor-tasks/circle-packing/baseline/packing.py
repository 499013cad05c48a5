"""A square grid: every circle gets a cell of the same size."""

import math


def pack(n):
    """Return n circles (x, y, r) that lie in the unit square and do not overlap."""
    columns = math.ceil(math.sqrt(n))
    cell = 1 / columns
    # Neighbours would touch exactly; rounding must not turn touching into overlapping.
    radius = cell / 2 * (1 - 1e-12)
    circles = []
    for i in range(n):
        row, column = divmod(i, columns)
        circles.append(((column + 0.5) * cell, (row + 0.5) * cell, radius))
    return circles
