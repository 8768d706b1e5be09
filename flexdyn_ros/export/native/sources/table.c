/* Functions of the table of one robot (numerics/verbs/table.py). Generated before it: sizes, the names of the robot's
   functions, functions on lanes, and the status of numbers that are not finite. */
#include "table.h"

#include <stddef.h>
#include <stdint.h>

#define AT(address) ((double *)(intptr_t)(address))

/* work memory of each thread */
static _Thread_local double memory[WORK];

int64_t flexdyn_ready(int64_t head, int64_t work)
{
    (void)head, (void)work;
    return 0;
}

int64_t flexdyn_inverse(int64_t head, int64_t work, int64_t q, int64_t v, int64_t a, int64_t tau)
{
    (void)head, (void)work;
    return INVERSE(AT(q), AT(v), AT(a), NULL, AT(tau), memory) == 0 ? 0 : NOT_FINITE;
}

int64_t flexdyn_forward(int64_t head, int64_t work, int64_t q, int64_t v, int64_t tau, int64_t wrenches, int64_t a)
{
    /* there are none: see DynamicsEntries */
    (void)head, (void)work, (void)wrenches;
    return FORWARD(AT(q), AT(v), AT(tau), NULL, AT(a), memory) == 0 ? 0 : NOT_FINITE;
}

int64_t flexdyn_mass(int64_t head, int64_t work, int64_t q, int64_t v, int64_t out)
{
    (void)head, (void)work, (void)v;
    return MASS(AT(q), NULL, AT(out), memory) == 0 ? 0 : NOT_FINITE;
}

/* rows of samples, LANES at a time */
static _Thread_local vec lanes[WORK_ON_LANES];

/* rows of n numbers as n vectors; rows beyond the end are the last one */
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

int64_t flexdyn_inverse_of_rows(int64_t head, int64_t q, int64_t v, int64_t a, int64_t tau, int64_t count)
{
    vec x[NQ + 2 * NV], y[NU];
    int64_t first;
    (void)head;
    for (first = 0; first < count; first += LANES) {
        gather(x, AT(q), NQ, first, count);
        gather(x + NQ, AT(v), NV, first, count);
        gather(x + NQ + NV, AT(a), NV, first, count);
        lanes_inverse_dynamics(x, x + NQ, x + NQ + NV, y, lanes);
        scatter(y, AT(tau), NU, first, count);
    }
    return 0;
}

int64_t flexdyn_forward_of_rows(int64_t head, int64_t q, int64_t v, int64_t tau, int64_t a, int64_t count)
{
    vec x[NQ + NV + NU], y[NV];
    int64_t first;
    (void)head;
    for (first = 0; first < count; first += LANES) {
        gather(x, AT(q), NQ, first, count);
        gather(x + NQ, AT(v), NV, first, count);
        gather(x + NQ + NV, AT(tau), NU, first, count);
        lanes_forward_dynamics(x, x + NQ, x + NQ + NV, y, lanes);
        scatter(y, AT(a), NV, first, count);
    }
    return 0;
}

#ifdef ACCELERATE

int64_t flexdyn_accelerate(int64_t head, int64_t work, double t, int64_t q, int64_t v, int64_t force, int64_t extra,
                           double h, int64_t a)
{
    double given[NV];
    int i;
    (void)head, (void)work, (void)t;
    for (i = 0; i < NV; i++) {
        given[i] = AT(a)[i];
    }
    if (h == 0.0) {
        ACCELERATE(AT(q), AT(v), AT(force), AT(extra), given, NULL, AT(a), memory);
    } else {
        ACCELERATE_IMPLICITLY(AT(q), AT(v), AT(force), AT(extra), &h, given, NULL, AT(a), memory);
    }
    return 0;
}

#endif
