"""Make digits.jsonl, and the training rows of the digits task, from scikit-learn's copy.

    python3 make.py digits.csv.gz [TRAIN.jsonl]

digits.csv.gz lies in scikit-learn's wheel as sklearn/datasets/data/digits.csv.gz: a line is 64
pixels and the digit. The result depends on nothing but that file: Python promises that
random.Random(seed).random() gives the same numbers in every version.
"""

import gzip
import hashlib
import json
import random
import sys
from pathlib import Path

SEED = 1797
SHARES = (("train", 0.6), ("validation", 0.2), ("test", 0.2))
# Of the unpacked text, so that another compression of the same data is accepted.
SHA256 = "6ebb3d2fee246a4e99363262ddf8a00a3c41bee6014c373ed9d9216ba7f651b8"


def shuffled(rng, items):
    return [item for _, item in sorted((rng.random(), item) for item in items)]


def rows(text):
    """One row for each line of the source, in the order of their ids."""
    rng = random.Random(SEED)
    images = [[int(value) for value in line.split(",")] for line in text.splitlines()]
    split = {}
    for digit in range(10):
        lines = shuffled(rng, [i for i, image in enumerate(images) if image[64] == digit])
        start, share = 0, 0.0
        for name, part in SHARES:
            share += part
            end = round(share * len(lines))
            split.update((i, name) for i in lines[start:end])
            start = end
    # The source runs 0, 1, 2 ... 9 for long stretches: an id that told the line would tell the digit.
    for number, i in enumerate(shuffled(rng, range(len(images))), start=1):
        yield {
            "id": f"digit-{number:04}",
            "split": split[i],
            "pixels": images[i][:64],
            "label": images[i][64],
        }


def main(source, train=None):
    text = gzip.decompress(Path(source).read_bytes()).decode("ascii")
    if hashlib.sha256(text.encode()).hexdigest() != SHA256:
        sys.exit(f"{source} is not the file this was written for")
    made = list(rows(text))
    write(Path(__file__).with_name("digits.jsonl"), made)
    if train:
        kept = [{"pixels": r["pixels"], "label": r["label"]} for r in made if r["split"] == "train"]
        write(Path(train), kept)


def write(path, made):
    lines = (json.dumps(row, separators=(",", ":")) + "\n" for row in made)
    path.write_text("".join(lines), encoding="ascii", newline="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
