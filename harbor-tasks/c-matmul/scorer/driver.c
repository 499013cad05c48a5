/* The main program around matmul(): PROGRAM N REPETITIONS
 *
 * Reads pairs of matrices from standard input and writes each product to standard output, all as
 * raw doubles. It keeps no time and checks nothing: it shares a process with the candidate, so
 * nothing it could claim would be worth anything.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void matmul(size_t n, const double *a, const double *b, double *c);

static void give_up(const char *what)
{
    perror(what);
    exit(1);
}

static double *allocate(size_t bytes)
{
    double *block = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!block)
        give_up("aligned_alloc");
    return block;
}

static void read_all(double *to, size_t bytes)
{
    for (char *p = (char *)to; bytes;) {
        ssize_t got = read(0, p, bytes);
        if (got <= 0)
            give_up("read");
        p += got;
        bytes -= (size_t)got;
    }
}

static void write_all(const double *from, size_t bytes)
{
    for (const char *p = (const char *)from; bytes;) {
        ssize_t put = write(1, p, bytes);
        if (put <= 0)
            give_up("write");
        p += put;
        bytes -= (size_t)put;
    }
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    size_t n = strtoull(argv[1], NULL, 10);
    size_t repetitions = strtoull(argv[2], NULL, 10);
    size_t bytes = n * n * sizeof(double);
    double *a = allocate(bytes), *b = allocate(bytes), *c = allocate(bytes);
    while (repetitions--) {
        read_all(a, bytes);
        read_all(b, bytes);
        matmul(n, a, b, c);
        write_all(c, bytes);
    }
    return 0;
}
