/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX Resize-19: each output element is a weighted sum over positions along each axis. */
#include <math.h>
#include <string.h>

#include "ref.h"

static double source(const char *mode, double y, double in, double out, double scale)
{
    double wide = in * scale;
    if (!strcmp(mode, "asymmetric")) return y / scale;
    if (!strcmp(mode, "align_corners")) return out == 1 || wide == 1 ? 0 : y * (in - 1) / (wide - 1);
    if (!strcmp(mode, "pytorch_half_pixel") && out <= 1) return 0;
    if (!strcmp(mode, "tf_half_pixel_for_nn")) return (y + 0.5) / scale;
    double half = (y + 0.5) / scale - 0.5;
    if (strcmp(mode, "half_pixel_symmetric")) return half;
    return in / 2 * (1 - out / wide) + half;
}

static double rounded(const char *mode, double x, double scale)
{
    if (!strcmp(mode, "outward")) mode = scale < 1 ? "ceil" : "floor";
    if (!strcmp(mode, "floor")) return floor(x);
    if (!strcmp(mode, "ceil")) return ceil(x);
    if (!strcmp(mode, "round_prefer_floor")) return ceil(x - 0.5);
    return floor(x + 0.5);
}

/* The kernel's weight at distance d (Keys, "Cubic convolution interpolation", 1981). */
static double cubic(double d, double a)
{
    d = fabs(d);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

static double place(const ref_call *c, int axis, double at, double in, double out, double scale)
{
    double roi[2 * REF_DIMS];
    char mode[32];
    strcpy(mode, ref_string(c, "coordinate", "half_pixel"));
    if (strcmp(mode, "tf_crop_and_resize")) return source(mode, at, in, out, scale);
    int n = c->in[0].ndim;
    ref_floats(c, "roi", roi);
    double start = roi[axis], end = roi[n + axis];
    return out == 1 ? (start + end) / 2 * (in - 1)
                    : start * (in - 1) + at * (end - start) * (in - 1) / (out - 1);
}

/* outside is set where a crop is. */
static double interpolate(const ref_call *c, const ref_tensor *y, int axis, const int64_t *at, int64_t *from,
                          bool *outside)
{
    const ref_tensor *x = &c->in[0];
    char method[32], rounding[32];
    double scales[REF_DIMS], sum = 0, weights = 0;
    if (axis == x->ndim) return x->v[ref_at(x, from)];
    strcpy(method, ref_string(c, "method", "nearest"));
    strcpy(rounding, ref_string(c, "rounding", "round_prefer_floor"));
    bool crops = !strcmp(ref_string(c, "coordinate", ""), "tf_crop_and_resize");
    ref_floats(c, "scales", scales);
    int64_t n = x->dims[axis];
    if (n == y->dims[axis] && scales[axis] == 1 && !crops) {
        from[axis] = at[axis];
        return interpolate(c, y, axis + 1, at, from, outside);
    }
    double pos = place(c, axis, (double)at[axis], (double)n, (double)y->dims[axis], scales[axis]);
    if (crops && (pos < 0 || pos > (double)(n - 1))) *outside = true;
    bool nearest = !strcmp(method, "nearest"), is_cubic = !strcmp(method, "cubic"),
         antialias = strstr(c->op, "antialiased");
    double base = nearest ? rounded(rounding, pos, scales[axis]) : floor(pos);
    double shrink = antialias && scales[axis] < 1 ? scales[axis] : 1;
    int reach = nearest ? 0 : (int)ceil((is_cubic ? 2 : 1) / shrink);
    for (int k = -reach; k <= reach; k++) {
        double tap = base + k, d = (pos - tap) * shrink;
        double w = nearest ? 1 : is_cubic ? cubic(d, ref_float(c, "cubic_a", -0.75)) : fmax(0, 1 - fabs(d));
        if ((is_cubic || antialias) && ref_int(c, "exclude_outside", 0) && (tap < 0 || tap >= (double)n))
            continue;
        from[axis] = (int64_t)fmax(0, fmin(tap, (double)(n - 1)));
        sum += w * interpolate(c, y, axis + 1, at, from, outside);
        weights += w;
    }
    return (ref_int(c, "exclude_outside", 0) && is_cubic) || antialias ? sum / weights : sum;
}

static void resize(ref_call *c)
{
    int64_t sizes[REF_DIMS], at[REF_DIMS], from[REF_DIMS];
    int n = ref_ints(c, "sizes", sizes);
    ref_tensor *y = ref_make(c, 0, c->in[0].dtype, n, sizes);
    for (int64_t p = 0; p < y->count; p++) {
        ref_index(y, p, at);
        bool outside = false;
        y->v[p] = interpolate(c, y, 0, at, from, &outside);
        if (outside) y->v[p] = ref_float(c, "extrapolation_value", 0);
        if (!ref_is_float(y->dtype) && y->dtype.code != GPUC_DTYPE_BOOL)
            y->v[p] = ref_saturated(y->dtype, trunc(y->v[p]));
    }
}

const ref_row ref_rows_resize[] = {
    {"image.resize", resize}, {"image.resize_antialiased", resize}, {NULL, NULL}};
