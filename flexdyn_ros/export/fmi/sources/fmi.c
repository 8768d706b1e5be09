/* The functions of FMI 2.0.4 (FMI is 2) or 3.0 (FMI is 3) over model.h. */
#include "model.h"

#include <math.h>
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
enum { OK, WARNING, DISCARD, ERROR, FATAL, PENDING };

#if FMI == 2
#define NAME(Function) fmi2##Function
#define REAL_ONLY "the model has real variables only"
typedef int Boolean;
typedef char Byte;

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
#else
#define NAME(Function) fmi3##Function
#define REAL_ONLY "the model has variables of type Float64 only"
typedef bool Boolean;
typedef uint8_t Byte;
typedef void (*Log)(void *environment, Status status, const char *category, const char *text);

typedef struct {
    Model model;
    Log log;
    void *environment;
} Instance;
#endif

static Status failed(Instance *self, const char *text)
{
#if FMI == 2
    if (self->callbacks != NULL && self->callbacks->log != NULL) {
        self->callbacks->log(self->callbacks->environment, self->name, ERROR, "logStatusError", text);
    }
#else
    if (self != NULL && self->log != NULL) {
        self->log(self->environment, ERROR, "logStatusError", text);
    }
#endif
    return ERROR;
}

/* an instance at the start values; NULL for the token of another model */
static Instance *new_instance(const char *token)
{
    Instance *self;
    if (token == NULL || strcmp(token, TOKEN) != 0) {
        return NULL;
    }
    self = calloc(1, sizeof *self);
    if (self != NULL) {
        model_reset(&self->model);
    }
    return self;
}

static Status get_values(Instance *self, const Reference *references, size_t n, double *values)
{
    size_t i;
    for (i = 0; i < n; i++) {
        if (model_get(&self->model, references[i], values + i) != 0) {
            return failed(self, "a value is not known, or not finite at this state");
        }
    }
    return OK;
}

static Status set_values(Instance *self, const Reference *references, size_t n, const double *values)
{
    size_t i;
    for (i = 0; i < n; i++) {
        if (model_set(&self->model, references[i], values[i]) != 0) {
            return failed(self, "a value cannot be set, or is not finite");
        }
    }
    return OK;
}

/* moves from a time on; the state stays the last good one where that fails */
static Status do_step(Instance *self, double time, double step)
{
    self->model.now.time = time;
    if (step > 0.0 && model_advance(&self->model, step) != 0) {
        return failed(self, "the state is no longer finite");
    }
    return OK;
}

/* ---- of both versions ---- */

EXPORT const char *NAME(GetVersion)(void)
{
    return FMI == 2 ? "2.0" : "3.0";
}

EXPORT Status NAME(SetDebugLogging)(Component c, Boolean on, size_t n, const char *const *categories)
{
    (void)c, (void)on, (void)n, (void)categories;
    return OK;
}

EXPORT void NAME(FreeInstance)(Component c)
{
    free(c);
}

/* changes of mode that change nothing here */
#define NOTHING(Function)                     \
    EXPORT Status NAME(Function)(Component c) \
    {                                         \
        (void)c;                              \
        return OK;                            \
    }

NOTHING(EnterEventMode)
NOTHING(EnterContinuousTimeMode)
NOTHING(Terminate)

EXPORT Status NAME(Reset)(Component c)
{
    model_reset(&((Instance *)c)->model);
    return OK;
}

/* saved states: words in the names of these functions are written in two ways */
#if FMI == 2
#define STATE_NAME(Before, After) fmi2##Before##FMUstate##After
#define UNPACK fmi2DeSerializeFMUstate
#else
#define STATE_NAME(Before, After) fmi3##Before##FMUState##After
#define UNPACK fmi3DeserializeFMUState
#endif

EXPORT Status STATE_NAME(Get, )(Component c, Saved *saved)
{
    return model_save(&((Instance *)c)->model, saved) == 0 ? OK : failed(c, "no memory");
}

EXPORT Status STATE_NAME(Set, )(Component c, Saved saved)
{
    model_restore(&((Instance *)c)->model, saved);
    return OK;
}

EXPORT Status STATE_NAME(Free, )(Component c, Saved *saved)
{
    (void)c;
    free(*saved);
    *saved = NULL;
    return OK;
}

EXPORT Status STATE_NAME(Serialized, Size)(Component c, Saved saved, size_t *size)
{
    (void)c, (void)saved;
    *size = sizeof(State);
    return OK;
}

EXPORT Status STATE_NAME(Serialize, )(Component c, Saved saved, Byte *bytes, size_t size)
{
    if (size < sizeof(State)) {
        return failed(c, "no room for the state");
    }
    memcpy(bytes, saved, sizeof(State));
    return OK;
}

EXPORT Status UNPACK(Component c, const Byte *bytes, size_t size, Saved *saved)
{
    *saved = NULL;
    return model_unpack(bytes, size, saved) == 0 ? OK : failed(c, "these bytes are no state of this model");
}

/* what states may be off the constraints after a step, relative to velocities */
#define DRIFT 1e-9
#define NOT_CLOSED "the loops cannot be closed from this state"

/* moves states onto the constraints in event mode; those that were set may be far off */
static Status update(Instance *self, Boolean *values_changed)
{
    double drift = 1.0;
    int i;
    for (i = 0; i < 20 && drift > 0.01 * DRIFT; i++) {
        if (model_project(&self->model, 0.0, &drift) != 0) {
            return failed(self, NOT_CLOSED);
        }
        *values_changed = *values_changed || drift > 0.0;
    }
    return drift > DRIFT ? failed(self, NOT_CLOSED) : OK;
}

EXPORT Status NAME(ExitInitializationMode)(Component c)
{
    Boolean moved = 0;
    return update(c, &moved);
}

EXPORT Status NAME(CompletedIntegratorStep)(Component c, Boolean no_set, Boolean *enter_event_mode, Boolean *terminate)
{
    double drift;
    (void)no_set;
    *terminate = 0;
    if (model_project(&((Instance *)c)->model, INFINITY, &drift) != 0) {
        return failed(c, NOT_CLOSED);
    }
    *enter_event_mode = drift > DRIFT;
    return OK;
}

EXPORT Status NAME(SetTime)(Component c, double time)
{
    ((Instance *)c)->model.now.time = time;
    return OK;
}

EXPORT Status NAME(SetContinuousStates)(Component c, const double *states, size_t n)
{
    const int wrong = model_set_states(&((Instance *)c)->model, states, n);
    return wrong ? failed(c, "another number of states") : OK;
}

EXPORT Status NAME(GetContinuousStates)(Component c, double *states, size_t n)
{
    const int wrong = model_get_states(&((Instance *)c)->model, states, n);
    return wrong ? failed(c, "another number of states") : OK;
}

#if FMI == 2
EXPORT Status fmi2GetDerivatives(Component c, double *derivatives, size_t n)
#else
EXPORT Status fmi3GetContinuousStateDerivatives(Component c, double *derivatives, size_t n)
#endif
{
    if (n != STATES || model_derivatives(&((Instance *)c)->model, derivatives) != 0) {
        return failed(c, "the derivatives are not finite at this state");
    }
    return OK;
}

EXPORT Status NAME(GetEventIndicators)(Component c, double *indicators, size_t n)
{
    const int wrong = model_indicators(&((Instance *)c)->model, indicators, n);
    return wrong ? failed(c, "the event indicators are not finite at this state, or their number is another") : OK;
}

EXPORT Status NAME(GetNominalsOfContinuousStates)(Component c, double *nominals, size_t n)
{
    return model_nominals(nominals, n) == 0 ? OK : failed(c, "another number of states");
}

/* functions of n things of which the model has none */
#define NONE(Function, Arguments, Unused, Why)      \
    EXPORT Status NAME(Function) Arguments          \
    {                                               \
        Unused;                                     \
        return n == 0 ? OK : failed(c, Why);        \
    }

#if FMI == 2
/* ---- of FMI 2.0 only ---- */

EXPORT const char *fmi2GetTypesPlatform(void)
{
    return "default";
}

EXPORT Component fmi2Instantiate(const char *name, int type, const char *token, const char *resources,
                                 const Callbacks *callbacks, Boolean visible, Boolean logging)
{
    Instance *self = new_instance(token);
    (void)type, (void)resources, (void)visible, (void)logging;
    if (self != NULL) {
        self->callbacks = callbacks;
        strncpy(self->name, name != NULL ? name : "", sizeof self->name - 1);
    }
    return self;
}

EXPORT Status fmi2SetupExperiment(Component c, Boolean tolerance_defined, double tolerance, double start,
                                  Boolean stop_defined, double stop)
{
    (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
    ((Instance *)c)->model.now.time = start;
    return OK;
}

NOTHING(EnterInitializationMode)

EXPORT Status fmi2GetReal(Component c, const Reference *references, size_t n, double *values)
{
    return get_values(c, references, n, values);
}

EXPORT Status fmi2SetReal(Component c, const Reference *references, size_t n, const double *values)
{
    return set_values(c, references, n, values);
}

#define NO_VARIABLES(Name, Type)                                                                            \
    NONE(Get##Name, (Component c, const Reference *r, size_t n, Type *x), ((void)r, (void)x), REAL_ONLY)    \
    NONE(Set##Name, (Component c, const Reference *r, size_t n, const Type *x), ((void)r, (void)x), REAL_ONLY)

NO_VARIABLES(Integer, int)
NO_VARIABLES(Boolean, Boolean)
NO_VARIABLES(String, char *)

EXPORT Status fmi2GetDirectionalDerivative(Component c, const Reference *unknown, size_t n, const Reference *known,
                                           size_t m, const double *seed, double *sensitivity)
{
    (void)unknown, (void)n, (void)known, (void)m, (void)seed, (void)sensitivity;
    return failed(c, "there are no directional derivatives");
}

EXPORT Status fmi2NewDiscreteStates(Component c, EventInfo *info)
{
    memset(info, 0, sizeof *info);
    return update(c, &info->values_changed);
}

NONE(SetRealInputDerivatives, (Component c, const Reference *r, size_t n, const int *orders, const double *x),
     ((void)r, (void)orders, (void)x), "inputs are held over a step")
NONE(GetRealOutputDerivatives, (Component c, const Reference *r, size_t n, const int *orders, double *x),
     ((void)r, (void)orders, (void)x), "there are no derivatives of outputs")

EXPORT Status fmi2DoStep(Component c, double time, double step, Boolean no_set)
{
    (void)no_set;
    return do_step(c, time, step);
}

EXPORT Status fmi2CancelStep(Component c)
{
    return failed(c, "steps are never pending");
}

#define NO_STATUS(Get, Type)                              \
    EXPORT Status Get(Component c, int kind, Type *value) \
    {                                                     \
        (void)c, (void)kind, (void)value;                 \
        return DISCARD;                                   \
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
#else
/* ---- of FMI 3.0 only ---- */

static Component instantiate(const char *token, void *environment, Log log)
{
    Instance *self = new_instance(token);
    if (self != NULL) {
        self->log = log;
        self->environment = environment;
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

EXPORT Status fmi3EnterInitializationMode(Component c, bool tolerance_defined, double tolerance, double start,
                                          bool stop_defined, double stop)
{
    (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
    ((Instance *)c)->model.now.time = start;
    return OK;
}

NOTHING(EnterStepMode)
NOTHING(EvaluateDiscreteStates)
NOTHING(EnterConfigurationMode)
NOTHING(ExitConfigurationMode)

EXPORT Status fmi3GetFloat64(Component c, const Reference *references, size_t n, double *values, size_t m)
{
    return n == m ? get_values(c, references, n, values) : failed(c, "there are no arrays");
}

EXPORT Status fmi3SetFloat64(Component c, const Reference *references, size_t n, const double *values, size_t m)
{
    return n == m ? set_values(c, references, n, values) : failed(c, "there are no arrays");
}

#define NO_VARIABLES(Name, Type)                                                             \
    NONE(Get##Name, (Component c, const Reference *r, size_t n, Type *x, size_t m),          \
         ((void)r, (void)x, (void)m), REAL_ONLY)                                             \
    NONE(Set##Name, (Component c, const Reference *r, size_t n, const Type *x, size_t m),    \
         ((void)r, (void)x, (void)m), REAL_ONLY)

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
NONE(GetBinary, (Component c, const Reference *r, size_t n, size_t *sizes, const uint8_t **x, size_t m),
     ((void)r, (void)sizes, (void)x, (void)m), REAL_ONLY)
NONE(SetBinary, (Component c, const Reference *r, size_t n, const size_t *sizes, const uint8_t *const *x, size_t m),
     ((void)r, (void)sizes, (void)x, (void)m), REAL_ONLY)

#define NO_CLOCKS(Function, Arguments, Unused) NONE(Function, Arguments, Unused, "the model has no clocks")

NO_CLOCKS(GetClock, (Component c, const Reference *r, size_t n, bool *x), ((void)r, (void)x))
NO_CLOCKS(SetClock, (Component c, const Reference *r, size_t n, const bool *x), ((void)r, (void)x))
NO_CLOCKS(GetIntervalDecimal, (Component c, const Reference *r, size_t n, double *x, int *y),
          ((void)r, (void)x, (void)y))
NO_CLOCKS(GetIntervalFraction, (Component c, const Reference *r, size_t n, uint64_t *x, uint64_t *y, int *z),
          ((void)r, (void)x, (void)y, (void)z))
NO_CLOCKS(GetShiftDecimal, (Component c, const Reference *r, size_t n, double *x), ((void)r, (void)x))
NO_CLOCKS(GetShiftFraction, (Component c, const Reference *r, size_t n, uint64_t *x, uint64_t *y),
          ((void)r, (void)x, (void)y))
NO_CLOCKS(SetIntervalDecimal, (Component c, const Reference *r, size_t n, const double *x), ((void)r, (void)x))
NO_CLOCKS(SetIntervalFraction, (Component c, const Reference *r, size_t n, const uint64_t *x, const uint64_t *y),
          ((void)r, (void)x, (void)y))
NO_CLOCKS(SetShiftDecimal, (Component c, const Reference *r, size_t n, const double *x), ((void)r, (void)x))
NO_CLOCKS(SetShiftFraction, (Component c, const Reference *r, size_t n, const uint64_t *x, const uint64_t *y),
          ((void)r, (void)x, (void)y))

EXPORT Status fmi3ActivateModelPartition(Component c, Reference clock, double time)
{
    (void)clock, (void)time;
    return failed(c, "the model has no clocks");
}

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

NONE(GetOutputDerivatives, (Component c, const Reference *r, size_t n, const int32_t *orders, double *x, size_t m),
     ((void)r, (void)orders, (void)x, (void)m), "there are no derivatives of outputs")

EXPORT Status fmi3UpdateDiscreteStates(Component c, bool *needed, bool *terminate, bool *nominals_changed,
                                       bool *values_changed, bool *next_event_defined, double *next_event)
{
    *needed = *terminate = *nominals_changed = *values_changed = *next_event_defined = false;
    *next_event = 0.0;
    return update(c, values_changed);
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

EXPORT Status fmi3DoStep(Component c, double time, double step, bool no_set, bool *event_needed, bool *terminate,
                         bool *early_return, double *last_time)
{
    const Status status = do_step(c, time, step);
    (void)no_set;
    *event_needed = *terminate = *early_return = false;
    *last_time = ((Instance *)c)->model.now.time;
    return status;
}
#endif
