"""Circles that push each other apart while they grow.

Start from a few jittered rows, then follow the gradient of

    sum of radii - weight * (sum of squared overlaps)

with a weight that rises until overlaps are tiny. The best of several starts is
cleaned up: radii are cut back until nothing overlaps, then each grows into the room
that is left. Everything is seeded and uses only + - * / and sqrt, so every machine
computes the same circles.
"""

import math
import random

STARTS = 10
STEPS = 1200
MARGIN = 1e-12


def pack(n):
    """Return n circles (x, y, r) that lie in the unit square and do not overlap."""
    best, best_sum = [], -1.0
    for start in range(STARTS):
        circles = repair(*relax(*scatter(n, random.Random(start))))
        total = sum(r for _, _, r in circles)
        if total > best_sum:
            best, best_sum = circles, total
    return best


def scatter(n, rng):
    """About sqrt(n) rows, every second one shifted, with some noise."""
    rows = max(1, round(math.sqrt(n)))
    xs, ys = [], []
    for i in range(n):
        row = i * rows // n
        first = -(-row * n // rows)
        count = -(-(row + 1) * n // rows) - first
        shift = 0.25 if row % 2 else -0.25
        x = (i - first + 0.5 + shift) / count
        y = (row + 0.5) / rows
        xs.append(min(0.95, max(0.05, x + rng.uniform(-0.08, 0.08))))
        ys.append(min(0.95, max(0.05, y + rng.uniform(-0.08, 0.08))))
    return xs, ys, [0.3 / rows] * n


def relax(xs, ys, rs):
    """Gradient ascent with momentum and a step size per coordinate (Adam)."""
    n = len(xs)
    place = xs + ys + rs
    mean, square = [0.0] * (3 * n), [0.0] * (3 * n)
    for step in range(STEPS):
        done = step / STEPS
        weight = 5.0 * 2.0 ** round(9 * done)
        rate = 0.01 * (1 - done) * (1 - done) + 1e-5
        gradient = [0.0] * (2 * n) + [1.0] * n
        for i in range(n):
            x, y, r = place[i], place[n + i], place[2 * n + i]
            for axis, value in ((i, x), (n + i, y)):
                for overlap, push in ((r - value, 1), (value + r - 1, -1)):
                    if overlap > 0:
                        gradient[axis] += weight * overlap * push
                        gradient[2 * n + i] -= weight * overlap
            for j in range(i):
                dx, dy = x - place[j], y - place[n + j]
                reach = r + place[2 * n + j]
                distance2 = dx * dx + dy * dy
                if distance2 < reach * reach:
                    apart = math.sqrt(distance2) or 1e-9
                    push = weight * (reach - apart)
                    dx, dy = dx / apart * push, dy / apart * push
                    gradient[i] += dx
                    gradient[j] -= dx
                    gradient[n + i] += dy
                    gradient[n + j] -= dy
                    gradient[2 * n + i] -= push
                    gradient[2 * n + j] -= push
        for k, g in enumerate(gradient):
            mean[k] += 0.1 * (g - mean[k])
            square[k] += 0.01 * (g * g - square[k])
            place[k] += rate * mean[k] / (math.sqrt(square[k]) + 1e-9)
    return place[:n], place[n : 2 * n], place[2 * n :]


def repair(xs, ys, rs):
    """Make it valid, whatever it was, and give back what room remains."""
    n = len(xs)
    xs = [min(1.0, max(0.0, x)) for x in xs]
    ys = [min(1.0, max(0.0, y)) for y in ys]
    walls = [min(x, 1 - x, y, 1 - y) for x, y in zip(xs, ys)]
    gaps = [[distance(xs[i] - xs[j], ys[i] - ys[j]) for j in range(n)] for i in range(n)]
    rs = [max(0.0, min(r, wall)) for r, wall in zip(rs, walls)]
    for i in range(n):
        for j in range(i):
            if rs[i] + rs[j] > gaps[i][j]:
                scale = gaps[i][j] / (rs[i] + rs[j])
                rs[i], rs[j] = rs[i] * scale, rs[j] * scale
    for i in range(n):
        room = min([walls[i]] + [gaps[i][j] - rs[j] for j in range(n) if j != i])
        rs[i] = max(rs[i], room)
    return [(x, y, max(0.0, r - MARGIN)) for x, y, r in zip(xs, ys, rs)]


def distance(dx, dy):
    return math.sqrt(dx * dx + dy * dy)
