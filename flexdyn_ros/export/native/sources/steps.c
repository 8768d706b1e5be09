/* The dynamics of one robot as the function ACCELERATE of its fixed steps: arrays cross as addresses. */
#include "steps.h"

#include <stddef.h>
#include <stdint.h>

#define AT(address) ((double *)(intptr_t)(address))

int64_t flexdyn_accelerate(int64_t robot, int64_t work, double t, int64_t q, int64_t v, int64_t force, int64_t extra,
                           double h, int64_t a)
{
    double given[NV], *memory = AT(work) + OTHERS_WORK;
    int i;
    (void)robot, (void)t;
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
