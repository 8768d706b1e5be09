"""Scalar leaves: products with 3x3 matrices given element by element (r00 r01 r02 r10 ... r22)."""

from __future__ import annotations

from flexdyn_ros.numerics.compiling.compiler import leaf


@leaf
def pick(c, x, y, z):
    """Number c of three: an index into a tuple may raise."""
    return x if c == 0 else y if c == 1 else z


@leaf
def load3(s, row):
    """Rows row..row+2 of s."""
    return s[row], s[row + 1], s[row + 2]


@leaf
def store3(s, row, x, y, z):
    """Write rows row..row+2 of s."""
    s[row] = x
    s[row + 1] = y
    s[row + 2] = z


@leaf
def load9(s, row):
    """Rows row..row+8 of s."""
    return (
        s[row],
        s[row + 1],
        s[row + 2],
        s[row + 3],
        s[row + 4],
        s[row + 5],
        s[row + 6],
        s[row + 7],
        s[row + 8],
    )


@leaf
def store9(s, row, m):
    """Write the nine numbers m to rows row..row+8 of s."""
    s[row] = m[0]
    s[row + 1] = m[1]
    s[row + 2] = m[2]
    s[row + 3] = m[3]
    s[row + 4] = m[4]
    s[row + 5] = m[5]
    s[row + 6] = m[6]
    s[row + 7] = m[7]
    s[row + 8] = m[8]


@leaf
def cross(ax, ay, az, bx, by, bz):
    """a x b"""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@leaf
def add_cross(x, y, z, ax, ay, az, bx, by, bz):
    """(x, y, z) + a x b; each product is added at once."""
    return x + ay * bz - az * by, y + az * bx - ax * bz, z + ax * by - ay * bx


@leaf
def turn(m, x, y, z):
    """m (x, y, z)"""
    return (
        m[0] * x + m[1] * y + m[2] * z,
        m[3] * x + m[4] * y + m[5] * z,
        m[6] * x + m[7] * y + m[8] * z,
    )


@leaf
def add_turned(a, b, c, m, x, y, z):
    """(a, b, c) + m (x, y, z); each product is added at once."""
    return (
        a + m[0] * x + m[1] * y + m[2] * z,
        b + m[3] * x + m[4] * y + m[5] * z,
        c + m[6] * x + m[7] * y + m[8] * z,
    )


@leaf
def add_unturned(a, b, c, m, x, y, z):
    """(a, b, c) + m^T (x, y, z); each product is added at once."""
    return (
        a + m[0] * x + m[3] * y + m[6] * z,
        b + m[1] * x + m[4] * y + m[7] * z,
        c + m[2] * x + m[5] * y + m[8] * z,
    )


@leaf
def unturn(m, x, y, z):
    """m^T (x, y, z)"""
    return (
        m[0] * x + m[3] * y + m[6] * z,
        m[1] * x + m[4] * y + m[7] * z,
        m[2] * x + m[5] * y + m[8] * z,
    )


@leaf
def symmetric(i, x, y, z):
    """i (x, y, z) for the symmetric matrix i = xx xy xz yy yz zz"""
    return (
        i[0] * x + i[1] * y + i[2] * z,
        i[1] * x + i[3] * y + i[4] * z,
        i[2] * x + i[4] * y + i[5] * z,
    )


@leaf
def multiply(a, b):
    """a b of two matrices"""
    return (
        a[0] * b[0] + a[1] * b[3] + a[2] * b[6],
        a[0] * b[1] + a[1] * b[4] + a[2] * b[7],
        a[0] * b[2] + a[1] * b[5] + a[2] * b[8],
        a[3] * b[0] + a[4] * b[3] + a[5] * b[6],
        a[3] * b[1] + a[4] * b[4] + a[5] * b[7],
        a[3] * b[2] + a[4] * b[5] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[3] + a[8] * b[6],
        a[6] * b[1] + a[7] * b[4] + a[8] * b[7],
        a[6] * b[2] + a[7] * b[5] + a[8] * b[8],
    )


@leaf
def about_z(e, s, c):
    """e Rz of the angle with sine s and cosine c"""
    return (
        e[0] * c + e[1] * s,
        e[1] * c - e[0] * s,
        e[2],
        e[3] * c + e[4] * s,
        e[4] * c - e[3] * s,
        e[5],
        e[6] * c + e[7] * s,
        e[7] * c - e[6] * s,
        e[8],
    )


@leaf
def matrix_of_quaternion(x, y, z, w):
    """Rotation matrix (body to world) of the unit quaternion x y z w"""
    return (
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - z * w),
        2.0 * (x * z + y * w),
        2.0 * (x * y + z * w),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - x * w),
        2.0 * (x * z - y * w),
        2.0 * (y * z + x * w),
        1.0 - 2.0 * (x * x + y * y),
    )


# Rows of the recursions' blocks: vectors that are added to, symmetric matrices.


@leaf
def add3(s, row, x, y, z):
    """Add to rows row..row+2 of s."""
    s[row] += x
    s[row + 1] += y
    s[row + 2] += z


@leaf
def load6(s, row):
    """Rows row..row+5 of s."""
    return s[row], s[row + 1], s[row + 2], s[row + 3], s[row + 4], s[row + 5]


@leaf
def store6(s, row, m):
    """Write the six numbers m to rows row..row+5 of s."""
    store3(s, row, m[0], m[1], m[2])
    store3(s, row + 3, m[3], m[4], m[5])
