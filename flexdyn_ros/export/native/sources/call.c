/* The dynamics of one robot as functions of Python: a call with arrays of float64 of the right shapes goes straight to
   C, any other to the method of the robot, which converts, explains and refuses. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "calls.h"

/* places in the tuple that a function is bound to */
enum { METHOD, EMPTY, SHAPES, WORK };

/* a contiguous array of so many float64; 0 if it is none */
static int take(PyObject *object, Py_ssize_t count, int writable, Py_buffer *view)
{
    const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, view, flags) != 0) {
        PyErr_Clear();
        return 0;
    }
    if (view->format != NULL && view->format[0] == 'd' && view->format[1] == 0 && view->len == 8 * count) {
        return 1;
    }
    PyBuffer_Release(view);
    return 0;
}

/* arrays of one dimension that are float64; a batch is for the method */
static int vector(PyObject *object, Py_ssize_t count, Py_buffer *view)
{
    if (!take(object, count, 0, view)) {
        return 0;
    }
    if (view->ndim == 1) {
        return 1;
    }
    PyBuffer_Release(view);
    return 0;
}

/* finite positions, and quaternions of unit length */
static int is_position(const double *q)
{
    int i, k;
    for (i = 0; i < NQ; i++) {
        if (!isfinite(q[i])) {
            return 0;
        }
    }
    for (i = 0; i < FREE; i++) {
        double square = 0.0;
        for (k = 0; k < 4; k++) {
            const double x = q[quaternions[i] + k];
            square += x * x;
        }
        if (!(fabs(square - 1.0) <= 2e-6)) {
            return 0;
        }
    }
    return 1;
}

typedef int (*Three)(const double *, const double *, const double *, const double *, double *, double *);

static PyObject *general(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    return PyObject_Vectorcall(PyTuple_GET_ITEM(self, METHOD), arguments, (size_t)count, names);
}

/* a fresh array of the result's shape */
static PyObject *result(PyObject *self)
{
    PyObject *shape = PyTuple_GET_ITEM(self, SHAPES);
    return PyObject_Vectorcall(PyTuple_GET_ITEM(self, EMPTY), &shape, 1, NULL);
}

static double *memory(PyObject *self)
{
    return (double *)PyByteArray_AS_STRING(PyTuple_GET_ITEM(self, WORK));
}

static PyObject *dynamics(Three function, Py_ssize_t third, Py_ssize_t size, PyObject *self,
                          PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    Py_buffer q, v, x, y;
    PyObject *found = NULL;
    int good = 0;
    if (count != 3 || (names != NULL && PyTuple_GET_SIZE(names) > 0) || !vector(arguments[0], NQ, &q)) {
        return general(self, arguments, count, names);
    }
    if (vector(arguments[1], NV, &v)) {
        if (vector(arguments[2], third, &x)) {
            found = result(self);
            if (found != NULL && take(found, size, 1, &y)) {
                good = function(q.buf, v.buf, x.buf, NULL, y.buf, memory(self)) == 0 && is_position(q.buf);
                PyBuffer_Release(&y);
            }
            PyBuffer_Release(&x);
        }
        PyBuffer_Release(&v);
    }
    PyBuffer_Release(&q);
    if (good) {
        return found;
    }
    Py_XDECREF(found);
    PyErr_Clear();
    return general(self, arguments, count, names);
}

static PyObject *inverse_dynamics(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    return dynamics(INVERSE, NV, NU, self, arguments, count, names);
}

static PyObject *forward_dynamics(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    return dynamics(FORWARD, NU, NV, self, arguments, count, names);
}

static PyObject *mass_matrix(PyObject *self, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    Py_buffer q, M;
    PyObject *found;
    int good = 0;
    if (count != 1 || (names != NULL && PyTuple_GET_SIZE(names) > 0) || !vector(arguments[0], NQ, &q)) {
        return general(self, arguments, count, names);
    }
    found = result(self);
    if (found != NULL && take(found, NV * NV, 1, &M)) {
        good = MASS(q.buf, NULL, M.buf, memory(self)) == 0 && is_position(q.buf);
        PyBuffer_Release(&M);
    }
    PyBuffer_Release(&q);
    if (good) {
        return found;
    }
    Py_XDECREF(found);
    PyErr_Clear();
    return general(self, arguments, count, names);
}

#define METHOD_OF(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL | METH_KEYWORDS, NULL}

static PyMethodDef methods[] = {
    METHOD_OF(inverse_dynamics),
    METHOD_OF(forward_dynamics),
    METHOD_OF(mass_matrix),
};

/* function number `which`, bound to a tuple (method, numpy.empty, shape of the result, work memory) */
PyObject *flexdyn_bound(int which, PyObject *self)
{
    return PyCFunction_New(methods + which, self);
}
