"""Reads English numbers from zero to 999,999."""

ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
WORDS = {word: value for value, word in enumerate(ONES)}
WORDS |= {word: value * 10 for value, word in enumerate(TENS, start=2)}


def read(text):
    """Return the integer that an English number in words stands for."""
    thousands, rest = 0, 0
    for word in text.replace("-", " ").split():
        if word == "thousand":
            thousands, rest = rest * 1000, 0
        elif word == "hundred":
            rest *= 100
        elif word != "and":
            rest += WORDS[word]
    return thousands + rest
