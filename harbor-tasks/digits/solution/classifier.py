"""Nearest neighbours: a digit is what the known images most like it are.

Two images of one digit are often the same strokes a pixel apart, so an image is compared with
each known one in nine positions, and the best position counts.
"""

SIDE = 8
NEIGHBOURS = 3
SHORTLIST = 40


class Classifier:
    def fit(self, images, labels):
        """Learn from images (lists of 64 numbers from 0 to 16) and their digits."""
        self.known = list(zip(images, labels))

    def predict(self, image):
        """Return the digit of one image."""
        # Most known images are far away in any position: only the nearest are compared in all.
        near = sorted(self.known, key=lambda known: distance(image, known[0]))[:SHORTLIST]
        positions = shifts(image)
        ranked = sorted(
            (min(distance(position, known) for position in positions), label)
            for known, label in near
        )
        votes = {}
        for rank, (_, label) in enumerate(ranked[:NEIGHBOURS]):
            votes[label] = votes.get(label, 0) + 1 - rank / 100  # the nearer one breaks a tie
        return max(votes, key=votes.get)


def distance(image, other):
    return sum([(a - b) * (a - b) for a, b in zip(image, other)])


def shifts(image):
    """The image moved by at most one pixel each way, empty where nothing moves in."""
    moved = []
    for down in (0, -1, 1):
        for right in (0, -1, 1):
            moved.append(
                [
                    image[(y - down) * SIDE + x - right]
                    if 0 <= y - down < SIDE and 0 <= x - right < SIDE
                    else 0
                    for y in range(SIDE)
                    for x in range(SIDE)
                ]
            )
    return moved
