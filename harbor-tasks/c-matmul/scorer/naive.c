#include <stddef.h>

/* c = a * b for square row-major matrices of n x n doubles, as the textbook has it. */
void matmul(size_t n, const double *a, const double *b, double *c)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
    }
}
