/* Vectors of eight samples, and functions of them; for GCC and clang. */
#ifndef FLEXDYN_LANES_H
#define FLEXDYN_LANES_H

#include <math.h>

#define LANES 8
typedef double vec __attribute__((vector_size(8 * LANES), aligned(8)));
typedef long long mask __attribute__((vector_size(8 * LANES), aligned(8)));

#define INLINE static inline __attribute__((always_inline, unused))

INLINE vec V(double x)
{
    return (vec){0} + x;
}

/* a where the condition holds, else b */
INLINE vec choose(mask condition, vec a, vec b)
{
    return (vec)((condition & (mask)a) | (~condition & (mask)b));
}

INLINE vec v_fabs(vec x)
{
    return (vec)((mask)x & 0x7fffffffffffffffLL);
}

INLINE vec v_copysign(vec x, vec y)
{
    return (vec)(((mask)x & 0x7fffffffffffffffLL) | ((mask)y & ~0x7fffffffffffffffLL));
}

INLINE vec v_sqrt(vec x)
{
    int i;
    for (i = 0; i < LANES; i++) {
        x[i] = sqrt(x[i]);
    }
    return x;
}

/* Sine and cosine as numerics/algebra/trigonometry.py has them: pi/2 in three parts (Cody and Waite 1980), Taylor
   polynomials up to pi/4. The low bits of MAGIC + k are those of the whole number k. */
#define MAGIC 6755399441055744.0

INLINE mask reduce(vec x, vec *r)
{
    const vec shifted = x * 0.63661977236758134308 + MAGIC, k = shifted - MAGIC;
    *r = ((x - k * 1.57079632673412561417e+00) - k * 6.07710050630396597660e-11) - k * 2.02226624871116645580e-21;
    return (mask)shifted;
}

INLINE vec sine_of(vec r)
{
    const vec z = r * r;
    vec s = V(-1.0 / 1307674368000.0);
    s = 1.0 / 6227020800.0 + z * s;
    s = -1.0 / 39916800.0 + z * s;
    s = 1.0 / 362880.0 + z * s;
    s = -1.0 / 5040.0 + z * s;
    s = 1.0 / 120.0 + z * s;
    s = -1.0 / 6.0 + z * s;
    return r + r * z * s;
}

INLINE vec cosine_of(vec r)
{
    const vec z = r * r;
    vec c = V(1.0 / 20922789888000.0);
    c = -1.0 / 87178291200.0 + z * c;
    c = 1.0 / 479001600.0 + z * c;
    c = -1.0 / 3628800.0 + z * c;
    c = 1.0 / 40320.0 + z * c;
    c = -1.0 / 720.0 + z * c;
    c = 1.0 / 24.0 + z * c;
    return 1.0 + z * (-0.5 + z * c);
}

INLINE vec v_sin(vec x)
{
    vec r;
    const mask n = reduce(x, &r);
    const vec s = choose((n & 1) == 0, sine_of(r), cosine_of(r));
    return choose((n & 2) == 0, s, -s);
}

INLINE vec v_cos(vec x)
{
    vec r;
    const mask n = reduce(x, &r);
    const vec c = choose((n & 1) == 0, cosine_of(r), sine_of(r));
    return choose(((n + 1) & 2) == 0, c, -c);
}

/* exp(x) - 1 for |x| < 700: x = k ln 2 + r, |r| <= 0.35, with ln 2 in two parts, and a Taylor polynomial */
INLINE vec v_expm1(vec x)
{
    const vec shifted = x * 1.44269504088896340736 + MAGIC, k = shifted - MAGIC;
    const vec r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    const vec scale = (vec)(((mask)shifted + 1023) << 52);
    vec p = V(1.0 / 6227020800.0);
    p = 1.0 / 479001600.0 + r * p;
    p = 1.0 / 39916800.0 + r * p;
    p = 1.0 / 3628800.0 + r * p;
    p = 1.0 / 362880.0 + r * p;
    p = 1.0 / 40320.0 + r * p;
    p = 1.0 / 5040.0 + r * p;
    p = 1.0 / 720.0 + r * p;
    p = 1.0 / 120.0 + r * p;
    p = 1.0 / 24.0 + r * p;
    p = 1.0 / 6.0 + r * p;
    p = 0.5 + r * p;
    p = r + r * r * p;
    return scale * p + (scale - 1.0);
}

/* NaN stays; beyond 20 the answer is 1 to the last digit */
INLINE vec v_tanh(vec x)
{
    const vec size = v_fabs(x), e = v_expm1(2.0 * choose(size > 20.0, V(20.0), size));
    return v_copysign(e / (e + 2.0), x);
}

/* functions that are rare: one sample after the other */
#define BY_SAMPLE(name)             \
    INLINE vec v_##name(vec x)      \
    {                               \
        int i;                      \
        for (i = 0; i < LANES; i++) { \
            x[i] = name(x[i]);      \
        }                           \
        return x;                   \
    }

BY_SAMPLE(tan)
BY_SAMPLE(exp)
BY_SAMPLE(log)
BY_SAMPLE(floor)
BY_SAMPLE(ceil)

#define BY_SAMPLES(name)              \
    INLINE vec v_##name(vec x, vec y) \
    {                                 \
        int i;                        \
        for (i = 0; i < LANES; i++) { \
            x[i] = name(x[i], y[i]);  \
        }                             \
        return x;                     \
    }

BY_SAMPLES(pow)
BY_SAMPLES(atan2)

#endif
