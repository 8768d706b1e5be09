/* The functions of FMI 3.0 over model.h. */
#include "model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef void *Component;
typedef void *Saved;
typedef uint32_t Reference;
typedef int Status;
enum { OK, WARNING, DISCARD, ERROR, FATAL };

typedef void (*Log)(void *environment, Status status, const char *category, const char *text);

typedef struct {
    Model model;
    Log log;
    void *environment;
} Instance;

static Status failed(Instance *self, const char *text)
{
    if (self != NULL && self->log != NULL) {
        self->log(self->environment, ERROR, "logStatusError", text);
    }
    return ERROR;
}

EXPORT const char *fmi3GetVersion(void)
{
    return "3.0";
}

EXPORT Status fmi3SetDebugLogging(Component c, bool on, size_t n, const char *const *categories)
{
    (void)c, (void)on, (void)n, (void)categories;
    return OK;
}

static Component instantiate(const char *token, void *environment, Log log)
{
    Instance *self;
    if (token == NULL || strcmp(token, TOKEN) != 0) {
        return NULL;
    }
    self = calloc(1, sizeof *self);
    if (self != NULL) {
        self->log = log;
        self->environment = environment;
        model_reset(&self->model);
    }
    return self;
}

EXPORT Component fmi3InstantiateModelExchange(const char *name, const char *token, const char *resources, bool visible,
                                              bool logging, void *environment, Log log)
{
    (void)name, (void)resources, (void)visible, (void)logging;
    return instantiate(token, environment, log);
}

EXPORT Component fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible,
                                             bool logging, bool event_mode, bool early_return,
                                             const Reference *intermediate, size_t n, void *environment, Log log,
                                             void (*update)(void))
{
    (void)name, (void)resources, (void)visible, (void)logging, (void)event_mode, (void)early_return;
    (void)intermediate, (void)n, (void)update;
    return instantiate(token, environment, log);
}

EXPORT Component fmi3InstantiateScheduledExecution(const char *name, const char *token, const char *resources,
                                                   bool visible, bool logging, void *environment, Log log,
                                                   void (*update)(void), void (*lock)(void), void (*unlock)(void))
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)environment, (void)log;
    (void)update, (void)lock, (void)unlock;
    return NULL;
}

EXPORT void fmi3FreeInstance(Component c)
{
    free(c);
}

EXPORT Status fmi3EnterInitializationMode(Component c, bool tolerance_defined, double tolerance, double start,
                                          bool stop_defined, double stop)
{
    (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
    ((Instance *)c)->model.now.time = start;
    return OK;
}

/* changes of mode that change nothing here */
#define NOTHING(Name)            \
    EXPORT Status Name(Component c) \
    {                            \
        (void)c;                 \
        return OK;               \
    }

NOTHING(fmi3ExitInitializationMode)
NOTHING(fmi3EnterEventMode)
NOTHING(fmi3EnterContinuousTimeMode)
NOTHING(fmi3EnterStepMode)
NOTHING(fmi3EvaluateDiscreteStates)
NOTHING(fmi3EnterConfigurationMode)
NOTHING(fmi3ExitConfigurationMode)
NOTHING(fmi3Terminate)

EXPORT Status fmi3Reset(Component c)
{
    model_reset(&((Instance *)c)->model);
    return OK;
}

EXPORT Status fmi3GetFloat64(Component c, const Reference *references, size_t n, double *values, size_t m)
{
    Instance *self = c;
    size_t i;
    if (n != m) {
        return failed(self, "there are no arrays");
    }
    for (i = 0; i < n; i++) {
        if (model_get(&self->model, references[i], values + i) != 0) {
            return failed(self, "a value is not known, or not finite at this state");
        }
    }
    return OK;
}

EXPORT Status fmi3SetFloat64(Component c, const Reference *references, size_t n, const double *values, size_t m)
{
    Instance *self = c;
    size_t i;
    if (n != m) {
        return failed(self, "there are no arrays");
    }
    for (i = 0; i < n; i++) {
        if (model_set(&self->model, references[i], values[i]) != 0) {
            return failed(self, "a value cannot be set, or is not finite");
        }
    }
    return OK;
}

/* there are variables of type Float64 only */
#define NO_VARIABLES(Name, Type)                                                                          \
    EXPORT Status fmi3Get##Name(Component c, const Reference *references, size_t n, Type *values, size_t m) \
    {                                                                                                     \
        (void)references, (void)values, (void)m;                                                          \
        return n == 0 ? OK : failed(c, "the model has variables of type Float64 only");                   \
    }                                                                                                     \
    EXPORT Status fmi3Set##Name(Component c, const Reference *references, size_t n, const Type *values, size_t m) \
    {                                                                                                     \
        (void)references, (void)values, (void)m;                                                          \
        return n == 0 ? OK : failed(c, "the model has variables of type Float64 only");                   \
    }

NO_VARIABLES(Float32, float)
NO_VARIABLES(Int8, int8_t)
NO_VARIABLES(UInt8, uint8_t)
NO_VARIABLES(Int16, int16_t)
NO_VARIABLES(UInt16, uint16_t)
NO_VARIABLES(Int32, int32_t)
NO_VARIABLES(UInt32, uint32_t)
NO_VARIABLES(Int64, int64_t)
NO_VARIABLES(UInt64, uint64_t)
NO_VARIABLES(Boolean, bool)
NO_VARIABLES(String, char *)

EXPORT Status fmi3GetBinary(Component c, const Reference *references, size_t n, size_t *sizes, const uint8_t **values,
                            size_t m)
{
    (void)references, (void)sizes, (void)values, (void)m;
    return n == 0 ? OK : failed(c, "the model has variables of type Float64 only");
}

EXPORT Status fmi3SetBinary(Component c, const Reference *references, size_t n, const size_t *sizes,
                            const uint8_t *const *values, size_t m)
{
    (void)references, (void)sizes, (void)values, (void)m;
    return n == 0 ? OK : failed(c, "the model has variables of type Float64 only");
}

/* there are no clocks */
#define NO_CLOCKS(Name, Arguments, Unused)                         \
    EXPORT Status Name Arguments                                   \
    {                                                              \
        Unused;                                                    \
        return n == 0 ? OK : failed(c, "the model has no clocks"); \
    }

NO_CLOCKS(fmi3GetClock, (Component c, const Reference *r, size_t n, bool *x), ((void)r, (void)x))
NO_CLOCKS(fmi3SetClock, (Component c, const Reference *r, size_t n, const bool *x), ((void)r, (void)x))
NO_CLOCKS(fmi3GetIntervalDecimal, (Component c, const Reference *r, size_t n, double *x, int *y),
          ((void)r, (void)x, (void)y))
NO_CLOCKS(fmi3GetIntervalFraction, (Component c, const Reference *r, size_t n, uint64_t *x, uint64_t *y, int *z),
          ((void)r, (void)x, (void)y, (void)z))
NO_CLOCKS(fmi3GetShiftDecimal, (Component c, const Reference *r, size_t n, double *x), ((void)r, (void)x))
NO_CLOCKS(fmi3GetShiftFraction, (Component c, const Reference *r, size_t n, uint64_t *x, uint64_t *y),
          ((void)r, (void)x, (void)y))
NO_CLOCKS(fmi3SetIntervalDecimal, (Component c, const Reference *r, size_t n, const double *x), ((void)r, (void)x))
NO_CLOCKS(fmi3SetIntervalFraction, (Component c, const Reference *r, size_t n, const uint64_t *x, const uint64_t *y),
          ((void)r, (void)x, (void)y))
NO_CLOCKS(fmi3SetShiftDecimal, (Component c, const Reference *r, size_t n, const double *x), ((void)r, (void)x))
NO_CLOCKS(fmi3SetShiftFraction, (Component c, const Reference *r, size_t n, const uint64_t *x, const uint64_t *y),
          ((void)r, (void)x, (void)y))

EXPORT Status fmi3ActivateModelPartition(Component c, Reference clock, double time)
{
    (void)clock, (void)time;
    return failed(c, "the model has no clocks");
}

/* ---- dependencies and derivatives ---- */

EXPORT Status fmi3GetNumberOfVariableDependencies(Component c, Reference reference, size_t *n)
{
    (void)reference, (void)n;
    return failed(c, "dependencies are those of the model description");
}

EXPORT Status fmi3GetVariableDependencies(Component c, Reference dependent, size_t *elements, Reference *independents,
                                          size_t *of_independents, int *kinds, size_t n)
{
    (void)dependent, (void)elements, (void)independents, (void)of_independents, (void)kinds, (void)n;
    return failed(c, "dependencies are those of the model description");
}

EXPORT Status fmi3GetDirectionalDerivative(Component c, const Reference *unknowns, size_t n, const Reference *knowns,
                                           size_t m, const double *seed, size_t k, double *sensitivity, size_t l)
{
    (void)unknowns, (void)n, (void)knowns, (void)m, (void)seed, (void)k, (void)sensitivity, (void)l;
    return failed(c, "there are no directional derivatives");
}

EXPORT Status fmi3GetAdjointDerivative(Component c, const Reference *unknowns, size_t n, const Reference *knowns,
                                       size_t m, const double *seed, size_t k, double *sensitivity, size_t l)
{
    (void)unknowns, (void)n, (void)knowns, (void)m, (void)seed, (void)k, (void)sensitivity, (void)l;
    return failed(c, "there are no adjoint derivatives");
}

EXPORT Status fmi3GetOutputDerivatives(Component c, const Reference *references, size_t n, const int32_t *orders,
                                       double *values, size_t m)
{
    (void)references, (void)orders, (void)values, (void)m;
    return n == 0 ? OK : failed(c, "there are no derivatives of outputs");
}

/* ---- saved states ---- */

EXPORT Status fmi3GetFMUState(Component c, Saved *saved)
{
    return model_save(&((Instance *)c)->model, saved) == 0 ? OK : failed(c, "no memory");
}

EXPORT Status fmi3SetFMUState(Component c, Saved saved)
{
    model_restore(&((Instance *)c)->model, saved);
    return OK;
}

EXPORT Status fmi3FreeFMUState(Component c, Saved *saved)
{
    (void)c;
    free(*saved);
    *saved = NULL;
    return OK;
}

EXPORT Status fmi3SerializedFMUStateSize(Component c, Saved saved, size_t *size)
{
    (void)c, (void)saved;
    *size = sizeof(State);
    return OK;
}

EXPORT Status fmi3SerializeFMUState(Component c, Saved saved, uint8_t *bytes, size_t size)
{
    if (size < sizeof(State)) {
        return failed(c, "no room for the state");
    }
    memcpy(bytes, saved, sizeof(State));
    return OK;
}

EXPORT Status fmi3DeserializeFMUState(Component c, const uint8_t *bytes, size_t size, Saved *saved)
{
    *saved = NULL;
    return model_unpack(bytes, size, saved) == 0 ? OK : failed(c, "these bytes are no state of this model");
}

/* ---- model exchange ---- */

EXPORT Status fmi3UpdateDiscreteStates(Component c, bool *needed, bool *terminate, bool *nominals_changed,
                                       bool *values_changed, bool *next_event_defined, double *next_event)
{
    (void)c;
    *needed = *terminate = *nominals_changed = *values_changed = *next_event_defined = false;
    *next_event = 0.0;
    return OK;
}

EXPORT Status fmi3CompletedIntegratorStep(Component c, bool no_set, bool *enter_event_mode, bool *terminate)
{
    (void)c, (void)no_set;
    *enter_event_mode = *terminate = false;
    return OK;
}

EXPORT Status fmi3SetTime(Component c, double time)
{
    ((Instance *)c)->model.now.time = time;
    return OK;
}

EXPORT Status fmi3SetContinuousStates(Component c, const double *states, size_t n)
{
    const int wrong = model_set_states(&((Instance *)c)->model, states, n);
    return wrong ? failed(c, "another number of states") : OK;
}

EXPORT Status fmi3GetContinuousStates(Component c, double *states, size_t n)
{
    const int wrong = model_get_states(&((Instance *)c)->model, states, n);
    return wrong ? failed(c, "another number of states") : OK;
}

EXPORT Status fmi3GetContinuousStateDerivatives(Component c, double *derivatives, size_t n)
{
    if (n != STATES || model_derivatives(&((Instance *)c)->model, derivatives) != 0) {
        return failed(c, "the derivatives are not finite at this state");
    }
    return OK;
}

EXPORT Status fmi3GetEventIndicators(Component c, double *indicators, size_t n)
{
    const int wrong = model_indicators(&((Instance *)c)->model, indicators, n);
    return wrong ? failed(c, "the event indicators are not finite at this state, or their number is another") : OK;
}

EXPORT Status fmi3GetNominalsOfContinuousStates(Component c, double *nominals, size_t n)
{
    return model_nominals(nominals, n) == 0 ? OK : failed(c, "another number of states");
}

EXPORT Status fmi3GetNumberOfEventIndicators(Component c, size_t *n)
{
    (void)c;
    *n = NE;
    return OK;
}

EXPORT Status fmi3GetNumberOfContinuousStates(Component c, size_t *n)
{
    (void)c;
    *n = STATES;
    return OK;
}

/* ---- co-simulation ---- */

EXPORT Status fmi3DoStep(Component c, double time, double step, bool no_set, bool *event_needed, bool *terminate,
                         bool *early_return, double *last_time)
{
    Instance *self = c;
    Status status = OK;
    (void)no_set;
    self->model.now.time = time;
    if (step > 0.0 && model_advance(&self->model, step) != 0) {
        status = failed(self, "the state is no longer finite");
    }
    *event_needed = *terminate = *early_return = false;
    *last_time = self->model.now.time;
    return status;
}
