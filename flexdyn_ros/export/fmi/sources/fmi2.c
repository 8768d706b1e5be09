/* The functions of FMI 2.0.4 over model.h. */
#include "model.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

typedef void *Component;
typedef void *Saved;
typedef unsigned int Reference;
typedef int Boolean;
typedef int Status;
enum { OK, WARNING, DISCARD, ERROR, FATAL, PENDING };

typedef struct {
    void (*log)(void *environment, const char *name, Status status, const char *category, const char *text, ...);
    void *(*allocate)(size_t count, size_t size);
    void (*release)(void *memory);
    void *finished;
    void *environment;
} Callbacks;

typedef struct {
    Boolean new_states_needed, terminate, nominals_changed, values_changed, next_event_defined;
    double next_event;
} EventInfo;

typedef struct {
    Model model;
    const Callbacks *callbacks;
    char name[256];
} Instance;

static Status failed(Instance *self, const char *text)
{
    if (self->callbacks != NULL && self->callbacks->log != NULL) {
        self->callbacks->log(self->callbacks->environment, self->name, ERROR, "logStatusError", text);
    }
    return ERROR;
}

EXPORT const char *fmi2GetTypesPlatform(void)
{
    return "default";
}

EXPORT const char *fmi2GetVersion(void)
{
    return "2.0";
}

EXPORT Status fmi2SetDebugLogging(Component c, Boolean on, size_t n, const char *const *categories)
{
    (void)c, (void)on, (void)n, (void)categories;
    return OK;
}

EXPORT Component fmi2Instantiate(const char *name, int type, const char *token, const char *resources,
                                 const Callbacks *callbacks, Boolean visible, Boolean logging)
{
    Instance *self;
    (void)type, (void)resources, (void)visible, (void)logging;
    if (token == NULL || strcmp(token, TOKEN) != 0) {
        return NULL;
    }
    self = calloc(1, sizeof *self);
    if (self != NULL) {
        self->callbacks = callbacks;
        strncpy(self->name, name != NULL ? name : "", sizeof self->name - 1);
        model_reset(&self->model);
    }
    return self;
}

EXPORT void fmi2FreeInstance(Component c)
{
    free(c);
}

EXPORT Status fmi2SetupExperiment(Component c, Boolean tolerance_defined, double tolerance, double start,
                                  Boolean stop_defined, double stop)
{
    (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
    ((Instance *)c)->model.now.time = start;
    return OK;
}

EXPORT Status fmi2EnterInitializationMode(Component c)
{
    (void)c;
    return OK;
}

EXPORT Status fmi2ExitInitializationMode(Component c)
{
    (void)c;
    return OK;
}

EXPORT Status fmi2Terminate(Component c)
{
    (void)c;
    return OK;
}

EXPORT Status fmi2Reset(Component c)
{
    model_reset(&((Instance *)c)->model);
    return OK;
}

EXPORT Status fmi2GetReal(Component c, const Reference *references, size_t n, double *values)
{
    Instance *self = c;
    size_t i;
    for (i = 0; i < n; i++) {
        if (model_get(&self->model, references[i], values + i) != 0) {
            return failed(self, "a value is not known, or not finite at this state");
        }
    }
    return OK;
}

EXPORT Status fmi2SetReal(Component c, const Reference *references, size_t n, const double *values)
{
    Instance *self = c;
    size_t i;
    for (i = 0; i < n; i++) {
        if (model_set(&self->model, references[i], values[i]) != 0) {
            return failed(self, "a value cannot be set, or is not finite");
        }
    }
    return OK;
}

/* there are real variables only */
#define NO_VARIABLES(Get, Set, Type)                                                          \
    EXPORT Status Get(Component c, const Reference *references, size_t n, Type *values)       \
    {                                                                                         \
        (void)references, (void)values;                                                       \
        return n == 0 ? OK : failed(c, "the model has real variables only");                  \
    }                                                                                         \
    EXPORT Status Set(Component c, const Reference *references, size_t n, const Type *values) \
    {                                                                                         \
        (void)references, (void)values;                                                       \
        return n == 0 ? OK : failed(c, "the model has real variables only");                  \
    }

NO_VARIABLES(fmi2GetInteger, fmi2SetInteger, int)
NO_VARIABLES(fmi2GetBoolean, fmi2SetBoolean, Boolean)
NO_VARIABLES(fmi2GetString, fmi2SetString, char *)

/* ---- saved states ---- */

EXPORT Status fmi2GetFMUstate(Component c, Saved *saved)
{
    return model_save(&((Instance *)c)->model, saved) == 0 ? OK : failed(c, "no memory");
}

EXPORT Status fmi2SetFMUstate(Component c, Saved saved)
{
    model_restore(&((Instance *)c)->model, saved);
    return OK;
}

EXPORT Status fmi2FreeFMUstate(Component c, Saved *saved)
{
    (void)c;
    free(*saved);
    *saved = NULL;
    return OK;
}

EXPORT Status fmi2SerializedFMUstateSize(Component c, Saved saved, size_t *size)
{
    (void)c, (void)saved;
    *size = sizeof(State);
    return OK;
}

EXPORT Status fmi2SerializeFMUstate(Component c, Saved saved, char *bytes, size_t size)
{
    if (size < sizeof(State)) {
        return failed(c, "no room for the state");
    }
    memcpy(bytes, saved, sizeof(State));
    return OK;
}

EXPORT Status fmi2DeSerializeFMUstate(Component c, const char *bytes, size_t size, Saved *saved)
{
    *saved = NULL;
    return model_unpack(bytes, size, saved) == 0 ? OK : failed(c, "these bytes are no state of this model");
}

EXPORT Status fmi2GetDirectionalDerivative(Component c, const Reference *unknown, size_t n, const Reference *known,
                                           size_t m, const double *seed, double *sensitivity)
{
    (void)unknown, (void)n, (void)known, (void)m, (void)seed, (void)sensitivity;
    return failed(c, "there are no directional derivatives");
}

/* ---- model exchange ---- */

EXPORT Status fmi2EnterEventMode(Component c)
{
    (void)c;
    return OK;
}

EXPORT Status fmi2NewDiscreteStates(Component c, EventInfo *info)
{
    (void)c;
    memset(info, 0, sizeof *info);
    return OK;
}

EXPORT Status fmi2EnterContinuousTimeMode(Component c)
{
    (void)c;
    return OK;
}

EXPORT Status fmi2CompletedIntegratorStep(Component c, Boolean no_set, Boolean *enter_event_mode, Boolean *terminate)
{
    (void)c, (void)no_set;
    *enter_event_mode = *terminate = 0;
    return OK;
}

EXPORT Status fmi2SetTime(Component c, double time)
{
    ((Instance *)c)->model.now.time = time;
    return OK;
}

EXPORT Status fmi2SetContinuousStates(Component c, const double *states, size_t n)
{
    const int wrong = model_set_states(&((Instance *)c)->model, states, n);
    return wrong ? failed(c, "another number of states") : OK;
}

EXPORT Status fmi2GetContinuousStates(Component c, double *states, size_t n)
{
    const int wrong = model_get_states(&((Instance *)c)->model, states, n);
    return wrong ? failed(c, "another number of states") : OK;
}

EXPORT Status fmi2GetDerivatives(Component c, double *derivatives, size_t n)
{
    if (n != STATES || model_derivatives(&((Instance *)c)->model, derivatives) != 0) {
        return failed(c, "the derivatives are not finite at this state");
    }
    return OK;
}

EXPORT Status fmi2GetEventIndicators(Component c, double *indicators, size_t n)
{
    const int wrong = model_indicators(&((Instance *)c)->model, indicators, n);
    return wrong ? failed(c, "the event indicators are not finite at this state, or their number is another") : OK;
}

EXPORT Status fmi2GetNominalsOfContinuousStates(Component c, double *nominals, size_t n)
{
    return model_nominals(nominals, n) == 0 ? OK : failed(c, "another number of states");
}

/* ---- co-simulation ---- */

EXPORT Status fmi2SetRealInputDerivatives(Component c, const Reference *references, size_t n, const int *orders,
                                          const double *values)
{
    (void)references, (void)orders, (void)values;
    return n == 0 ? OK : failed(c, "inputs are held over a step");
}

EXPORT Status fmi2GetRealOutputDerivatives(Component c, const Reference *references, size_t n, const int *orders,
                                           double *values)
{
    (void)references, (void)orders, (void)values;
    return n == 0 ? OK : failed(c, "there are no derivatives of outputs");
}

EXPORT Status fmi2DoStep(Component c, double time, double step, Boolean no_set)
{
    Instance *self = c;
    (void)no_set;
    self->model.now.time = time;
    if (step > 0.0 && model_advance(&self->model, step) != 0) {
        return failed(self, "the state is no longer finite");
    }
    return OK;
}

EXPORT Status fmi2CancelStep(Component c)
{
    return failed(c, "steps are never pending");
}

#define NO_STATUS(Get, Type)                                \
    EXPORT Status Get(Component c, int kind, Type *value)   \
    {                                                       \
        (void)c, (void)kind, (void)value;                   \
        return DISCARD;                                     \
    }

NO_STATUS(fmi2GetStatus, Status)
NO_STATUS(fmi2GetIntegerStatus, int)
NO_STATUS(fmi2GetBooleanStatus, Boolean)
NO_STATUS(fmi2GetStringStatus, const char *)

EXPORT Status fmi2GetRealStatus(Component c, int kind, double *value)
{
    enum { LAST_SUCCESSFUL_TIME = 2 };
    if (kind != LAST_SUCCESSFUL_TIME) {
        return DISCARD;
    }
    *value = ((Instance *)c)->model.now.time;
    return OK;
}
