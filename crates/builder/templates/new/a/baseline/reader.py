"""Reads English numbers: single words only."""

ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
WORDS = {word: value for value, word in enumerate(ONES)}
WORDS |= {word: value * 10 for value, word in enumerate(TENS, start=2)}


def read(text):
    """Return the integer that an English number in words stands for."""
    return WORDS.get(text, -1)
