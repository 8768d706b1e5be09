/* Functions of the table of one robot (numerics/verbs/table.py). Generated before it: sizes, the names of the robot's
   functions, functions on lanes, places in a head, and the status of numbers that are not finite. */
#include "table.h"

#include <stddef.h>
#include <stdint.h>

#define AT(address) ((double *)(intptr_t)(address))
#define WORD(head, place) (((int64_t *)(intptr_t)(head))[place])

/* work memory of each thread */
static _Thread_local double memory[WORK];

/* forward dynamics with wrenches */
typedef int64_t (*Forward)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
static Forward others;

void flexdyn_keep_forward(int64_t address)
{
    others = (Forward)(intptr_t)address;
}

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
    if (WORD(head, COUNT) != 0) {
        return others(head, work, q, v, tau, wrenches, a);
    }
    return FORWARD(AT(q), AT(v), AT(tau), NULL, AT(a), memory) == 0 ? 0 : NOT_FINITE;
}

int64_t flexdyn_mass(int64_t head, int64_t work, int64_t q, int64_t v, int64_t out)
{
    (void)head, (void)work, (void)v;
    return MASS(AT(q), NULL, AT(out), memory) == 0 ? 0 : NOT_FINITE;
}

static _Thread_local vec lanes[WORK_ON_LANES];

int64_t flexdyn_inverse_on_lanes(int64_t head, int64_t work, int64_t numbers, int64_t is_first)
{
    vec *block = (vec *)AT(work);
    (void)head, (void)numbers, (void)is_first;
    lanes_inverse_dynamics(block, block + NQ, block + NQ + NV, block + NQ + NV + THIRD, lanes);
    return 0;
}

int64_t flexdyn_forward_on_lanes(int64_t head, int64_t work, int64_t numbers, int64_t is_first)
{
    vec *block = (vec *)AT(work);
    (void)head, (void)numbers, (void)is_first;
    lanes_forward_dynamics(block, block + NQ, block + NQ + NV, block + NQ + NV + THIRD, lanes);
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
