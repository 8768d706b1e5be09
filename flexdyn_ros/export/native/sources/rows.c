/* The dynamics of one robot for rows of samples, eight at a time; generated before it: lanes_inverse_dynamics and
   lanes_forward_dynamics, and the sizes NQ, NV, NU. */
#include <stdint.h>

#define AT(address) ((double *)(intptr_t)(address))

/* eight rows of n numbers as n vectors; rows beyond the end are the last one */
INLINE void gather(vec *block, const double *rows, int n, int64_t first, int64_t count)
{
    int i, k;
    for (k = 0; k < LANES; k++) {
        const int64_t row = first + k < count ? first + k : count - 1;
        for (i = 0; i < n; i++) {
            block[i][k] = rows[row * n + i];
        }
    }
}

INLINE void scatter(const vec *block, double *rows, int n, int64_t first, int64_t count)
{
    int i, k;
    for (k = 0; k < LANES && first + k < count; k++) {
        for (i = 0; i < n; i++) {
            rows[(first + k) * n + i] = block[i][k];
        }
    }
}

/* addresses of rows of q, v, x, results y; work: LANES times as much memory as for one sample */
int32_t flexdyn_inverse_rows(int64_t q, int64_t v, int64_t a, int64_t tau, int64_t work, int64_t count)
{
    vec x[NQ + 2 * NV], y[NU];
    int64_t first;
    for (first = 0; first < count; first += LANES) {
        gather(x, AT(q), NQ, first, count);
        gather(x + NQ, AT(v), NV, first, count);
        gather(x + NQ + NV, AT(a), NV, first, count);
        lanes_inverse_dynamics(x, x + NQ, x + NQ + NV, y, (vec *)AT(work));
        scatter(y, AT(tau), NU, first, count);
    }
    return 0;
}

int32_t flexdyn_forward_rows(int64_t q, int64_t v, int64_t tau, int64_t a, int64_t work, int64_t count)
{
    vec x[NQ + NV + NU], y[NV];
    int64_t first;
    for (first = 0; first < count; first += LANES) {
        gather(x, AT(q), NQ, first, count);
        gather(x + NQ, AT(v), NV, first, count);
        gather(x + NQ + NV, AT(tau), NU, first, count);
        lanes_forward_dynamics(x, x + NQ, x + NQ + NV, y, (vec *)AT(work));
        scatter(y, AT(a), NV, first, count);
    }
    return 0;
}
