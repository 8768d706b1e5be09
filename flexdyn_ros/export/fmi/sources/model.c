#include "model.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void model_reset(Model *model)
{
    static const State start = START;
    model->now = start;
    model->stale = 1;
}

/* quaternions of unit length: integrators outside do not keep it */
static void normalize(double *q)
{
    int i, k;
    for (i = 0; i < FREE; i++) {
        double *x = q + free_bodies[i].quaternion, square = 0.0;
        for (k = 0; k < 4; k++) {
            square += x[k] * x[k];
        }
        for (k = 0; k < 4; k++) {
            x[k] /= sqrt(square);
        }
    }
}

/* efforts of the inputs, 0 where nothing drives; openings of valves, where cylinders drive */
static void efforts(const Model *model, double *tau)
{
    int i;
    for (i = 0; i < EFFORTS; i++) {
        tau[i] = 0.0;
    }
    /* inputs of a controller drive nothing */
    for (i = 0; EFFORTS > 0 && i < NU; i++) {
        tau[driven[i]] = model->now.u[i];
    }
}

static void rates_of_positions(const double *q, const double *v, double *dq)
{
    int i;
    for (i = 0; i < NV; i++) {
        if (q_of_v[i] >= 0) {
            dq[q_of_v[i]] = v[i];
        }
    }
    for (i = 0; i < FREE; i++) {
        const double *x = q + free_bodies[i].quaternion, *w = v + free_bodies[i].twist;
        double *dx = dq + free_bodies[i].quaternion;
        dx[0] = 0.5 * (w[0] * x[3] + w[1] * x[2] - w[2] * x[1]);
        dx[1] = 0.5 * (w[1] * x[3] + w[2] * x[0] - w[0] * x[2]);
        dx[2] = 0.5 * (w[2] * x[3] + w[0] * x[1] - w[1] * x[0]);
        dx[3] = -0.5 * (w[0] * x[0] + w[1] * x[1] + w[2] * x[2]);
    }
}

static int refresh(Model *model)
{
    double q[ROOM(NQ)], tau[ROOM(EFFORTS)];
    const double *u = model->now.u, *v = model->now.v, *z = model->now.z, *p = PARAMETERS(model);
    int i;
    (void)u, (void)v, (void)z, (void)p;
    if (!model->stale) {
        return 0;
    }
    for (i = 0; i < NQ; i++) {
        q[i] = model->now.q[i];
    }
    normalize(q);
    efforts(model, tau);
    rates_of_positions(q, v, model->dq);
    if (RATES(q, v, z, tau, p, model->dv, model->dz, model->work) != 0) {
        return 1;
    }
    if (OUTPUTS(u, q, v, z, p, model->y, model->work) != 0) {
        return 1;
    }
    if (INDICATORS(q, v, z, tau, p, model->e, model->work) != 0) {
        return 1;
    }
    model->stale = 0;
    return 0;
}

int model_get(Model *model, unsigned int reference, double *value)
{
    const State *now = &model->now;
    if (reference >= AT_END) {
        return 1;
    }
    if (reference == AT_TIME) {
        *value = now->time;
    } else if (reference < AT_Q) {
        *value = now->u[reference - AT_U];
    } else if (reference < AT_V) {
        *value = now->q[reference - AT_Q];
    } else if (reference < AT_Z) {
        *value = now->v[reference - AT_V];
    } else if (reference < AT_DQ) {
        *value = now->z[reference - AT_Z];
    } else if (reference >= AT_P && reference < AT_Y) {
        *value = now->p[reference - AT_P];
    } else if (refresh(model) != 0) {
        return 1;
    } else if (reference < AT_DV) {
        *value = model->dq[reference - AT_DQ];
    } else if (reference < AT_DZ) {
        *value = model->dv[reference - AT_DV];
    } else if (reference < AT_P) {
        *value = model->dz[reference - AT_DZ];
    } else if (reference < AT_E) {
        *value = model->y[reference - AT_Y];
    } else {
        *value = model->e[reference - AT_E];
    }
    return 0;
}

int model_set(Model *model, unsigned int reference, double value)
{
    State *now = &model->now;
    model->stale = 1;
    if (reference >= AT_U && reference < AT_Q) {
        now->u[reference - AT_U] = value;
    } else if (reference >= AT_Q && reference < AT_V) {
        now->q[reference - AT_Q] = value;
    } else if (reference >= AT_V && reference < AT_Z) {
        now->v[reference - AT_V] = value;
    } else if (reference >= AT_Z && reference < AT_DQ) {
        now->z[reference - AT_Z] = value;
    } else if (reference >= AT_P && reference < AT_Y) {
        now->p[reference - AT_P] = value;
    } else {
        return 1;
    }
    return !isfinite(value);
}

int model_derivatives(Model *model, double *derivatives)
{
    int i;
    if (refresh(model) != 0) {
        return 1;
    }
    for (i = 0; i < NQ; i++) {
        derivatives[i] = model->dq[i];
    }
    for (i = 0; i < NV; i++) {
        derivatives[NQ + i] = model->dv[i];
    }
    for (i = 0; i < NZ; i++) {
        derivatives[NQ + NV + i] = model->dz[i];
    }
    return 0;
}

int model_indicators(Model *model, double *indicators, size_t n)
{
    int i;
    if (n != NE || refresh(model) != 0) {
        return 1;
    }
    for (i = 0; i < NE; i++) {
        indicators[i] = model->e[i];
    }
    return 0;
}

int model_advance(Model *model, double seconds)
{
    /* a share of a step that comes from rounding of times is none */
    const double steps = ceil(seconds / STEP - 1e-6);
    double tau[ROOM(EFFORTS)], *z = model->now.z;
    const double count = steps > 1.0 ? steps : 1.0, start = model->now.time;
    double i;
    (void)z;
    efforts(model, tau);
    normalize(model->now.q);
    model->stale = 1;
    for (i = 0.0; i < count; i += 1.0) {
        if (TAKE_STEP(model->now.q, model->now.v, z, tau, PARAMETERS(model), seconds / count, model->work) != 0) {
            return 1;
        }
        model->now.time = start + (i + 1.0) * (seconds / count);
    }
    model->now.time = start + seconds;
    return 0;
}

int model_project(Model *model, double allowed, double *drift)
{
    double near[ROOM(NQ)], q[ROOM(NQ)], v[ROOM(NV)], fastest = 1.0;
    int i;
    *drift = 0.0;
    if (!CONSTRAINED) {
        return 0;
    }
    memcpy(near, model->now.q, NQ * sizeof(double));
    normalize(near);
    if (PROJECT(near, model->now.v, PARAMETERS(model), q, v, model->work) != 0) {
        return 1;
    }
    for (i = 0; i < NV; i++) {
        fastest = fmax(fastest, fabs(v[i]));
    }
    for (i = 0; i < NQ; i++) {
        *drift = fmax(*drift, fabs(q[i] - model->now.q[i]));
    }
    for (i = 0; i < NV; i++) {
        *drift = fmax(*drift, fabs(v[i] - model->now.v[i]) / fastest);
    }
    if (*drift > allowed) {
        memcpy(model->now.q, q, NQ * sizeof(double));
        memcpy(model->now.v, v, NV * sizeof(double));
        model->stale = 1;
    }
    return 0;
}

int model_set_states(Model *model, const double *states, size_t n)
{
    if (n != STATES) {
        return 1;
    }
    memcpy(model->now.q, states, NQ * sizeof(double));
    memcpy(model->now.v, states + NQ, NV * sizeof(double));
    memcpy(model->now.z, states + NQ + NV, NZ * sizeof(double));
    model->stale = 1;
    return 0;
}

int model_get_states(const Model *model, double *states, size_t n)
{
    if (n != STATES) {
        return 1;
    }
    memcpy(states, model->now.q, NQ * sizeof(double));
    memcpy(states + NQ, model->now.v, NV * sizeof(double));
    memcpy(states + NQ + NV, model->now.z, NZ * sizeof(double));
    return 0;
}

int model_nominals(double *nominals, size_t n)
{
    size_t i;
    if (n != STATES) {
        return 1;
    }
    for (i = 0; i < n; i++) {
        nominals[i] = i < NQ + NV ? 1.0 : nominal_oil[i - NQ - NV];
    }
    return 0;
}

int model_save(const Model *model, void **saved)
{
    return model_unpack(&model->now, sizeof(State), saved);
}

void model_restore(Model *model, const void *saved)
{
    memcpy(&model->now, saved, sizeof(State));
    model->stale = 1;
}

int model_unpack(const void *bytes, size_t size, void **saved)
{
    if (size != sizeof(State)) {
        return 1;
    }
    if (*saved == NULL) {
        *saved = malloc(sizeof(State));
    }
    if (*saved == NULL) {
        return 1;
    }
    memcpy(*saved, bytes, sizeof(State));
    return 0;
}
