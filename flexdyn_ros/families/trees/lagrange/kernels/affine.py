"""Leaf operations on unit-first homogeneous matrices, the alphabet of the recursive Lagrangian path.

A point is [1, x, y, z]; a transform is [[1, 0], [p, R]]; a derivative of a transform has a first row of zeros
(Book 1984; Zhang 2009, section 2). Both have a first row [f, 0, 0, 0], which the products below use. R need
not be a rotation: the affine section frame of Zhang 2009, eq. (2)-(3), is not. All kernels are generic in the
number type (float64, complex128), so that a complex step through them gives derivatives. `out` must not be an
operand.
"""

import numpy as np

from flexdyn_ros.numerics.compiling.compiler import kernel


@kernel
def product(X, Y, out):
    """Write X Y into out (4, 4); X and Y are transforms or derivatives of transforms."""
    out[0, 0] = X[0, 0] * Y[0, 0]
    out[0, 1] = 0.0
    out[0, 2] = 0.0
    out[0, 3] = 0.0
    for i in range(1, 4):
        out[i, 0] = X[i, 0] * Y[0, 0] + X[i, 1] * Y[1, 0] + X[i, 2] * Y[2, 0] + X[i, 3] * Y[3, 0]
        for j in range(1, 4):
            out[i, j] = X[i, 1] * Y[1, j] + X[i, 2] * Y[2, j] + X[i, 3] * Y[3, j]


@kernel
def add_product(X, Y, factor, out):
    """Add factor * X Y to out (4, 4); X and Y are transforms or derivatives of transforms."""
    out[0, 0] += factor * X[0, 0] * Y[0, 0]
    for i in range(1, 4):
        out[i, 0] += factor * (X[i, 0] * Y[0, 0] + X[i, 1] * Y[1, 0] + X[i, 2] * Y[2, 0] + X[i, 3] * Y[3, 0])
        for j in range(1, 4):
            out[i, j] += factor * (X[i, 1] * Y[1, j] + X[i, 2] * Y[2, j] + X[i, 3] * Y[3, j])


@kernel
def apply_left(X, Z, out):
    """Write X Z into out (4, 4); X is a transform or a derivative of one, Z any matrix."""
    for j in range(4):
        out[0, j] = X[0, 0] * Z[0, j]
        for i in range(1, 4):
            out[i, j] = X[i, 0] * Z[0, j] + X[i, 1] * Z[1, j] + X[i, 2] * Z[2, j] + X[i, 3] * Z[3, j]


@kernel
def apply_right_transposed(Z, X, out):
    """Write Z X^T into out (4, 4); X is a transform or a derivative of one, Z any matrix."""
    for i in range(4):
        out[i, 0] = Z[i, 0] * X[0, 0]
        for j in range(1, 4):
            out[i, j] = Z[i, 0] * X[j, 0] + Z[i, 1] * X[j, 1] + Z[i, 2] * X[j, 2] + Z[i, 3] * X[j, 3]


@kernel
def add_scaled(Z, factor, out):
    """Add factor * Z to out (4, 4)."""
    for i in range(4):
        for j in range(4):
            out[i, j] += factor * Z[i, j]


@kernel
def trace_of_product(X, Z):
    """Return tr(X Z) where X is a transform or a derivative of one, Z any (4, 4) matrix."""
    t = X[0, 0] * Z[0, 0]
    for i in range(1, 4):
        t += X[i, 0] * Z[0, i] + X[i, 1] * Z[1, i] + X[i, 2] * Z[2, i] + X[i, 3] * Z[3, i]
    return t


@kernel
def trace_of_sandwich(X, Z, Y):
    """Return tr(X Z Y^T) where X, Y are transforms or derivatives of them, Z any (4, 4) matrix."""
    t = X[0, 0] * Z[0, 0] * Y[0, 0]
    for i in range(1, 4):
        for j in range(4):
            t += (X[i, 0] * Z[0, j] + X[i, 1] * Z[1, j] + X[i, 2] * Z[2, j] + X[i, 3] * Z[3, j]) * Y[i, j]
    return t


@kernel
def clear(out):
    """Write zeros into out (4, 4)."""
    for i in range(4):
        for j in range(4):
            out[i, j] = 0.0


@kernel
def set_skew(x, y, z, out):
    """Write [0, 0; 0, [(x, y, z)]x] into out (4, 4)."""
    clear(out)
    out[1, 2] = -z
    out[1, 3] = y
    out[2, 1] = z
    out[2, 3] = -x
    out[3, 1] = -y
    out[3, 2] = x


@kernel
def rotation_about(axis, s, c, first, out):
    """Write first * [1, 0; 0, I] + [0, 0; 0, s S + c S S] into out (4, 4), S = [axis]x.

    With (s, c, first) = (sin q, 1 - cos q, 1) this is the rotation by q about the unit axis, with (cos q, sin
    q, 0) its first and with (-sin q, cos q, 0) its second derivative with respect to q.
    """
    x, y, z = axis[0], axis[1], axis[2]
    set_skew(s * x, s * y, s * z, out)
    out[0, 0] = first
    out[1, 1] = first - c * (y * y + z * z)
    out[2, 2] = first - c * (x * x + z * z)
    out[3, 3] = first - c * (x * x + y * y)
    out[1, 2] += c * x * y
    out[2, 1] += c * x * y
    out[1, 3] += c * x * z
    out[3, 1] += c * x * z
    out[2, 3] += c * y * z
    out[3, 2] += c * y * z


@kernel
def set_pose(q, start, out):
    """Write the transform of position q[start:start+3] and quaternion q[start+3:start+7] (x y z w) into
    out."""
    x, y, z, w = q[start + 3], q[start + 4], q[start + 5], q[start + 6]
    n = 2.0 / (x * x + y * y + z * z + w * w)
    clear(out)
    out[0, 0] = 1.0
    for i in range(3):
        out[1 + i, 0] = q[start + i]
    out[1, 1] = 1.0 - n * (y * y + z * z)
    out[1, 2] = n * (x * y - z * w)
    out[1, 3] = n * (x * z + y * w)
    out[2, 1] = n * (x * y + z * w)
    out[2, 2] = 1.0 - n * (x * x + z * z)
    out[2, 3] = n * (y * z - x * w)
    out[3, 1] = n * (x * z - y * w)
    out[3, 2] = n * (y * z + x * w)
    out[3, 3] = 1.0 - n * (x * x + y * y)


@kernel
def exponential_coefficients(x):
    """Return (a, b, a', b', a'', b'') of exp([t]x) = 1 + a K + b K K, K = [t]x, x = t.t, ' = d/dx.

    a = sin(phi)/phi, b = (1 - cos(phi))/phi^2, phi = sqrt(x). Taylor series below x = 2 (the closed forms
    cancel), truncated below 1e-17 relative there.
    """
    if x.real < 2.0:
        a, b, a1, b1, a2, b2 = x * 0.0, x * 0.0, x * 0.0, x * 0.0, x * 0.0, x * 0.0
        coefficient = 1.0  # (-1)^n / (2n + 1)!, from the highest power down (Horner)
        for n in range(1, 13):
            coefficient /= -(2.0 * n) * (2.0 * n + 1.0)
        for n in range(12, -1, -1):
            a2 = a2 * x + 2.0 * a1
            a1 = a1 * x + a
            a = a * x + coefficient
            b2 = b2 * x + 2.0 * b1
            b1 = b1 * x + b
            b = b * x + coefficient / (2.0 * n + 2.0)
            coefficient *= -(2.0 * n) * (2.0 * n + 1.0)
        return a, b, a1, b1, a2, b2
    phi = np.sqrt(x)
    c = np.cos(phi)
    a = np.sin(phi) / phi
    b = (1.0 - c) / x
    a1 = (c - a) / (2.0 * x)
    b1 = (0.5 * a - b) / x
    a2 = -(0.5 * a + 3.0 * a1) / (2.0 * x)
    b2 = (0.5 * a1 - 2.0 * b1) / x
    return a, b, a1, b1, a2, b2
