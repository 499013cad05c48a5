"""Nearest mean: a digit looks most like the average of the digits of its class."""


class Classifier:
    def fit(self, images, labels):
        """Learn from images (lists of 64 numbers from 0 to 16) and their digits."""
        self.means = {}
        for digit in set(labels):
            members = [image for image, label in zip(images, labels) if label == digit]
            self.means[digit] = [sum(column) / len(members) for column in zip(*members)]

    def predict(self, image):
        """Return the digit of one image."""
        return min(self.means, key=lambda digit: distance(image, self.means[digit]))


def distance(image, other):
    return sum((a - b) * (a - b) for a, b in zip(image, other))
