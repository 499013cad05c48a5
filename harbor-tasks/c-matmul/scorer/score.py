"""The trusted side: compiles the candidate, checks what it computes and times it from outside.

    score.py TASKWRIGHT SCORER CANDIDATE

Nothing here believes the candidate. Its source is compiled and its program run by a user that
can read nothing of ours, in processes that end before the clock is read; it is given matrices
that were drawn a moment ago, each pair once; every number it returns is compared.
"""

import array
import json
import operator
import os
import random
import secrets
import statistics
import subprocess
import sys
import tempfile
import time

FAILURE = 0.0  # the score of a candidate that is wrong, too slow or does not compile
ROUNDS = 7  # timed runs of each program; medians are compared
WORK = 120e6  # multiply-adds that one timed run does, so that computing outweighs everything else
SMALL = (1, 2, 5, 34)  # sizes that are checked first and not timed
LEAST = 0.01  # net time below this share of the naive one is noise: no score above 100
BUILD_SECONDS = 60
RUN_SECONDS = 10
MAX_PROGRAM = 16 << 20


class Rejected(Exception):
    """The candidate's fault; the text says what it was."""


class Broken(Exception):
    """Our fault: no score can be given."""


class Bench:
    """A private folder with the three programs, and the matrices they are run on."""

    def __init__(self, taskwright, scorer, candidate, folder):
        self.sandbox = [taskwright, "sandbox", "--"]
        self.scorer = scorer
        self.candidate = candidate
        self.folder = folder

    def build(self, name, source):
        """Compile a source with our driver into an executable in the private folder.

        The compiler runs in the sandbox like the program itself: a source can `#include` or
        `.incbin` any file that the compiler may read, and what it includes can come back in an
        error message or in a product. Only the sandbox's user reads it, so it can be no file
        of ours. The program comes back through standard output and is then ours alone to
        write: nothing that runs in the sandbox can put another in its place.
        """
        path = os.path.join(self.folder, name)
        command = ["sh", f"{self.scorer}/build.sh", source, f"{self.scorer}/driver.c"]
        with open(path, "wb") as program, open(path + ".log", "w+b") as log:
            status = self.wait(command, BUILD_SECONDS, stdout=program, stderr=log)
            log.seek(0)
            message = log.read(2000).decode("utf-8", "replace").strip()
        if status is None:
            raise Rejected("the compiler did not finish in time")
        if status != 0 or not 0 < os.path.getsize(path) <= MAX_PROGRAM:
            raise Rejected(f"{os.path.basename(source)} does not compile:\n{message}")
        os.chmod(path, 0o755)

    def run(self, name, n, repetitions):
        """Run a program on the present input; return its seconds and its output.

        Input and output are files, so that no pipe and no reader of ours takes part in the
        time. One process only: threads would turn the score into the machine's core count.
        """
        program = os.path.join(self.folder, name)
        command = ["prlimit", "--nproc=1", program, str(n), str(repetitions)]
        inputs = os.path.join(self.folder, "in")
        # A file of its own for each run, without a name: nobody else can have it open.
        with open(inputs, "rb") as stdin, tempfile.TemporaryFile(dir=self.folder) as stdout:
            start = time.perf_counter()
            status = self.wait(command, RUN_SECONDS, stdin=stdin, stdout=stdout)
            seconds = time.perf_counter() - start
            if status is None:
                raise Rejected(f"n = {n}: not finished after {RUN_SECONDS} s")
            if status != 0:
                raise Rejected(f"n = {n}: the program ended with status {status}")
            written, size = os.fstat(stdout.fileno()).st_size, repetitions * n * n * 8
            if written != size:
                raise Rejected(f"n = {n}: the program wrote {written} bytes instead of {size}")
            stdout.seek(0)
            return seconds, array.array("d", stdout.read())

    def wait(self, command, seconds, stdin=subprocess.DEVNULL, stdout=None, stderr=None):
        """Run a command in the sandbox; return its exit status, or None if it took too long."""
        try:
            process = subprocess.Popen(
                self.sandbox + command,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr or subprocess.DEVNULL,
                cwd=self.folder,
            )
        except OSError as error:
            raise Broken(str(error)) from None
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            # The sandbox takes everything inside down with it when it is asked to end.
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            return None

    def draw(self, rng, n, repetitions):
        """Write new matrices: every entry has a size in [1, 2) and a random sign."""
        count = repetitions * 2 * n * n
        # Keep the sign and the mantissa of random bits and set the exponent of 1.0.
        keep = int.from_bytes(b"\xff\xff\xff\xff\xff\xff\x0f\x80" * count, "little")
        one = int.from_bytes(b"\x00\x00\x00\x00\x00\x00\xf0\x3f" * count, "little")
        bits = rng.getrandbits(64 * count) & keep | one
        with open(os.path.join(self.folder, "in"), "wb") as file:
            file.write(bits.to_bytes(8 * count, "little"))

    def ours(self, name, n, repetitions):
        """Run one of our own programs: what goes wrong there is not the candidate's fault."""
        try:
            return self.run(name, n, repetitions)
        except Rejected as reason:
            raise Broken(f"{name}: {reason}") from None

    def prepare(self):
        """Compile the programs; ours first, so that a broken compiler is not the candidate's."""
        for name in ("naive", "copy"):
            try:
                self.build(name, f"{self.scorer}/{name}.c")
            except Rejected as reason:
                raise Broken(str(reason)) from None
        self.build("candidate", f"{self.candidate}/matmul.c")

    def measure(self, n, seed):
        """Return the score and the metrics for one size."""
        # The fresh part keeps even who knows the seed from knowing the matrices.
        rng = random.Random(f"{seed}/{secrets.token_hex(16)}")
        for small in SMALL:
            self.draw(rng, small, 2)
            compare(small, self.run("candidate", small, 2)[1], self.ours("naive", small, 2)[1])
        repetitions = max(2, round(WORK / n**3))
        times = {"copy": [], "naive": [], "candidate": []}
        for _ in range(ROUNDS):
            self.draw(rng, n, repetitions)
            times["copy"].append(self.ours("copy", n, repetitions)[0])
            seconds, expected = self.ours("naive", n, repetitions)
            times["naive"].append(seconds)
            seconds, got = self.run("candidate", n, repetitions)
            times["candidate"].append(seconds)
            compare(n, got, expected)
        copy, naive, candidate = (statistics.median(v) for v in times.values())
        if naive <= copy:
            raise Broken(f"n = {n}: the naive program took no time")
        net = max(candidate - copy, LEAST * (naive - copy))
        return (naive - copy) / net, {
            "correct": 1,
            "naive_ms": 1e3 * (naive - copy) / repetitions,
            "candidate_ms": 1e3 * net / repetitions,
            "overhead_ms": 1e3 * copy / repetitions,
        }


def compare(n, got, expected):
    """Every entry must be within 1e-11 * n of the naive program's.

    The terms of an entry have sizes below 4, so 4 n bounds their sum: the tolerance is relative
    to that. Any order of summation in doubles stays far below it, floats far above.
    """
    tolerance = 1e-11 * n
    # True only if every difference is a number and small: a comparison with NaN is false.
    if all(map(tolerance.__ge__, map(abs, map(operator.sub, got, expected)))):
        return
    wrong = next(i for i, (x, y) in enumerate(zip(got, expected)) if not abs(x - y) <= tolerance)
    row, column = divmod(wrong % (n * n), n)
    raise Rejected(f"n = {n}: c[{row}][{column}] is {got[wrong]!r}, should be {expected[wrong]!r}")


def judge(bench, request, refused):
    """Score one request: (score, metrics, feedback)."""
    wrong = {"correct": 0}
    if refused is not None:
        return FAILURE, wrong, refused
    if request.get("error") is not None:
        return FAILURE, wrong, f"the candidate failed: {request['error']}"
    n, seed = request["sample"]["n"], request["sample"]["seed"]
    try:
        score, metrics = bench.measure(n, seed)
    except Rejected as reason:
        return FAILURE, wrong, str(reason)
    except Broken as reason:
        return None, {}, f"not scored: {reason}"
    return (
        score,
        metrics,
        f"n = {n}: {metrics['candidate_ms']:.3f} ms a product,"
        f" the naive one {metrics['naive_ms']:.3f} ms: {score:.2f} times as fast",
    )


def main(taskwright, scorer, candidate):
    # The sandbox keeps the working directory but not necessarily its meaning for relative paths.
    scorer, candidate = os.path.abspath(scorer), os.path.abspath(candidate)
    with tempfile.TemporaryDirectory(prefix="matmul-") as folder:
        os.chmod(folder, 0o755)  # the sandbox's user may run the programs but not change them
        bench = Bench(taskwright, scorer, candidate, folder)
        refused, broken = None, None
        try:
            bench.prepare()
        except Rejected as reason:
            refused = str(reason)
        except Broken as reason:
            broken = f"not scored: {reason}"
        for line in sys.stdin:
            if not line.strip():
                continue
            request = json.loads(line)
            if broken is not None:
                score, metrics, feedback = None, {}, broken
            else:
                score, metrics, feedback = judge(bench, request, refused)
            answer = {
                "id": request["id"],
                "score": score,
                "metrics": metrics,
                "feedback": feedback,
            }
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
