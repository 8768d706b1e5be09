/* A robot as a model with states q, v and z (the oil of cylinders), inputs u, parameters p, further outputs y and event
   indicators e; SI units. robot.h, which is generated, says which robot: sizes, functions, start values. */
#ifndef FLEXDYN_MODEL_H
#define FLEXDYN_MODEL_H

#include "robot.h"

#include <stddef.h>

/* lengths of arrays, which C wants to be at least 1 */
#define ROOM(n) ((n) > 0 ? (n) : 1)

/* value references: time, then blocks of inputs, states, their derivatives, parameters, further outputs, event
   indicators */
enum {
    AT_TIME = 0,
    AT_U = 1,
    AT_Q = AT_U + NU,
    AT_V = AT_Q + NQ,
    AT_Z = AT_V + NV,
    AT_DQ = AT_Z + NZ,
    AT_DV = AT_DQ + NQ,
    AT_DZ = AT_DV + NV,
    AT_P = AT_DZ + NZ,
    AT_Y = AT_P + NP,
    AT_E = AT_Y + NY,
    AT_END = AT_E + NE,
    STATES = NQ + NV + NZ
};

/* what a saved state keeps */
typedef struct {
    double time;
    double u[ROOM(NU)], q[ROOM(NQ)], v[ROOM(NV)], z[ROOM(NZ)], p[ROOM(NP)];
} State;

typedef struct {
    State now;
    /* derivatives, further outputs and indicators of the state, if they are not stale */
    double dq[ROOM(NQ)], dv[ROOM(NV)], dz[ROOM(NZ)], y[ROOM(NY)], e[ROOM(NE)];
    int stale;
    double work[ROOM(WORK)];
} Model;

/* the start values */
void model_reset(Model *model);
/* a value by its reference; not 0 if there is none, or the state has no finite answer */
int model_get(Model *model, unsigned int reference, double *value);
/* not 0 if a value cannot be set */
int model_set(Model *model, unsigned int reference, double value);
/* derivatives (STATES) of the states; not 0 if they are not finite */
int model_derivatives(Model *model, double *derivatives);
/* event indicators; not 0 for another number of them, or if they are not finite */
int model_indicators(Model *model, double *indicators, size_t n);
/* move on by so many seconds, in steps of at most STEP; not 0 if the state is no longer finite: it is then the last
   good one */
int model_advance(Model *model, double seconds);

/* move positions and velocities onto the constraints; drift: by how much. Kept only if it is more than what is allowed.
   Not 0 if that is not possible */
int model_project(Model *model, double allowed, double *drift);

/* positions, velocities and oil as one array of STATES; not 0 for another length */
int model_set_states(Model *model, const double *states, size_t n);
int model_get_states(const Model *model, double *states, size_t n);
/* their usual sizes */
int model_nominals(double *nominals, size_t n);

/* copies of what a state keeps: into *saved, which is made if it is NULL; from it; from bytes. Not 0 without memory,
   or if the bytes are none of a state */
int model_save(const Model *model, void **saved);
void model_restore(Model *model, const void *saved);
int model_unpack(const void *bytes, size_t size, void **saved);

#endif
