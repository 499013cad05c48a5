#include <stddef.h>
#include <stdlib.h>

/* c = a * b for square row-major matrices of n x n doubles.
 *
 * The result is made in tiles of ROWS x COLUMNS that stay in registers while k runs. For that,
 * a strip of b, COLUMNS wide, is first copied together, so that the inner loop reads it in order.
 */
enum { ROWS = 4, COLUMNS = 4 };

typedef double vec __attribute__((vector_size(2 * sizeof(double))));

/* rows[0..ROWS) of a, times a packed strip of b, into the tile at c. */
static void tile(size_t n, const double *a, const double *strip, double *c)
{
    const vec *b = (const vec *)strip;
    vec sum[ROWS][COLUMNS / 2] = {{{0}}};
    for (size_t k = 0; k < n; k++, b += COLUMNS / 2) {
#pragma GCC unroll 4
        for (size_t i = 0; i < ROWS; i++) {
            double x = a[i * n + k];
#pragma GCC unroll 2
            for (size_t j = 0; j < COLUMNS / 2; j++)
                sum[i][j] += x * b[j];
        }
    }
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++)
            c[i * n + j] = sum[i][j / 2][j % 2];
}

/* The same product without a tile, for the edges. */
static void edge(size_t n, const double *a, const double *b, double *c, size_t i, size_t j)
{
    double sum = 0.0;
    for (size_t k = 0; k < n; k++)
        sum += a[i * n + k] * b[k * n + j];
    c[i * n + j] = sum;
}

void matmul(size_t n, const double *a, const double *b, double *c)
{
    size_t rows = n / ROWS * ROWS, columns = n / COLUMNS * COLUMNS;
    double *strip = n ? aligned_alloc(64, (n * COLUMNS * sizeof(double) + 63) / 64 * 64) : NULL;
    if (!strip)
        rows = columns = 0;
    for (size_t j = 0; j < columns; j += COLUMNS) {
        for (size_t k = 0; k < n; k++)
            for (size_t l = 0; l < COLUMNS; l++)
                strip[k * COLUMNS + l] = b[k * n + j + l];
        for (size_t i = 0; i < rows; i += ROWS)
            tile(n, a + i * n, strip, c + i * n + j);
    }
    free(strip);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i < rows ? columns : 0; j < n; j++)
            edge(n, a, b, c, i, j);
}
